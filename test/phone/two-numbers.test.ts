import { expect, test } from "vitest";
import { planOf } from "../../src/phone/plan.ts";
import { readPhoneText } from "../../src/phone/spelling.ts";
import { isOneNumber } from "../../src/phone/two-numbers.ts";

/** Of a number written as inside its country, without trunk zero. */
function isOne(code: string, written: string): boolean {
	const plan = planOf(code);
	const read = readPhoneText(written);
	if (plan === undefined || typeof read === "string") throw new Error(`cannot read ${written} in ${code}`);
	return isOneNumber(read.text.replace(/\D/g, ""), read.text, plan);
}

test.each([
	// What is before the mark has no possible length.
	["32", "470/12.34.56"],
	["32", "470 - 12 - 34 - 56"],
	["33", "6/12/34/56/78"],
	["32", "2 512 34 56"],
	["34", "111/11/11/11"],
	// It is an area code: four digits are a possible length in Germany.
	["49", "30/123456"],
	["49", "1512-3456789"],
	["49", "39771/12345"],
	["54", "9 (11) 2345-6789"],
	// It is possible, but valid only with what follows.
	["375", "29 491-19-11"],
	["61", "412/345/678"],
	["39", "333-123-4567"],
	// Dashes separate all groups.
	["49", "30-1234-5678"],
	["49", "30 - 1234 - 5678"],
	["352", "26-12-34-56"],
	["49", "30123-45-67"],
	// A German direct dial.
	["49", "911 1234-0"],
	["49", "(911) 1234 - 0"],
	["49", "30 12345678-0"],
	["49", "911 1234-12"],
	["49", "911 1234-33"],
	["49", "911 1234-44"],
	["49", "911 12 34-12"],
	["49", "911 1.234-0"],
	["49", "911 12345-1234"],
	["49", "9111 123-4567"],
	// A Polish landline.
	["48", "22 123-45-67"],
	["48", "(22) 123-45-67"],
	["48", "22/123 - 45 - 67"],
	// Spaces and dots do not separate numbers.
	["352", "26 12 34 56"],
	["352", "26.12.34.56"],
	["49", "30 1234 56"],
	["43", "6647 3084 39439"],
	["43", "66473 0843 9439"],
	["49", "30 12345 1234"],
	["49", "30 1234 12345"],
	["352", "26  12 34 56"],
	["49", "30 123456  57"],
	// A zero at the beginning of a group, which is not a valid number.
	["98", "912 345 0678"],
	["352", "31 66 93 0354"],
])("in +%s one number: %j", (code, written) => {
	expect(isOne(code, written)).toBe(true);
});

test.each([
	["49", "30 123456/57"],
	["49", "30 123456 / 57"],
	["49", "30 123456\n57"],
	["49", "30 123456..57"],
	["49", "30 123456-78"],
	["49", "30-123456-78"],
	["49", "301234/56"],
	["43", "1 2345/67"],
	["352", "26 12 34-56"],
	["352", "4567/68"],
	["352", "4567-68"],
	["352", "4567/68/69"],
	["352", "26-12-34-5"],
	["352", "26-12-345-67"],
	["49", "301234-56-78"],
	["352", "26--12-34-56"],
	["352", "26-12-34--56"],
	["49", "30-1234-56789"],
	["49", "30 1234-56-78"],
	// A direct dial only if no second number is written like that.
	["49", "30 123456789-0"],
	["49", "911 123456-12"],
	["49", "911 1234-35"],
	["49", "911 1234-43"],
	["49", "911 1234-5"],
	["49", "911 1234-0-1"],
	["49", "911 1234/0"],
	["49", "911 12/34-0"],
	["49", "9111234-0"],
	["43", "1 23456-0"],
	["352", "26 12 34-0"],
	// The whole is not valid.
	["49", "911 12345678-00000"],
	["48", "02 123-45-67"],
	["48", "22 123-45-6"],
	["48", "22 123-45/67"],
	["48", "22 123-45-67-89"],
	["49", "22 123-45-67"],
	// Two long groups.
	["49", "30 12345 12346"],
	// The second one has its trunk zero.
	["49", "30 12345 030 12346"],
	["39", "06 6982 06 6983"],
	// A bracket after the beginning.
	["32", "470 12 34 5(6)"],
	["32", "2 512 34 56 (7)"],
	["49", "30 (1234) 56"],
	["34", "612 (345) 678"],
	// No part is a valid number, so length decides.
	["352", "000000/00"],
])("in +%s perhaps two numbers: %j", (code, written) => {
	expect(isOne(code, written)).toBe(false);
});
