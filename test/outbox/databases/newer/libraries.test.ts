// The transaction that people already have, on SQLite: each library with commit, rollback and a double enqueue.
import { DatabaseSync } from "node:sqlite";
import Database from "better-sqlite3";
import { drizzle } from "drizzle-orm/better-sqlite3";
import createKnex from "knex";
import { Kysely, SqliteDialect } from "kysely";
import { createClient } from "messaging-conversations";
import { createOutbox, sqliteStore, type Transaction } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { DataSource } from "typeorm";
import { describe, expect, test } from "vitest";
import { newFile } from "../open.ts";

interface Library {
	db: Parameters<typeof sqliteStore>[0];
	/** Runs in a transaction, which throws the error at its end. A synchronous one ends before the promise of `act` does. */
	transaction: (act: (tx: Transaction) => Promise<unknown>, error?: Error) => Promise<unknown>;
}

const libraries: [name: string, open: () => Promise<Library>][] = [
	[
		"better-sqlite3",
		async () => {
			const db = new Database(newFile());
			return { db, transaction: synchronous((act) => db.transaction(() => act(db))()) };
		},
	],
	[
		"node:sqlite",
		async () => {
			const db = new DatabaseSync(newFile());
			const transaction = synchronous((act) => {
				db.exec("begin");
				try {
					act(db);
					db.exec("commit");
				} catch (error) {
					db.exec("rollback");
					throw error;
				}
			});
			return { db, transaction };
		},
	],
	[
		"Drizzle on better-sqlite3",
		async () => {
			const db = drizzle(new Database(newFile()));
			return { db, transaction: synchronous((act) => db.transaction((tx) => act(tx))) };
		},
	],
	[
		"Kysely on better-sqlite3",
		async () => {
			const db = new Kysely<object>({ dialect: new SqliteDialect({ database: new Database(newFile()) }) });
			return { db, transaction: asynchronous((act) => db.transaction().execute(act)) };
		},
	],
	[
		"Knex on better-sqlite3",
		async () => {
			const db = createKnex({ client: "better-sqlite3", connection: { filename: newFile() }, useNullAsDefault: true });
			return { db, transaction: asynchronous((act) => db.transaction(act)) };
		},
	],
	[
		"TypeORM on better-sqlite3",
		async () => {
			const source = await new DataSource({ type: "better-sqlite3", database: newFile() }).initialize();
			return { db: source.manager, transaction: asynchronous((act) => source.transaction(act)) };
		},
	],
];

/** A text that is enqueued in a synchronous transaction is part of it before `enqueue` returns its promise. */
function synchronous(run: (act: (tx: Transaction) => void) => unknown): Library["transaction"] {
	return async (act, error) => {
		const all: Promise<unknown>[] = [];
		try {
			run((tx) => {
				all.push(act(tx));
				if (error) throw error;
			});
		} finally {
			await Promise.all(all);
		}
	};
}

/** The same for a library whose transactions are asynchronous. */
function asynchronous(run: (act: (tx: Transaction) => Promise<void>) => Promise<unknown>): Library["transaction"] {
	return (act, error) =>
		run(async (tx) => {
			await act(tx);
			if (error) throw error;
		});
}

describe.each(libraries)("%s", (_, open) => {
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
		await outbox.drain();
		expect(anna.inbox().map(({ body }) => body)).toEqual([note.body]);
		// A worker that read an older row changes nothing.
		expect(stored && (await store.save({ ...stored, state: "refused" }))).toBe(false);
		const changes = await outbox.settled();
		expect(changes).toMatchObject([{ id: "a", state: "sent" }]);
		await transaction((tx) => outbox.acknowledge(changes, { tx }));
		expect(await outbox.settled()).toEqual([]);
		expect(await outbox.cancelAll({ to: note.to })).toEqual({ cancelled: [], tooLate: [] });
	});

	test("what is not an open transaction is refused, and nothing is stored", async () => {
		const { outbox, db, note, store } = await create();
		for (const tx of [db, 42, Promise.resolve(db), {}])
			await expect(outbox.enqueue(note, { tx: tx as Transaction })).rejects.toMatchObject({
				_tag: "PartnerInvalidInput",
				field: "tx",
				rule: expect.stringMatching(/better-sqlite3.*docs\/outbox-databases\.md/),
			});
		expect(await store.find("a")).toBeUndefined();
	});
});
