/* What the change feed believes of something that answers in place of the service: nothing. */
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { changes, fingerprintOf, reconcile } from "messaging-conversations/sync";
import { expect, test } from "vitest";

const statuses = [400, 401, 403, 404, 408, 410, 421, 429, 451, 499, 502, 503];

test.for(statuses)(
	"a page with %d in place of a conversation loses no message and delivers none twice",
	async (status) => {
		const sandbox = createSandbox();
		const agency = createClient({ ...sandbox.connection, retry: { baseDelayMs: 1 } }).agency(sandbox.agency().id);
		const [anna, bob] = ["+447700900101", "+447700900102"].map((phone) => sandbox.agency().contact(phone));
		anna?.writes("old");
		bob?.writes("old");
		let since = "beginning";
		const delivered: (string | null)[] = [];
		const poll = async (): Promise<void> => {
			const feed = changes(agency, { since });
			try {
				for await (const { messages } of feed) delivered.push(...messages.map(({ body }) => body));
			} catch {
				// A poll that fails is repeated from its checkpoint.
			}
			since = feed.checkpoint;
		};
		await poll();
		delivered.length = 0;
		sandbox.clock.advance({ minutes: 10 });
		anna?.writes("I want to visit at 14:00");
		sandbox.clock.advance({ minutes: 5 });
		bob?.writes("Hello");
		sandbox.faults.add({ operation: "conversations.get", times: 4, effect: { kind: "html", status } });
		for (let minute = 0; minute < 15; minute++) {
			await poll();
			sandbox.clock.advance({ minutes: 1 });
		}
		expect([...delivered].sort()).toEqual(["Hello", "I want to visit at 14:00"]);
	},
);

test.for(statuses)("a page with %d does not make reconcile report a deletion", async (status) => {
	const sandbox = createSandbox();
	const agency = createClient({ ...sandbox.connection, retry: { baseDelayMs: 1 } }).agency(sandbox.agency().id);
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("one");
	const { conversation } = await agency.conversations.get(anna.phoneNumber);
	const stored = [{ phoneNumber: anna.phoneNumber, fingerprint: fingerprintOf(conversation) }];
	anna.writes("two");
	sandbox.faults.add({ operation: "conversations.get", times: 1000, effect: { kind: "html", status } });
	const deleted: string[] = [];
	const run = async (): Promise<void> => {
		for await (const found of reconcile(agency, { stored }))
			if (found.conversation === null) deleted.push(found.phoneNumber);
	};
	await run().catch(() => {});
	expect(deleted).toEqual([]);
});
