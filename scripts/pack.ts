/**
 * `npx tsx scripts/pack.ts`: packs what `npm run build` has built, with absolute links in the README, and checks the links of all pages.
 * `--to <folder>` says where to, `--release` refuses while package.json names no owner. `npm publish` in this folder
 * is refused, because npm would take the README as it is: publish the packed file.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { missingOwner } from "./package/owner.ts";
import { pack } from "./package/pack.ts";

const { values: asked } = parseArgs({
	options: { to: { type: "string", default: "." }, release: { type: "boolean" }, refuse: { type: "boolean" } },
});
const root = fileURLToPath(new URL("..", import.meta.url));
const missing = missingOwner(JSON.parse(readFileSync(resolve(root, "package.json"), "utf8")));
if (missing) console.error(missing);

if (asked.refuse) {
	console.error(
		"Publish the packed file: npm run build && npx tsx scripts/pack.ts --release, then npm publish <file>.",
	);
	process.exitCode = 1;
} else if (missing && asked.release) {
	process.exitCode = 1;
} else {
	const destination = resolve(asked.to);
	mkdirSync(destination, { recursive: true });
	try {
		console.log(relative(process.cwd(), pack(root, destination)));
	} catch (error) {
		console.error(error instanceof Error ? error.message : error);
		process.exitCode = 1;
	}
}
