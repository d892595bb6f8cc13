import fc from "fast-check";
import { parsePhoneNumberFromString } from "libphonenumber-js/core/es6";
import examples from "libphonenumber-js/examples.mobile.json";
import reference, { getCountries, getExampleNumber } from "libphonenumber-js/max";
import { expect, test } from "vitest";
import metadata from "../generated/phone-metadata.js";
import { PartnerInvalidInput } from "../src/errors.ts";
import { type CountryCode, isCountry, isE164, parsePhone, toE164 } from "../src/phone.ts";
import { elsewhere, groups } from "./phone-inputs.ts";

function outcome(input: string, defaultCountry?: CountryCode): string | null {
	try {
		return toE164(input, defaultCountry && { defaultCountry });
	} catch (error) {
		if (error instanceof PartnerInvalidInput) return null;
		throw error;
	}
}

const exampleNumbers = getCountries().map((country) => {
	const number = getExampleNumber(country, examples);
	if (number === undefined) throw new Error(`no example number for ${country}`);
	return { country, number };
});

for (const [group, rows] of Object.entries(groups)) {
	test.each(rows)(`${group}: %j is %j`, (input, expected) => {
		expect(outcome(input)).toBe(expected);
	});
}

test.each(elsewhere)("in %s: %j is %j", (country, input, expected) => {
	expect(outcome(input, country)).toBe(expected);
});

test.each(exampleNumbers)(
	"the example number of $country agrees with the reference in every way of writing",
	({ country, number }) => {
		const international = number.formatInternational();
		const ways = [
			number.number,
			international,
			international.replace("+", "00 "),
			number.number.replace("+", "00"),
			international.replaceAll(" ", "-"),
			international.replaceAll(" ", "."),
			international.replaceAll(" ", "\u00a0"),
			international.replace(/^(\+\d+) /, "($1) "),
			international.replace(/^(\+\d+ \d+) /, "$1/"),
		];
		for (const way of ways) expect(outcome(way), way).toBe(reference(way.replace(/^00 ?/, "+"))?.number ?? null);
		const national = number.formatNational();
		expect(outcome(national, country), national).toBe(reference(national, country)?.number ?? null);
	},
);

test.each(exampleNumbers)(
	"a second number or another ending after the one of $country is refused",
	({ country, number }) => {
		const written = [number.formatInternational(), number.number];
		const endings = ["57", "7", number.nationalNumber.slice(-6), number.nationalNumber, number.formatNational()];
		for (const mark of ["/", " / ", " - ", "-", "\n", "\t", ", ", "; ", " & "]) {
			for (const first of written)
				for (const end of endings) expect(outcome(first + mark + end), first + mark + end).toBe(null);
			for (const end of endings) expect(outcome(number.formatNational() + mark + end, country)).toBe(null);
		}
		for (const end of endings.slice(3)) expect(outcome(`${number.formatInternational()} ${end}`)).toBe(null);
	},
);

const separator = fc.constantFrom(
	"",
	"",
	"",
	" ",
	" ",
	".",
	"-",
	"/",
	" - ",
	" / ",
	"\u00a0",
	"(",
	")",
	"\u200e",
	"\n",
);
const digit = fc.constantFrom(..."0123456789");
const scrawl = fc
	.tuple(
		fc.constantFrom("", "", "+", "00", "+32 ", "+32 (0)", "0032 ", "04", "02", "0", "+49 30 ", "+352 ", "+39 0", "(0"),
		fc.array(fc.tuple(digit, separator), { minLength: 3, maxLength: 14 }),
	)
	.map(([start, rest]) => start + rest.flat().join(""));
const anything = fc.oneof(scrawl, fc.string(), fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }));

test("what is accepted stays as it is when read again, and is what isE164 calls E.164", () => {
	fc.assert(
		fc.property(anything, fc.constantFrom<CountryCode>("BE", "NL", "FR", "DE", "IT", "US"), (input, country) => {
			const phone = outcome(input, country);
			expect(isE164(input)).toBe(phone !== null && phone === input);
			expect(parsePhone(input, country) ?? null).toBe(phone);
			if (phone === null) return;
			expect(phone).toMatch(/^\+[1-9]\d{4,14}$/);
			expect(isE164(phone)).toBe(true);
			expect(toE164(phone)).toBe(phone);
		}),
		{ numRuns: 5000 },
	);
});

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

test("no digit is invented, moved or dropped but the prefix and the trunk zero", () => {
	fc.assert(
		fc.property(scrawl, fc.constantFrom<CountryCode>("BE", "NL", "FR", "GB"), (input, country) => {
			const phone = outcome(input, country);
			const number = phone === null ? undefined : reference(phone);
			if (phone === null || number === undefined) return;
			const digits = input.replace(/\D/g, "");
			expect(digits.endsWith(number.nationalNumber)).toBe(true);
			const dropped = digits.slice(0, digits.length - number.nationalNumber.length);
			const code = number.countryCallingCode;
			// Elsewhere the trunk prefix may be another than 0: 1, 8, 06.
			const trunk = code === "32" ? "0?" : "\\d{0,2}";
			expect(dropped).toMatch(new RegExp(`^(?:(?:00)?${code}${trunk}|${trunk})$`));
		}),
		{ numRuns: 20_000 },
	);
});

test("a real number with marks strewn through it is that number or refused, never another one", () => {
	const written = fc
		.tuple(
			fc.constantFrom(...exampleNumbers),
			fc.constantFrom("+", "00"),
			fc.array(separator, { minLength: 18, maxLength: 18 }),
		)
		.map(([{ number }, plus, marks]) => ({
			number: number.number,
			input: plus + [...number.number.slice(1)].map((character, at) => character + marks[at]).join(""),
		}));
	fc.assert(
		fc.property(written, ({ number, input }) => {
			expect([number, null]).toContain(outcome(input));
		}),
		{ numRuns: 5000 },
	);
});

test("the error names the field and never holds the input", () => {
	fc.assert(
		fc.property(anything, (input) => {
			try {
				toE164(input);
			} catch (error) {
				if (!(error instanceof PartnerInvalidInput)) throw error;
				expect(error.message).toMatch(/^phoneNumber: /);
				expect(error.operation).toBe("toE164");
				const digits = input.replace(/\D/g, "");
				if (digits.length > 2) expect(`${error.message} ${JSON.stringify(error)}`).not.toContain(digits);
			}
		}),
		{ numRuns: 2000 },
	);
	expect(() => toE164("secret")).toThrow(/^phoneNumber: (?!.*secret)/);
});

test.each([
	undefined,
	null,
	470123456,
	32470123456n,
	true,
	{},
	[],
	["+32470123456"],
	() => "+32470123456",
	Symbol("+32470123456"),
	new String("+32470123456"),
	Number.NaN,
])("a value that is no string is refused (%#)", (value) => {
	expect(parsePhone(value)).toBe(undefined);
	expect(isE164(value)).toBe(false);
	expect(() => Reflect.apply(toE164, undefined, [value])).toThrow(PartnerInvalidInput);
});

test("a hostile string of a megabyte is refused", () => {
	const size = 1 << 20;
	for (const unit of [
		"0",
		"9",
		"+",
		" ",
		"(",
		")",
		"()",
		"(0)",
		"-",
		"/",
		".",
		"0 ",
		"00",
		"+32",
		"\u200b",
		"\u202e",
		"٠",
		"𝟎",
		"a",
		"\ud800",
		"\n",
		"0470 12 34 56 ",
	]) {
		const hostile = unit.repeat(size / unit.length);
		for (const input of [hostile, `+${hostile}`, `+32470123456${hostile}x`, `${hostile}+`])
			expect(outcome(input)).toBe(null);
	}
});

test("padding is no part of the number, however long", () => {
	expect(outcome(`${" ".repeat(5000)}0470 12 34 56${" ".repeat(5000)}`)).toBe("+32470123456");
});

test("every decimal digit of Unicode is read by its value", () => {
	for (let code = 0; code < 0x11_0000; code++) {
		const character = String.fromCodePoint(code);
		if (!/\p{Nd}/u.test(character)) continue;
		const read = parsePhone(`047012345${character}`)?.at(-1);
		const before = /\p{Nd}/u.test(String.fromCodePoint(code - 1))
			? parsePhone(`047012345${String.fromCodePoint(code - 1)}`)?.at(-1)
			: "9";
		expect(read, code.toString(16)).toBe(String((Number(before) + 1) % 10));
	}
});

test.each(["", "be", "BEL", "32", "XX", "constructor", "__proto__", "toString", "001"])(
	"%j is no country",
	(country) => {
		expect(isCountry(country)).toBe(false);
		expect(Reflect.apply(parsePhone, undefined, ["0470 12 34 56", country])).toBe(undefined);
		expect(() => Reflect.apply(toE164, undefined, ["0470 12 34 56", { defaultCountry: country }])).toThrow(
			/^defaultCountry: /,
		);
	},
);

test("a country is two capital letters that have a numbering plan", () => {
	for (const country of ["BE", "NL", "FR", "DE", "LU", "GB", "US", "XK"]) expect(isCountry(country)).toBe(true);
	for (const value of [undefined, null, 32, {}, ["BE"]]) expect(isCountry(value)).toBe(false);
});

test.each([
	["+32470123456", true],
	["+3225123456", true],
	["+320470123456", false],
	["+32 470123456", false],
	["32470123456", false],
	["0032470123456", false],
	["0470123456", false],
	["+32112", false],
	["+0470123456", false],
	["+999123456789", false],
	["+32470123456\n", false],
	["", false],
])("isE164(%j) is %j", (value, expected) => {
	expect(isE164(value)).toBe(expected);
});

test.for([null, "BE", 5])("options that are no object are refused: %j", (options) => {
	expect(() => toE164("0470123456", options as never)).toThrow("options: must be an object");
});
