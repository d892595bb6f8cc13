// The application of the recipe with Prisma.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { beforeAll } from "vitest";
import { testNotes } from "../test/notes.ts";

const notes = fileURLToPath(new URL("../nestjs/prisma/notes.ts", import.meta.url));

beforeAll(async () => {
	await build({
		entryPoints: ["nestjs/main.ts"],
		outfile: "node_modules/.programs/prisma/main.mjs",
		tsconfig: "tsconfig.long.json",
		bundle: true,
		packages: "external",
		format: "esm",
		target: "node20",
		logLevel: "error",
		plugins: [
			{
				name: "prisma",
				setup: ({ onResolve }) => onResolve({ filter: /^\.\/notes$/ }, () => ({ path: notes })),
			},
		],
	});
});

testNotes("prisma/main");
