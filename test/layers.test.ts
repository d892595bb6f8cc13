import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const src = fileURLToPath(new URL("../src", import.meta.url));

/** The client half from the ground up: a file imports only from the floors below its own. */
const floors = [
	["errors", "types", "signal", "cuttable", "phone-plan", "headers", "node-headers", "quietly", "spelling"],
	["attempt", "caller", "observe", "phone", "operation-id", "retry", "window", "wire"],
	["input", "drift", "trace", "redact", "safety", "node-response"],
	["judge", "call"],
	["transport", "paginate", "lookup"],
	["me", "conversations", "messages"],
	["client"],
	["index", "node"],
];

/** Who alone may import a package. */
const owners: Record<string, RegExp> = {
	"openapi-fetch": /^wire\.ts$/,
	"p-retry": /^retry\.ts$/,
	"libphonenumber-js/core/es6": /^(phone|phone-plan)\.ts$/,
	"zod/mini": /^(input|client|messages)\.ts$/,
	preact: /^sandbox\/server\/page\/\w+\.tsx$/,
	msw: /^sandbox\/msw\.ts$/,
	node: /^(sandbox\/server(\/\w+)?|cli\/\w+|node|node-response)\.ts$/,
};

const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file));
const imports = new Map(files.map((file) => [file, importsOf(file)]));

function importsOf(file: string): string[] {
	const text = readFileSync(join(src, file), "utf8");
	return [...text.matchAll(/^(?:import|export)\s[^;]*?from "([^"]+)"|^import "([^"]+)"/gms)].map((match) => {
		const specifier = match[1] ?? match[2] ?? "";
		return specifier.startsWith(".") ? relative(src, join(src, dirname(file), specifier)) : specifier;
	});
}

function isRoom(specifier: string): boolean {
	return imports.has(specifier);
}

test("every file of the client half stands on a floor, and every floor is of files", () => {
	const standing = files.filter((file) => !file.includes("/")).map((file) => file.slice(0, -3));
	expect(floors.flat().sort()).toEqual(standing.sort());
});

test("CONTRIBUTING's table has the same floors, from the top down", () => {
	const contributing = readFileSync(join(src, "../CONTRIBUTING.md"), "utf8");
	const [, table = ""] = /^\| floor .*\n\|.*\n((?:\|.*\n)+)/m.exec(contributing) ?? [];
	const told = table
		.trim()
		.split("\n")
		.map((row) => [...row.matchAll(/`([\w-]+)\.ts`/g)].map(([, name]) => name).sort());
	expect(told.reverse()).toEqual(floors.map((floor) => [...floor].sort()));
});

/** The sandbox from the top down: a file imports only from its own folder and from the floors below. */
const sandboxFloors = [
	["server", "msw"],
	["index"],
	["sandbox"],
	["controls", "service", "archive"],
	["world"],
	["base"],
];

test("the sandbox imports downward only, folder by folder", () => {
	const partOf = (file: string): string =>
		file
			.replace(/^sandbox\//, "")
			.replace(/\.ts$/, "")
			.split("/")[0] ?? "";
	const floorOf = (file: string): number => sandboxFloors.findIndex((floor) => floor.includes(partOf(file)));
	const own = files.filter((file) => file.startsWith("sandbox/"));
	expect(own.filter((file) => floorOf(file) < 0)).toEqual([]);
	const upward = own.flatMap((file) =>
		(imports.get(file) ?? [])
			.filter((target) => target.startsWith("sandbox/") && partOf(target) !== partOf(file))
			.filter((target) => floorOf(target) <= floorOf(file))
			.map((target) => `${file} → ${target}`),
	);
	expect(upward).toEqual([]);
});

test("one file of the sandbox imports the client's phone numbers", () => {
	const importers = files.filter(
		(file) =>
			file.startsWith("sandbox/") &&
			imports.get(file)?.some((target) => /(^|\/)phone\.ts$/.test(target) && !target.startsWith("sandbox/")),
	);
	expect(importers).toEqual(["sandbox/base/phone.ts"]);
});

test("the client half imports downward only", () => {
	const floorOf = (file: string): number => floors.findIndex((floor) => floor.includes(file.slice(0, -3)));
	const upward = files
		.filter((file) => floorOf(file) >= 0)
		.flatMap((file) =>
			(imports.get(file) ?? [])
				.filter((target) => isRoom(target) && floorOf(target) >= floorOf(file))
				.map((target) => `${file} → ${target}`),
		);
	expect(upward).toEqual([]);
});

test("nothing imports itself round a circle", () => {
	const circles: string[] = [];
	const done = new Set<string>();
	const visit = (file: string, path: string[]): void => {
		if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(" → "));
		if (path.includes(file) || done.has(file)) return;
		for (const target of imports.get(file) ?? []) if (isRoom(target)) visit(target, [...path, file]);
		done.add(file);
	};
	for (const file of files) visit(file, []);
	expect(circles).toEqual([]);
});

test("the halves meet at the contract and at phone numbers alone", () => {
	const sandbox = files.filter((file) => file.startsWith("sandbox/"));
	expect(sandbox.length).toBeGreaterThan(0);
	const across = sandbox.flatMap((file) =>
		(imports.get(file) ?? [])
			.filter((target) => isRoom(target) && !target.startsWith("sandbox/") && target !== "phone.ts")
			.map((target) => `${file} → ${target}`),
	);
	expect(across).toEqual([]);
	const back = files
		.filter((file) => !file.includes("/"))
		.flatMap((file) => (imports.get(file) ?? []).filter((target) => target.startsWith("sandbox/")));
	expect(back).toEqual([]);
});

test("each package has the one owner that may import it", () => {
	const strangers = files.flatMap((file) =>
		(imports.get(file) ?? [])
			.filter(
				(target) =>
					!isRoom(target) && !target.startsWith("../generated/") && !/^\.\.\/(package|openapi)\.json$/.test(target),
			)
			.filter((target) => !owners[target.startsWith("node:") ? "node" : target]?.test(file))
			.map((target) => `${file} → ${target}`),
	);
	expect(strangers).toEqual([]);
});
