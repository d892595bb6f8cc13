// docs/faults.md gives numbers to faults, contributing/ to security rules and rules of the sandbox. The names of the
// tests refer to them.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { type Case, plays } from "./conformance.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), "utf8");

/** The files of a folder, without installed packages and the hidden folders of other tests. */
function filesIn(folder: string): string[] {
	return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
		if (entry.name === "node_modules" || entry.name.startsWith(".")) return [];
		const path = `${folder}/${entry.name}`;
		return entry.isDirectory() ? filesIn(path) : [path];
	});
}

interface Row {
	readonly number: string;
	readonly anchor: string;
	/** What happens, requests, error, outcome; of a security rule its text alone. */
	readonly cells: readonly string[];
}

const securityRules = read("contributing/security-rules.md").replace(/^The number S\d+ is not used\.$/m, "");
const page = `${read("docs/faults.md")}\n${securityRules}`;
const rows = [...page.matchAll(/^\| <a id="([^"]*)"><\/a>([#S]\d+) \| (.+) \|$/gm)].map(
	([, anchor = "", number = "", rest = ""]): Row => ({ number, anchor, cells: rest.split(" | ") }),
);
const defined = new Set(rows.map(({ number }) => number));
const rulesOfSandbox = new Set(
	[...read("contributing/sandbox-rules.md").matchAll(/^\| (R\d+) \|/gm)].map(([, rule]) => rule),
);

const guides = readdirSync(join(root, "docs")).flatMap((file) => (file.endsWith(".md") ? [`docs/${file}`] : []));
const sources = ["test", "src", "scripts", "examples"].flatMap(filesIn).filter((file) => /\.(tsx?|md)$/.test(file));

test("each row and rule has a number of its own, and an anchor named by it", () => {
	expect([...defined]).toHaveLength(rows.length);
	for (const { number, anchor } of rows) {
		expect(anchor).toBe(number.startsWith("#") ? `fault-${number.slice(1)}` : number.toLowerCase());
	}
	// A row whose form is wrong would otherwise be overlooked.
	expect(page.match(/^\| <a id=/gm)).toHaveLength(rows.length);
});

test("links to a row, a rule or a chapter of the page lead there", () => {
	const chapters = [...page.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) => title.toLowerCase().replaceAll(" ", "-"));
	const places = new Set([...rows.map(({ anchor }) => anchor), ...chapters]);
	const links = ["README.md", "SECURITY.md", "llms.txt", ...guides].flatMap((file) => {
		const pattern = file === "docs/faults.md" ? /\]\(#([^)]+)\)/g : /faults\.md#([^)]+)\)/g;
		return [...read(file).matchAll(pattern)].map(([, place = ""]) => ({ file, place }));
	});
	expect(links.length).toBeGreaterThan(10);
	expect(links.filter(({ place }) => !places.has(place))).toEqual([]);
	// A link to a row shows the number of that row.
	for (const [, shown, place] of page.matchAll(/\[#(\d+)\]\(#fault-(\d+)\)/g)) expect(shown).toBe(place);
});

test("each number in tests, sources and guides is defined in docs/faults.md or contributing/", () => {
	// Neither the colours of style sheets nor the escapes of HTML.
	const pattern = /(?<![\w&#])(?:#\d{1,2}|[RS]\d{1,3})(?![\w-])/g;
	const others = guides.filter((file) => file !== "docs/faults.md");
	const texts = [...sources, ...others, "README.md", "SECURITY.md", "CONTRIBUTING.md"].map((file) => [
		file,
		read(file),
	]);
	const mentions = [["docs/faults.md", page], ...texts].flatMap(([file, text = ""]) =>
		(text.match(pattern) ?? []).map((number) => ({ file, number })),
	);
	expect(mentions.length).toBeGreaterThan(500);
	expect(mentions.filter(({ number }) => !defined.has(number) && !rulesOfSandbox.has(number))).toEqual([]);
});

/** The numbers with which the names of tests begin, and those in the tables that complete a name by `%s`. */
function numbersNamedIn(file: string): string[] {
	const text = read(file);
	const names = [...text.matchAll(/\(\s*["`]((?:[#S]\d+ )+)/g)].map(([, numbers = ""]) => numbers);
	const tables = [...text.matchAll(/^\t\["(S\d+)", /gm)].map(([, number = ""]) => number);
	return [...names, ...tables].flatMap((numbers) => numbers.trim().split(" "));
}

test("each row and rule has a test that names it, and no test names another number", () => {
	const named = new Set(sources.filter((file) => file.endsWith(".test.ts")).flatMap(numbersNamedIn));
	// The names of the tests of conformance.test.ts.
	for (const [{ title }] of plays) named.add(title.split(" ")[0] ?? "");
	expect([...named].sort()).toEqual([...defined].sort());
});

/** A cell of a row, and the same cell of the rows that it refers to by "as in". */
function textOf(row: Row | undefined, column: number): string {
	const text = row?.cells[column] ?? "";
	const others = /as in/.test(text) ? [...text.matchAll(/\[(#\d+)\]/g)].map(([, number]) => number) : [];
	return [text, ...others.map((number) => textOf(rowOf(number ?? ""), column))].join(" ");
}

function rowOf(number: string): Row | undefined {
	return rows.find((row) => row.number === number);
}

/** What the page does not say of a case in which each attempt meets the same fault. */
function unsaid({ title, operation, attempts, maxAttempts, tag, outcome }: Case): string[] {
	const row = rowOf(title.split(" ")[0] ?? "");
	const [requests, error, outcomes] = [1, 2, 3].map((column) => textOf(row, column));
	const wanted: [cell: string | undefined, said: RegExp][] = [
		[error, tag === null ? /^none/ : new RegExp(`\`${tag}\``)],
	];
	if (maxAttempts === 4) wanted.push([requests, attempts === 1 ? /(^|\D)1\b/ : /up to 4/]);
	if (operation === "messages.send" && tag !== null) wanted.push([outcomes, new RegExp(`\`${outcome}\``)]);
	return wanted.filter(([cell = "", said]) => !said.test(cell)).map(([, said]) => `${title}: ${said}`);
}

test("the page says of each fault the requests, the error and the outcome that its tests expect", () => {
	const same = plays.map(([given]) => given).filter(({ faults }) => faults.length === 1);
	expect(same.length).toBeGreaterThan(80);
	expect(same.flatMap(unsaid)).toEqual([]);
});
