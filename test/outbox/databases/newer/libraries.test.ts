// The transaction that people already have, on SQLite: each library with commit, rollback and a double enqueue.
import Database from "better-sqlite3";
import { drizzle } from "drizzle-orm/better-sqlite3";
import { createClient } from "messaging-conversations";
import { createOutbox, type EnqueuedText, type Transaction } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { describe, expect, test } from "vitest";
import { sqliteStore } from "../../port.ts";
import { newText } from "../../store-suite.ts";
import { newFile } from "../open.ts";
import { prove } from "../transactions/prove.ts";
import { sqliteLibraries } from "./libraries.ts";

describe.each(sqliteLibraries)("%s", (_, open) => {
	async function create() {
		const library = await open();
		const sandbox = createSandbox();
		const anna = sandbox.agency().contact("+447700900101");
		anna.writes("Hello");
		const store = sqliteStore(library.db);
		const outbox = createOutbox({ client: createClient({ ...sandbox.connection }), store, now: sandbox.clock.now });
		await outbox.migrate();
		const note = { id: "a", agencyId: sandbox.agency().id, to: anna.phoneNumber, body: "Één '?' \\? $1 :name" };
		return { ...library, outbox, store, anna, note };
	}

	test("a text is committed with the transaction, once, or rolled back with it", async () => {
		const { outbox, transaction, note, store, anna } = await create();
		await transaction((tx) => outbox.enqueue(note, { tx }));
		const stored = await store.find("a");
		expect(stored).toMatchObject({ ...note, state: "waiting" });
		await transaction((tx) => outbox.enqueue(note, { tx }));
		await expect(
			transaction((tx) => outbox.enqueue({ ...note, id: "b" }, { tx }), new Error("thought better of it")),
		).rejects.toThrow("thought better");
		expect(await store.find("b")).toBeUndefined();
		expect(await store.find("a")).toEqual(stored);
		await outbox.runOnce();
		expect(anna.inbox().map(({ body }) => body)).toEqual([note.body]);
		// A worker that read an older row changes nothing.
		expect(stored && (await store.save({ ...stored, state: "refused" }))).toBe(false);
		const changes = await outbox.settled();
		expect(changes).toMatchObject([{ id: "a", state: "sent" }]);
		await transaction((tx) => outbox.acknowledge(changes, { tx }));
		expect(await outbox.settled()).toEqual([]);
		expect(await outbox.cancelAll({ to: note.to })).toEqual({ cancelled: [], tooLate: [] });
	});

	test("a visit moves with the transaction, also to another number, and what can't be moved is rolled back", async () => {
		const { outbox, transaction, note, store, isSynchronous = false } = await create();
		for (const id of ["v0", "sending", "ended"]) await outbox.enqueue({ ...note, id });
		await outbox.cancel("ended");
		const row = await store.find("sending");
		if (row) await store.save({ ...row, state: "sending" });
		const move = (text: Partial<EnqueuedText>, error?: Error) =>
			transaction((tx) => outbox.enqueue({ ...note, ...text }, { tx }), error);
		const corrected = { id: "v1", to: "+447700900102", supersedes: "v0" };
		await expect(move(corrected, new Error("thought better of it"))).rejects.toThrow("thought better");
		expect([(await store.find("v0"))?.state, await store.find("v1")]).toEqual(["waiting", undefined]);
		await move(corrected);
		expect([(await store.find("v0"))?.reason, (await store.find("v1"))?.state]).toEqual(["superseded", "waiting"]);
		for (const [text, field] of [
			[{ id: "v2", supersedes: "sending" }, "supersedes"],
			[{ id: "ended", supersedes: "v1" }, "id"],
			[{ id: "ended", body: "Another" }, "id"],
		] as const) {
			let thrown: unknown;
			const moved = transaction((tx) => {
				try {
					return outbox.enqueue({ ...note, ...text }, { tx });
				} catch (error) {
					thrown = error;
					throw error;
				}
			});
			await expect(moved).rejects.toMatchObject({ _tag: "PartnerInvalidInput", field });
			// Only what is thrown before the transaction ends can roll it back.
			expect(thrown !== undefined).toBe(isSynchronous);
		}
		expect([(await store.find("v1"))?.state, await store.find("v2")]).toEqual(["waiting", undefined]);
	});

	test("what is not an open transaction is refused, and nothing is stored", async () => {
		const { outbox, db, note, store } = await create();
		for (const tx of [db, 42, Promise.resolve(db), {}])
			await expect(outbox.enqueue(note, { tx: tx as Transaction })).rejects.toMatchObject({
				_tag: "PartnerInvalidInput",
				field: "tx",
				rule: expect.stringMatching(/better-sqlite3.*docs\/databases\.md/),
			});
		expect(await store.find("a")).toBeUndefined();
	});
});

test("Drizzle on better-sqlite3: a transaction that has ended, and a callback that awaits, are refused", async () => {
	const db = drizzle(new Database(newFile()));
	const store = sqliteStore(db);
	await store.migrate();
	const text = { ...newText, id: "a", createdAt: 1 };
	let ended: Transaction | undefined;
	db.transaction((tx) => void (ended = tx));
	let late: Promise<unknown> | undefined;
	// better-sqlite3 refuses a promise, so the transaction is rolled back while the callback waits.
	expect(() => db.transaction((tx) => (late = Promise.resolve().then(() => store.insert(text, tx))))).toThrow();
	for (const act of [() => store.insert(text, ended), () => late])
		await expect(act()).rejects.toMatchObject({ _tag: "PartnerInvalidInput", field: "tx" });
	expect(await store.find("a")).toBeUndefined();
});

test("better-sqlite3: a cache of statements from outside of a transaction proves nothing inside of one", async () => {
	const db = new Database(newFile());
	const store = sqliteStore(db);
	await store.migrate();
	const statements = new Map<string, Database.Statement>();
	const prepare = (sql: string) => statements.get(sql) ?? statements.set(sql, db.prepare(sql)).get(sql);
	const text = { ...newText, id: "a", createdAt: 1 };
	await expect(store.insert(text, { prepare } as never)).rejects.toMatchObject({ field: "tx" });
	db.exec("begin");
	await store.insert(text, { prepare } as never);
	db.exec("commit");
	expect((await store.find("a"))?.id).toBe("a");
});

describe.each(sqliteLibraries)("%s", (_, open) => {
	prove(async () => {
		const { db, ...library } = await open();
		return { ...library, store: sqliteStore(db), isAlone: !library.isSynchronous };
	});
});
