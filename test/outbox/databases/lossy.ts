// Databases that lose what was stored last, as an automatic failover to a server that lags does: nobody declares it.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Libsql from "libsql";
import mysql from "mysql2/promise";
import pg from "pg";
import { onTestFinished } from "vitest";
import { freePort, programsFolder } from "../../postgres.ts";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import { newFile } from "./open.ts";

/** A database of which the last changes can be lost. */
export interface Lossy {
	/** The store of a process of its own. */
	open: () => OutboxStore;
	query: (sql: string) => Promise<Record<string, unknown>[]>;
	/** What comes after this is going to be lost. */
	keep: () => Promise<void>;
	/** Loses it. */
	lose: () => Promise<void>;
	/** Another server takes over, or the same one starts again, and nothing is lost. */
	switchOver: () => Promise<void>;
}

// They refuse to run as root, so they run as the user "nobody" then.
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

function newFolder(): string {
	const folder = mkdtempSync(join(tmpdir(), "lossy-"));
	if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
	onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
	return folder;
}

/** Copies a folder, with its owner. */
const copy = (from: string, to: string): void => void execFileSync("cp", ["-a", from, to]);

async function until(isDone: () => Promise<unknown>): Promise<void> {
	for (let tries = 0; !(await isDone().catch(() => false)); tries++) {
		if (tries > 1_200) throw new Error("The server does not answer.");
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
}

/**
 * Writes an older copy into the file, while workers have it open, as `.restore` of the shell does: in one transaction. The libraries that
 * have SQLite's own backup need a later Node.js.
 */
export async function lossySqlite(): Promise<Lossy> {
	const [file, older] = [newFile(), newFile()];
	const opened = (): Libsql.Database => {
		const db = new Libsql(file);
		db.exec("pragma journal_mode = wal; pragma busy_timeout = 10000");
		return db;
	};
	const db = opened();
	const query = (sql: string) => db.prepare(sql).all() as Record<string, unknown>[];
	return {
		open: () => sqliteStore(opened()),
		query: async (sql) => query(sql),
		keep: async () => void db.exec(`vacuum into '${older}'`),
		async lose() {
			const tables = query("select name from sqlite_master where type = 'table'").map(({ name }) => String(name));
			const back = tables.map((name) => `delete from ${name}; insert into ${name} select * from older.${name}`);
			db.exec(`attach '${older}' as older; begin immediate; ${back.join("; ")}; commit; detach older`);
		},
		switchOver: async () => {},
	};
}

/** Starts MariaDB again on an older copy of its files. */
export async function lossyMariadb(): Promise<Lossy> {
	const folder = newFolder();
	const [data, older] = [join(folder, "data"), join(folder, "older")];
	const port = await freePort();
	const own = ["--no-defaults", `--datadir=${data}`, "--innodb-log-file-size=16M", "--innodb-use-native-aio=0"];
	const path = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
	const options = { ...user, env: path, cwd: folder, stdio: "ignore" } as const;
	const install = ["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"];
	execFileSync("mariadb-install-db", [...own, ...install], options);
	const network = [`--port=${port}`, "--bind-address=127.0.0.1", `--socket=${join(folder, "socket")}`];
	const uri = `mysql://root@127.0.0.1:${port}`;
	const run = async (sql: string): Promise<Record<string, unknown>[]> => {
		const connection = await mysql.createConnection({ uri });
		try {
			const [rows] = await connection.query(sql);
			return Array.isArray(rows) ? (rows as Record<string, unknown>[]) : [];
		} finally {
			await connection.end().catch(() => {});
		}
	};
	const launch = async () => {
		const child = spawn("mariadbd", [...own, ...network, "--skip-name-resolve", "--skip-networking=0"], options);
		const exited = once(child, "exit");
		await until(() => run("select 1"));
		return async (signal: "SIGKILL" | "SIGTERM") => {
			child.kill(signal);
			await exited;
		};
	};
	let stop = await launch();
	onTestFinished(() => stop("SIGKILL"));
	await run("create database crm");
	const pools: mysql.Pool[] = [];
	onTestFinished(async () => {
		for (const pool of pools) await pool.end().catch(() => {});
	});
	const open = (): OutboxStore => {
		const pool = mysql.createPool({ uri: `${uri}/crm`, connectionLimit: 4 });
		pools.push(pool);
		return mysqlStore(pool);
	};
	return {
		open,
		query: async (sql) => run(sql.replaceAll("outbox_", "crm.outbox_")),
		async keep() {
			await stop("SIGTERM");
			rmSync(older, { recursive: true, force: true });
			copy(data, older);
			stop = await launch();
		},
		async lose() {
			await stop("SIGKILL");
			rmSync(data, { recursive: true });
			copy(older, data);
			stop = await launch();
		},
		async switchOver() {
			await stop("SIGTERM");
			stop = await launch();
		},
	};
}

/** Promotes a standby that has received nothing for a while. Connections go through a proxy, which leads to the primary. */
export async function lossyPostgres(): Promise<Lossy> {
	const programs = programsFolder(createRequire(import.meta.url));
	const query = async (port: number, ...statements: string[]): Promise<Record<string, unknown>[]> => {
		const client = new pg.Client({ host: "127.0.0.1", port, user: "crm", database: "postgres" });
		client.on("error", () => {});
		await client.connect();
		try {
			let rows: Record<string, unknown>[] = [];
			for (const sql of statements) rows = (await client.query(sql)).rows;
			return rows;
		} finally {
			await client.end().catch(() => {});
		}
	};
	const launch = async (data: string) => {
		const port = await freePort();
		const settings = ["-p", `${port}`, "-k", "/tmp", "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"];
		const standby = ["-c", "hot_standby=on", "-c", "wal_level=replica", "-c", "max_wal_senders=5"];
		const child = spawn(join(programs, "postgres"), ["-D", data, ...settings, ...standby], {
			...user,
			stdio: "ignore",
		});
		const exited = once(child, "exit");
		onTestFinished(async () => {
			child.kill("SIGQUIT");
			await exited;
		});
		await until(() => query(port, "select 1"));
		return {
			port,
			async crash() {
				child.kill("SIGQUIT");
				await exited;
			},
		};
	};
	const folder = newFolder();
	const [first, second] = [join(folder, "first"), join(folder, "second")];
	const init = ["-D", first, "-U", "crm", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
	execFileSync(join(programs, "initdb"), init, { ...user, cwd: folder, stdio: "ignore" });
	const primary = await launch(first);
	// As `pg_basebackup` does, which npm does not bring.
	const client = new pg.Client({ host: "127.0.0.1", port: primary.port, user: "crm", database: "postgres" });
	await client.connect();
	await client.query("select pg_backup_start('standby', true)");
	copy(first, second);
	const { rows } = await client.query<{ labelfile: string }>("select labelfile from pg_backup_stop(false)");
	await client.end();
	rmSync(join(second, "postmaster.pid"), { force: true });
	const write = (name: string, text: string, flag = "w"): void => {
		writeFileSync(join(second, name), text, { flag });
		if (user.uid !== undefined) chownSync(join(second, name), user.uid, user.gid);
	};
	write("backup_label", rows[0]?.labelfile ?? "");
	write("standby.signal", "");
	write("postgresql.auto.conf", `\nprimary_conninfo = 'host=127.0.0.1 port=${primary.port} user=crm'\n`, "a");
	const standby = await launch(second);
	let target = primary.port;
	const sockets = new Set<Socket>();
	const proxy = createServer((near) => {
		const far = connect(target, "127.0.0.1");
		for (const socket of [near, far]) {
			sockets.add(socket);
			socket.on("error", () => {});
			socket.on("close", () => {
				near.destroy();
				far.destroy();
				sockets.delete(socket);
			});
		}
		near.pipe(far).pipe(near);
	}).listen(0, "127.0.0.1");
	await once(proxy, "listening");
	const address = proxy.address();
	const port = typeof address === "object" && address ? address.port : 0;
	const pools: pg.Pool[] = [];
	onTestFinished(async () => {
		for (const pool of pools) await pool.end();
		proxy.close();
	});
	const arrived = () =>
		until(
			async () =>
				(await query(primary.port, "select pg_current_wal_lsn() = replay_lsn as is_same from pg_stat_replication"))[0]
					?.is_same,
		);
	async function promote(): Promise<void> {
		await primary.crash();
		await query(standby.port, "select pg_promote()");
		target = standby.port;
		for (const socket of sockets) socket.destroy();
	}
	return {
		open() {
			const pool = new pg.Pool({ host: "127.0.0.1", port, user: "crm", database: "postgres", max: 4 });
			pool.on("connect", (each) => each.on("error", () => {}));
			pool.on("error", () => {});
			pools.push(pool);
			return postgresStore(pool);
		},
		query: (sql) => query(target, sql),
		async keep() {
			await arrived();
			await query(standby.port, "alter system set primary_conninfo = ''", "select pg_reload_conf()");
			await until(async () => (await query(primary.port, "select 1 from pg_stat_replication")).length === 0);
		},
		lose: promote,
		async switchOver() {
			await arrived();
			await promote();
		},
	};
}
