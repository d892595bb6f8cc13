import { createHash } from "node:crypto";
import { operationIdFrom } from "messaging-conversations";
import { expect, test } from "vitest";
import { createReuseGuard } from "../../src/client/operation-id.ts";
import { failure, wrong } from "../calls.ts";

/** The same id by other means: the first 16 bytes of a SHA-256 over the JSON of the parts, as a UUID of version 8. */
function independently(parts: string[]): string {
	const hash = createHash("sha256").update(JSON.stringify(parts), "utf8").digest().subarray(0, 16);
	hash.writeUInt8((hash.readUInt8(6) % 16) + 0x80, 6);
	hash.writeUInt8((hash.readUInt8(8) % 64) + 0x80, 8);
	const hex = hash.toString("hex");
	return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

// Pinned: an id that a caller has persisted the parts of must stay the same for ever.
const pinned: [string[], string][] = [
	[["crm", "note-1"], "7c1eaf33-5f63-8d4a-9092-59b8c711ade6"],
	[["crm", "note-2"], "e6556437-b2fd-8b5b-81ad-7128f18f93a9"],
	[["a", "bc"], "42a6f3f4-4be0-8af2-bc93-6b1547dd5e41"],
	[["ab", "c"], "82582501-8f58-8795-ae2d-3d8df6a87956"],
	[["abc"], "02f393ea-9358-8608-82c1-fe797bf99d60"],
	[["é😀", "\u0000"], "171c3e58-4194-8c8e-a8db-5bea254b5a26"],
];

test.for(pinned)("operationIdFrom(%j) is %s, today and for ever", async ([parts, id]) => {
	expect(independently(parts)).toBe(id);
	await expect(operationIdFrom(...parts)).resolves.toBe(id);
	await expect(operationIdFrom(...parts)).resolves.toBe(id);
});

test("operationIdFrom gives a UUID", async () => {
	for (let index = 0; index < 200; index++) {
		expect(await operationIdFrom("crm", `${index}`)).toMatch(
			/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
		);
	}
});

test('("a", "bc"), ("ab", "c"), ("abc") and ("a", "b", "c") are four sends', async () => {
	const all = [["a", "bc"], ["ab", "c"], ["abc"], ["a", "b", "c"], ["a,bc"], ['a","bc'], ["bc", "a"]];
	const ids = await Promise.all(all.map((parts) => operationIdFrom(...parts)));
	expect(new Set(ids).size).toBe(all.length);
});

const notEmpty = "parts[1]: must be a string that is not empty";

test.for([
	["nothing", [], "parts: must have at least one, such as the id of a record"],
	["undefined, as of a note that was never stored", ["crm", undefined], notEmpty],
	["null", ["crm", null], notEmpty],
	["a number", ["crm", 5], notEmpty],
	["an empty part", ["crm", ""], notEmpty],
	["an empty first part", ["", "note-1"], "parts[0]: must be a string that is not empty"],
] as [string, unknown[], string][])(
	"operationIdFrom of %s is PartnerInvalidInput: two sends would share an id",
	async ([, parts, message]) => {
		const error = await failure(() => operationIdFrom(...parts.map(wrong)));
		expect(error).toMatchObject({ _tag: "PartnerInvalidInput", operation: "operationIdFrom", attempts: 0, message });
	},
);

test("the reuse guard remembers the last thousand ids, however many went before", () => {
	const claim = createReuseGuard();
	for (let index = 0; index < 3500; index++) claim("agy_1", `id-${index}`, "text");
	for (let index = 2500; index < 3500; index++) expect(claim("agy_1", `id-${index}`, "another")).toBeUndefined();
	expect(claim("agy_1", "id-1", "another")).toBeTypeOf("function");
});

test("a claim that is given up leaves its id free, unless the id was claimed before", () => {
	const claim = createReuseGuard();
	claim("agy_1", "one", "text")?.();
	expect(claim("agy_1", "one", "another")).toBeTypeOf("function");
	claim("agy_1", "one", "another")?.();
	expect(claim("agy_1", "one", "text")).toBeUndefined();
});

test("a claim that is given up leaves the same id of a later send claimed", () => {
	const claim = createReuseGuard();
	const release = claim("agy_1", "one", "text");
	claim("agy_1", "one", "text");
	release?.();
	expect(claim("agy_1", "one", "another")).toBeUndefined();
});

test("an id that is sent again stays remembered", () => {
	const claim = createReuseGuard();
	for (let index = 0; index < 3500; index++) {
		claim("agy_1", `id-${index}`, "text");
		if (index % 500 === 0) claim("agy_1", "one", "text");
	}
	expect(claim("agy_1", "one", "another")).toBeUndefined();
});

test("an id is remembered by agency", () => {
	const claim = createReuseGuard();
	claim("agy_1", "one", "text");
	expect(claim("agy_2", "one", "another")).toBeTypeOf("function");
	expect(claim("agy_1", "one", "another")).toBeUndefined();
});

test("bodies that differ in one character or in their order are distinguished", () => {
	const bodies = ["text", "texu", "Text", "txet", "text ", " text", "", "text\0", "t\u0065\u0301xt", "t\u00e9xt"];
	for (const body of bodies) {
		const claim = createReuseGuard();
		claim("agy_1", "one", body);
		for (const other of bodies) {
			const expected = other === body ? "function" : "undefined";
			expect(typeof claim("agy_1", "one", other), `${body} then ${other}`).toBe(expected);
		}
	}
});
