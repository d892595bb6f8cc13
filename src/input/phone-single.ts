import { type PhonePlan, parse } from "./phone-plan.ts";
import type { DigitGroup } from "./phone-text.ts";

/**
 * Whether the groups of a national number, without trunk zero, cannot be two numbers or a number and another ending, as
 * in "30 123456/57". A mark that is more than a space may follow the area code, and may stand where the digits before it
 * are no number.
 */
export function isOneNumber(national: string, groups: readonly DigitGroup[], plan: PhonePlan): boolean {
	const isValid = (digits: string): boolean => parse(`+${plan.code}${digits}`)?.isValid() === true;
	let end = 0;
	return groups.every(({ gap, digits }, index) => {
		const at = end;
		end += digits.length;
		// Only countries with a trunk zero have area codes: 4567/68 are two numbers in Luxembourg.
		const followsArea = index === 1 && at <= 5 && plan.trunkZero;
		if (at === 0 || followsArea) return true;
		if (gap.includes("(")) return false;
		if (!plan.lengths.includes(at)) return true;
		// A space separates two numbers if both are long: 30 12345 12346.
		const isLong = digits.length > 4 && (groups[index - 1]?.digits.length ?? 0) > 4;
		const separates = isLong || !isWeak(gap);
		const hasZero = digits.startsWith("0");
		if (!separates && !hasZero) return true;
		// 29 491-19 has a possible length in Belarus, but no number begins with 29 and is that short.
		if (!isValid(national.slice(0, at)) && isValid(national)) return true;
		if (separates && !isDashed(groups)) return false;
		// 0678 ends one Iranian mobile in ten, so only a valid number counts: 30 12345 030 12346.
		return !(hasZero && isValid(national.slice(at)));
	});
}

/** Whether a gap is as common inside a number as none: spaces, or one dot. */
export function isWeak(gap: string): boolean {
	return /^(?: *|\.)$/.test(gap);
}

/**
 * Whether dashes separate all groups and the last one is no short ending: 26-12-34-56 in Luxembourg, but not 30-123456-78
 * in Germany. Slashes do not count, because they also separate endings: 4567/68/69.
 */
function isDashed([first, ...rest]: readonly DigitGroup[]): boolean {
	const lengths = rest.map(({ gap, digits }) => (/^ ?- ?$/.test(gap) ? digits.length : 0));
	const [secondLast = 0, last = 0] = lengths.slice(-2);
	const areGrouped = lengths.every((length) => length >= 2 && length <= 4) && first !== undefined;
	return areGrouped && first.digits.length <= 5 && last >= secondLast;
}
