import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { deadLinks, type Tree, withPackedLinks } from "../../scripts/package/links.ts";
import { missingOwner, ownerOf } from "../../scripts/package/owner.ts";
import { owner } from "./install.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const pages: Record<string, string> = {
	"docs/guide.md": '# Guide\n## What `npm` does, in short\n## Twice\n## Twice\n<a id="s1"></a>',
	"docs/private.md": "",
};
const tree: Tree = {
	kindOf: (path) => (path in pages || path.endsWith(".png") ? "file" : path === "examples" ? "folder" : undefined),
	read: (path) => pages[path] ?? "",
	isPacked: (path) => path === "docs/guide.md",
};
const links = ownerOf({ name: "x", version: "1.2.3", ...owner });
if (!links) throw new Error("no owner");
const packed = (path: string, text: string) => withPackedLinks({ path, text }, links, "1.2.3", tree);

const at = "https://github.com/example/sdk";
const raw = "https://raw.githubusercontent.com/example/sdk/v1.2.3";

test.each([
	["[guide](docs/guide.md)", `[guide](${at}/blob/v1.2.3/docs/guide.md)`],
	["[guide](./docs/guide.md#twice)", `[guide](${at}/blob/v1.2.3/docs/guide.md#twice)`],
	['[`code`](docs/guide.md "title")', `[\`code\`](${at}/blob/v1.2.3/docs/guide.md "title")`],
	["[examples](examples/)", `[examples](${at}/tree/v1.2.3/examples)`],
	["![phone](docs/phone.png)", `![phone](${raw}/docs/phone.png)`],
	[
		'<img src="docs/phone.png"> <a href="docs/guide.md">',
		`<img src="${raw}/docs/phone.png"> <a href="${at}/blob/v1.2.3/docs/guide.md">`,
	],
	['<source srcset="docs/dark.png">', `<source srcset="${raw}/docs/dark.png">`],
	["[guide]: docs/guide.md", `[guide]: ${at}/blob/v1.2.3/docs/guide.md`],
	[
		"[a bug](../../issues), [a hole](../../security/advisories/new)",
		`[a bug](${owner.bugs.url}), [a hole](${at}/security/advisories/new)`,
	],
	[
		"[site](https://example.com/docs/guide.md) [here](#retries)",
		"[site](https://example.com/docs/guide.md) [here](#retries)",
	],
	["```md\n[guide](docs/guide.md)\n```\n", "```md\n[guide](docs/guide.md)\n```\n"],
])("in the README %j becomes absolute", (link, absolute) => {
	expect(packed("README.md", link)).toBe(absolute);
});

test("another page keeps its links to packed files, and leads to the repository for the rest", () => {
	expect(packed("docs/other.md", "[a](guide.md) [b](private.md) [c](#d)")).toBe(
		`[a](guide.md) [b](${at}/blob/v1.2.3/docs/private.md) [c](#d)`,
	);
});

test("without an owner what is packed keeps its link, and what is not keeps its words", () => {
	const text = (page: string) => withPackedLinks({ path: "README.md", text: page }, undefined, "1.2.3", tree);
	expect(text("[a](docs/guide.md#twice) [b](#c) [d](https://example.com)")).toBe(
		"[a](docs/guide.md#twice) [b](#c) [d](https://example.com)",
	);
	expect(
		text("![A phone](docs/phone.png) [its page](docs/private.md). [Report it](../../issues). [`all`](examples)"),
	).toBe("A phone its page. Report it. `all`");
});

test("links that lead nowhere are found, headings included", () => {
	const dead = (path: string, text: string) => deadLinks({ path, text }, tree);
	expect(
		dead("README.md", "[a](docs/guide.md#what-npm-does-in-short) [b](docs/guide.md#twice-1) [c](docs/guide.md#s1)"),
	).toEqual([]);
	expect(dead("README.md", "[a](https://example.com) [b](../../issues) `x`\n```\n[c](nowhere.md)\n```")).toEqual([]);
	expect(dead("README.md", "[a](docs/gone.md) [b](docs/guide.md#twice-2)")).toEqual([
		"README.md: docs/gone.md does not exist",
		"README.md: docs/guide.md#twice-2 is not a heading of that page",
	]);
	expect(dead("docs/other.md", "[a](guide.md) [b](docs/guide.md)")).toEqual([
		"docs/other.md: docs/guide.md does not exist",
	]);
});

test.each(["author", "homepage", "repository", "bugs"] as const)(
	"a release without %s is refused, and says what to fill in",
	(field) => {
		const manifest = { name: "x", version: "1.2.3", ...owner };
		expect(missingOwner(manifest)).toBeUndefined();
		const names = (message = "") => [...message.matchAll(/^- (\w+): /gm)].map(([, name]) => name);
		expect(names(missingOwner({ ...manifest, [field]: undefined }))).toEqual([field]);
		expect(names(missingOwner({ ...manifest, [field]: "TODO" }))).toEqual(field === "author" ? [] : [field]);
		expect(names(missingOwner({ name: "x", version: "1.2.3" }))).toEqual(["author", "homepage", "repository", "bugs"]);
	},
);

test("npm publish in the folder is refused before anything is sent, and says what to do", () => {
	const { scripts } = JSON.parse(readFileSync(`${root}/package.json`, "utf8"));
	expect(scripts.prepublishOnly).toBe("tsx scripts/pack.ts --refuse");
	const refused = spawnSync("npm", ["run", "prepublishOnly"], { cwd: root, encoding: "utf8" });
	expect(refused.status).not.toBe(0);
	expect(refused.stderr).toContain("npx tsx scripts/pack.ts --release, then npm publish <file>");
});

test("the workflow that publishes packs a release", () => {
	const workflow = readFileSync(`${root}/.github/workflows/publish.yml`, "utf8");
	expect(workflow).toContain("npx tsx scripts/pack.ts --release");
	expect(workflow).not.toMatch(/npm pack/);
});

test("a plain npm pack has no link to a page that it leaves out", () => {
	const command = spawnSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
		cwd: root,
		encoding: "utf8",
	});
	const [{ files }]: [{ files: { path: string }[] }] = JSON.parse(command.stdout);
	const paths = files.map(({ path }) => path);
	const tarball: Tree = {
		// A picture is not packed, and not a page.
		kindOf: (path) =>
			paths.includes(path) || path.endsWith(".png")
				? "file"
				: paths.some((other) => other.startsWith(`${path}/`))
					? "folder"
					: undefined,
		read: (path) => readFileSync(`${root}/${path}`, "utf8"),
		isPacked: (path) => paths.includes(path),
	};
	const pages = paths.filter((path) => path.endsWith(".md") || path === "llms.txt");
	expect(pages.length).toBeGreaterThan(30);
	expect(pages.flatMap((path) => deadLinks({ path, text: tarball.read(path) }, tarball))).toEqual([]);
});

test("the links of the pages that are not packed lead somewhere", () => {
	const repository: Tree = {
		kindOf: (path) => (existsSync(`${root}/${path}`) ? "file" : undefined),
		read: (path) => readFileSync(`${root}/${path}`, "utf8"),
		isPacked: () => false,
	};
	const others = [
		"CONTRIBUTING.md",
		...readdirSync(`${root}/docs`)
			.filter((name) => name.endsWith(".md"))
			.map((name) => `docs/${name}`),
	];
	expect(others.flatMap((path) => deadLinks({ path, text: repository.read(path) }, repository))).toEqual([]);
});
