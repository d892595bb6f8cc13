// Transactions that a library puts around every statement of a function, by AsyncLocalStorage.
import { createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { DataSource } from "typeorm";
import { addTransactionalDataSource, initializeTransactionalContext, runInTransaction } from "typeorm-transactional";
import { expect, test } from "vitest";
import { postgresStore } from "../../port.ts";
import { usePostgres } from "../server.ts";

const { create } = usePostgres(import.meta.url);
const thought = new Error("thought better of it");

test("typeorm-transactional takes no statement of the store into its transaction", async () => {
	initializeTransactionalContext();
	const source = new DataSource({ type: "postgres", url: await create() });
	await source.initialize();
	const store = postgresStore(source.manager);
	addTransactionalDataSource(source);
	const sandbox = createSandbox();
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Hello");
	const outbox = createOutbox({ client: createClient({ ...sandbox.connection }), store, now: sandbox.clock.now });
	await outbox.migrate();
	const note = { agencyId: sandbox.agency().id, to: anna.phoneNumber, body: "See you at 14:00." };

	const failing = (act: () => Promise<unknown>) =>
		runInTransaction(async () => {
			// The transaction is that of the library.
			await source.query("create table proof (one int)");
			await act();
			throw thought;
		});
	await expect(
		failing(async () => {
			await outbox.enqueue({ ...note, id: "alone" });
			await outbox.runOnce();
		}),
	).rejects.toThrow(thought.message);
	// What was sent is known, although the transaction around it was rolled back.
	expect(anna.inbox()).toHaveLength(1);
	expect(await outbox.status("alone")).toMatchObject({ state: "sent" });

	await expect(failing(() => outbox.enqueue({ ...note, id: "inside" }, { tx: source.manager }))).rejects.toThrow(
		thought.message,
	);
	expect(await outbox.status("inside")).toBeUndefined();
	await runInTransaction(() => outbox.enqueue({ ...note, id: "inside" }, { tx: source.manager }));
	expect(await outbox.status("inside")).toMatchObject({ state: "waiting" });
	await source.destroy();
});
