// The code that the model runs: as it is, or a copy of it in which a rule is missing.
import { readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { createOutbox } from "messaging-conversations/outbox";
import { memoryStore } from "../memory.ts";
import type { Code } from "./world.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

export const realCode: Code = { createOutbox, memoryStore };

/** What is in a file, and what is there without the rule. */
export type Change = readonly [file: string, code: string, without: string];

/** Compiles a copy of the outbox and of the store in which these changes are made. */
export async function codeWithout(changes: readonly Change[]): Promise<Code> {
	const outfile = join(tmpdir(), `outbox-model-${crypto.randomUUID()}.mjs`);
	let made = 0;
	try {
		await build({
			stdin: {
				contents: `export { createOutbox } from "./src/outbox/index.ts"; export { memoryStore } from "./test/outbox/memory.ts";`,
				resolveDir: root,
			},
			outfile,
			bundle: true,
			platform: "node",
			format: "esm",
			target: "node20",
			logLevel: "error",
			tsconfig: join(root, "tsconfig.json"),
			plugins: [
				{
					name: "changes",
					setup(compiler) {
						compiler.onLoad({ filter: /(src|test)\/outbox\/.*\.ts$/ }, ({ path }) => {
							let contents = readFileSync(path, "utf8");
							for (const [file, code, without] of changes) {
								if (path !== join(root, file)) continue;
								if (!contents.includes(code)) throw new Error(`${file} has changed: ${code}`);
								contents = contents.replace(code, () => without);
								made++;
							}
							return { contents, loader: "ts" };
						});
					},
				},
			],
		});
		if (made !== changes.length) throw new Error("A file that was to be changed is not part of the outbox.");
		return await import(pathToFileURL(outfile).href);
	} finally {
		rmSync(outfile, { force: true });
	}
}
