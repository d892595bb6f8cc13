// A PostgreSQL server for the tests: the one of DATABASE_URL, or one of its own where the programs are installed.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";

export interface Server {
	url: string;
	close: () => Promise<void>;
}

const debian = "/usr/lib/postgresql";
const folders = [
	...(process.env.PATH ?? "").split(":"),
	...(existsSync(debian) ? readdirSync(debian).map((version) => `${debian}/${version}/bin`) : []),
	"/opt/homebrew/bin",
];
const programs = folders.find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));

/** Why there is no server; undefined when there can be one. */
export const noServer =
	process.env.DATABASE_URL || programs
		? undefined
		: "PostgreSQL is not installed and DATABASE_URL is not set: the half on a real server is skipped";

export async function startServer(): Promise<Server> {
	const { DATABASE_URL } = process.env;
	if (DATABASE_URL) return { url: DATABASE_URL, close: async () => {} };
	if (!programs) throw new Error(noServer);
	const folder = mkdtempSync(join(tmpdir(), "crm-postgres-"));
	// PostgreSQL refuses to run as root; Debian's package brings a user for it.
	const user = process.getuid?.() === 0 ? { uid: idOf("-u"), gid: idOf("-g") } : {};
	if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid);
	const data = join(folder, "data");
	const init = ["-D", data, "-U", "crm", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
	execFileSync(join(programs, "initdb"), init, { ...user, cwd: folder, stdio: "ignore" });
	const port = await freePort();
	const settings = ["-p", `${port}`, "-k", folder, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"];
	const server = spawn(join(programs, "postgres"), ["-D", data, ...settings], {
		...user,
		cwd: folder,
		stdio: "ignore",
	});
	const url = `postgres://crm@127.0.0.1:${port}/postgres`;
	while (!(await answers(url))) {
		if (server.exitCode !== null) throw new Error(`PostgreSQL ended with ${server.exitCode}`);
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
	return {
		url,
		async close() {
			const ended = once(server, "exit");
			// It lets connections end that are about to, but waits for none that was forgotten.
			server.kill("SIGTERM");
			const impatience = setTimeout(() => server.kill("SIGINT"), 5_000);
			await ended;
			clearTimeout(impatience);
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

export interface TestDatabase {
	url: string;
	/** The server may be somebody's own: nothing stays behind. */
	drop: () => Promise<void>;
}

/** A new, empty database on the server. */
export async function createDatabase(server: Server): Promise<TestDatabase> {
	const name = `send_queue_${crypto.randomUUID().slice(0, 8)}`;
	await query(server, `create database ${name}`);
	const url = new URL(server.url);
	url.pathname = `/${name}`;
	return { url: url.href, drop: () => query(server, `drop database ${name} with (force)`).then(() => {}) };
}

/** The databases on the server. */
export const databases = async (server: Server): Promise<string[]> =>
	(await query(server, "select datname from pg_database order by 1")).rows.map(({ datname }) => datname);

async function query(server: Server, sql: string) {
	const client = new pg.Client({ connectionString: server.url });
	await client.connect();
	try {
		return await client.query<{ datname: string }>(sql);
	} finally {
		await client.end();
	}
}

const idOf = (flag: "-u" | "-g"): number => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));

async function answers(url: string): Promise<boolean> {
	const client = new pg.Client({ connectionString: url });
	try {
		await client.connect();
		return true;
	} catch {
		return false;
	} finally {
		await client.end().catch(() => {});
	}
}

async function freePort(): Promise<number> {
	const server = createServer().listen(0, "127.0.0.1");
	await once(server, "listening");
	const address = server.address();
	server.close();
	await once(server, "close");
	return typeof address === "object" && address ? address.port : 5433;
}
