import { parsePhoneNumberFromString } from "libphonenumber-js/core/es6";
import library from "libphonenumber-js/metadata.min.json" with { type: "json" };
import { beforeEach, expect, test } from "vitest";
import metadata from "../../generated/phone-metadata.js";
import { isE164 } from "../../src/phone/phone.ts";
import { isLong } from "../length.ts";

let parse: typeof import("../../src/phone/phone-plan.ts").parse;
let planOf: typeof import("../../src/phone/phone-plan.ts").planOf;
let planOfCountry: typeof import("../../src/phone/phone-plan.ts").planOfCountry;

// Each test loads a copy of the module, which makes its plans anew.
let copies = 0;
beforeEach(async () => {
	const copy = `../../src/phone/phone-plan.ts?copy=${copies++}`;
	({ parse, planOf, planOfCountry } = await import(copy));
});

test("whatever its country, a number is E.164 exactly when the library reads it back unchanged and finds it possible", () => {
	const codes = [...Object.keys(metadata.country_calling_codes), ...Object.keys(metadata.nonGeographic), "210", "999"];
	const readBack = (value: string): boolean => {
		const phone = parsePhoneNumberFromString(value, { extract: false }, metadata);
		return phone !== undefined && phone.number === value && phone.isPossible() && /^\+\d{5,15}$/.test(value);
	};
	const wrong: string[] = [];
	for (const [index, code] of codes.entries()) {
		for (let lead = 0; lead < 100; lead++) {
			for (let length = 3; length <= 14; length++) {
				// In short, each code meets each lead and each length, and each lead meets each length.
				if (!isLong && (index + lead + length) % 10 > 0) continue;
				const value = `+${code}${`${lead}`.padStart(2, "0")}46183527904608`.slice(0, 1 + code.length + length);
				if (isE164(value) !== readBack(value)) wrong.push(value);
			}
		}
	}
	expect(wrong).toEqual([]);
});

test("each calling code has the countries that the library lists for it, the main one first", () => {
	expect(metadata.country_calling_codes).toEqual(library.country_calling_codes);
	expect(Object.keys(metadata.countries).sort()).toEqual(Object.keys(library.countries).sort());
});

test("the country calling code of a number", () => {
	const codes = [
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
	] as const;
	expect(codes.map(([digits]) => [digits, planOf(digits)?.code])).toEqual(codes);
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

test("which numbers are surely possible", () => {
	const numbers = [
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
	] as const;
	expect(numbers.map(([code, national]) => [code, national, planOf(code)?.isSurelyPossible(national)])).toEqual(
		numbers,
	);
});

test("which numbers are surely mobiles", () => {
	const numbers = [
		["32", "470123456", true],
		["32", "4701234567", false],
		["32", "47012345", false],
		["32", "0470123456", false],
		["32", "440123456", false],
		["32", "25123456", false],
		// The types of other countries' numbers are unknown, or depend on who shares the code.
		["33", "612345678", false],
		["44", "7400123456", false],
	] as const;
	expect(numbers.map(([code, national]) => [code, national, planOf(code)?.isSurelyMobile(national)])).toEqual(numbers);
});

test("what is surely possible or a mobile is so for the library too", () => {
	const wrong: string[] = [];
	for (const [index, code] of Object.keys(metadata.country_calling_codes).entries()) {
		const plan = planOf(code);
		for (let lead = 0; lead < 1000; lead++) {
			// In short, each code meets a seventh of the leads, and each lead meets a seventh of the codes.
			if (!isLong && (index + lead) % 7 > 0) continue;
			const national = `${lead}461835`.slice(0, 8 + (lead % 4));
			const isPossible = plan?.isSurelyPossible(national);
			const isMobile = plan?.isSurelyMobile(national);
			if (!isPossible && !isMobile) continue;
			const phone = parse(`+${code}${national}`);
			if (isPossible && phone?.number !== `+${code}${national}`) wrong.push(`+${code}${national} is not possible`);
			if (isMobile && phone?.getType() !== "MOBILE") wrong.push(`+${code}${national} is no mobile`);
		}
	}
	expect(wrong).toEqual([]);
});

test("a number within a text is not looked for", () => {
	const texts = ["call me 0470123456 now", "tel:0470123456x", "0470123456 or 0471123456"];
	expect(texts.filter((text) => parse(text, "BE") !== undefined)).toEqual([]);
});
