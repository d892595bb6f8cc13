import { expect, test } from "vitest";
import { type PhoneText, readPhoneText } from "../../src/phone/spelling.ts";

/** The text in ASCII, with a plus in front if a country code follows. */
function ascii(input: string): string {
	const read = readPhoneText(input);
	return typeof read === "string" ? read : (read.prefix && "+") + read.text;
}

test("a text is read up to its last digit, without the prefix of an international number", () => {
	expect(readPhoneText(" (02) 512.34-56 / 57. ")).toEqual<PhoneText>({
		prefix: "",
		text: "(02) 512.34-56 / 57",
	});
	expect(readPhoneText(" +32 2 512.34-56 / 57. ")).toEqual<PhoneText>({
		prefix: "+",
		text: "32 2 512.34-56 / 57",
	});
});

test.each([
	["+32470123456", "+32470123456"],
	["0032470123456", "+32470123456"],
	["00 32 470", "+ 32 470"],
	["0 0 32 470", "+ 32 470"],
	["(00 32) 470", "+( 32) 470"],
	["(+32) 470", "+(32) 470"],
	["( +32 ) 470", "+( 32 ) 470"],
	["+(32) 470", "+(32) 470"],
	["+ 32 470", "+ 32 470"],
	["00-32-470", "+-32-470"],
	["00/32/470", "+/32/470"],
	["+0032 470", "+0032 470"],
	["000 32 470", "+0 32 470"],
	["0", "0"],
	["0470", "0470"],
	["0 470", "0 470"],
	["( 0470 )", "( 0470"],
])("the prefix of an international number is not a digit: %j is %j", (input, expected) => {
	expect(ascii(input)).toBe(expected);
});

test.each([
	["every kind of space", "1\u00a02\u202f3\u20094\u30005", "1 2 3 4 5"],
	["every kind of line break", "1\t2\n3\r4\u00855\u20286\u20297\u000b8", "1\n2\n3\n4\n5\n6\n7\n8"],
	["every dash", "1-2\u20103\u20114\u20125\u20136\u20147\u22128\ufe639\uff0d0\u20431", "1-2-3-4-5-6-7-8-9-0-1"],
	["dots", "1.2\u00b73\u20244\u20275\u30fb6\uff0e77", "1.2.3.4.5.6.77"],
	["slashes", "1/2\u20443\u22154\uff0f5", "1/2/3/4/5"],
	["brackets", "\uff081\uff09\ufe592\ufe5a3", "(1)(2)3"],
	["a plus", "\uff0b32", "+32"],
	["a small plus", "\ufe6232", "+32"],
	["digits of other scripts", "\u0661\u06f2\u0969\u09ea\uff15\u{1d7d4}\u{1d7df}\u{1d7f8}", "12345672"],
	["invisible characters", "1\u00ad2\u061c3\u180e4\u200b5\u200e6\u202a7\u202c8\u20609\u20690\ufeff1", "12345678901"],
	["a mark that reverses what follows", "+32 470 12\u202e 34 56", "marks"],
	["an embedding from right to left", "+32 470 12\u202b 34 56", "marks"],
	["an isolate from right to left", "+32 470 12\u2067 34 56", "marks"],
	["invisible characters at the ends", "\u200e \u202a1\u202c ", "1"],
])("%s become ASCII", (_, input, expected) => {
	expect(ascii(input)).toBe(expected);
});

test("every decimal digit of Unicode is read by its value", () => {
	const digitAt = (code: number): string => ascii(String.fromCodePoint(code));
	let digits = 0;
	for (let code = 0; code < 0x11_0000; code++) {
		if (!/\p{Nd}/u.test(String.fromCodePoint(code))) continue;
		digits++;
		const before = /\p{Nd}/u.test(String.fromCodePoint(code - 1)) ? digitAt(code - 1) : "9";
		expect(digitAt(code), code.toString(16)).toBe(String((Number(before) + 1) % 10));
	}
	expect(digits).toBeGreaterThan(600);
});

test.each(["12,34", "12;34", "12&34", "12|34", "12+34", "12\uff0c34", "12\uff1b34", "+12 +34", "+12 | 34"])(
	"%j has a character that separates numbers",
	(input) => {
		expect(readPhoneText(input)).toMatchObject({ text: expect.stringMatching(/[+,]/) });
	},
);

test.each(["12 34", "+12 34", "0012 34", "12/34", "12-34", "12\n34", "12 (34) 56"])(
	"%j has no character that separates numbers",
	(input) => {
		expect(readPhoneText(input)).toMatchObject({ text: expect.not.stringMatching(/[+,]/) });
	},
);

test.each([
	["empty", ["", " ", "\n", "\u200b", "-", "+", "()", "+-", " / ", ",", "(", ")("]],
	["too-short", ["00", " 00 ", "0 0", "(00)", "00-"]],
	["letters", ["a", "1a", "x1", "五", "1 ext. 2", "1E+10", "call 1"]],
	["marks", ["1 ½", "1²", "⑤", "Ⅳ", "#1", "*1", "''1", "1'", "~1", "1\u301c2", "1\u30302", "[1]", "_1", "?", "1?"]],
	["marks", ["1\u0000", "1\ud800", "\udc001", "\u{1f4de} 1", "1%", "1\\2", "1=2", "1:2", "@1"]],
	["marks", ["(1", "1)", "((1))", "()1", "1()", "(1)(", ")1(", "1 (2", "(1 (2) 3)", "(-)1"]],
	["marks", ["-1", ".1", "/1", "+-1", "++1", "+/1", "+.1", "00+1", "00,1", ",1", "1-", "1/", "1+", "1,", "1(-)"]],
	["marks", ["12.0", "123.0", "01234.0", "+1234.0", "1234.0.", "(1234.0)", "12\uff0e0", `${"1".repeat(16)}.0`]],
] as const)("%s: %j", (problem, inputs) => {
	for (const input of inputs) expect(ascii(input), JSON.stringify(input)).toBe(problem);
});

test.each([
	["1.", "1"],
	["1. ", "1"],
	["1 ..", "1"],
	["(1)", "(1"],
	["(1).", "(1"],
	["(1)2(3)", "(1)2(3"],
	["12.00", "12.00"],
	["1.2.3-4", "1.2.3-4"],
])("marks that may stand at the end do not count: %j is %j", (input, expected) => {
	expect(ascii(input)).toBe(expected);
});

test.each([
	["1234.0", "1234"],
	["1234,0", "1234"],
	[`${"1".repeat(15)}.0`, "1".repeat(15)],
	["1234.0 ", "1234"],
	["1234.5", "marks"],
	["'1", "1"],
	["' 1", "1"],
	["\u2019+1", "+1"],
	["\ufeff'1", "1"],
	["tel:1", "1"],
	["TEL: +1", "+1"],
	["whatsapp:+1", "+1"],
	["'tel:1234.0", "1234"],
	[`tel:${"1".repeat(64)}`, "1".repeat(64)],
])("what a program adds to a number does not count: %j is %j", (input, expected) => {
	expect(ascii(input)).toBe(expected);
});

test("a text of more than 64 characters is too long, and white space round it does not count", () => {
	expect(ascii("1".repeat(64))).toBe("1".repeat(64));
	expect(ascii("1".repeat(65))).toBe("too-long");
	expect(ascii(`${" ".repeat(5000)}12${"\n".repeat(5000)}`)).toBe("12");
	expect(ascii(`1${" ".repeat(5000)}2`)).toBe("too-long");
	expect(ascii(`call me ${"1".repeat(65)}`)).toBe("letters");
});
