// The transaction that people already have, on MySQL: each library with commit, rollback and a double enqueue.
import mariadb from "mariadb";
import { createClient } from "messaging-conversations";
import { createOutbox, type Transaction } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import callbacks from "mysql2";
import promised from "mysql2/promise";
import pg from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { isLong } from "../../length.ts";
import { mysqlStore, postgresStore } from "../port.ts";
import { newText } from "../store-suite.ts";
import { carries } from "./carries.ts";
import { movesAVisit } from "./moves-a-visit.ts";
import { mysqlLibraries } from "./mysql-libraries.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";
import { refusesEnded } from "./refuses-ended.ts";

const body = "Één 'quoted' \"text\"; \\? ? :name ::text $1 \\\n👋";

describe.each(mysqlKinds)("%s", (kind) => {
	const { create: createDatabase, query: run } = useMysql(kind);
	const opened: { close: () => Promise<unknown> }[] = [];
	afterAll(async () => {
		for (const library of opened) await library.close();
	});

	describe.each(mysqlLibraries)("%s", (name, open) => {
		async function create() {
			const url = await createDatabase();
			const library = await open(url);
			opened.push(library);
			const sandbox = createSandbox();
			const anna = sandbox.agency().contact("+447700900101");
			anna.writes("Hello");
			const client = createClient({ ...sandbox.connection });
			const store = mysqlStore(library.db);
			const outbox = createOutbox({ client, store, now: sandbox.clock.now });
			await outbox.migrate();
			const note = { id: "a", agencyId: sandbox.agency().id, to: anna.phoneNumber, body };
			return { ...library, outbox, store, anna, note, query: (sql: string) => run(url, sql) };
		}

		test("a text is committed with the transaction, once, or rolled back with it", async () => {
			const { outbox, transaction, nested, note, store, anna } = await create();
			await transaction(async (tx) => {
				await outbox.enqueue(note, { tx });
				expect(await outbox.status("a")).toBeUndefined();
				await outbox.enqueue(note, { tx });
			});
			const stored = await store.find("a");
			expect(stored).toMatchObject({ ...note, state: "waiting", readyAt: 0, createdAt: expect.any(Number) });
			const failing = (id: string) => async (tx: Transaction) => {
				await outbox.enqueue({ ...note, id }, { tx });
				throw new Error("thought better of it");
			};
			for (const within of [transaction, nested ?? transaction])
				await expect(within(failing("b"))).rejects.toThrow("thought better");
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
			const later = { ...note, id: "c", priority: 3, notBefore: new Date(Date.now() + 900_000_000) };
			await (nested ?? transaction)(async (tx) => void (await outbox.enqueue(later, { tx })));
			expect(await outbox.cancelAll({ to: note.to })).toEqual({ cancelled: ["c"], tooLate: [] });
			await outbox.enqueue({ ...later, id: "d" });
			expect(await outbox.cancelAll({ agencyId: note.agencyId })).toEqual({ cancelled: ["d"], tooLate: [] });
			await outbox.erase({ to: note.to, everyAgency: true });
			expect(await store.find("a")).toMatchObject({ to: "", body: "" });
			expect(await outbox.purge({ before: new Date(Date.now() + 900_000_000) })).toBe(0);
		});

		test("what is known of contacts is exported and imported", async () => {
			const { outbox, note } = await create();
			await carries(outbox, note);
		});

		const thorough = isLong || name === "mysql2, promises";
		if (thorough)
			test("what is no open transaction is refused, and nothing is stored", async () => {
				const { outbox, db, note, store, transaction } = await create();
				for (const tx of [db, 42, Promise.resolve(db), {}, null]) {
					await expect(outbox.enqueue(note, { tx: tx as Transaction })).rejects.toMatchObject({
						_tag: "PartnerInvalidInput",
						field: "tx",
						operation: "enqueue",
						rule: expect.stringMatching(/mysql2.*docs\/databases\.md/),
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

		if (thorough || name === "Knex")
			test("an error of the database quotes neither the number nor the text", async () => {
				const { outbox, transaction, note, query } = await create();
				const digits = Buffer.from(note.to).toString("hex");
				const check = async (act: () => Promise<unknown>, code: RegExp, text: string): Promise<void> => {
					const error: unknown = await act().catch((error: unknown) => error);
					expect(error).toMatchObject({ code: expect.stringMatching(code) });
					const all = JSON.stringify(error, Object.getOwnPropertyNames(error)) + String(error);
					expect(all).toContain(text);
					for (const part of [note.to, "quoted", "447700900101", digits]) expect(all).not.toContain(part);
				};
				await query("alter table outbox_texts add constraint only_short check (char_length(body) < 9)");
				for (const enqueue of [
					() => outbox.enqueue(note),
					() => transaction(async (tx) => void (await outbox.enqueue(note, { tx }))),
				])
					await check(
						enqueue,
						/./, // mysql2 knows the names of MySQL for the numbers of MariaDB
						"only_short",
					);
				// A trigger may quote what it likes.
				await query("alter table outbox_texts drop constraint only_short");
				await query(
					`create trigger refusal before insert on outbox_texts for each row
				begin
					declare said varchar(128);
					set said = concat('no ', left(new.body, 20), ' to ', new.recipient);
					signal sqlstate '45000' set message_text = said;
				end`,
				);
				await check(() => outbox.enqueue(note), /SIGNAL|1644|P2/, "refused");
				// A statement of the worker has neither number nor text among its values.
				await query("drop trigger refusal");
				await outbox.enqueue(note);
				await query(
					`create trigger refusal before update on outbox_texts for each row
				begin
					declare said varchar(128);
					set said = concat('no ', left(old.body, 20), ' to ', old.recipient);
					signal sqlstate '45000' set message_text = said;
				end`,
				);
				await check(() => outbox.runOnce(), /SIGNAL|1644|P2/, "refused");
			});
	});

	test("a connection on which no transaction was begun is refused by name, and one without autocommit is not", async () => {
		const library = await mysqlLibraries[0]?.[1](await createDatabase());
		if (!library) throw new Error("no library");
		opened.push(library);
		const store = mysqlStore(library.db);
		await store.migrate();
		const tx = await (library.db as promised.Pool).getConnection();
		const text = { ...newText, id: "a", createdAt: 1 };
		const refusal = { field: "tx", rule: expect.stringContaining("no transaction is open") };
		await expect(store.insert(text, tx)).rejects.toMatchObject({ ...refusal, operation: "enqueue" });
		await expect(store.acknowledge([{ id: "a", revision: 1 }], tx)).rejects.toMatchObject({
			...refusal,
			operation: "acknowledge",
		});
		await tx.query("set autocommit = 0");
		await store.insert(text, tx);
		await tx.query("rollback");
		tx.destroy();
		expect(await store.find("a")).toBeUndefined();
	});

	test("a cluster of pools is refused, because it may lead to a server that only reads", async () => {
		const options = { host: "localhost", database: "crm" };
		const clusters = [promised.createPoolCluster(), callbacks.createPoolCluster(), mariadb.createPoolCluster()];
		for (const cluster of clusters) {
			(cluster as promised.PoolCluster).add("a", options);
			for (const pool of [cluster, cluster.of("*")])
				expect(() => mysqlStore(pool as never)).toThrow(
					expect.objectContaining({ field: "pool", rule: expect.stringMatching(/cluster.*createPool/) }),
				);
			await cluster.end(() => {});
		}
	});

	test("a pool of PostgreSQL is refused, and that of MySQL is no pool of PostgreSQL", async () => {
		const postgres = new pg.Pool({ connectionString: "postgres://localhost/crm" });
		expect(() => mysqlStore(postgres as never)).toThrow(
			expect.objectContaining({ field: "pool", rule: "is of PostgreSQL. Pass it to postgresStore" }),
		);
		await postgres.end();
		const pool = promised.createPool({ uri: "mysql://localhost/crm" });
		expect(() => postgresStore(pool as never)).toThrow(
			expect.objectContaining({ field: "pool", rule: expect.stringMatching(/Pass it to mysqlStore/) }),
		);
		await pool.end();
	});
});
