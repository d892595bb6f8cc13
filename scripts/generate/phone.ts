import { createRequire } from "node:module";
import { banner, type Json } from "./contract.ts";

const require = createRequire(import.meta.url);

/** As in src/phone/plan.ts, which cannot be imported before the tables exist. */
const homeCountries = ["BE", "NL", "FR", "LU", "DE"];

/**
 * The tables of the phone library: its full set for the home countries, its small set for all others. Only the full set
 * knows the types of numbers, and a text goes to a number of a home country only if it is valid by its type.
 */
export function phoneMetadata(): Record<string, string> {
	const small: Json = require("libphonenumber-js/metadata.min.json");
	const full: Json = require("libphonenumber-js/metadata.max.json");
	if (small.version !== full.version) throw new Error("libphonenumber-js: its metadata sets differ in version");
	const plans: Record<string, Json> = { ...small.countries };
	for (const country of homeCountries) plans[country] = full.countries[country];
	const reduced = (of: Record<string, Json>): Record<string, Json> =>
		Object.fromEntries(Object.entries(of).map(([name, plan]) => [name, reduce(plan, name)]));
	const { country_calling_codes: codes, ...tables } = small;
	const countries = reduced(plans);
	// In the order of the codes, because the first country of a code is its main one.
	const ordered = Object.values<string[]>(codes).flatMap((names) => names.map((name) => [name, countries[name]]));
	const metadata = { ...tables, countries: Object.fromEntries(ordered), nonGeographic: reduced(small.nonGeographic) };
	return {
		// A string, because engines parse JSON faster than an object literal, and every import pays for it. A `#` is one of
		// its 1,700 \\d, which makes it smaller even when it is compressed.
		"phone-metadata.js": `${banner}const text = '${escaped(JSON.stringify(metadata))}';

/** Adds the countries of each calling code. */
function unpack() {
	const metadata = JSON.parse(text.replaceAll("#", "\\\\\\\\d"));
	const codes = {};
	for (const name in metadata.countries) {
		const [code] = metadata.countries[name];
		codes[code] ??= [];
		codes[code].push(name);
	}
	return { ...metadata, country_calling_codes: codes };
}

export default /* @__PURE__ */ unpack();\n`,
		"phone-metadata.d.ts": `${banner}import type { MetadataJson } from "libphonenumber-js/core";

/** Two-letter code (ISO 3166-1) of a country whose phone numbers are known. */
export type CountryCode = ${Object.keys(countries)
			.map((code) => JSON.stringify(code))
			.join(" | ")};

declare const metadata: MetadataJson;
export default metadata;
`,
	};
}

/** For a literal in single quotes. */
function escaped(text: string): string {
	if (text.includes("#")) throw new Error("libphonenumber-js: its metadata has a #");
	return text.replaceAll("\\\\d", "#").replace(/[\\']/g, "\\$&");
}

/**
 * A numbering plan without extensions and, in most countries, without formats, which are half of the set. With
 * formats src/phone/ knows whether a number is written with a trunk zero. One format replaces those of a country where all
 * numbers are. Where only some are, as in China, whose mobiles are not, formats remain that tell which. Belgium's also show
 * the area code.
 */
function reduce(plan: Json, name: string): Json {
	const formats: Json[] = plan[4] || [];
	const lastWithout = formats.map(hasTrunkZero).lastIndexOf(false);
	const hasZero = formats.some(hasTrunkZero);
	const kept =
		name === "BE" ? formats.map(withLastDigits) : hasZero ? formats.slice(0, lastWithout + 1).map(merged) : [];
	return trimmed([...plan.slice(0, 4), hasZero ? [...kept, zeroAndDigits] : 0, ...plan.slice(5, 13)]);
}

/** The library chooses a format by the last of its leading digits alone. The others serve to format while typing. */
function withLastDigits([pattern, format, leadingDigits, rule, isOptional]: Json): Json {
	return trimmed([pattern, format, leadingDigits ? leadingDigits.slice(-1) : 0, rule, isOptional]);
}

/** The format with all its groups of digits as one: which numbers it is for, and whether they have a trunk zero. */
function merged(given: Json): Json {
	const [pattern, , leadingDigits] = withLastDigits(given);
	const groups = [...pattern.matchAll(/\(\\d(?:\{(\d+)(?:,(\d+))?\})?\)/g)];
	if (groups.map(([group]) => group).join("") !== pattern)
		throw new Error(`libphonenumber-js: unread format ${pattern}`);
	const least = groups.reduce((sum, [, min = "1"]) => sum + Number(min), 0);
	const most = groups.reduce((sum, [, min = "1", max = min]) => sum + Number(max), 0);
	const digits = `(\\d{${most > least ? `${least},${most}` : least}})`;
	return trimmed([digits, "$1", leadingDigits, hasTrunkZero(given) ? "0$1" : 0]);
}

/** A format for numbers of any form. */
const zeroAndDigits = ["(\\d+)", "$1", 0, "0$1"];

function hasTrunkZero([, , , rule, isOptional]: Json): boolean {
	return /^\D*0/.test(String(rule || "").replaceAll(/\$\d/g, "1")) && !isOptional;
}

/** The library takes 0 for nothing. Nothing at the end can be left out. */
function trimmed(list: Json[]): Json[] {
	const filled = list.map((value) => value || 0);
	while (filled.length > 0 && !filled.at(-1)) filled.pop();
	return filled;
}
