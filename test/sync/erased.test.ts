/* What remains of an erased contact in a checkpoint, and messages whose conversation has no time. */
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { changes } from "messaging-conversations/sync";
import { expect, test } from "vitest";
import { messagesOf, minutes, openModel } from "./service.ts";

test.each([
	["delivered", 0],
	["that could not be read", 60],
])(
	"the number of a contact %s leaves the checkpoint at the next poll once it is skipped",
	async (_name, unreadable) => {
		const opened = openModel({}, 3);
		for (const index of [0, 1, 2]) opened.model.write(opened.contact(index), { direction: "outbound" });
		opened.contact(1).unreadableUntil = opened.model.now + minutes(unreadable);
		const erased = opened.contact(1).phoneNumber;
		await opened.poll({ statuses: true });
		expect(opened.since).toContain(erased);
		const skip = (phoneNumber: string) => phoneNumber === erased;
		expect((await opened.poll({ statuses: true, skip })).changes).toEqual([]);
		expect(opened.since).not.toContain(erased.slice(1));
		opened.model.write(opened.contact(1));
		expect((await opened.poll({ statuses: true, skip })).changes).toEqual([]);
		expect(opened.since).not.toContain(erased.slice(1));
		// What was skipped counts as delivered.
		opened.contact(1).unreadableUntil = 0;
		opened.model.advance(minutes(1));
		opened.model.write(opened.contact(1));
		expect(messagesOf(opened, await opened.poll())).toEqual([[1, ["4"]]]);
	},
);

test("a loop that is left in a scan, whose later contact is erased, keeps no number of theirs", async () => {
	const opened = openModel({}, 3);
	for (const index of [0, 1, 2]) {
		opened.model.write(opened.contact(index));
		opened.model.advance(1_000);
	}
	await opened.pollUpTo(0);
	const erased = opened.contact(2).phoneNumber;
	expect(opened.since).toContain(erased);
	const skip = (phoneNumber: string) => phoneNumber === erased;
	const { changes: rest } = await opened.poll({ skip });
	expect(rest.map(({ phoneNumber }) => phoneNumber)).not.toContain(erased);
	expect(opened.since).not.toContain(erased.slice(1));
});

test.each(["beginning", "now"])(
	"a newest message without a time comes once, when its row has changed: from %s",
	async (since) => {
		const sandbox = createSandbox();
		const { fetch, ...connection } = sandbox.connection;
		const [anna, bob] = ["+447700900101", "+447700900102"].map((phone) => sandbox.agency().contact(phone));
		/** Takes the times of Anna's conversation out of an answer. */
		const untimed = (
			_name: string,
			part: { lastMessageAt?: unknown; messageSid?: unknown; phoneNumber?: string; body?: unknown },
		) => {
			if (part?.phoneNumber === anna?.phoneNumber && part && "lastMessageAt" in part)
				return { ...part, lastMessageAt: null };
			if (part?.messageSid && /^undated/.test(`${part.body}`)) return { ...part, createdAt: null };
			return part;
		};
		const client = createClient({
			...connection,
			async fetch(url, init) {
				const response = await fetch(url, init);
				const { status, headers } = response;
				return new Response(JSON.stringify(JSON.parse(await response.text(), untimed)), {
					status,
					headers: new Headers([...headers]),
				});
			},
		});
		const agency = client.agency(sandbox.agency().id);
		let checkpoint = since;
		const poll = async (): Promise<(string | null)[]> => {
			const bodies: (string | null)[] = [];
			const feed = changes(agency, { since: checkpoint });
			for await (const { messages } of feed) bodies.push(...messages.map(({ body }) => body));
			checkpoint = feed.checkpoint;
			return bodies;
		};
		anna?.writes("undated 1");
		bob?.writes("dated");
		expect((await poll()).sort()).toEqual(since === "now" ? [] : ["dated", "undated 1"]);
		expect(await poll()).toEqual([]);
		for (let hour = 2; hour < 5; hour++) {
			sandbox.clock.advance({ hours: 1 });
			anna?.writes(`undated ${hour}`);
			expect(await poll()).toEqual([`undated ${hour}`]);
			expect(await poll()).toEqual([]);
		}
	},
);
