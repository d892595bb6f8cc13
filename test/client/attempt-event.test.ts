import { expect, test } from "vitest";
import { defined } from "../../src/client/attempt-event.ts";

test("undefined fields are left out, and other empty values are kept in their order", () => {
	const fields = { zero: 0, absent: undefined, empty: "", nothing: null, no: false };
	expect(Object.entries(defined(fields))).toEqual([
		["zero", 0],
		["empty", ""],
		["nothing", null],
		["no", false],
	]);
});
