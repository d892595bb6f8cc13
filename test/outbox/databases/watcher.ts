// Follows its share of the agencies in a process of its own, and stores the checkpoints in the database of the outbox. It can stop
// itself before it stores one.
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { createOutbox, type Transaction } from "messaging-conversations/outbox";
import { watchAgencies } from "messaging-conversations/sync";
import mysql from "mysql2/promise";
import pg from "pg";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";

export interface WatcherTask {
	database: "libsql" | "postgres" | "mysql";
	url: string;
	baseUrl: string;
	apiKey: string;
	/** Its name, in the column `writer` of the table `feed`. */
	name: string;
	/** It stops itself in its first transaction, before it asks whether the agency is its own. */
	stops?: boolean;
}

/** What it writes to its parent, a line each. */
export type WatcherLine = { polled: string } | { failed: string } | { stopped: string };

interface Place {
	store: OutboxStore;
	load: (agencyId: string) => Promise<string | undefined>;
	/** Runs a function in a transaction with what stores a checkpoint in it. */
	transaction: (
		act: (tx: Transaction, save: (agencyId: string, checkpoint: string) => unknown) => unknown,
	) => Promise<void>;
}

async function main({ database, url, baseUrl, apiKey, name, stops }: WatcherTask): Promise<void> {
	const { store, load, transaction } = places[database](url, name);
	const client = createClient({ baseUrl, apiKey });
	const lease = createOutbox({ client, store }).leases();
	const tell = (line: WatcherLine) => process.stdout.write(`${JSON.stringify(line)}\n`);
	const stop = new AbortController();
	process.once("SIGTERM", () => stop.abort());
	let isToStop = stops === true;
	function stopSelf(agencyId: string): void {
		isToStop = false;
		tell({ stopped: agencyId });
		process.kill(process.pid, "SIGSTOP");
	}
	const feed = watchAgencies<Transaction>(client, {
		lease,
		load,
		save: (agencyId, checkpoint) =>
			transaction(async (tx, save) => {
				if (isToStop) stopSelf(agencyId);
				if (!(await lease.confirm(agencyId, { tx }))) throw new Error("lost");
				await save(agencyId, checkpoint);
			}),
		onPoll: ({ agencyId }) => void tell({ polled: agencyId }),
		onError: ({ _tag, field }) => void tell({ failed: `${_tag} ${field}` }),
		requestsPerSecond: 100,
		minMs: 200,
		maxMs: 1_000,
		signal: stop.signal,
	});
	for await (const { save } of feed) await save().catch(() => tell({ failed: "save" }));
	process.exit(0);
}

const places: Record<WatcherTask["database"], (url: string, name: string) => Place> = {
	libsql(url, name) {
		const db = new Libsql(url);
		db.exec("pragma busy_timeout = 20000");
		const insert = db.prepare("insert or replace into feed (id, checkpoint, writer) values (?, ?, ?)");
		let last: Promise<unknown> = Promise.resolve();
		return {
			store: sqliteStore(db),
			load: async (id) =>
				(db.prepare("select checkpoint from feed where id = ?").get(id) as { checkpoint: string })?.checkpoint,
			// Its one connection has one transaction at a time.
			transaction(act) {
				const run = async () => {
					db.exec("begin immediate");
					try {
						await act(db, (id, checkpoint) => insert.run(id, checkpoint, name));
						db.exec("commit");
					} catch (error) {
						db.exec("rollback");
						throw error;
					}
				};
				const result = last.then(run);
				last = result.catch(() => {});
				return result;
			},
		};
	},
	mysql(url, name) {
		const pool = mysql.createPool(url);
		return {
			store: mysqlStore(pool),
			async load(id) {
				const [rows] = await pool.query<mysql.RowDataPacket[]>("select checkpoint from feed where id = ?", [id]);
				return rows[0]?.checkpoint;
			},
			async transaction(act) {
				const connection = await pool.getConnection();
				try {
					await connection.beginTransaction();
					await act(connection, (id, checkpoint) =>
						connection.query("replace into feed (id, checkpoint, writer) values (?, ?, ?)", [id, checkpoint, name]),
					);
					await connection.commit();
				} catch (error) {
					await connection.rollback();
					throw error;
				} finally {
					connection.release();
				}
			},
		};
	},
	postgres(url, name) {
		const pool = new pg.Pool({ connectionString: url });
		pool.on("error", () => {});
		return {
			store: postgresStore(pool),
			load: async (id) => (await pool.query("select checkpoint from feed where id = $1", [id])).rows[0]?.checkpoint,
			async transaction(act) {
				const connection = await pool.connect();
				try {
					await connection.query("begin");
					await act(connection, (id, checkpoint) =>
						connection.query(
							`insert into feed (id, checkpoint, writer) values ($1, $2, $3)
							on conflict (id) do update set checkpoint = excluded.checkpoint, writer = excluded.writer`,
							[id, checkpoint, name],
						),
					);
					await connection.query("commit");
				} catch (error) {
					await connection.query("rollback");
					throw error;
				} finally {
					connection.release();
				}
			},
		};
	},
};

const { TASK } = process.env;
if (TASK) await main(JSON.parse(TASK));
