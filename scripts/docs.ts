/**
 * The docs site. `npm run docs` serves it, and shows a page again whenever it is saved. `npm run docs -- build` builds it
 * into docs/.vitepress/dist and checks every link. Both write the API reference first, and fail if an export has no comment.
 *
 * VitePress and typedoc are dependencies of docs/. They are installed if they are missing or if the lock file has changed.
 */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { writeCopies } from "../docs/.vitepress/copies.ts";
import { writeFrame } from "../docs/.vitepress/frame.ts";
import { install, isInstalled } from "./install.ts";
import { deadLinks } from "./site-links.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const docs = `${root}docs`;
const base = process.env.DOCS_BASE ?? "/";

const [command = "dev"] = parseArgs({ allowPositionals: true }).positionals;
if (command !== "dev" && command !== "build")
	throw new Error(`unknown command ${command}: use build, or none to serve`);

if (!isInstalled(docs)) {
	console.log("Installing VitePress and typedoc. This is needed once and takes about half a minute …");
	if (!install(docs)) {
		console.error("The install failed. The lines above say why.");
		process.exit(1);
	}
}

rmSync(`${docs}/reference`, { recursive: true, force: true });
writeCopies();
await writeFrame();
console.log("Writing the API reference …");
run("node_modules/typedoc/bin/typedoc", ["--logLevel", "Warn"]);
if (command === "build") run("../node_modules/typescript-7/bin/tsc", ["-p", "."]);
run("node_modules/vitepress/bin/vitepress.js", [command]);

if (command === "build") {
	const dead = await deadLinks(`${docs}/.vitepress/dist`, base);
	for (const link of dead) console.error(link);
	if (dead.length > 0) process.exit(1);
	console.log("every link of the site leads somewhere");
}

/** Runs a program of Node in docs/, and ends this one with it if it fails. */
function run(program: string, args: readonly string[]): void {
	const { status } = spawnSync(process.execPath, [program, ...args], { cwd: docs, stdio: "inherit" });
	if (status !== 0) process.exit(status ?? 1);
}
