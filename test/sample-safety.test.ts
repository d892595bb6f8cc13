// What if somebody copies a sample and runs it with a live key? Then it must not text a stranger, or send as an agency
// that nobody chose.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const places = ["README.md", "AGENTS.md", "llms.txt", "docs", "examples", "src", ".github", "scripts"];
const skipped =
	/(^|\/)(node_modules|dist|generated|docs\/(reference|public)|\.vitepress\/(cache|dist)|next\/1\d|package-lock\.json)(\/|$)/;
const text = /\.(md|txt|ts|tsx|mts|js|mjs|cjs|jsx|vue|py|json|ya?ml|toml|sql|prisma)$/;

function filesOf(place: string): string[] {
	const all = place.includes(".") && !place.startsWith(".") ? [place] : undefined;
	const entries =
		all ?? readdirSync(join(root, place), { recursive: true, encoding: "utf8" }).map((name) => `${place}/${name}`);
	return entries.filter((name) => text.test(name) && !skipped.test(name));
}

const files = places.flatMap(filesOf).map((name) => ({ name, code: readFileSync(join(root, name), "utf8") }));

/** With `+` or `00` and a country code, or a local number in any grouping, of at least nine digits. */
const spelled = /(?<![\w.,:/=$-])(?:\+|00|0(?=[1-9]))(?:[ ./()-]{0,2}\d){8,14}(?![\w-])/g;

/** Ofcom keeps +447700900000 to +447700900999 free for films and books. */
const isFictional = (number: string): boolean => {
	const digits = number.replace(/\(0\)|\D/g, "").replace(/^00/, "");
	return /^(44|0)7700900\d{3}$/.test(digits);
};

/** Forms that are only parsed, or refused, in these files. None is sent to. */
const onlyParsed: Record<string, readonly string[]> = {
	"README.md": ["+32 (0)470/12.34.56", "+32470123456"],
	"llms.txt": ["0470 12 34 56", "+32470123456"],
	"docs/errors.md": ["0470 12 34 56", "+32470123456"],
	"docs/phone-numbers.md": [
		...["0470/12.34.56", "+32470123456", "0470123456", "0470 12 34 56", "+32 470 12 34 56", "+3247012345"],
		...["06 12 34 56 78", "+33612345678", "02 512 34 56", "+352 0621 123 456", "+5215512345678", "0692 92 92 92"],
		...["+262692929292", "0911 1234-0", "0494 78 89 66", "04 94 78 89 66"],
	],
	"docs/sandbox-routes.md": ["0470123456"],
	"src/outbox/options.ts": ["+32470123456"],
	"scripts/runtimes/consumer/options.ts": ["07400 123456", "+447400123456"],
	"scripts/runtimes/consumer/exports.ts": ["0470 12 34 56", "+32470123456"],
	// The beginning of a number.
	"docs/playground/play.ts": ["+447700900"],
	"test/outbox/store-checks/claims.ts": ["+447700900"],
	"scripts/bench/page/served.ts": ["+44770090"],
	"src/sandbox/controls/scenarios.ts": ["+447700900"],
	"src/sandbox/page/stories.ts": ["+447700900"],
	// The beginnings of all ranges that Ofcom keeps for drama.
	"src/sandbox/archive/pseudonyms.ts": [
		...["+447700900", "+442079460", "+441134960", "+441144960", "+441154960", "+441164960", "+441174960", "+441184960"],
		...["+441214960", "+441314960", "+441414960", "+441514960", "+441614960", "+441914980", "+441632960"],
	],
};

function numbersIn(code: string): string[] {
	return [...code.matchAll(spelled)].map(([number]) => number.trim()).filter((number) => !isFictional(number));
}

test("no sample holds a phone number that somebody may have, except where it is only parsed", () => {
	// The parser itself needs numbers of the countries that it knows, for its comments and its errors.
	const samples = files.filter(({ name }) => !name.startsWith("src/phone/"));
	const found = samples.flatMap(({ name, code }) => {
		const strangers = numbersIn(code).filter((number) => !onlyParsed[name]?.includes(number));
		return strangers.length > 0 ? [`${name}: ${[...new Set(strangers)].join(" | ")}`] : [];
	});
	expect(found).toEqual([]);
});

test("no sample names a recipient that somebody may be, not even where such a number is parsed", () => {
	const recipient = /\b(?:to|phone|mine|allowRecipients): ?\[?["'`]([^"'`]*)/g;
	const found = files.flatMap(({ name, code }) =>
		[...code.matchAll(recipient)].flatMap(([line, number = ""]) =>
			numbersIn(number).length > 0 ? [`${name}: ${line}`] : [],
		),
	);
	expect(found).toEqual([]);
});

test("no sample takes the agency that is listed first", () => {
	const first = /agencies\[0\]\?|agencies\.at\(0\)|agency\(\w*agencyId \?\? ""/;
	// What tries a runtime asks its own sandbox, which has one agency.
	const samples = files.filter(({ name }) => !name.startsWith("scripts/runtimes/"));
	expect(samples.filter(({ code }) => first.test(code)).map(({ name }) => name)).toEqual([]);
});

test.each([
	["+32470123456", true],
	["0470 12 34 56", true],
	["0032 470/12.34.56", true],
	["+32 (0)470 12 34 56", true],
	["06 12345678", true],
	["+447700900101", false],
	["07700 900101", false],
	["+44 (0)7700 900101", false],
	["0044 7700/900.101", false],
	["2026-01-05T09:00:00Z", false],
])("the search finds a number that somebody may have: %s, %s", (number, isFound) => {
	expect(numbersIn(`to: "${number}"`).length > 0).toBe(isFound);
});
