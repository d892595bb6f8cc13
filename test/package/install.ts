import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pack } from "../../scripts/package/pack.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** What an owner fills in. */
export const owner = {
	author: "Example Ltd <sdk@example.com>",
	homepage: "https://example.com/messaging-conversations",
	repository: { type: "git", url: "git+https://github.com/example/sdk.git" },
	bugs: { url: "https://example.com/tracker" },
};

/** Installs the packed package as npm would, without asking a registry: it has no dependency to fetch. */
export function installPacked(consumer: string): void {
	const tarball = pack(root, consumer, owner);
	const installed = join(consumer, "node_modules/messaging-conversations");
	mkdirSync(installed, { recursive: true });
	execFileSync("tar", ["-xzf", tarball, "-C", installed, "--strip-components", "1"]);
	writeFileSync(join(consumer, "package.json"), '{ "type": "module" }');
}
