// Four workers on one database, of which some are killed or stopped, some have a clock that is set all the time, and whose
// connections are cut, while three requests in ten fail somewhere. Every text arrives once and in its order, and a contact who
// declined gets none.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { createOutbox, type Transaction } from "messaging-conversations/outbox";
import { type Contact, createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import type { RowDataPacket } from "mysql2";
import { describe, expect, test } from "vitest";
import { isLong } from "../../length.ts";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";
import { useWorkers } from "./start-worker.ts";
import { type Task, times } from "./worker.ts";

interface Place {
	task: Pick<Task, "database" | "url">;
	store: OutboxStore;
	transaction: (act: (tx: Transaction) => Promise<void>) => Promise<void>;
	select: (sql: string) => Promise<Record<string, unknown>[]>;
	/** Cuts all connections, or keeps everybody from writing for a moment. */
	cut: () => Promise<void>;
}

const kinds = ["written", "consents", "declines"] as const;
type Kind = (typeof kinds)[number];

const rounds = isLong ? 20 : 2;
const workers = 4;
const contactsEach = isLong ? 4 : 2;
const textsEach = 3;
const answerMs = 150;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const { create, openPool } = usePostgres(import.meta.url);
const start = useWorkers();

async function playChaos(name: string, { task, store, transaction, select, cut }: Place): Promise<void> {
	const sandbox = createSandbox({ now: new Date() });
	const agency = sandbox.agency();
	// A clock that stood still would be more than a minute behind in the end, and a clock that is wrong by seconds look right.
	const { baseUrl, apiKey, close } = await serve(sandbox, { follow: true });
	const outbox = createOutbox({ client: createClient({ baseUrl, apiKey }), store });
	await outbox.migrate();

	const people: { person: Contact; kind: Kind }[] = [];
	const asked = new Map<string, number>();
	const declined = new Set<string>();
	let begunAfterDecline = 0;
	sandbox.subscribe((event) => {
		if (event.type === "consent.asked") {
			asked.set(event.contact, (asked.get(event.contact) ?? 0) + 1);
			const asking = people.find(({ person }) => person.phoneNumber === event.contact);
			setTimeout(() => (asking?.kind === "declines" ? asking.person.declines() : asking?.person.accepts()), answerMs);
		} else if (event.type === "consent.declined") declined.add(event.contact);
		else if (event.type === "request" && event.operation === "messages.send" && declined.has(event.contact ?? ""))
			begunAfterDecline++;
	});

	async function enqueue(): Promise<void> {
		for (const kind of kinds) {
			const person = agency.contact(`+4477009${kinds.indexOf(kind)}${String(people.length).padStart(4, "0")}`);
			people.push({ person, kind });
			if (kind === "written") person.writes("Hello");
			await transaction(async (tx) => {
				for (let at = 0; at < textsEach; at++) {
					const text = { id: `${person.phoneNumber} ${at}`, agencyId: agency.id, to: person.phoneNumber };
					await outbox.enqueue({ ...text, body: `Text ${at}` }, { tx });
				}
			});
		}
	}

	const running: ChildProcess[] = [];
	async function join(at: number): Promise<void> {
		const worker = await start({ ...task, baseUrl, apiKey, count: 0, faults: 0.3, hasClockSteps: at === 0 });
		if (worker.stdout) await once(worker.stdout, "data");
		running[at] = worker;
	}
	const faults = { killed: 0, stopped: 0, cut: 0 };
	await Promise.all(Array.from({ length: workers }, (_, at) => join(at)));

	for (let round = 0; round < rounds; round++) {
		const others = Array.from({ length: workers }, (_, at) => (round + at) % workers);
		const [killed = 0, stopped = 1] = others;
		const enqueued = (async () => {
			for (let groups = 0; groups < contactsEach; groups++) {
				await enqueue();
				await pause(Math.random() * 400);
			}
		})();
		await pause(Math.random() * 800);
		running[stopped]?.kill("SIGSTOP");
		faults.stopped++;
		await pause(Math.random() * 500);
		running[killed]?.kill("SIGKILL");
		faults.killed++;
		await enqueued;
		if (round % 3 === 1) {
			await cut();
			faults.cut++;
		}
		// Those who are left take over what the one that is stopped was doing.
		await Promise.all([join(killed), pause(times.settleMs + 500 + Math.random() * 1_000)]);
		running[stopped]?.kill("SIGCONT");
		await expect
			.poll(() => select("select id, state from outbox_texts where state in ('waiting', 'sending', 'held')"), {
				interval: 200,
			})
			.toEqual([]);
	}
	// What is doubled would come now.
	await pause(isLong ? 4_000 : 1_500);
	for (const worker of running) worker.kill("SIGTERM");
	await Promise.all(running.map((worker) => worker.exitCode ?? worker.signalCode ?? once(worker, "exit")));
	await close();

	const zeros = {
		doubled: 0,
		lost: 0,
		displaced: 0,
		outOfOrder: 0,
		afterDecline: 0,
		begunAfterDecline: 0,
		askedTwice: 0,
	};
	const figures = { ...zeros, begunAfterDecline };
	const states = new Map((await select("select id, state from outbox_texts")).map(({ id, state }) => [id, state]));
	/** The rows of a contact who got a text after a decline. */
	const wrong: Record<string, unknown>[] = [];
	for (const { person, kind } of people) {
		const bodies = person.inbox().flatMap(({ kind, body }) => (kind === "text" ? [String(body)] : []));
		const unique = [...new Set(bodies)];
		figures.askedTwice += Math.max(0, (asked.get(person.phoneNumber) ?? 0) - 1);
		figures.doubled += bodies.length - unique.length;
		figures.outOfOrder += unique.filter((body, at) => body < (unique[at - 1] ?? "")).length;
		const ends = Array.from({ length: textsEach }, (_, at) => states.get(`${person.phoneNumber} ${at}`));
		if (kind === "declines") {
			figures.afterDecline += bodies.length;
			if (bodies.length > 0)
				wrong.push(
					...(await select(`select * from outbox_texts where recipient = '${person.phoneNumber}' order by seq`)),
				);
		} else {
			figures.lost += textsEach - unique.length;
			figures.displaced += ends.filter((state) => state === "dropped" || state === "replaced").length;
		}
	}
	if (isLong)
		console.info(name, { rounds, ...faults, texts: people.length * textsEach, declined: declined.size }, figures);
	expect(figures, JSON.stringify(wrong, null, 1)).toEqual(zeros);
	expect(sandbox.violations()).toEqual([]);
}

const timeout = isLong ? 1_800_000 : 280_000;

test("four workers on SQLite", { timeout }, async () => {
	const url = newFile();
	const db = new Libsql(url);
	db.exec("pragma journal_mode = wal; pragma synchronous = normal");
	await playChaos("SQLite", {
		task: { database: "libsql", url },
		store: sqliteStore(db),
		async transaction(act) {
			db.exec("begin immediate");
			await act(db);
			db.exec("commit");
		},
		select: async (sql) => db.prepare(sql).all() as Record<string, unknown>[],
		async cut() {
			const other = new Libsql(url);
			other.exec("pragma busy_timeout = 5000; begin immediate");
			await pause(1_000);
			other.exec("commit");
			other.close();
		},
	});
});

test("four workers on PostgreSQL", { timeout }, async () => {
	const url = await create();
	const pool = await openPool(url);
	pool.on("error", () => {});
	await playChaos("PostgreSQL", {
		task: { database: "postgres", url },
		store: postgresStore(pool),
		async transaction(act) {
			const client = await pool.connect();
			await client.query("begin");
			await act(client);
			await client.query("commit");
			client.release();
		},
		select: async (sql) => (await pool.query(sql)).rows,
		async cut() {
			await pool.query(
				"select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
			);
			// The pool removes what was cut a moment later.
			await pause(100);
		},
	});
});

describe.each(mysqlKinds)("four workers on %s", (kind) => {
	const { create, openPool } = useMysql(kind);
	test("are killed, stopped and cut off", { timeout }, async () => {
		const url = await create();
		const pool = await openPool(url);
		const select = async (sql: string) => (await pool.query<RowDataPacket[]>(sql))[0];
		await playChaos(kind, {
			task: { database: "mysql", url },
			store: mysqlStore(pool),
			async transaction(act) {
				const connection = await pool.getConnection();
				await connection.beginTransaction();
				await act(connection);
				await connection.commit();
				connection.release();
			},
			select,
			async cut() {
				const all = await select(
					"select id from information_schema.processlist where db = database() and id <> connection_id()",
				);
				for (const { id } of all) await pool.query(`kill ${Number(id)}`).catch(() => {});
				await pause(100);
			},
		});
	});
});
