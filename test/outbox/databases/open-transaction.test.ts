// What happens while a transaction of the caller's is open on the connection of the outbox, and before migrate.
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { createOutbox, type Pause, postgresStore, sqliteStore } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { afterEach, expect, test, vi } from "vitest";
import { emptyPglite, newFile } from "./open.ts";

afterEach(() => void vi.useRealTimers());

function open() {
	const sandbox = createSandbox();
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Hello");
	const db = new Libsql(newFile());
	const pauses: Pause[] = [];
	const outbox = createOutbox({
		client: createClient({ ...sandbox.connection }),
		store: sqliteStore(db),
		now: sandbox.clock.now,
		onPaused: (pause) => pauses.push(pause),
	});
	const text = { agencyId: sandbox.agency().id, to: anna.phoneNumber, body: "Hi" };
	return { sandbox, anna, db, outbox, pauses, text };
}

/** Time passes until it is so. What no timer ends, such as a digest, has its turns in between. */
async function until(check: () => boolean): Promise<void> {
	for (let tries = 0; tries < 5_000 && !check(); tries++) await vi.advanceTimersByTimeAsync(100);
}

test("a worker pauses while a transaction of the caller's stays open, and resumes when it has ended", async () => {
	const { anna, db, outbox, pauses, text } = open();
	await outbox.migrate();
	vi.useFakeTimers();
	const stop = new AbortController();
	let hasEnded = false;
	const working = outbox.work({ signal: stop.signal }).finally(() => {
		hasEnded = true;
	});
	await vi.advanceTimersByTimeAsync(2_000);
	db.exec("begin");
	await outbox.enqueue({ ...text, id: "a" }, { tx: db });
	await until(() => pauses.length > 0);
	expect(pauses).toMatchObject([{ reason: "database", databaseError: { code: "SQLITE_BUSY" } }]);
	db.exec("commit");
	await until(() => anna.inbox().length > 0);
	expect(anna.inbox().map(({ body }) => body)).toEqual(["Hi"]);
	stop.abort();
	await until(() => hasEnded);
	await working;
});

test("enqueue without tx inside a transaction says how to pass it, and stores nothing", async () => {
	const { db, outbox, text } = open();
	await outbox.migrate();
	vi.useFakeTimers();
	db.exec("begin");
	const refused = expect(outbox.enqueue({ ...text, id: "a" })).rejects.toThrow("enqueue(text, { tx })");
	await vi.advanceTimersByTimeAsync(11_000);
	await refused;
	db.exec("commit");
	expect(await outbox.status("a")).toBeUndefined();
});

test.each([
	["SQLite", async () => sqliteStore(new Libsql(newFile()))],
	["PostgreSQL", async () => postgresStore(await emptyPglite())],
])("what needs the tables before migrate names it on %s", async (_, openStore) => {
	const { sandbox, text } = open();
	const outbox = createOutbox({ client: createClient({ ...sandbox.connection }), store: await openStore() });
	for (const act of [() => outbox.enqueue({ ...text, id: "a" }), () => outbox.runOnce(), () => outbox.work()])
		await expect(act()).rejects.toThrow("call outbox.migrate() first");
	await outbox.migrate();
	await outbox.enqueue({ ...text, id: "a" });
});

test("a table without one of its columns names it too", async () => {
	const { db, outbox, text } = open();
	await outbox.migrate();
	db.exec("alter table outbox_texts drop column not_before");
	await expect(outbox.enqueue({ ...text, id: "a" })).rejects.toThrow("call outbox.migrate() first");
});
