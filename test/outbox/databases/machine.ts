// An outbox on a machine of its own, whose clock may be wrong: it makes some calls, prints what each returns, and may work then.
import { createClient } from "messaging-conversations";
import {
	type ContactOptions,
	createOutbox,
	type EnqueuedText,
	mysqlStore,
	type OutboxOptions,
	postgresStore,
	type Transaction,
} from "messaging-conversations/outbox";
import mysql from "mysql2/promise";
import pg from "pg";

/** What is called, in this order. */
export type Call =
	| { optIn: ContactOptions }
	| { optOut: ContactOptions }
	| { enqueue: EnqueuedText; inTransaction?: boolean }
	| { status: string }
	| { restored: { backupAt: number } }
	| { runOnce: true }
	| { work: true };

export interface Task extends Pick<OutboxOptions, "settleMs"> {
	url: string;
	/** Of the database's connections. */
	options?: string | undefined;
	baseUrl: string;
	apiKey: string;
	quietHours?: { from: string; to: string; timeZone: string };
	calls: readonly Call[];
}

const { TASK } = process.env;
if (TASK) await main(JSON.parse(TASK));

async function main({ url, options, baseUrl, apiKey, calls, ...rest }: Task): Promise<void> {
	const { store, transaction } = url.startsWith("mysql") ? onMysql(url) : onPostgres(url, options);
	const outbox = createOutbox({ client: createClient({ baseUrl, apiKey, retry: false }), store, ...rest });
	const stop = new AbortController();
	process.once("SIGTERM", () => stop.abort());
	for (const call of calls) {
		const result = await act(call);
		process.stdout.write(`${JSON.stringify({ result: result ?? null })}\n`);
	}
	process.exit(0);

	async function act(call: Call): Promise<unknown> {
		if ("optIn" in call) return outbox.optIn(call.optIn);
		if ("optOut" in call) return outbox.optOut(call.optOut);
		if ("status" in call) return outbox.status(call.status);
		if ("restored" in call) return outbox.restored(call.restored);
		if ("runOnce" in call) return outbox.runOnce();
		if ("work" in call) return outbox.work({ signal: stop.signal });
		return call.inTransaction
			? transaction((tx) => outbox.enqueue(call.enqueue, { tx }))
			: outbox.enqueue(call.enqueue);
	}
}

type Within = <Result>(act: (tx: Transaction) => Promise<Result>) => Promise<Result>;

/** With one connection alone, an outbox that needs a second one in a transaction waits for ever. */
function onPostgres(url: string, options = "") {
	const pool = new pg.Pool({ connectionString: url, options, max: 1 });
	pool.on("error", () => {});
	const transaction: Within = async (act) => {
		const connection = await pool.connect();
		await connection.query("begin");
		const result = await act(connection);
		await connection.query("commit");
		connection.release();
		return result;
	};
	return { store: postgresStore(pool), transaction };
}

function onMysql(url: string) {
	const pool = mysql.createPool({ uri: url, connectionLimit: 1 });
	const transaction: Within = async (act) => {
		const connection = await pool.getConnection();
		await connection.beginTransaction();
		const result = await act(connection);
		await connection.commit();
		connection.release();
		return result;
	};
	return { store: mysqlStore(pool), transaction };
}
