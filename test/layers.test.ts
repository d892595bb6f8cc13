import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const src = fileURLToPath(new URL("../src", import.meta.url));

interface Layer {
	/** Its files. A file belongs to the first layer that fits. */
	files: RegExp;
	/** The layers that it may import, beside itself. */
	imports: readonly string[];
}

const sandbox = ["controls", "service", "archive", "world", "base"].map((folder) => `sandbox/${folder}`);

/** The layers of src. Each may import those that it names, `generated/` and the package's own JSON. */
const layers: Record<string, Layer> = {
	"sandbox/base": { files: /^sandbox\/base\//, imports: ["phone", "errors", "shared"] },
	"sandbox/world": { files: /^sandbox\/world\//, imports: ["sandbox/base", "phone", "shared"] },
	"sandbox/archive": {
		files: /^sandbox\/archive\//,
		imports: ["sandbox/world", "sandbox/base", "phone", "shared"],
	},
	"sandbox/service": {
		files: /^sandbox\/service\//,
		imports: ["sandbox/world", "sandbox/base", "phone", "shared"],
	},
	"sandbox/controls": {
		files: /^sandbox\/controls\//,
		imports: ["sandbox/world", "sandbox/base", "phone", "shared"],
	},
	// It runs in a browser, and knows the sandbox by its types and control routes alone.
	"sandbox/page": { files: /^sandbox\/page\//, imports: ["sandbox", ...sandbox] },
	// The controls by method and path, for a server and for programs without one.
	"sandbox/routes": { files: /^sandbox\/routes\//, imports: ["sandbox", ...sandbox, "shared"] },
	"sandbox/server": {
		files: /^sandbox\/(server|msw)(\.ts$|\/)/,
		imports: ["sandbox", "sandbox/routes", ...sandbox, "phone", "shared"],
	},
	sandbox: { files: /^sandbox\//, imports: [...sandbox, "phone", "shared"] },
	sync: { files: /^sync\//, imports: ["index", "shared"] },
	outbox: { files: /^outbox\//, imports: ["index", "shared"] },
	cli: {
		files: /^cli(\.ts$|\/)/,
		imports: ["index", "node", "sync", "outbox", "sandbox/server", "sandbox", "sandbox/base", "shared"],
	},
	index: { files: /^index\.ts$/, imports: ["client", "phone", "errors"] },
	node: { files: /^node\.ts$/, imports: ["client"] },
	// Before the client, because phone numbers are refused with an error of the client.
	errors: { files: /^client\/errors\.ts$/, imports: [] },
	client: { files: /^client\//, imports: ["phone", "errors", "shared"] },
	phone: { files: /^phone\//, imports: ["errors", "shared"] },
	// What everybody needs, each once. Inlined into each entry that uses it.
	shared: { files: /^shared\//, imports: [] },
};

/** The files that alone may import a package. `node:` stands for the modules of Node. */
const owners: Record<string, RegExp> = {
	"openapi-fetch": /^client\/execute\.ts$/,
	"p-retry": /^client\/execute\.ts$/,
	"libphonenumber-js/core/es6": /^phone\//,
	"zod/mini": /^shared\/validation\.ts$/,
	msw: /^sandbox\/msw\.ts$/,
	preact: /^sandbox\/page\//,
	"@preact/signals": /^sandbox\/page\//,
	// These entries use the client by the name of the package, as any caller does.
	"messaging-conversations": /^(sync|outbox|cli)\//,
	"messaging-conversations/sync": /^cli\//,
	"node:": /^(client\/node-\w+\.ts|cli\b.*|sandbox\/server\b.*)$/,
};

const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file));
const imports = new Map(files.map((file) => [file, importsOf(file)]));

function importsOf(file: string): string[] {
	const text = readFileSync(join(src, file), "utf8");
	const found = text.matchAll(/^(?:import|export)\s[^;]*?from "([^"]+)"|^import "([^"]+)"|\bimport\("([^"]+)"\)/gms);
	return [...found].map((match) => {
		const specifier = match[1] ?? match[2] ?? match[3] ?? "";
		return specifier.startsWith(".") ? relative(src, join(src, dirname(file), specifier)) : specifier;
	});
}

function layerOf(file: string): string | undefined {
	return Object.keys(layers).find((name) => layers[name]?.files.test(file));
}

const edges = files.flatMap((file) => (imports.get(file) ?? []).map((target) => ({ file, target })));
const inner = edges.filter(({ target }) => imports.has(target));
const outer = edges.filter(({ target }) => !imports.has(target));
const shown = ({ file, target }: { file: string; target: string }) => `${file} → ${target}`;

test("each file of src is in a layer, and each layer of the client has files", () => {
	expect(files.filter((file) => layerOf(file) === undefined)).toEqual([]);
	const filled = new Set(files.map(layerOf));
	for (const name of ["index", "node", "client", "phone", "errors"]) expect(filled).toContain(name);
	expect(inner.length).toBeGreaterThan(files.length);
});

test("a layer imports only itself and the layers that it names", () => {
	const wrong = inner.filter(({ file, target }) => {
		const [from, to] = [layerOf(file), layerOf(target)];
		return from !== to && !layers[from ?? ""]?.imports.includes(to ?? "");
	});
	expect(wrong.map(shown)).toEqual([]);
});

test("no layer and no file imports itself in a circle", () => {
	const circles: string[] = [];
	const done = new Set<string>();
	const visit = (name: string, path: string[], next: (name: string) => readonly string[]): void => {
		if (path.includes(name)) circles.push([...path.slice(path.indexOf(name)), name].join(" → "));
		if (path.includes(name) || done.has(name)) return;
		for (const target of next(name)) visit(target, [...path, name], next);
		done.add(name);
	};
	for (const file of files)
		visit(file, [], (name) => (imports.get(name) ?? []).filter((target) => imports.has(target)));
	for (const name of Object.keys(layers))
		visit(`layer ${name}`, [], (each) => layers[each.slice(6)]?.imports.map((to) => `layer ${to}`) ?? []);
	expect(circles).toEqual([]);
});

test("each package and Node's modules have their owner", () => {
	const isOwn = (target: string) => /^\.\.\/(generated\/|(package|openapi)\.json$)/.test(target);
	const strangers = outer.filter(({ file, target }) => {
		const owner = owners[target.startsWith("node:") ? "node:" : target];
		return !isOwn(target) && !owner?.test(file);
	});
	expect(strangers.map(shown)).toEqual([]);
});
