// A MariaDB server for tests: the one of MARIADB_URL, or one of its own. With MYSQL_URL the same tests run on that MySQL too.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import mysql from "mysql2/promise";
import { afterAll, beforeAll } from "vitest";
import { freePort } from "../../postgres.ts";

export interface MysqlServer {
	/** The address of its user with all rights. */
	url: string;
	/** Creates an empty database and gives its URL. */
	create: () => Promise<string>;
	/** Runs one statement on a database. */
	query: (url: string, sql: string) => Promise<Record<string, unknown>[]>;
	/** Drops what was created, because the server may be somebody's own. */
	close: () => Promise<void>;
}

/** The servers that the tests run on. */
export const mysqlKinds = ["MariaDB", ...(process.env.MYSQL_URL ? (["MySQL"] as const) : [])] as const;
export type MysqlKind = (typeof mysqlKinds)[number];

export async function startMysql(kind: MysqlKind = "MariaDB"): Promise<MysqlServer> {
	const given = kind === "MySQL" ? process.env.MYSQL_URL : process.env.MARIADB_URL;
	const server = given ? { url: given, stop: async () => {} } : await launch();
	const names: string[] = [];
	return {
		url: server.url,
		async create() {
			const name = `test_${crypto.randomUUID().slice(0, 8)}`;
			await query(server.url, `create database ${name}`);
			names.push(name);
			const url = new URL(server.url);
			url.pathname = `/${name}`;
			return url.href;
		},
		query,
		async close() {
			if (given) for (const name of names) await query(server.url, `drop database ${name}`);
			await server.stop();
		},
	};
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
	const connection = await mysql.createConnection({ uri: url, multipleStatements: true });
	try {
		const [rows] = await connection.query(sql);
		return Array.isArray(rows) ? (rows as Record<string, unknown>[]) : [];
	} finally {
		await connection.end();
	}
}

async function launch(): Promise<{ url: string; stop: () => Promise<void> }> {
	const folder = mkdtempSync(join(tmpdir(), "mariadb-"));
	// It refuses to run as root, so it runs as the user "nobody" then.
	const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
	if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
	const data = join(folder, "data");
	const own = [
		"--no-defaults",
		`--datadir=${data}`,
		"--innodb-log-file-size=16M",
		"--innodb-flush-log-at-trx-commit=0",
		"--innodb-use-native-aio=0",
	];
	const path = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
	const install = ["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"];
	execFileSync("mariadb-install-db", [...own, ...install], { ...user, env: path, cwd: folder, stdio: "ignore" });
	const port = await freePort();
	const network = [`--port=${port}`, "--bind-address=127.0.0.1", `--socket=${join(folder, "socket")}`];
	const rest = ["--skip-networking=0", "--skip-name-resolve", `--pid-file=${join(folder, "pid")}`];
	const server = spawn("mariadbd", [...own, ...network, ...rest], { ...user, env: path, cwd: folder, stdio: "ignore" });
	const url = `mysql://root@127.0.0.1:${port}/mysql`;
	while (!(await query(url, "select 1").catch(() => undefined))) {
		if (server.exitCode !== null) throw new Error(`MariaDB ended with ${server.exitCode}.`);
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
	return {
		url,
		async stop() {
			const ended = once(server, "exit");
			server.kill("SIGKILL");
			await ended;
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

/** A server for the tests of a file, and pools that end with them. */
export function useMysql(kind: MysqlKind) {
	let server: MysqlServer | undefined;
	const pools: mysql.Pool[] = [];
	beforeAll(async () => {
		server = await startMysql(kind);
	});
	afterAll(async () => {
		for (const pool of pools) await pool.end();
		await server?.close();
	});
	const create = async (): Promise<string> => (await server?.create()) ?? "";
	/** A pool on a database, by default on a new one. */
	async function openPool(url?: string, options: mysql.PoolOptions = {}): Promise<mysql.Pool> {
		const pool = mysql.createPool({ uri: url ?? (await create()), connectionLimit: 4, ...options });
		pools.push(pool);
		return pool;
	}
	return { create, openPool, query };
}
