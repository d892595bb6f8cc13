import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Installs the packed package as npm would, without asking a registry: it has no dependency to fetch. */
export function installPacked(consumer: string): void {
	const [{ filename }] = JSON.parse(
		execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", consumer], {
			cwd: root,
			encoding: "utf8",
		}),
	);
	const installed = join(consumer, "node_modules/messaging-conversations");
	mkdirSync(installed, { recursive: true });
	execFileSync("tar", ["-xzf", join(consumer, filename), "-C", installed, "--strip-components", "1"]);
	writeFileSync(join(consumer, "package.json"), '{ "type": "module" }');
}
