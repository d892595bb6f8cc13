// Texts of a CRM, sent in the background: none lost, none twice, those to one contact in their order.
//
// The pg-boss job is made in the transaction that stores the CRM's own row: there is never the one without the other.
// The job has the row's id, through every retry and on every machine, and the operationId comes from it: whoever sends
// the text again after a crash sends the same id with the same body, and the service sends nothing twice.
//
// Order: of one contact's texts only the oldest that is not settled has a job. Settling it makes the job of the next,
// in one transaction. (pg-boss's "singleton" policy keeps two jobs of a contact from running at once, but lets the
// second overtake the first while that waits for its retry, and holds up everybody who stands behind them.)
//
// The service holds one text for a contact who has not consented, and a second one would replace it. So a text that is
// held is not settled: the queue looks now and then what became of it, and the contact's next text waits until then.
// What a queue cannot know: whether somebody else's text waits there already. contact-page/ shows how one asks.
import { randomUUID } from "node:crypto";
import {
	type AgencyClient,
	operationIdFrom,
	PartnerForbidden,
	PartnerUnauthorized,
	type SendError,
	toE164,
} from "messaging-conversations";
import PgBoss from "pg-boss";
import type { Database, Sql } from "./database.ts";
import { fateOf, type HeldText } from "./held.ts";

export const queueName = "send-text";
/** Where pg-boss puts a job that used up its retries, and the worker one that the service refuses. */
export const deadLetterName = "send-text-dead";

const tables = `
	create table if not exists contact (phone text primary key);
	create table if not exists outgoing_text (
		id uuid primary key,
		seq bigint generated always as identity,
		phone text not null references contact,
		body text not null,                       -- never changed: an operationId belongs to one body for ever
		state text not null default 'waiting',    -- 'held' until consent is given; ends as 'sent', 'dropped' or 'dead'
		outcome text not null default 'not_sent', -- of all tries: 'unknown' stays, whatever a later one is answered
		detail text,                              -- the service's id of the text, or why it was not sent
		closed_at text                            -- of a held text: when the window had closed, by the service's clock
	);
	create index if not exists unsettled_text on outgoing_text (phone, seq) where state in ('waiting', 'held');`;

interface Text extends HeldText {
	held: boolean;
	detail: string;
	inDoubt: boolean;
}

export interface SendQueueOptions {
	/** The longest that one send may take, the client's own retries included. */
	deadlineMs?: number;
	/** Before the first retry of a job; doubled before each further one. */
	retryDelaySeconds?: number;
	/** Retries of a job before it is dead: 12 are some hours. */
	retryLimit?: number;
	/** Between two looks at a text that is held, as a contact may take two days to answer; and at a key that may not send. */
	pauseSeconds?: number;
	pollSeconds?: number;
	/** Where pg-boss keeps its tables; the two of this file stand wherever the connection's search_path says. */
	schema?: string;
	/** Contacts that are sent to at once, by this process. */
	concurrency?: number;
	/** A worker looks after jobs whose worker died; a web process that only enqueues need not. */
	supervise?: boolean;
}

export type SendQueue = Awaited<ReturnType<typeof createSendQueue>>;

export async function createSendQueue(database: Database, options: SendQueueOptions = {}) {
	const { deadlineMs = 60_000, pollSeconds = 2, concurrency = 4, supervise = true, schema } = options;
	const { retryDelaySeconds: retryDelay = 5, retryLimit = 12, pauseSeconds = 300 } = options;
	// A job that its worker does not settle in this time is given to another: longer than a send can possibly take.
	const expireInSeconds = Math.ceil(deadlineMs / 1_000) * 2;
	const boss = new PgBoss({
		db: { executeSql: database.executeSql },
		...(schema && { schema }),
		schedule: false,
		supervise,
		maintenanceIntervalSeconds: Math.max(1, Math.floor(expireInSeconds / 4)),
	});
	boss.on("error", (error) => console.error(error.message));
	await boss.start();
	await boss.createQueue(deadLetterName);
	await boss.createQueue(queueName, { name: queueName, deadLetter: deadLetterName });
	const patience = { retryLimit, retryDelay, retryBackoff: true, expireInSeconds };
	await database.executeSql(tables);

	/** Of a contact's texts one at a time is put behind or settled: by whoever holds the contact's row. */
	const lock = (sql: Sql, phone: string) => sql.executeSql("select from contact where phone = $1 for update", [phone]);

	// A job that exists already stays as it is: its id is taken.
	const start = (sql: Sql, id: string, startAfter = 0) =>
		boss.send(queueName, { textId: id }, { ...patience, id, startAfter, db: db(sql) });

	async function startNext(sql: Sql, phone: string): Promise<void> {
		const oldest = `select id, state from outgoing_text
			where phone = $1 and state in ('waiting', 'held') order by seq limit 1`;
		const [next] = (await sql.executeSql(oldest, [phone])).rows;
		if (next?.state === "waiting") await start(sql, String(next.id));
	}

	/** A job that has to wait, through no fault: it begins anew after the pause, with all its retries. */
	async function putOff(sql: Sql, id: string): Promise<void> {
		await boss.deleteJob(queueName, id, { db: db(sql) });
		await start(sql, id, pauseSeconds);
	}

	/** Stores a text in a transaction of the caller's, beside whatever else the CRM writes there, and queues it. */
	async function enqueue(sql: Sql, { to, body }: { to: string; body: string }): Promise<string> {
		// Here, not in the worker: a bad number is told to the person who typed it, and one person is one contact.
		const phone = toE164(to);
		await sql.executeSql("insert into contact values ($1) on conflict do nothing", [phone]);
		await lock(sql, phone);
		const id = randomUUID();
		await sql.executeSql("insert into outgoing_text (id, phone, body) values ($1, $2, $3)", [id, phone, body]);
		await startNext(sql, phone);
		return id;
	}

	async function unsettled(id: string): Promise<Text | undefined> {
		const sql = "select * from outgoing_text where id = $1 and state in ('waiting', 'held')";
		const [row] = (await database.executeSql(sql, [id])).rows;
		return (
			row && {
				phone: String(row.phone),
				body: String(row.body),
				held: row.state === "held",
				detail: String(row.detail ?? "No try came to an end."),
				inDoubt: row.outcome === "unknown",
				closedAt: row.closed_at === null ? null : String(row.closed_at),
			}
		);
	}

	function settle(id: string, phone: string, state: "sent" | "dropped" | "dead", detail: string | null): Promise<void> {
		return database.transaction(async (sql) => {
			await lock(sql, phone);
			const update = `update outgoing_text set state = $2, detail = $3,
				outcome = case $2 when 'sent' then 'sent' when 'dropped' then 'not_sent' else outcome end
				where id = $1 and state in ('waiting', 'held')`;
			await sql.executeSql(update, [id, state, detail]);
			await startNext(sql, phone);
		});
	}

	async function note(id: string, outcome: "not_sent" | "unknown", detail: string | null): Promise<void> {
		const update = "update outgoing_text set outcome = $2, detail = $3 where id = $1 and state = 'waiting'";
		await database.executeSql(update, [id, outcome, detail]);
	}

	async function send(agency: AgencyClient, id: string, { phone, body, inDoubt }: Text): Promise<void> {
		const operationId = await operationIdFrom("send-queue", id);
		await note(id, "unknown", null); // as it is for ever, should this process die before the answer comes
		const result = await agency.messages.send({ to: phone, body, operationId }, { deadlineMs }).result();
		if (result.ok && result.data.queued) {
			const { queueId, windowExpiresAt } = result.data;
			return database.transaction(async (sql) => {
				const update = `update outgoing_text set state = 'held', detail = $2, closed_at = $3
					where id = $1 and state = 'waiting'`;
				await sql.executeSql(update, [id, queueId, windowExpiresAt]);
				await putOff(sql, id);
			});
		}
		if (result.ok) return settle(id, phone, "sent", result.data.messageId);
		const { error } = result;
		if (error.outcome === "sent") return settle(id, phone, "sent", null);
		await note(id, inDoubt ? "unknown" : error.outcome, error.message);
		if (isRefusal(error)) {
			// The outcome is that of one call: what was refused now may have gone out before.
			const reason = inDoubt ? `${unknown} A later try: ${error.message}` : error.message;
			await boss.send(deadLetterName, { textId: id, reason });
			return;
		}
		// Somebody else took the conversation over meanwhile. The remedy is to read it, then to send again.
		if (error._tag === "PartnerConflict") await agency.conversations.get(phone, { pageSize: 1 }).result();
		// pg-boss tries again later: same job, same id, same body. It keeps the error, which holds no number and no text.
		throw error;
	}

	async function look(agency: AgencyClient, id: string, text: Text): Promise<void> {
		const fate = await fateOf(agency, text);
		if (fate === "held") return database.transaction((sql) => putOff(sql, id));
		await settle(id, text.phone, fate, null);
	}

	async function run(agency: AgencyClient, id: string): Promise<void> {
		const text = await unsettled(id);
		if (!text) return; // Settled already: a worker died before it could say so to pg-boss.
		try {
			await (text.held ? look : send)(agency, id, text);
		} catch (error) {
			// What the key may do is no fault of the text: it waits until the key is mended, and loses no retry over it.
			if (!(error instanceof PartnerUnauthorized || error instanceof PartnerForbidden)) throw error;
			await database.transaction((sql) => putOff(sql, id));
		}
	}

	/** Starts sending: in as many processes, on as many machines, as you like. */
	async function work(agency: AgencyClient): Promise<void> {
		// Workers of one job each, rather than one of many: a batch of pg-boss fails as a whole.
		for (let worker = 0; worker < concurrency; worker++) {
			await boss.work<{ textId: string }>(queueName, { pollingIntervalSeconds: pollSeconds }, async (jobs) => {
				for (const job of jobs) await run(agency, job.id);
			});
		}
		// A person reads the dead texts in the CRM. Meanwhile the contact's next text has its turn.
		type Dead = { textId: string; reason?: string };
		await boss.work<Dead>(deadLetterName, { pollingIntervalSeconds: pollSeconds }, async (jobs) => {
			for (const { data } of jobs) {
				const text = await unsettled(data.textId);
				const reason = data.reason ?? (text?.inDoubt ? unknown : `It was not sent. ${text?.detail}`);
				if (text) await settle(data.textId, text.phone, "dead", reason);
			}
		});
	}

	/** Lets running sends end, then stops. */
	const stop = (): Promise<void> => boss.stop({ graceful: true, wait: true, timeout: deadlineMs });

	return { enqueue, work, stop };
}

const unknown = "It is not known whether it was sent.";

/** Whether this text will never go out as it is. A gateway that turns it away (404, 429), or a certificate, says nothing of the text. */
function isRefusal({ _tag, outcome }: SendError): boolean {
	return outcome === "not_sent" && (_tag === "PartnerBadRequest" || _tag === "PartnerInvalidInput");
}

/** pg-boss's own calls inside a transaction of ours. */
const db = (sql: Sql): PgBoss.Db => ({ executeSql: sql.executeSql });
