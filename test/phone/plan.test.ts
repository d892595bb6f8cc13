import { parsePhoneNumberFromString } from "libphonenumber-js/core/es6";
import full from "libphonenumber-js/metadata.max.json" with { type: "json" };
import library from "libphonenumber-js/metadata.min.json" with { type: "json" };
import { beforeEach, expect, test } from "vitest";
import metadata from "../../generated/phone-metadata.js";
import { isLong } from "../length.ts";

let isPossible: typeof import("../../src/phone/plan.ts").isPossible;
let homeCountries: typeof import("../../src/phone/plan.ts").homeCountries;
let parse: typeof import("../../src/phone/plan.ts").parse;
let planOf: typeof import("../../src/phone/plan.ts").planOf;
let planOfCountry: typeof import("../../src/phone/plan.ts").planOfCountry;

// Each test loads a copy of the module, which makes its plans anew.
let copies = 0;
beforeEach(async () => {
	const copy = `../../src/phone/plan.ts?copy=${copies++}`;
	({ homeCountries, isPossible, parse, planOf, planOfCountry } = await import(copy));
});

test("whatever its country, a number is possible exactly if the library reads it back unchanged and finds it possible", () => {
	const codes = [...Object.keys(metadata.country_calling_codes), ...Object.keys(metadata.nonGeographic), "210", "999"];
	const readBack = (value: string): boolean => {
		const phone = parsePhoneNumberFromString(value, { extract: false }, metadata);
		return phone !== undefined && phone.number === value && phone.isPossible();
	};
	const wrong: string[] = [];
	for (const code of codes) {
		for (let lead = 0; lead < 100; lead++) {
			// A short run tries a quarter of the lengths with each lead, other ones with the next lead.
			for (let length = isLong ? 3 : 3 + (lead % 4); length <= 14; length += isLong ? 1 : 4) {
				const value = `+${code}${`${lead}`.padStart(2, "0")}46183527904608`.slice(0, 1 + code.length + length);
				if (isPossible(value) !== readBack(value)) wrong.push(value);
			}
		}
	}
	expect(wrong).toEqual([]);
});

test("each calling code has the countries that the library lists for it, the main one first", () => {
	expect(metadata.country_calling_codes).toEqual(library.country_calling_codes);
	expect(Object.keys(metadata.countries).sort()).toEqual(Object.keys(library.countries).sort());
});

test("the tables of the home countries have every type of number that the full tables have", () => {
	const types = 11;
	const fullTables: Readonly<Record<string, readonly unknown[]>> = full.countries;
	for (const country of homeCountries)
		expect(metadata.countries[country]?.[types]).toEqual(fullTables[country]?.[types]);
	for (const country of homeCountries) expect(planOfCountry(country)?.isHome).toBe(true);
	expect(["GB", "US", "CH"].map((country) => planOfCountry(country as "GB")?.isHome)).toEqual([false, false, false]);
	expect(homeCountries).toEqual(["BE", "NL", "FR", "LU", "DE"]);
});

test.each([
	["32470123456", "32"],
	["12125551234", "1"],
	["352621123456", "352"],
	["80012345678", "800"],
	["32", "32"],
	["999123456", undefined],
	["210", undefined],
	["0470", undefined],
	["3", undefined],
	["", undefined],
])("the country calling code of %j is %j", (digits, code) => {
	expect(planOf(digits)?.code).toBe(code);
});

test("a plan is made once for all numbers with its code", () => {
	expect(planOf("32470123456")).toBe(planOf("3225123456"));
	expect(planOf("32470123456")).toBe(planOfCountry("BE"));
});

test("a plan has the lengths of national numbers, and whether they have a trunk zero", () => {
	expect(planOfCountry("BE")).toMatchObject({ code: "32", lengths: [8, 9], trunkZero: true });
	expect(planOfCountry("FR")).toMatchObject({ code: "33", lengths: [9], trunkZero: true });
	expect(planOfCountry("ES")).toMatchObject({ code: "34", lengths: [9], trunkZero: false });
	expect(planOfCountry("IT")).toMatchObject({ code: "39", trunkZero: false });
	// China has both: mobiles are written without it.
	expect(planOfCountry("CN")).toMatchObject({ code: "86", trunkZero: true });
	expect(planOfCountry("GG")?.code).toBe("44");
	expect(planOf("800")).toMatchObject({ lengths: [8], trunkZero: false });
});

test.each([
	["32", "470123456", true],
	["32", "25123456", true],
	["32", "0470123456", false],
	["32", "047012345", false],
	["32", "4701234", false],
	["1", "2125551234", true],
	["1", "1212555123", false],
	["44", "2079460958", true],
	["44", "0207946095", false],
	["375", "291234567", true],
	["375", "802912345", false],
	["39", "0669821234", true],
	["800", "12345678", true],
])("+%s and %s is surely possible: %s", (code, national, expected) => {
	expect(planOf(code)?.isSurelyPossible(national)).toBe(expected);
});

test.each([
	["32", "470123456", true],
	["32", "4701234567", false],
	["32", "47012345", false],
	["32", "0470123456", false],
	["32", "440123456", false],
	["32", "25123456", false],
	["31", "612345678", true],
	["33", "612345678", true],
	["33", "692929292", false],
	["352", "621123456", true],
	["49", "1701234567", true],
	["49", "301234567", false],
	// The types of other countries' numbers are unknown, or depend on who shares the code.
	["34", "612345678", false],
	["44", "7400123456", false],
])("+%s and %s is surely a mobile: %s", (code, national, expected) => {
	expect(planOf(code)?.isSurelyMobile(national)).toBe(expected);
});

test("what is surely possible or a mobile is so for the library too", () => {
	for (const code of Object.keys(metadata.country_calling_codes)) {
		const plan = planOf(code);
		// 7 is odd, so that a short run has all lengths too.
		for (let lead = 0; lead < 1000; lead += isLong ? 1 : 7) {
			const national = `${lead}461835`.slice(0, 8 + (lead % 4));
			const phone = parse(`+${code}${national}`);
			if (plan?.isSurelyPossible(national)) expect(phone?.number).toBe(`+${code}${national}`);
			if (plan?.isSurelyMobile(national)) expect(phone?.getType()).toBe("MOBILE");
		}
	}
});

test.each(["call me 0470123456 now", "tel:0470123456x", "0470123456 or 0471123456"])(
	"a number within a text is not looked for: %j",
	(text) => {
		expect(parse(text, "BE")).toBe(undefined);
	},
);
