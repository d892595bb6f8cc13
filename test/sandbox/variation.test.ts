import { expect, test } from "vitest";
import { shapes } from "../../generated/shapes.ts";
import { isRecord } from "./contract.ts";
import {
	ANNA,
	type Answer,
	type Box,
	BRAM,
	CARL,
	type EntryPoint,
	get,
	lengthThrough,
	list,
	listAll,
	lookup,
	me,
	messages,
	present,
	send,
	throughEachEntryPoint,
	walkMessages,
} from "./entry-points.ts";

const seeds = [1, 2, 3, 4, 5, 6, 7, 8];

/** What a caller must not lean on, as it was seen to differ. */
type Difference =
	| "extra field"
	| "unknown value"
	| "timestamp"
	| "empty media"
	| "scope order"
	| "key order"
	| "cursor length"
	| "accepted for queued";

/**
 * The body without what a caller must not rely on. What is left must be the same under every variation. A value that the
 * contract does not know is replaced by the one of `usual`.
 */
function plain(value: unknown, shape: string, differences: Set<Difference>, usual: unknown = value): unknown {
	if (Array.isArray(value)) {
		return value.map((each, index) => plain(each, shape, differences, Array.isArray(usual) ? usual[index] : undefined));
	}
	if (!isRecord(value)) return value;
	const fields = new Map(Object.entries(shapes[shape] ?? {}));
	const known = [...fields.keys()].filter((name) => name in value);
	const came = Object.keys(value);
	if (came.length > known.length) differences.add("extra field");
	if (came.filter((name) => fields.has(name)).join() !== known.join()) differences.add("key order");
	return Object.fromEntries(
		known.map((name) => {
			const held = value[name];
			const before = isRecord(usual) ? usual[name] : undefined;
			const field = fields.get(name) ?? {};
			if (name === "scopes" && Array.isArray(held)) {
				if (held[0] === "messages:write" && held.length > 1) differences.add("scope order");
				return [name, [...held].filter((scope) => field.known?.includes(scope)).sort()];
			}
			if (name === "status" && shape === "SendMessageResult" && held === "accepted" && before === "queued") {
				differences.add("accepted for queued");
				return [name, before];
			}
			if (name === "media" && Array.isArray(held) && held.length === 0) {
				differences.add("empty media");
				return [name, null];
			}
			if (/^(cursor|nextCursor)$/.test(name)) return [name, held === null ? null : "cursor"];
			if (typeof held === "string" && field.known && !field.known.includes(held)) {
				differences.add("unknown value");
				return [name, before];
			}
			if (typeof held === "string" && /(At|_at)$/.test(name)) {
				if (!/\.\d{3}Z$/.test(held)) differences.add("timestamp");
				return [name, Math.floor(Date.parse(held) / 1000)];
			}
			return [name, field.shape ? plain(held, field.shape, differences, before) : held];
		}),
	);
}

/** An episode with something of everything; the answers, each with the schema it is written by. */
async function episode(box: Box): Promise<[string, Answer][]> {
	const anna = box.agency.contact(ANNA, { name: "Anna" });
	const reported: [string, Answer][] = [];
	anna.writes("Hello");
	anna.writes({ media: [{ url: "https://files.invalid/1.jpg", contentType: "image/jpeg" }] });
	box.agency.startFlow(anna);
	const sent = await send(box, { to: ANNA, body: "Hi", operationId: "a" });
	box.sandbox.message(String(sent.ok().messageId)).delivered();
	reported.push(["SendMessageResult", sent]);
	reported.push(["SendMessageResult", await send(box, { to: ANNA, body: "Hi", operationId: "a" })]);
	reported.push(["SendMessageResult", await send(box, { to: BRAM, body: "Held" })]);
	reported.push(["SendMessageResult", await send(box, { to: ANNA, body: "2026-01-05T09:00:00.000Z" })]);
	box.sandbox.clock.advance({ hours: 25, ms: 123 });
	box.agency.contact(CARL).writes("Hello");
	anna.writes({ body: "Fine", replyTo: String(sent.ok().messageId) });
	reported.push(["Me", await me(box)]);
	reported.push(["ConversationPage", await list(box)]);
	reported.push(["ConversationPage", await list(box, { pageSize: 1 })]);
	reported.push(["LookupResponse", await lookup(box, [ANNA, "abc", BRAM])]);
	reported.push(["ConversationWithMessages", await get(box, ANNA)]);
	reported.push(["ConversationWithMessages", await get(box, BRAM)]);
	reported.push(["MessagePage", await messages(box, ANNA, { pageSize: 2 })]);
	return reported;
}

async function bodies(open: EntryPoint["open"], variation: number | undefined) {
	const box = await open(variation === undefined ? {} : { variation, check: "variation" });
	const reported = await episode(box);
	const lengths = (await listAll(box, { pageSize: 1 })).map((row) => row.cursor?.length ?? 0);
	await box.close();
	return {
		schemas: reported.map(([schema]) => schema),
		texts: reported.map(([, answer]) => answer.text),
		lengths: lengths.join(),
	};
}

throughEachEntryPoint((open, entryPoint) => {
	const some = lengthThrough(entryPoint, seeds, seeds.slice(0, 2));

	test("variation varies what a caller must not lean on, and nothing else", async () => {
		const usual = await bodies(open, undefined);
		const differences = new Set<Difference>();
		for (const variation of seeds) {
			const reported = await bodies(open, variation);
			for (const [index, schema] of usual.schemas.entries()) {
				const before: unknown = JSON.parse(present(usual.texts[index]));
				const now = plain(JSON.parse(present(reported.texts[index])), schema, differences, before);
				expect(now, `variation ${variation}, ${schema}`).toEqual(plain(before, schema, new Set()));
			}
			if (reported.lengths !== usual.lengths) differences.add("cursor length");
		}
		expect([...differences].sort()).toEqual([
			"accepted for queued",
			"cursor length",
			"empty media",
			"extra field",
			"key order",
			"scope order",
			"timestamp",
			"unknown value",
		]);
	});

	test("variation is the same for the same value", async () => {
		const twice = [await bodies(open, 3), await bodies(open, 3)];
		expect(twice[0]?.texts).toEqual(twice[1]?.texts);
		expect((await bodies(open, 4)).texts).not.toEqual(twice[0]?.texts);
	});

	test("variation leaves refusals as the contract closes them", async () => {
		for (const variation of some) {
			const box = await open({ variation, check: "variation" });
			const refusals = [await me(box, { key: null }), await list(box, { pageSize: 0 }), await get(box, ANNA)];
			for (const answer of refusals) expect(Object.keys(JSON.parse(answer.text)).sort()).toEqual(["_tag", "message"]);
			await box.close();
		}
	});

	test("variation keeps iterations whole", async () => {
		for (const variation of some) {
			const box = await open({ variation, check: "variation" });
			const anna = box.agency.contact(ANNA);
			for (let index = 0; index < 7; index += 1) {
				box.sandbox.clock.advance({ ms: 10 });
				anna.writes(`Text ${index}`);
				box.agency.contact(`+4477009002${index}0`).writes("Hello");
			}
			expect(new Set((await listAll(box, { pageSize: 3 })).map((row) => row.phoneNumber)).size).toBe(8);
			expect((await walkMessages(box, ANNA, { pageSize: 3 })).map((row) => row.body)).toEqual(
				[6, 5, 4, 3, 2, 1, 0].map((index) => `Text ${index}`),
			);
			await box.close();
		}
	});
});
