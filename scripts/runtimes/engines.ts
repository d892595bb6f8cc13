import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { child } from "./child.ts";
import { type Service, tools } from "./consumer.ts";
import { startCutter } from "./cutter.ts";
import { type Trial, wrongIn } from "./row.ts";

export interface Engine {
	group: string;
	name: string;
	command: string;
	before: readonly string[];
	env?: Record<string, string>;
	/** Runs TypeScript as it is. */
	typed: boolean;
	/** The databases that the outbox is tried on. */
	databases: readonly string[];
}

export const nodes = [20, 22, 24, 26] as const;
export const nodeOf = (line: (typeof nodes)[number]): string => join(tools, `node-${line}/bin/node`);

export function versionOf(name: string): string {
	const manifest = join(tools, name, "package.json");
	// The short run installs what it needs.
	if (!existsSync(manifest)) return "not installed";
	const { version }: { version: string } = JSON.parse(readFileSync(manifest, "utf8"));
	return version;
}

const pglite = "@electric-sql/pglite";

/** The lines of entry-points.ts end in one of these. */
export const entryPoints = ["in process", "served", "nodeHttp"] as const;

export function engines(consumer: string): readonly Engine[] {
	return [
		...nodes.map((line) => ({
			group: "node",
			name: `Node ${versionOf(`node-${line}`)}`,
			command: nodeOf(line),
			before: [],
			// Node 22.18 is the first to do so unasked.
			typed: line >= 22,
			databases: line >= 22 ? ["node:sqlite", pglite] : [pglite],
		})),
		{
			group: "bun",
			name: `Bun ${versionOf("@oven/bun-linux-x64")}`,
			command: join(tools, "@oven/bun-linux-x64/bin/bun"),
			before: [],
			typed: true,
			databases: ["bun:sqlite", pglite],
		},
		{
			group: "deno",
			name: `Deno ${versionOf("@deno/linux-x64-glibc")}`,
			command: join(tools, "@deno/linux-x64-glibc/deno"),
			before: ["run", "--allow-all", "--no-remote", "--node-modules-dir=manual"],
			env: { DENO_NO_UPDATE_CHECK: "1", DENO_DIR: join(consumer, ".deno") },
			typed: true,
			databases: ["node:sqlite", pglite],
		},
	];
}

/** Node, Bun and Deno: each form of module against the packed server, then with a sandbox inside, and the outbox on databases. */
export function engineTrials(consumer: string, { baseUrl, apiKey, controlUrl, token }: Service): Trial[] {
	const connection = [baseUrl, apiKey, controlUrl, token];
	return engines(consumer).flatMap(({ group, name, command, before, env = {}, typed, databases }) => {
		const trial = (form: string, file: string, args: readonly string[], said?: readonly string[]): Trial => ({
			group,
			runtime: name,
			form,
			run: async () => wrongIn(await child(command, [...before, file, ...args], { cwd: consumer, env }), said),
			// The tests of the packed package run on Node already.
			short: form === "ESM" && group !== "node",
		});
		return [
			trial("ESM", "main.mjs", connection),
			trial("CommonJS", "main.cjs", connection),
			...(typed ? [trial("TypeScript", "main.ts", connection)] : []),
			trial("ESM, own sandbox", "entry-points.mjs", [], entryPoints),
			trial("CommonJS, own sandbox", "entry-points.cjs", [], entryPoints),
			{
				group,
				runtime: name,
				form: "writes whose connection is cut",
				run: async () => {
					const cutter = await startCutter();
					const ended = await child(command, [...before, "cut.mjs", cutter.baseUrl], { cwd: consumer, env });
					cutter.close();
					return ended.ok ? cutter.wrong() : ended.output;
				},
				short: group !== "node",
			},
			...databases.map(
				(database): Trial => ({
					group,
					runtime: name,
					form: `outbox on ${database}`,
					run: async () => {
						const ended = await child(command, [...before, "stores.mjs", database], { cwd: consumer, env });
						return ended.ok && ended.stdout.includes(`ok ${database}`) ? undefined : ended.output;
					},
				}),
			),
			// msw 3 asks for Node 22.12, where CommonJS can require an ES module: it is nothing else.
			...(group === "node" && typed
				? ["mjs", "cjs"].map((ending) => ({
						...trial(`${ending === "mjs" ? "ESM" : "CommonJS"}, msw ${versionOf("msw")}`, `msw.${ending}`, []),
						group: "msw",
					}))
				: []),
		];
	});
}
