// Once for all test files: the programs of MariaDB and Redis, and a MariaDB server that the files share.
import { execFileSync } from "node:child_process";
import { startMysql } from "./mysql-server.ts";

/**
 * Their Debian packages. Those of MariaDB are without the service that would start by itself. The one of its clients has a
 * program that `mariadb-install-db` runs.
 */
const packages = {
	mariadbd: "mariadb-server-core",
	my_print_defaults: "mariadb-client-core",
	"redis-server": "redis-server",
};

export default async function setup(): Promise<() => Promise<void>> {
	const isNeeded = (program: string) => !(process.env.MARIADB_URL && program !== "redis-server") && !isThere(program);
	const missing = Object.entries(packages).flatMap(([program, name]) => (isNeeded(program) ? [name] : []));
	if (missing.length > 0) install(missing);
	if (process.env.MARIADB_URL) return async () => {};
	const server = await startMysql();
	process.env.MARIADB_URL = server.url;
	return server.close;
}

function isThere(program: string): boolean {
	try {
		execFileSync("which", [program], {
			env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
			stdio: "ignore",
		});
		return true;
	} catch {
		return false;
	}
}

function install(names: string[]): void {
	const options = ["-o", "DPkg::Lock::Timeout=300", "--yes", "--no-install-recommends"];
	const commands = [
		["apt-get", "update"],
		["apt-get", "install", ...options, ...names],
	];
	const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
	for (const command of commands) {
		const [program = "", ...rest] = process.getuid?.() === 0 ? command : ["sudo", "--preserve-env", ...command];
		try {
			execFileSync(program, rest, { env, stdio: ["ignore", "ignore", "inherit"] });
		} catch (error) {
			const needed = `These tests need ${names.join(" and ")}.`;
			throw new Error(`${needed} Install them. MARIADB_URL names a server that is there.`, { cause: error });
		}
	}
}
