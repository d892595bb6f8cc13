import type { EnqueuedText, Outbox, Transaction } from "messaging-conversations/outbox";
import { expect } from "vitest";
import type { OutboxStore } from "../port.ts";

/** A text in a database, and how its library runs a transaction. */
interface Opened {
	outbox: Outbox;
	store: OutboxStore;
	note: EnqueuedText;
	transaction: (act: (tx: Transaction) => Promise<void>) => Promise<unknown>;
}

/** Expects that a transaction that was committed or rolled back is refused, and that nothing is written through it. */
export async function refusesEnded({ outbox, store, note, transaction }: Opened): Promise<void> {
	await outbox.enqueue(note);
	await outbox.cancel("a");
	await outbox.enqueue({ ...note, id: "waiting" });
	const changes = await outbox.settled();
	let ended: Transaction | undefined;
	await transaction(async (tx) => void (ended = tx));
	for (const how of ["committed", "rolled back"]) {
		await expect(outbox.enqueue({ ...note, id: how }, { tx: ended })).rejects.toThrow();
		expect(await store.find(how)).toBeUndefined();
		await expect(outbox.enqueueMany([{ ...note, id: how }], { tx: ended })).rejects.toThrow();
		await expect(outbox.enqueue({ ...note, id: how, supersedes: "waiting" }, { tx: ended })).rejects.toThrow();
		await expect(outbox.cancel("waiting", { tx: ended })).rejects.toThrow();
		expect(await store.find(how)).toBeUndefined();
		expect((await store.find("waiting"))?.state).toBe("waiting");
		await expect(outbox.acknowledge(changes, { tx: ended })).rejects.toThrow();
		expect(await outbox.settled()).toEqual(changes);
		await transaction(async (tx) => {
			ended = tx;
			throw new Error("thought better of it");
		}).catch(() => {});
	}
}
