import { type PhonePlan, parse } from "./plan.ts";

/**
 * Whether a national number, written without trunk zero, cannot be two numbers or a number and another ending, as in
 * "30 123456/57". A mark that is more than a space may follow the area code, and may appear where the digits before it are
 * too few for a number.
 */
export function isOneNumber(national: string, written: string, plan: PhonePlan): boolean {
	const isValid = (digits: string): boolean => parse(`+${plan.code}${digits}`)?.isValid() === true;
	if (plan.code === "49" && isDirectDial(written)) return isValid(national);
	if (plan.code === "48" && isPolishLandline(written)) return isValid(national);
	// Digits and gaps in turn.
	const parts = written.split(/(\D+)/);
	let at = 0;
	for (let index = 1; index < parts.length; index += 2) {
		const before = parts[index - 1] ?? "";
		const gap = parts[index] ?? "";
		const behind = parts[index + 1] ?? "";
		at += before.length;
		// Only countries with a trunk zero have area codes: 4567/68 are two numbers in Luxembourg.
		if (at === 0 || (at === before.length && at <= 5 && plan.trunkZero)) continue;
		if (gap.includes("(")) return false;
		if (!plan.lengths.includes(at)) continue;
		// A space separates two numbers if both are long: 30 12345 12346.
		const separates = (before.length > 4 && behind.length > 4) || !isWeak(gap);
		const hasZero = behind.startsWith("0");
		if (!separates && !hasZero) continue;
		// 29 491-19 has a possible length in Belarus, but no number begins with 29 and is that short.
		if (!isValid(national.slice(0, at)) && isValid(national)) continue;
		if (separates && !isDashed(written)) return false;
		// 0678 ends one Iranian mobile in ten, so only a valid number counts: 30 12345 030 12346.
		if (hasZero && isValid(national.slice(at))) return false;
	}
	return true;
}

/** Whether a gap is as common inside a number as none: spaces, or one dot. */
export function isWeak(gap: string): boolean {
	return /^(?: *|\.)$/.test(gap);
}

/**
 * Whether a German number ends with a direct dial, an extension that callers dial too: 911 1234-0. A second ending looks
 * the same, so 911 123456-78 is refused: 123456 and 123478 may be two numbers. So may 911 1234-5.
 */
function isDirectDial(written: string): boolean {
	const match = /^\D*\d{2,5}\D+(\d(?:[ .]?\d)*) ?- ?(\d{1,4})$/.exec(written);
	const stem = match?.[1]?.replace(/\D/g, "") ?? "";
	const extension = match?.[2] ?? "";
	// The switchboard.
	if (/^0+$/.test(extension)) return stem.length <= 8;
	const steps = Number(extension) - Number(stem.slice(-extension.length));
	const isNextNumber = extension.length <= stem.length && steps > 0 && steps < 10;
	return extension !== "" && stem.length <= 5 && !isNextNumber;
}

/** Whether a number is written as a Polish landline is: 22 123-45-67. */
function isPolishLandline(written: string): boolean {
	return /^\D*\d{2}[ )/]+\d{3} ?- ?\d{2} ?- ?\d{2}$/.test(written);
}

/**
 * Whether dashes separate all groups and the last one is not a short ending: 26-12-34-56 in Luxembourg, but not 30-123456-78
 * in Germany. Slashes do not count, because they also separate endings: 4567/68/69.
 */
function isDashed(written: string): boolean {
	const [secondLast = "", last = ""] = written.split(/\D+/).slice(-2);
	return /^\D*\d{1,5}(?: ?- ?\d{2,4}){2,}$/.test(written) && last.length >= secondLast.length;
}
