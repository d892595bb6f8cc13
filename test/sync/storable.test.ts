/* Texts that databases refuse. */
import { type AgencyClient, createClient } from "messaging-conversations";
import { changes, fingerprintOf, reconcile, watch } from "messaging-conversations/sync";
import { expect, test } from "vitest";
import { openModel } from "./service.ts";

const bad = "a\0b\uD83Dc\uDE00d\0";
const good = "a\uFFFDb\uFFFDc\uFFFDd\uFFFD";

/** An agency whose contact has a name, texts and fields that databases refuse. */
function open(change: (body: Record<string, unknown>) => void = () => {}) {
	const opened = openModel({}, 2);
	const { model, contact } = opened;
	for (const index of [0, 1]) {
		contact(index).name = bad;
		model.write(contact(index), { body: bad, status: bad });
	}
	const fetch: typeof globalThis.fetch = async (input, init) => {
		const response = await model.fetch(input, init);
		const text = await response.text();
		const body = JSON.parse(text);
		change(body);
		return new Response(JSON.stringify(body), { headers: response.headers });
	};
	const connection = { baseUrl: "https://model.invalid/api/v1", apiKey: "model_live.a.b", fetch };
	return createClient(connection).agency(model.agencyId);
}

const entries = {
	changes: (agency: AgencyClient, raw?: boolean) => changes(agency, { since: "beginning", raw }),
	watch: (agency: AgencyClient, raw?: boolean) => watch(agency, { since: "beginning", raw }),
	reconcile: (agency: AgencyClient, raw?: boolean) => reconcile(agency, { stored: [], raw }),
};

async function first(feed: AsyncIterable<object>) {
	for await (const change of feed) return structuredClone(change) as Record<string, never>;
	throw new Error("There is no change.");
}

test.each(Object.entries(entries))("%s delivers texts that every database takes", async (_name, run) => {
	const change = await first(run(open()));
	expect(change).toMatchObject({
		conversation: { summary: { contactName: good } },
		messages: [{ body: good, status: good }],
	});
	expect(JSON.stringify(change)).not.toMatch(/\\u0000|\\ud83d|\\ude00/i);
});

test.each(Object.entries(entries))("%s leaves texts as they are with raw", async (_name, run) => {
	expect(await first(run(open(), true))).toMatchObject({
		conversation: { summary: { contactName: bad } },
		messages: [{ body: bad, status: bad }],
	});
});

test("whole emojis, line breaks and other control characters stay", async () => {
	const text = "Hello 😀👨‍👩‍👧\r\n\t\u0001\uFFFF";
	const opened = openModel({}, 1);
	opened.model.write(opened.contact(0), { body: text });
	const { changes: delivered } = await opened.poll();
	expect(delivered[0]?.messages[0]?.body).toBe(text);
});

test("cursor and phoneNumber stay as they are, and so does everything that is not text", async () => {
	const agency = open((body) => {
		const { conversation } = body as { conversation?: { summary: Record<string, unknown> } };
		if (!conversation) return;
		Object.assign(conversation.summary, { cursor: "c\0" });
		Object.assign(conversation, { more: [null, 1, true, { text: "\0", phoneNumber: "+3247\0" }] });
	});
	expect(await first(changes(agency, { since: "beginning" }))).toMatchObject({
		conversation: { summary: { cursor: "c\0" }, more: [null, 1, true, { text: "\uFFFD", phoneNumber: "+3247\0" }] },
	});
});

test("fields that are nested deeper than the stack do not stop the mirror", async () => {
	const depth = 100_000;
	const agency = open((body) => {
		if (body.conversation) Object.assign(body.conversation, { nested: "HERE" });
	});
	const nested = createClient({
		baseUrl: "https://model.invalid/api/v1",
		apiKey: "model_live.a.b",
		fetch: async (input) => {
			const { data } = { data: String(input) };
			const path = data.includes("/conversations/") ? "get" : "list";
			const row = (await agency.conversations.list().page()).conversations[0];
			if (path === "list") return Response.json({ conversations: [row], nextCursor: null, pageSize: 100 });
			const detail = await agency.conversations.get(row?.phoneNumber ?? "");
			const text = JSON.stringify(detail).replace('"HERE"', "[".repeat(depth) + "]".repeat(depth));
			return new Response(text, { headers: { "content-type": "application/json" } });
		},
	}).agency(agency.id);
	let delivered = 0;
	for await (const _ of changes(nested, { since: "beginning" })) delivered++;
	expect(delivered).toBe(1);
});

test("a fingerprint is the same with raw and without", async () => {
	const [stored] = await Promise.all([first(changes(open(), { since: "beginning" }))]);
	const raw = await first(changes(open(), { since: "beginning", raw: true }));
	expect(fingerprintOf(stored?.conversation as never)).toBe(fingerprintOf(raw.conversation as never));
	const agency = open();
	const rows = await agency.conversations.list().toArray();
	const known = rows.map((row) => ({ phoneNumber: row.phoneNumber, fingerprint: fingerprintOf(row) }));
	for await (const change of reconcile(agency, { stored: known })) expect(change).toBeUndefined();
});

test("a contact with such a text is delivered once, and a quiet poll is one request", async () => {
	const opened = openModel({}, 1);
	opened.contact(0).name = bad;
	opened.model.write(opened.contact(0), { body: bad });
	expect((await opened.poll()).changes).toHaveLength(1);
	expect((await opened.poll()).requests).toEqual(["GET /conversations"]);
});
