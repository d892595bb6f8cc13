import fc from "fast-check";
import examples from "libphonenumber-js/examples.mobile.json";
import reference, { getCountries, getExampleNumber } from "libphonenumber-js/max";
import { expect, test } from "vitest";
import { PartnerInvalidInput } from "../../src/client/errors.ts";
import {
	type CountryCode,
	isCountry,
	isE164,
	type PhoneProblem,
	readPhone,
	readRecipient,
	requirePhone,
	requireRecipient,
	toE164,
} from "../../src/phone/phone.ts";
import { isLong } from "../length.ts";
import { elsewhere, groups } from "./spellings.ts";

function outcome(input: string, defaultCountry?: CountryCode): string | null {
	try {
		return toE164(input, defaultCountry && { defaultCountry });
	} catch (error) {
		// Any other error is a wrong outcome, which a failure shows beside its input.
		return error instanceof PartnerInvalidInput ? null : String(error);
	}
}

const exampleNumbers = getCountries().map((country) => {
	const number = getExampleNumber(country, examples);
	if (number === undefined) throw new Error(`no example number for ${country}`);
	return { country, number };
});

test.each(Object.entries(groups))("%s", (_group, rows) => {
	expect(rows.map(([input]) => [input, outcome(input)])).toEqual(rows);
});

test("outside Belgium, what is written as inside the country", () => {
	expect(elsewhere.map(([country, input]) => [country, input, outcome(input, country)])).toEqual(elsewhere);
});

test("each country's example number agrees with the reference in every way of writing", () => {
	const wrong: unknown[] = [];
	for (const { country, number } of exampleNumbers) {
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
		const check = (written: string, read: string | null, expected: string | null) => {
			if (read !== expected) wrong.push({ country, written, read, expected });
		};
		for (const way of ways) check(way, outcome(way), reference(way.replace(/^00 ?/, "+"))?.number ?? null);
		const national = number.formatNational();
		check(national, outcome(national, country), reference(national, country)?.number ?? null);
	}
	expect(wrong).toEqual([]);
});

test("a second number or another ending after a country's example number is refused", () => {
	const marks = ["/", " / ", " - ", "-", "\n", "\t", ", ", "; ", " & "];
	const accepted: unknown[] = [];
	for (const [index, { country, number }] of exampleNumbers.entries()) {
		const national = number.formatNational();
		const endings = ["57", "7", number.nationalNumber.slice(-6), number.nationalNumber, national];
		const check = (input: string) => {
			const readIn = input.startsWith(national) ? country : undefined;
			if (outcome(input, readIn) !== null) accepted.push({ readIn, input });
		};
		const written = [number.formatInternational(), number.number, national];
		const pairs = written.flatMap((first) => endings.map((end) => [first, end] as const));
		for (const [at, mark] of marks.entries()) {
			// In short, each country meets each mark, and each mark meets each pair in several countries.
			const chosen = isLong ? pairs : pairs.filter((_, pair) => pair === (index + at) % pairs.length);
			for (const [first, end] of chosen) check(first + mark + end);
		}
		for (const end of endings.slice(3)) check(`${number.formatInternational()} ${end}`);
	}
	expect(accepted).toEqual([]);
});

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
const form = /^\+[1-9]\d{6,14}$/;
const digit = fc.constantFrom(..."0123456789");
const scrawl = fc
	.tuple(
		fc.constantFrom("", "", "+", "00", "+32 ", "+32 (0)", "0032 ", "04", "02", "0", "+49 30 ", "+352 ", "+39 0", "(0"),
		fc.array(fc.tuple(digit, separator), { minLength: 3, maxLength: 14 }),
	)
	.map(([start, rest]) => start + rest.flat().join(""));
// fc.string({ unit: "binary" }) takes seconds to list all code points, and leaves out half a pair of surrogates.
const codePoints = fc.array(fc.integer({ min: 0, max: 0x10_ffff })).map((codes) => String.fromCodePoint(...codes));
const anything = fc.oneof(scrawl, fc.string(), codePoints, fc.string({ unit: "grapheme" }));

test("what a send accepts stays as it is when read again, and is what isE164 calls E.164", () => {
	fc.assert(
		fc.property(anything, fc.constantFrom<CountryCode>("BE", "NL", "FR", "DE", "IT", "US"), (input, country) => {
			const phone = outcome(input, country);
			expect(isE164(input)).toBe(phone !== null && phone === input);
			const reading = readRecipient(input, { defaultCountry: country, allowUnlistedNumber: false });
			expect(reading).toEqual(phone === null ? { reason: expect.any(String) } : { phone });
			if (phone === null) return;
			expect(phone).toMatch(form);
			expect(isE164(phone)).toBe(true);
			expect(toE164(phone)).toBe(phone);
		}),
		{ numRuns: isLong ? 5000 : 500 },
	);
});

test("a read accepts all that a send accepts, and E.164 by its form alone", () => {
	fc.assert(
		fc.property(anything, fc.constantFrom<CountryCode>("BE", "NL", "FR", "LU", "DE", "US"), (input, country) => {
			const { phone, reason } = readPhone(input, country);
			expect(reason === undefined).toBe(phone !== undefined);
			const sent = outcome(input, country);
			if (form.test(input)) expect(phone).toBe(input);
			else if (sent !== null && phone !== sent) expect(sent).toBe(outcome(String(phone), country));
			if (phone !== undefined) expect(readPhone(phone, "BE")).toEqual({ phone });
		}),
		{ numRuns: 5000 },
	);
});

const digitsOf = (length: number) =>
	fc.array(digit, { minLength: length - 1, maxLength: length - 1 }).map((digits) => digits.join(""));
const e164 = fc
	.integer({ min: 7, max: 15 })
	.chain((length) => fc.tuple(fc.constantFrom(..."123456789"), digitsOf(length)))
	.map(([first, rest]) => `+${first}${rest}`);

test("a read takes every number in the form of E.164 unchanged", () => {
	fc.assert(
		fc.property(e164, (number) => {
			expect(readPhone(number, "BE")).toEqual({ phone: number });
		}),
		{ numRuns: 2000 },
	);
});

test("a send takes every number in the form of E.164 but invalid ones of the home countries and those with a zero too many", () => {
	fc.assert(
		fc.property(
			fc.oneof(
				e164,
				e164.map((number) => `+32${number.slice(3)}`),
			),
			(number) => {
				const isHome = /^\+(?:32|31|33|352|49)/.test(number);
				const valid = reference(number)?.isValid() === true;
				const phone = outcome(number);
				if (isHome) expect(phone === number).toBe(valid && reference(number)?.number === number);
				else if (phone !== number) expect(phone === null || isE164(phone)).toBe(true);
				// Nothing but a trunk prefix is removed.
				if (phone !== null && phone !== number) expect(number.length - phone.length).toBeLessThanOrEqual(2);
				const allowed = readRecipient(number, { defaultCountry: "BE", allowUnlistedNumber: true });
				expect(allowed.phone).toBe(phone ?? number);
			},
		),
		{ numRuns: 5000 },
	);
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
		{ numRuns: isLong ? 20_000 : 2000 },
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
		{ numRuns: isLong ? 5000 : 500 },
	);
});

const examplesShown = "E.164 (+447700900123) or a Belgian local number (0470 12 34 56)";

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
				// The operation is called toE164, and the message has two numbers as examples.
				const shown = `${error.message} ${JSON.stringify(error)}`
					.replaceAll("toE164", "")
					.replaceAll(examplesShown, "");
				if (digits.length > 2) expect(shown).not.toContain(digits);
			}
		}),
		{ numRuns: isLong ? 2000 : 500 },
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
])("a value that is not a string is refused (%#)", (value) => {
	expect(isE164(value)).toBe(false);
	expect(() => Reflect.apply(toE164, undefined, [value])).toThrow(PartnerInvalidInput);
	const options = { defaultCountry: "BE", allowUnlistedNumber: false } as const;
	expect(() => requireRecipient(value, options, "to", {})).toThrow("to: must be a string");
	expect(() => requirePhone(value, "BE", "phone", {})).toThrow("phone: must be a string");
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

test("padding is not a part of the number, however long", () => {
	expect(outcome(`${" ".repeat(5000)}0470 12 34 56${" ".repeat(5000)}`)).toBe("+32470123456");
});

test.each(["", "be", "BEL", "32", "XX", "constructor", "__proto__", "toString", "001"])(
	"%j is not a country",
	(country) => {
		expect(isCountry(country)).toBe(false);
		expect(() => Reflect.apply(toE164, undefined, ["0470 12 34 56", { defaultCountry: country }])).toThrow(
			/^defaultCountry: must be a two-letter country code/,
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
	["+210123456789", false],
	["+870773111632", true],
	["+5215512345678", true],
	["+3247012345", false],
	["+480512345678", false],
	["+32470123456\n", false],
	["", false],
])("isE164(%j) is %j", (value, expected) => {
	expect(isE164(value)).toBe(expected);
});

test.for([null, "BE", 5])("options that are no object are refused: %j", (options) => {
	expect(() => toE164("0470123456", options as never)).toThrow("options: must be an object");
});

test("an option that toE164 does not know is refused, because the number would be read in another country", () => {
	const options = { country: "FR" } as never;
	expect(() => toE164("0475123456", options)).toThrow(
		"options: must be an object with only defaultCountry and allowUnlistedNumber",
	);
});

const tooLong = "0470 12 34 56 ".repeat(6);
const reasons: readonly (readonly [PhoneProblem, readonly (string | null | undefined)[], CountryCode?])[] = [
	[
		"empty",
		[null, undefined, "", "  ", "\t\r\n", "\u00a0", "\u200b\u200e", "\ufeff", "-", "--", "+", "()", " / ", "."],
	],
	["letters", ["call me 0470123456", "0470123456 call me", "n/a", "Anna", "tel:+32470123456x", "0800-FLOWERS"]],
	["letters", ["+32 470 12 34 56 ext. 5", "+32 470 12 34 56;ext=5", "+32 470 12 34 56 x12", "02 512 34 56 toestel 12"]],
	[
		"letters",
		["O470 12 34 56", "0470 l2 34 56", "0470 12 34 5½", "⓪470123456", "📞 0470 12 34 56", "0470\ud800123456"],
	],
	[
		"letters",
		[
			"0470 12 34 56 of 0471 23 45 67",
			"0470 12 34 56 Anna, 0471 23 45 67",
			`${"0470 ".repeat(5)}Anna${" ".repeat(60)}.`,
		],
	],
	[
		"letters",
		["*101#", "''0470123456", "0470~123456", "[0470] 12 34 56", "4.70123456E8", "470123456.5", "470123456.0."],
	],
	["letters", ["-470123456", "+-32470123456", "++32470123456", "00+32470123456", "+32+470123456", "470,123,456"]],
	["letters", ["(0470 12 34 56", "0470) 12 34 56", "((0470)) 12 34 56", "() 0470 12 34 56", "0470 12 34 56-"]],
	["two-numbers", ["0470 12 34 56 / 0471 12 34 56", "0470123456/0471234567", "0470 12 34 56 - 0471 23 45 67"]],
	[
		"two-numbers",
		[
			"0470 12 34 56, 0471 23 45 67",
			"0470 12 34 56; 02 512 34 56",
			"0470 12 34 56 & 0471 23 45 67",
			"0470 12 34 56|57",
		],
	],
	["two-numbers", ["0470 12 34 56 0471 23 45 67", "0470 12 34 56\n0471 23 45 67", "0470 12 34 56 (0471 23 45 67)"]],
	["two-numbers", ["+32470123456+32471234567", "+32470123456 +32471234567", "+32 470 12 34 56 / +31 6 12345678"]],
	[
		"two-numbers",
		["02 512 34 56 / 57", "02/512.34.56/57", "0470 12 34 56 (2)", "+32 2 512 34 56/7", "+32 81 22 33 44\n5"],
	],
	[
		"two-numbers",
		["+49 30 123456/57", "+49 30 12345 12346", "+49 30 12345 030 12346", "+352 26 12 34-56", "+352 4567/68/69"],
	],
	["too-short", ["112", "100", "1733", "116000", "1", "0", "12 34 56", "512 34 56", "02 512 34 5", "0470 12 34 5"]],
	[
		"too-short",
		["00", "00 ", "+3", "+32", "0032", "+35", "+32112", "0032 112", "+49 112", "+1 212 555 123", "+1 (212) 555"],
	],
	["too-short", ["110"], "DE"],
	["too-short", ["06 1234567", "6 12 34"], "FR"],
	[
		"too-long",
		[
			"0470 12 34 567",
			"+32 470 12 34 567",
			"+33 6 12 34 56 789",
			"+49 12345678901234567",
			"+49 1234567890123456789",
			tooLong,
		],
	],
	["too-long", ["030 12345678", "(212) 555-1234", "01632 960961", "+62 12345678901234567", "4701203456"]],
	["too-long", ["011 32 470 12 34 56", "2125551234567890123"], "US"],
	["unknown-country", ["+999 123 456 789", "+210 123 456 789", "00210123456789", "+999", "+0470123456"]],
	["unknown-country", ["+0032 470 12 34 56", "000 32 470 12 34 56", "00000000000"]],
	[
		"not-valid-here",
		["06 12345678", "020 1234567", "010-1234567", "06 12 34 56 78", "621 123 456", "26 12 34 56", "0241 12345"],
	],
	["not-valid-here", ["04921 12345", "(04921) 12345", "04921/12345", "04551 12345", "04532-12345", "04821 / 1 23 45"]],
	[
		"not-valid-here",
		[
			"328 122 3344",
			"32 8 151 82 88",
			"+39 (0)345 1234567",
			"+86 12000000000000",
			"+861791113812345678",
			"+49 0030123456",
			"+54 11 15 2345-6789",
		],
	],
	["not-valid-here", ["0470 12 34 56", "012 34 56"], "LU"],
	["not-valid-here", ["14020", "800 857 518", "1234567"], "NL"],
	["not-valid-here", ["123456", "17 96 79 79"], "DE"],
];

for (const [index, [reason, inputs, country = "BE"]] of reasons.entries()) {
	test(`no phone number in ${country}, because it is ${reason} (${index})`, () => {
		const expected = inputs.map((input) => [input, { reason }]);
		expect(inputs.map((input) => [input, readPhone(input, country)])).toEqual(expected);
	});
}

test.each([
	["+39 (0)6 6982 1234", "+390669821234"],
	["+39 0 345 1234567", "+3903451234567"],
	["+39 (0345) 1234567", "+3903451234567"],
	["+39 (0 345) 1234567", "+3903451234567"],
	["+39 (3)45 1234567", "+393451234567"],
])("only a zero alone in brackets is ambiguous: %j is %j", (input, expected) => {
	expect(readPhone(input, "BE")).toEqual({ phone: expected });
});

test("a number that is read has no reason", () => {
	expect(readPhone("0470 12 34 56", "BE")).toEqual({ phone: "+32470123456" });
	expect(readPhone("06 12345678", "NL")).toEqual({ phone: "+31612345678" });
});

test.each([
	["+3520621123456", "+3520621123456"],
	["+352 0621 123 456", "+3520621123456"],
	["+320470123456", "+320470123456"],
	["+32 0470 12 34 56", "+32470123456"],
	["+3247012345", "+3247012345"],
	["+32 470 12 34 5", "+3247012345"],
	["+32446123456", "+32446123456"],
	["+5215512345678", "+5215512345678"],
	["whatsapp:+5215512345678", "+5215512345678"],
	["+33692929292", "+33692929292"],
	["0692 92 92 92", null],
	["04 94 78 89 66", null],
	["470123456.0", "+32470123456"],
	["tel:0470123456", "+32470123456"],
])("a read reads %j as %j", (input, expected) => {
	expect(readPhone(input, "BE").phone ?? null).toBe(expected);
	if (expected) expect(requirePhone(input, "BE", "phone", {})).toBe(expected);
	else expect(() => requirePhone(input, "BE", "phone", {})).toThrow("phone: not a phone number: it is ");
});

test.each([
	["+3247012345", "+3247012345"],
	["+32 446 12 34 56", "+32446123456"],
	["+33692929292", "+33692929292"],
	["+4801234", "+4801234"],
	["0470 12 34 56", "+32470123456"],
	// What is wrong whatever the range stays wrong.
	["+352 0621 123 456", "+352621123456"],
	["0470 12 34 5", null],
	["+32 470 12 34 567", null],
	["call me", null],
])("allowUnlistedNumber: %j is %j", (input, expected) => {
	const read = (): string => toE164(input, { allowUnlistedNumber: true });
	if (expected) expect(read()).toBe(expected);
	else expect(read).toThrow(PartnerInvalidInput);
});

test.each(["yes", 1, null, {}])("allowUnlistedNumber must be true or false: %j", (allowUnlistedNumber) => {
	expect(() => Reflect.apply(toE164, undefined, ["0470123456", { allowUnlistedNumber }])).toThrow(
		"allowUnlistedNumber: must be true or false",
	);
	expect(toE164("0470123456", { allowUnlistedNumber: undefined, defaultCountry: undefined })).toBe("+32470123456");
});

const belgian = "Use E.164 (+447700900123) or a Belgian local number (0470 12 34 56).";

test.each([
	["", `is empty. ${belgian}`],
	["call me", `contains letters. ${belgian}`],
	["0470~123456", `contains a character that phone numbers do not have, or has one in the wrong place. ${belgian}`],
	["02 512 34 56 / 57", "contains two numbers, or a number and another ending. Pass one number, without an extension."],
	["112", `is too short. ${belgian}`],
	["0470 12 34 567", `is too long. ${belgian}`],
	[
		"+999 123 456 789",
		`begins with a country code that does not exist. Check its first digits. If the code is new, pass allowUnlistedNumber: true.`,
	],
	["06 12345678", `is not valid in its country, or could be a number in another one. ${belgian}`],
	[
		"+4801234",
		"has a zero after the country code. Check its digits, and remove a zero that is dialled only inside the country.",
	],
	[
		"+3247012345",
		"is not valid in its country. Check its digits. If its range is new, pass allowUnlistedNumber: true.",
	],
])("the error says what is wrong with %j and how to fix it", (input, expected) => {
	const options = { defaultCountry: "BE", allowUnlistedNumber: false } as const;
	expect(() => requireRecipient(input, options, "to", { operation: "messages.send" })).toThrow(
		expect.objectContaining({
			message: `to: not a phone number: it ${expected}`,
			field: "to",
			operation: "messages.send",
		}),
	);
});

test.each([
	["NL", "a Dutch local number (06 12345678)"],
	["FR", "a French local number (06 12 34 56 78)"],
	["LU", "a Luxembourg local number (621 123 456)"],
	["DE", "a German local number (0151 23456789)"],
	["US", "a local number of US"],
] as const)("the error names the local numbers of %s, and toE164 takes its example", (defaultCountry, expected) => {
	expect(() => toE164("call me", { defaultCountry })).toThrow(
		`phoneNumber: not a phone number: it contains letters. Use E.164 (+447700900123) or ${expected}.`,
	);
	const [, example] = /\((.*)\)/.exec(expected) ?? [];
	if (example) expect(isE164(toE164(example, { defaultCountry }))).toBe(true);
});
