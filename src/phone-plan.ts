import { Metadata } from "libphonenumber-js/core/es6";
import metadata from "../generated/phone-metadata.js";

/** What of a numbering plan tells at once that a number in E.164 stands as it is. */
interface Plan {
	lengths: readonly number[];
	/** What may stand before a number inside its country, and is then taken off. */
	prefix: string;
}

/** By calling code; null where there is none, or where only the library can tell. */
const plans = new Map<string, Plan | null>();

/**
 * Whether digits after a `+` surely are a number as they are: of a length that their country has, and with nothing in
 * front that would be taken off. False says nothing. The library needs thirty times as long to say the same.
 */
export function stands(value: string): boolean {
	for (let end = 2; end <= 4; end++) {
		const plan = planOf(value.slice(1, end));
		if (plan) return plan.lengths.includes(value.length - end) && !value.startsWith(plan.prefix, end);
	}
	return false;
}

function planOf(code: string): Plan | null {
	let plan = plans.get(code);
	if (plan === undefined) {
		plan = planFrom(code);
		plans.set(code, plan);
	}
	return plan;
}

/** The library's own view of its tables: more of it than its types tell. */
const tables = /* @__PURE__ */ new Metadata(metadata) as unknown as {
	getCountryCodesForCallingCode: (code: string) => readonly string[] | undefined;
	selectNumberingPlan: (country: string) => {
		possibleLengths: () => readonly number[];
		nationalPrefixForParsing: () => string | 0 | undefined;
	};
};

function planFrom(code: string): Plan | null {
	const [main, ...others] = tables.getCountryCodesForCallingCode(code) ?? [];
	if (main === undefined) return null;
	// Read before the next one is selected: the tables have one plan selected at a time.
	const lengthsOf = (country: string): readonly number[] => tables.selectNumberingPlan(country).possibleLengths();
	// Which of the countries of a shared code it is, only the library tells.
	const lengths = lengthsOf(main).filter((length) => others.every((country) => lengthsOf(country).includes(length)));
	const prefix = tables.selectNumberingPlan(main).nationalPrefixForParsing();
	// A country without a prefix takes nothing off; a pattern can take off more than one thing.
	if (!prefix) return { lengths, prefix: "none" };
	return /^\d+$/.test(prefix) ? { lengths, prefix } : null;
}
