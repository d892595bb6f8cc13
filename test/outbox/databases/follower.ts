// Stores what has become of texts in a process of its own, by `follow`. It can kill or stop itself between the function and its
// acknowledgement.
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import mysql from "mysql2/promise";
import pg from "pg";
import { changed, mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";

export interface FollowerTask {
	database: "libsql" | "postgres" | "mysql";
	url: string;
	/** Its name in the table `handled`. */
	name: string;
	/** Before its n-th acknowledgement it sends itself this signal. */
	dies?: { at: number; signal: "SIGKILL" | "SIGSTOP" };
}

const { TASK } = process.env;
if (TASK) await main(JSON.parse(TASK));

async function main({ database, url, name, dies }: FollowerTask): Promise<void> {
	const { store, insert } = open(database, url);
	let left = dies?.at ?? 0;
	const outbox = createOutbox({
		client: createClient({ baseUrl: "https://messaging.example", apiKey: "none" }),
		store: changed(store, {
			async acknowledge(changes, tx) {
				if (dies && --left === 0) process.kill(process.pid, dies.signal);
				await store.acknowledge(changes, tx);
			},
		}),
	});
	const stop = new AbortController();
	process.once("SIGTERM", () => stop.abort());
	process.stdout.write("ready\n");
	await outbox.follow(({ id }) => insert(id, name), { signal: stop.signal });
	process.exit(0);
}

function open(
	database: FollowerTask["database"],
	url: string,
): { store: OutboxStore; insert: (id: string, name: string) => unknown } {
	if (database === "libsql") {
		const db = new Libsql(url);
		db.exec("pragma busy_timeout = 20000");
		const insert = db.prepare("insert into handled (id, name) values (?, ?)");
		return { store: sqliteStore(db), insert: (id, name) => insert.run(id, name) };
	}
	if (database === "mysql") {
		const pool = mysql.createPool(url);
		return {
			store: mysqlStore(pool),
			insert: (id, name) => pool.query("insert into handled (id, name) values (?, ?)", [id, name]),
		};
	}
	const pool = new pg.Pool({ connectionString: url });
	pool.on("error", () => {});
	return {
		store: postgresStore(pool),
		insert: (id, name) => pool.query("insert into handled (id, name) values ($1, $2)", [id, name]),
	};
}
