import { expectTypeOf, test } from "vitest";
import {
	type CountryCode,
	type E164,
	isCountry,
	isE164,
	type PhoneProblem,
	readPhone,
	toE164,
} from "../../src/phone/phone.ts";

test("an E164 is a string, and not every string is an E164", () => {
	expectTypeOf(toE164("0470 12 34 56")).toEqualTypeOf<E164>();
	expectTypeOf<E164>().toExtend<string>();
	expectTypeOf<string>().not.toExtend<E164>();
});

test("isE164 narrows unknown and string", () => {
	const anything = "+32470123456" as unknown;
	if (isE164(anything)) expectTypeOf(anything).toEqualTypeOf<E164>();
	const text: string = "+32470123456";
	if (isE164(text)) expectTypeOf(text).toExtend<E164>();
});

test("the default country is one of the known codes", () => {
	expectTypeOf(toE164).parameter(1).toExtend<{ defaultCountry?: CountryCode | undefined } | undefined>();
	// @ts-expect-error lower case is not a country code
	toE164("06 12 34 56 78", { defaultCountry: "fr" });
	const value = "BE" as unknown;
	if (isCountry(value)) expectTypeOf(value).toEqualTypeOf<CountryCode>();
});

test("a reading has a phone or a reason, never both", () => {
	const { phone, reason } = readPhone("0470 12 34 56", "BE");
	if (phone === undefined) expectTypeOf(reason).toEqualTypeOf<PhoneProblem>();
	else expectTypeOf(phone).toEqualTypeOf<E164>();
});
