// What each library is tried with: races of transactions that end beside it.
import { createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { afterAll, describe, expect, test } from "vitest";
import { isLong } from "../../../length.ts";
import { mysqlStore, type OutboxStore, postgresStore } from "../../port.ts";
import { type Library, libraries } from "../libraries.ts";
import { mysqlLibraries } from "../mysql-libraries.ts";
import { mysqlKinds, useMysql } from "../mysql-server.ts";
import { usePostgres } from "../server.ts";
import { length, type Raced, race } from "./races.ts";

/** A store on a library, and how the library runs a transaction. */
export type Opened = Pick<Raced, "store" | "transaction" | "isAlone" | "isSynchronous" | "isReused">;

/** The tests of a library on a database. */
export function prove(open: () => Promise<Opened>): void {
	async function create(): Promise<Raced> {
		const opened = await open();
		const sandbox = createSandbox();
		const { phoneNumber } = sandbox.agency().contact("+447700900101");
		const outbox = createOutbox({ client: createClient({ ...sandbox.connection }), store: opened.store });
		await outbox.migrate();
		return { ...opened, outbox, note: { id: "a", agencyId: sandbox.agency().id, to: phoneNumber, body: "Hi" } };
	}

	test("nothing survives a rollback, and nothing is refused in an open transaction", {
		timeout: 1_200_000,
	}, async () => {
		const tally = await race(await create());
		expect(tally).toEqual({ races: length, survivors: [], refused: [], untrue: [], ofAnother: expect.any(Number) });
		const known = `${tally.races} races, 0 survivors, 0 false refusals, ${tally.ofAnother} in the next transaction`;
		if (isLong) console.log(`${expect.getState().currentTestName}: ${known}`);
	});

	test("a text of a transaction that began before cancelAll is sent if it is enqueued afterwards", async () => {
		const raced = await create();
		const { outbox, store, note, transaction, isAlone, isSynchronous } = raced;
		if (isAlone || isSynchronous) return;
		await transaction(async (tx) => {
			await outbox.enqueue({ ...note, id: "before" }, { tx });
			await outbox.cancelAll({ to: note.to });
			await outbox.enqueue({ ...note, id: "after" }, { tx });
		});
		const open = await store.open(note, 10, Date.now());
		expect(open.map(({ id, isStopped }) => [id, isStopped])).toEqual([
			["before", true],
			["after", false],
		]);
	});
}

/** On PostgreSQL, by the name in `libraries.ts`. */
export function provePostgres(name: string, { isReused = false } = {}): void {
	const { create } = usePostgres(import.meta.url);
	const [, open] = libraries.find(([each]) => each === name) ?? [];
	provePool(`${name} on PostgreSQL`, create, open, (library) => postgresStore(library.db), isReused);
}

/** On MariaDB, and on MySQL if there is one, by the name in `mysql-libraries.ts`. */
export function proveMysql(name: string, { isReused = false } = {}): void {
	for (const kind of mysqlKinds) {
		const [, open] = mysqlLibraries.find(([each]) => each === name) ?? [];
		describe(`${kind}`, () => {
			const { create } = useMysql(kind);
			provePool(name, create, open, (library) => mysqlStore(library.db), isReused);
		});
	}
}

function provePool<Each extends { close: () => Promise<unknown>; transaction: Library["transaction"] }>(
	title: string,
	create: () => Promise<string>,
	open: ((url: string) => Promise<Each>) | undefined,
	storeOn: (library: Each) => OutboxStore,
	isReused: boolean,
): void {
	if (!open) throw new Error(`no library ${title}`);
	describe(title, () => {
		const opened: Each[] = [];
		const openNext = async (): Promise<Each> => {
			const library = await open(await create());
			opened.push(library);
			return library;
		};
		// Before the server ends, because hooks run in reverse order.
		afterAll(async () => {
			for (const library of opened) await library.close();
		});
		prove(async () => {
			const library = await openNext();
			const transaction: Raced["transaction"] = (act, error) =>
				library.transaction(async (tx) => {
					await act(tx);
					if (error) throw error;
				});
			return { store: storeOn(library), transaction, isReused };
		});
	});
}
