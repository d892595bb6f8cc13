import { createRequire } from "node:module";
import { banner, type Json } from "./contract.ts";

const require = createRequire(import.meta.url);

/**
 * The phone library's small set for every country, with Belgium's entry taken from its full set: a Belgian local
 * number is accepted only when it is valid there by type, and only the full set tells types apart. Of the ways of
 * writing numbers, half of the small set, that stays which phone.ts asks about.
 */
export function phoneMetadata(): Record<string, string> {
	const small: Json = require("libphonenumber-js/metadata.min.json");
	const full: Json = require("libphonenumber-js/metadata.max.json");
	if (small.version !== full.version) throw new Error("libphonenumber-js: its metadata sets differ in version");
	const plans: Record<string, Json> = { ...small.countries, BE: full.countries.BE };
	const typed = new Set(Object.values(plans).flatMap((plan) => (hasTypes(plan) ? [plan[0]] : [])));
	const reduced = (of: Record<string, Json>): Record<string, Json> =>
		Object.fromEntries(Object.entries(of).map(([name, plan]) => [name, reduce(plan, typed.has(plan[0]))]));
	const metadata = { ...small, countries: reduced(plans), nonGeographic: reduced(small.nonGeographic) };
	return {
		// As text: the engine reads JSON faster than a literal of the same, and reads it at every start.
		"phone-metadata.js": `${banner}export default /* @__PURE__ */ JSON.parse('${escaped(JSON.stringify(metadata))}');\n`,
		"phone-metadata.d.ts": `${banner}import type { MetadataJson } from "libphonenumber-js/core";

/** Two-letter country codes (ISO 3166-1), those whose numbers are known. */
export type CountryCode = ${Object.keys(metadata.countries)
			.map((code) => JSON.stringify(code))
			.join(" | ")};

declare const metadata: MetadataJson;
export default metadata;
`,
	};
}

/** For single quotes. */
function escaped(text: string): string {
	return text.replace(/[\\']/g, "\\$&");
}

interface Span {
	min: number;
	max: number;
}

/** One way of writing, as far as phone.ts asks. */
interface Format {
	/** Digits before the first gap, 0 without a gap. */
	area: number;
	/** Digits after it; undefined is any number of them. */
	rest: Span | undefined;
	/** What its numbers begin with: a pattern. */
	leading: string | undefined;
	/** Whether it cannot do without the trunk zero. */
	trunk: boolean;
	/** Whether a mark that is no space, or any after the area code, stands behind as many digits as a number may have. */
	cuts: boolean;
}

/**
 * A numbering plan with the formats that it cannot do without. All, where types are known, as a bare country code is
 * told by the area code behind it; and where a good number is cut by a mark into what has the length of one. Elsewhere
 * only which numbers do without the zero of the trunk: there a mark may stand nowhere behind the length of a number,
 * which refuses more and never less.
 */
function reduce(plan: Json, typed: boolean): Json {
	const formats: Format[] = (plan[4] || []).map((format: Json) => formatOf(format, plan));
	const kept = typed || formats.some(({ cuts }) => cuts) ? withOthers(formats) : withoutTrunk(formats);
	const written = kept.length > 0 ? merge(kept).map(write) : 0;
	// Rules for writing (6, 9) have gone into the formats; extensions (13) are refused.
	return trimmed([...plan.slice(0, 4), written, plan[5], 0, plan[7], plan[8], 0, ...plan.slice(10, 13)]);
}

function hasTypes(plan: Json): boolean {
	return Boolean(plan[11]);
}

function formatOf([pattern, national, leading, ownRule, optional, international]: Json, plan: Json): Format {
	const form: string = international || national;
	const sizes = [...pattern.matchAll(/\(\\d(?:\{(\d+)(?:,(\d+))?\})?\)/g)];
	const groups = [...form.matchAll(/\$(\d)([^$\d]*)/g)].flatMap(([, place, gap]) => {
		const size = sizes[Number(place) - 1];
		return size ? [{ min: Number(size[1] ?? 1), max: Number(size[2] ?? size[1] ?? 1), gap }] : [];
	});
	const [head] = groups;
	if (!head || groups.length !== sizes.length || sizes.map(([group]) => group).join("") !== pattern) {
		throw new Error(`${plan[0]}: cannot read the format ${pattern}, ${form}`);
	}
	if (head.min !== head.max && groups.length > 1) throw new Error(`${plan[0]}: an area code of two lengths`);
	const area = groups.length > 1 ? head.min : 0;
	let cuts = false;
	const whole = groups.reduce<Span>(
		(before, { min, max }, at) => {
			const marked = at === 1 || (at > 1 && groups[at - 1]?.gap !== " ");
			cuts ||= marked && plan[3].some((length: number) => length >= before.min && length <= before.max);
			return { min: before.min + min, max: before.max + max };
		},
		{ min: 0, max: 0 },
	);
	const rule = String(ownRule || plan[6] || "");
	return {
		area,
		rest: { min: whole.min - area, max: whole.max - area },
		// The library itself asks the last and most detailed pattern alone.
		leading: leading?.at(-1),
		trunk: /^\D*0/.test(rule.replaceAll(/\$\d/g, "1")) && !(optional || plan[9]),
		cuts,
	};
}

/** All formats, and that of a number that has none of them: in a country with a trunk zero it is not without it. */
function withOthers(formats: Format[]): Format[] {
	return formats.some(({ trunk }) => trunk) ? [...formats, others] : formats;
}

const others: Format = { area: 0, rest: undefined, leading: undefined, trunk: true, cuts: false };

/** The formats that do without a trunk zero, in what comes before them; one for all others, if they cannot. */
function withoutTrunk(formats: Format[]): Format[] {
	const kept = formats.filter(
		(format, at) => !format.trunk || formats.slice(at).some((later) => !later.trunk && overlap(format, later)),
	);
	if (kept.length === formats.length) return formats.some(({ trunk }) => trunk) ? kept : [];
	// A bracket may follow the first digit, as in Argentina's +54 9 (11), where another format has a say too.
	const area = kept.length > 0 && formats.every((format) => format.area > 0) ? 1 : 0;
	return [...kept, { ...others, area }];
}

/** Whether a number could be of both. */
function overlap(one: Format, other: Format): boolean {
	const apart = (a: Format, b: Format): boolean =>
		a.rest !== undefined && b.rest !== undefined && a.area + a.rest.max < b.area + b.rest.min;
	if (apart(one, other) || apart(other, one)) return false;
	return [...firstDigits(one.leading)].some((digit) => firstDigits(other.leading).includes(digit));
}

/** The digits that a match of the pattern can begin with, or more. */
function firstDigits(pattern: string | undefined): string {
	const every = "0123456789";
	if (pattern === undefined) return every;
	const heads: string[] = [""];
	let depth = 0;
	for (const [part] of pattern.matchAll(/\[[^\]]*\]|\(\?:|\\d|./g)) {
		if (part === "(?:") depth++;
		else if (part === ")") depth--;
		else if (part === "|" && depth === 0) heads.push("");
		heads.push(`${heads.pop()}${part}`);
	}
	return heads
		.map((head) => {
			const [, atom = "", optional] = head.match(/^\|?(\[[\d-]+\]|\d)(\?|\{)?/) ?? [];
			return atom === "" || optional ? every : [...every].filter((digit) => new RegExp(atom).test(digit)).join("");
		})
		.join("");
}

/** Neighbours that differ in their leading digits alone are one. */
function merge(formats: Format[]): Format[] {
	const merged: Format[] = [];
	for (const format of formats) {
		const last = merged.at(-1);
		const same = last?.leading && format.leading && digits(last) === digits(format) && last.trunk === format.trunk;
		if (same) merged.splice(-1, 1, { ...last, leading: `${last.leading}|${format.leading}` });
		else merged.push(format);
	}
	return merged;
}

function write(format: Format): Json {
	const { area, leading, trunk } = format;
	return trimmed([digits(format), area ? "$1 $2" : "$1", leading ? [leading] : 0, trunk ? "0$1" : 0]);
}

function digits({ area, rest }: Format): string {
	const group = ({ min, max }: Span): string => `(\\d{${min === max ? min : `${min},${max}`}})`;
	return (area ? group({ min: area, max: area }) : "") + (rest ? group(rest) : "(\\d+)");
}

/** The library writes 0 for nothing; nothing at the end need not be written. */
function trimmed(list: Json[]): Json[] {
	const filled = list.map((value) => value || 0);
	while (filled.length > 0 && !filled.at(-1)) filled.pop();
	return filled;
}
