// The transaction that people already have: each library with commit, rollback and a double enqueue.
import { createClient as createLibsql } from "@libsql/client";
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { createOutbox, type Transaction } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import mysql from "mysql2";
import promised from "mysql2/promise";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Server, startServer } from "../../postgres.ts";
import { postgresStore, sqliteStore } from "../port.ts";
import { newText } from "../store-suite.ts";
import { carries } from "./carries.ts";
import { type Library, libraries } from "./libraries.ts";
import { movesAVisit } from "./moves-a-visit.ts";
import { newFile } from "./open.ts";
import { refusesEnded } from "./refuses-ended.ts";

let server: Server | undefined;
const opened: Library[] = [];
beforeAll(async () => {
	server = await startServer(import.meta.url);
});
afterAll(async () => {
	for (const library of opened) await library.close();
	await server?.close();
});

const body = "Één 'quoted' \"text\"; \\? ? :name ::text $1 \\\n👋";

describe.each(libraries)("%s", (_, open) => {
	async function create() {
		const url = (await server?.create()) ?? "";
		const library = await open(url);
		opened.push(library);
		const sandbox = createSandbox();
		const anna = sandbox.agency().contact("+447700900101");
		anna.writes("Hello");
		const client = createClient({ ...sandbox.connection });
		const store = postgresStore(library.db);
		const outbox = createOutbox({ client, store, now: sandbox.clock.now });
		await outbox.migrate();
		const note = { id: "a", agencyId: sandbox.agency().id, to: anna.phoneNumber, body };
		const query = (sql: string) => server?.query(url, sql);
		return { ...library, outbox, store, anna, note, query };
	}

	test("a text is committed with the transaction, once, or rolled back with it", async () => {
		const { outbox, transaction, note, store, anna } = await create();
		await transaction(async (tx) => {
			await outbox.enqueue(note, { tx });
			expect(await outbox.status("a")).toBeUndefined();
			await outbox.enqueue(note, { tx });
		});
		const stored = await store.find("a");
		expect(stored).toMatchObject({ ...note, state: "waiting", readyAt: 0, createdAt: expect.any(Number) });
		await expect(
			transaction(async (tx) => {
				await outbox.enqueue({ ...note, id: "b" }, { tx });
				throw new Error("thought better of it");
			}),
		).rejects.toThrow("thought better");
		expect(await store.find("b")).toBeUndefined();
		await transaction(async (tx) => {
			expect(await outbox.enqueue(note, { tx })).toMatchObject({ id: "a", state: "waiting" });
			await expect(outbox.enqueue({ ...note, body: "Another" }, { tx })).rejects.toMatchObject({ field: "id" });
		});
		expect(await store.find("a")).toEqual(stored);

		// The library is the store's database too.
		await outbox.runOnce();
		expect(anna.inbox().map((message) => message.body)).toEqual([body]);
		// A worker that read an older row changes nothing.
		expect(stored && (await store.save({ ...stored, state: "refused" }))).toBe(false);
		const changes = await outbox.settled();
		expect(changes).toMatchObject([{ id: "a", state: "sent" }]);
		await expect(
			transaction(async (tx) => {
				await outbox.acknowledge(changes, { tx });
				throw new Error("thought better of it");
			}),
		).rejects.toThrow("thought better");
		expect(await outbox.settled()).toHaveLength(1);
		await transaction((tx) => outbox.acknowledge(changes, { tx }));
		expect(await outbox.settled()).toEqual([]);
		await outbox.enqueue({ ...note, id: "c", priority: 3, notBefore: new Date(Date.now() + 900_000_000) });
		expect(await outbox.cancelAll({ to: note.to })).toEqual({ cancelled: ["c"], tooLate: [] });
		await outbox.enqueue({ ...note, id: "d", notBefore: new Date(Date.now() + 900_000_000) });
		expect(await outbox.cancelAll({ agencyId: note.agencyId })).toEqual({ cancelled: ["d"], tooLate: [] });
		await outbox.erase({ to: note.to, everyAgency: true });
		expect(await store.find("a")).toMatchObject({ to: "", body: "" });
	});

	test("what is known of contacts is exported and imported", async () => {
		const { outbox, note } = await create();
		await carries(outbox, note);
	});

	test("what is not an open transaction is refused, and nothing is stored", async () => {
		const { outbox, db, note, store, transaction } = await create();
		for (const tx of [db, 42, Promise.resolve(db), {}, null]) {
			await expect(outbox.enqueue(note, { tx: tx as Transaction })).rejects.toMatchObject({
				_tag: "PartnerInvalidInput",
				field: "tx",
				operation: "enqueue",
				rule: expect.stringMatching(/Prisma.*docs\/databases\.md/),
			});
		}
		await expect(outbox.acknowledge([{ id: "a", revision: 1 }], { tx: db as Transaction })).rejects.toMatchObject({
			field: "tx",
			operation: "acknowledge",
		});
		expect(await store.find("a")).toBeUndefined();
		await transaction(async (tx) => void (await outbox.enqueue(note, { tx })));
		expect(await store.find("a")).toBeDefined();
	});

	test("texts are cancelled, replaced and stored by the hundred with the transaction, or not at all", async () => {
		await movesAVisit(await create());
	});

	test("a transaction that has ended stores nothing and acknowledges nothing", async () => {
		await refusesEnded(await create());
	});

	test("an error of the database quotes neither the number nor the text", async () => {
		const { outbox, transaction, note, query } = await create();
		await query("alter table outbox_texts add constraint only_short check (length(body) < 9)");
		for (const enqueue of [
			() => outbox.enqueue(note),
			() => transaction(async (tx) => void (await outbox.enqueue(note, { tx }))),
		]) {
			const error: unknown = await enqueue().catch((error: unknown) => error);
			expect(error).toMatchObject({ code: "23514", constraint: "only_short" });
			const all = JSON.stringify(error, Object.getOwnPropertyNames(error)) + String(error);
			expect(all).toContain("only_short");
			for (const part of [note.to, "quoted", "447700900101"]) expect(all).not.toContain(part);
		}
		// A trigger may quote what it likes.
		await query("alter table outbox_texts drop constraint only_short");
		const quoting = "begin raise exception 'no % to %', new.body, new.recipient; end";
		await query(`create function refuse() returns trigger language plpgsql as $$ ${quoting} $$`);
		await query("create trigger refusal before insert on outbox_texts for each row execute function refuse()");
		const error: unknown = await outbox.enqueue(note).catch((error: unknown) => error);
		expect(error).toMatchObject({ code: "P0001" });
		expect(String(error)).not.toMatch(/quoted|4477/);
		// A statement of the worker has neither number nor text among its values.
		await query("drop trigger refusal on outbox_texts");
		await outbox.enqueue(note);
		await query("create trigger refusal before update on outbox_texts for each row execute function refuse()");
		const refused: unknown = await outbox.runOnce().catch((error: unknown) => error);
		expect(refused).toMatchObject({ code: "P0001" });
		expect(String(refused)).not.toMatch(/quoted|4477/);
	});
});

test("a client of pg without a transaction is refused by name, and one whose transaction has failed stores nothing", async () => {
	const pool = new pg.Pool({ connectionString: (await server?.create()) ?? "" });
	const store = postgresStore(pool);
	await store.migrate();
	const tx = await pool.connect();
	const text = { ...newText, id: "a", createdAt: 1 };
	const rule = (act: string) => expect.stringMatching(new RegExp(`no transaction is open.*${act} before it ends`));
	await expect(store.insert(text, tx)).rejects.toMatchObject({ field: "tx", rule: rule("enqueue") });
	await expect(store.acknowledge([{ id: "a", revision: 1 }], tx)).rejects.toMatchObject({ rule: rule("acknowledge") });
	await tx.query("begin");
	await tx.query("select 1 / 0").catch(() => {});
	await expect(store.insert(text, tx)).rejects.toMatchObject({ code: "25P02" });
	await tx.query("rollback");
	expect(await store.find("a")).toBeUndefined();
	tx.release();
	await pool.end();
});

test("a pool of MySQL is refused when the store is created", async () => {
	const pools = [
		mysql.createPool({ uri: "mysql://localhost/crm" }),
		promised.createPool({ uri: "mysql://localhost/crm" }),
	];
	for (const pool of pools) {
		const given = pool as never;
		expect(() => postgresStore(given)).toThrow(
			expect.objectContaining({ field: "pool", rule: expect.stringMatching(/MySQL/) }),
		);
		expect(() => sqliteStore(given)).toThrow(
			expect.objectContaining({ field: "db", rule: expect.stringMatching(/MySQL/) }),
		);
		await pool.end();
	}
});

test("libsql: a database on which no transaction is open is not a tx", async () => {
	const [db, client] = [new Libsql(newFile()), createLibsql({ url: `file:${newFile()}` })];
	for (const given of [db, client]) {
		const store = sqliteStore(given);
		await store.migrate();
		const outbox = createOutbox({ client: createClient({ ...createSandbox().connection }), store });
		const text = { id: "a", agencyId: "agy_1", to: "+447700900101", body: "Hi" };
		await expect(outbox.enqueue(text, { tx: given })).rejects.toMatchObject({ field: "tx" });
		expect(await store.find("a")).toBeUndefined();
	}
});
