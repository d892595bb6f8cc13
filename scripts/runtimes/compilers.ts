import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { libraryOf } from "../package/library.ts";
import { child } from "./child.ts";
import { tools } from "./consumer.ts";
import { versionOf } from "./engines.ts";
import type { Trial } from "./row.ts";

const compilers = ["typescript-5.4", "typescript-5.6", "typescript-5.9", "typescript-6", "typescript-7"] as const;

/** Those that msw 3 says it is for. */
const mocked = ["typescript-5.9", "typescript-6", "typescript-7"];

const portable = ["bare", "exercise", "controls", "worker"] as const;

/** What a consumer's compiler may know of its runtime, and the programs that can be written so. */
const worlds = [
	{
		name: "DOM and @types/node",
		dom: true,
		types: ["node"],
		programs: [...portable, "main", "entry-points", "members"],
	},
	{ name: "DOM", dom: true, types: [], programs: portable },
	{ name: "@types/node", dom: false, types: ["node"], programs: [...portable, "main", "entry-points"] },
	{ name: "@cloudflare/workers-types", dom: false, types: ["@cloudflare/workers-types"], programs: portable },
	// No runtime is without `Response`, `Headers` and `AbortSignal`; who does not declare them has skipLibCheck.
	{ name: "none of them, skipLibCheck", dom: false, types: [], programs: ["bare"], skipLibCheck: true },
];

const resolutions = [
	{ name: "nodenext", module: "nodenext", moduleResolution: "nodenext", folders: [".", "required"] },
	{ name: "bundler", module: "esnext", moduleResolution: "bundler", folders: ["."] },
] as const;

/** The strictest consumer: it looks into the declarations of its dependencies too. */
export function compilerTrials(consumer: string): Trial[] {
	writeFileSync(join(consumer, "members.ts"), libraryOf({ withMsw: false }));
	// The same programs once more, as CommonJS: nodenext reads the kind of a file from the package that it is in.
	const required = join(consumer, "required");
	mkdirSync(required);
	writeFileSync(join(required, "package.json"), '{ "type": "commonjs" }\n');
	for (const file of readdirSync(consumer))
		if (file.endsWith(".ts")) cpSync(join(consumer, file), join(required, file));
	return compilers.flatMap((compiler) =>
		resolutions.flatMap((resolution) =>
			worlds.map(({ name, dom, types, programs, skipLibCheck = false }) => ({
				group: "typescript",
				runtime: `TypeScript ${versionOf(compiler)}`,
				form: `${resolution.name}, ${name}`,
				run: async () => {
					const { module, moduleResolution, folders } = resolution;
					const file = join(consumer, `tsconfig.${resolution.name}.json`);
					const compilerOptions = {
						module,
						moduleResolution,
						target: "es2022",
						lib: dom ? ["es2022", "dom", "dom.iterable"] : ["es2022"],
						types,
						strict: true,
						exactOptionalPropertyTypes: true,
						noUncheckedIndexedAccess: true,
						skipLibCheck,
						allowImportingTsExtensions: true,
						// Without files to write, TypeScript 5.4 does not look whether they can be written.
						declaration: true,
						emitDeclarationOnly: true,
						outDir: join(consumer, "declared"),
					};
					const withMsw = dom && types.length > 0 && mocked.includes(compiler) ? [...programs, "msw"] : programs;
					const files = folders.flatMap((folder) => withMsw.map((program) => `./${folder}/${program}.ts`));
					writeFileSync(file, JSON.stringify({ compilerOptions, files }));
					const tsc = [join(tools, compiler, "bin/tsc"), "-p", file];
					const { ok, output } = await child(process.execPath, tsc, { cwd: consumer, timeoutMs: 300_000 });
					return ok ? undefined : output;
				},
			})),
		),
	);
}
