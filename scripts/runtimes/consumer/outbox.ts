// A durable send, from the note to the contact's eyes, where the runtime has a database.
import { type AgencyClient, type Client, PartnerInvalidInput } from "messaging-conversations";
import { checkDelivery, createOutbox, type DatabaseStore, isOptIn, isOptOut } from "messaging-conversations/outbox";
import { check } from "./check.ts";
import type { Controls } from "./exercise.ts";

interface Parts {
	client: Client;
	agency: AgencyClient;
	store: DatabaseStore;
	controls: Controls;
}

/** What the outbox needs of a runtime without a database. */
export function tryOptOuts(client: Client): void {
	// Regular expressions of each runtime's own engine.
	check(
		"who asks to stop is known",
		isOptOut("ＳＴＯＰ!") && isOptOut("Arre\u0302tez de m’e\u0301crire") && !isOptOut("Stop by at 5?"),
	);
	check("and who wants texts again", isOptIn("Start, please") && !isOptIn("STOP"));
	let refused: unknown;
	try {
		createOutbox({ client, store: Object({ "~outbox": "mine" }) });
	} catch (error) {
		refused = error;
	}
	check("what is no store is refused", refused instanceof PartnerInvalidInput && refused.field === "store");
}

/** `phone` has written a moment ago. Throws where a text is lost, sent twice, or its status is wrong. */
export async function tryOutbox({ client, agency, store, controls }: Parts, phone: string): Promise<void> {
	const since = await controls.now();
	const settled: string[] = [];
	const outbox = createOutbox({ client, store, now: () => since, onSettled: ({ state }) => settled.push(state) });
	await outbox.migrate();
	await outbox.migrate();
	const text = { id: "note-1", agencyId: agency.id, to: phone, body: "Sent from a row 🏠" };
	const clicks = await Promise.all([outbox.enqueue(text), outbox.enqueue(text)]);
	check(
		"a double click is one text that waits",
		clicks.every(({ state }) => state === "waiting"),
	);
	await outbox.runOnce();
	const status = await outbox.status("note-1");
	check("it is sent", status?.state === "sent" && status.attempts === 1 && status.messageId !== null);
	const inbox = await controls.inbox(phone);
	check("and the phone got it once", inbox.filter((body) => body === text.body).length === 1);
	const asked = { ...text, since, messageId: status?.messageId };
	check("its delivery says so", (await checkDelivery(agency, asked, { now: () => since })).status === "sent");

	await controls.reads(phone);
	check("and that it was read", (await checkDelivery(agency, asked, { now: () => since })).status === "read");
	const { conversation, messagePage } = await agency.conversations.get(phone);
	await outbox.observe({ agencyId: agency.id, conversation, messages: messagePage.messages });
	check("the outbox knows it too", (await outbox.status("note-1"))?.state === "read" && settled.join() === "sent,read");

	await outbox.enqueue({ ...text, id: "note-2" });
	check("what waits is cancelled", (await outbox.cancel("note-2")) && !(await outbox.cancel("note-1")));
	check("what is finished is purged", (await outbox.purge({ before: Number(since) + 1 })) === 2);
	check("and is gone", (await outbox.status("note-1")) === undefined);
}
