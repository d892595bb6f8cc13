import { parsePhoneNumberFromString } from "libphonenumber-js/core/es6";
import { expect, test } from "vitest";
import metadata from "../generated/phone-metadata.js";
import { isE164 } from "../src/input/phone.ts";
import { planOf } from "../src/input/phone-plan.ts";

test("whatever its country, a number is E.164 exactly when the library reads it back unchanged and finds it possible", () => {
	const codes = [...Object.keys(metadata.country_calling_codes), ...Object.keys(metadata.nonGeographic), "210", "999"];
	const readBack = (value: string): boolean => {
		const phone = parsePhoneNumberFromString(value, { extract: false }, metadata);
		return phone !== undefined && phone.number === value && phone.isPossible() && /^\+\d{5,15}$/.test(value);
	};
	const wrong: string[] = [];
	for (const code of codes) {
		for (let lead = 0; lead < 100; lead++) {
			for (let length = 3; length <= 14; length++) {
				const value = `+${code}${`${lead}`.padStart(2, "0")}46183527904608`.slice(0, 1 + code.length + length);
				if (isE164(value) !== readBack(value)) wrong.push(value);
			}
		}
	}
	expect(wrong).toEqual([]);
});
