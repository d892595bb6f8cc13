// A database whose derived rows are deleted, replaced or copied while workers run.
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { createOutbox, type OutboxOptions } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { describe } from "vitest";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";

/** An empty database. */
export interface Opened {
	store: OutboxStore;
	run: (sql: string) => Promise<Record<string, unknown>[]>;
}

export const people = 12;

export function createWorld({ store, run }: Opened) {
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	const contacts = Array.from({ length: people }, (_, at) => agency.contact(`+4477009002${10 + at}`));
	for (const contact of contacts) contact.writes("Hello");
	const sending = { ms: 0, count: 0 };
	const fetch: typeof globalThis.fetch = async (url, init) => {
		if (init?.method === "POST") sending.count++;
		if (sending.ms > 0) await new Promise((resolve) => setTimeout(resolve, sending.ms));
		return sandbox.fetch(url, init);
	};
	const client = createClient({ ...sandbox.connection, fetch });
	const open = (over = client, at = store, rest: Partial<OutboxOptions> = {}) =>
		createOutbox({ client: over, store: at, now: sandbox.clock.now, concurrency: 4, optOut: false, ...rest });
	const outbox = open();
	const enqueue = (at: number, id: string, rest: { notBefore?: Date } = {}, of = agency.id) =>
		outbox.enqueue({ id, agencyId: of, to: contacts[at]?.phoneNumber ?? "", body: id, ...rest });
	const bodies = (at: number) => contacts[at]?.inbox().map(({ body }) => body);
	/** Passes a minute, as one worker sees it that looks every second. */
	async function passMinute(worker: Pick<typeof outbox, "runOnce"> = outbox): Promise<void> {
		for (let second = 0; second < 60; second += 10) {
			await worker.runOnce();
			sandbox.clock.advance({ ms: 10_000 });
		}
		await worker.runOnce();
	}
	const inHours = (hours: number) => new Date(sandbox.clock.now().getTime() + hours * 3_600_000);
	/** An outbox whose requests of a method stop until they may go on. */
	function stoppedAt(method: "GET" | "POST") {
		let goOn = (): void => {};
		const going = new Promise<void>((resolve) => {
			goOn = resolve;
		});
		let isThere = false;
		const slow: typeof globalThis.fetch = async (url, init) => {
			if (init?.method === method) {
				isThere = true;
				await going;
			}
			return fetch(url, init);
		};
		return { outbox: open(createClient({ ...sandbox.connection, fetch: slow })), goOn, isThere: () => isThere };
	}
	return {
		store,
		stoppedAt,
		sandbox,
		agency,
		contacts,
		sending,
		open,
		outbox,
		enqueue,
		bodies,
		passMinute,
		inHours,
		run,
	};
}

/** Deletes what follows from the texts. */
export async function forget({ run }: Pick<Opened, "run">): Promise<void> {
	await run("delete from outbox_queues");
	await run("delete from outbox_agencies");
}

export type Kind = "SQLite" | "PostgreSQL" | (typeof mysqlKinds)[number];

/**
 * Plays tests on each database.
 *
 * @param caller `import.meta.url` of the tests
 */
export function onEachDatabase(caller: string, play: (open: () => Promise<Opened>, kind: Kind) => void): void {
	describe("SQLite", () =>
		play(async () => {
			const db = new Libsql(newFile());
			const run = async (sql: string): Promise<Record<string, unknown>[]> => {
				if (sql.startsWith("select")) return db.prepare(sql).all() as Record<string, unknown>[];
				db.exec(sql);
				return [];
			};
			return { store: sqliteStore(db), run };
		}, "SQLite"));

	describe("PostgreSQL", () => {
		const { openPool } = usePostgres(caller);
		play(async () => {
			const pool = await openPool();
			return { store: postgresStore(pool), run: async (sql) => (await pool.query(sql)).rows };
		}, "PostgreSQL");
	});

	describe.each(mysqlKinds)("%s", (kind) => {
		const { openPool } = useMysql(kind);
		play(async () => {
			const pool = await openPool();
			const run = async (sql: string) => {
				const [rows] = await pool.query(sql);
				return Array.isArray(rows) ? (rows as Record<string, unknown>[]) : [];
			};
			return { store: mysqlStore(pool), run };
		}, kind);
	});
}
