// Keeps the CRM's rows: the mirror of the agency's conversations, which the change feed updates, and the texts that people
// write in the CRM, which the outbox sends.
import { EventEmitter } from "node:events";
import { setTimeout } from "node:timers/promises";
import { type AgencyClient, type Client, isPartnerError } from "messaging-conversations";
import { createOutbox, type OutboxStatus, type PostgresQueryable, postgresStore } from "messaging-conversations/outbox";
import { watch } from "messaging-conversations/sync";
import type { Database } from "../database.ts";
import { checkpointOf, nightly, storeChange, tables } from "../sync/mirror.ts";

/** Short waits, for somebody who watches. The defaults are for a service on the other side of the internet. */
const outboxTimes = { settleMs: 8_000, followMs: [1_000, 2_000, 5_000] };
const feedTimes = { minMs: 500, maxMs: 2_000 };
const compareMs = 10_000;
/** The service's clock and this one may differ by this much. */
const clockSlackMs = 5_000;

export interface Contact {
	phone: string;
	name: string | null;
	lastBody: string | null;
	lastAt: Date | null;
}

/** A line of a chat: a message, a text of this CRM, or both when the text has become a message. */
export interface Line {
	key: string;
	isInbound: boolean;
	body: string | null;
	at: Date;
	/** Code of the template, when the message is one. */
	template: string | null;
	/** Whether the provider reports that the message did not arrive. */
	failed: boolean;
	/** The outbox's status of the text; undefined for a message that somebody else wrote. */
	text: OutboxStatus | undefined;
}

export interface NewText {
	/** Made when the form is shown, so that a double click is one text. */
	id: string;
	to: string;
	body: string;
	consentLanguage?: string | undefined;
	/** When it was written. */
	at: Date;
}

export type Records = Awaited<ReturnType<typeof openRecords>>;

export async function openRecords(client: Client, agency: AgencyClient, database: Database) {
	/** Emits "change" when a page may show something else. */
	const news = new EventEmitter().setMaxListeners(0);
	const changed = (): boolean => news.emit("change");
	const outbox = createOutbox({
		client,
		store: postgresStore(reporting(database, changed)),
		// The page says beforehand which text a new one takes the place of.
		onHeld: "replace",
		onPaused: ({ reason, error, retryAt }) =>
			console.error(`${error?.message ?? reason}; again at ${retryAt.toISOString()}`),
		...outboxTimes,
	});
	await outbox.migrate();
	await database.query(tables);
	await database.query(
		"create table if not exists crm_text (id text primary key, phone text, body text, at timestamptz)",
	);

	/** Watches until the signal aborts. A 403 ends a feed, and so do 401s that last. The link or the key may come back. */
	async function watchAlways(signal: AbortSignal): Promise<void> {
		while (!signal.aborted) {
			try {
				await watchChanges(signal);
			} catch (error) {
				if (!isPartnerError(error)) throw error;
				console.error(error.message);
				await setTimeout(feedTimes.maxMs, undefined, { signal }).catch(() => {});
			}
		}
	}

	/** Stores each change of a conversation, and passes it to the outbox, because the CRM's texts may be in it. */
	async function watchChanges(signal: AbortSignal): Promise<void> {
		const since = (await checkpointOf(database, agency.id)) ?? "beginning";
		const onError = ({ message }: Error): void => console.error(message);
		const feed = watch(agency, { since, statuses: "read", signal, onError, ...feedTimes });
		for await (const change of feed) {
			await database.transaction(async (sql) => {
				// A message whose status has changed comes again.
				await storeChange(sql, agency.id, change);
				await sql.query(
					"insert into feed values ($1, $2) on conflict (agency_id) do update set checkpoint = excluded.checkpoint",
					[agency.id, feed.checkpoint],
				);
			});
			await outbox.observe({ agencyId: agency.id, ...change });
			changed();
		}
	}

	/** Stores changes that move no conversation to the top, such as a name. Once a night is enough in a real CRM. */
	async function compare(signal: AbortSignal): Promise<void> {
		for (;;) {
			await setTimeout(compareMs, undefined, { signal }).catch(() => {});
			if (signal.aborted) return;
			try {
				if ((await nightly({ database, agency, signal })) > 0) changed();
			} catch (error) {
				if (!isPartnerError(error)) throw error;
				console.error(error.message);
			}
		}
	}

	/** Keeps the mirror up to date until the signal aborts. */
	async function follow(signal: AbortSignal): Promise<void> {
		await Promise.all([watchAlways(signal), compare(signal)]);
	}

	/** Stores the CRM's own row and the outbox's text together, or neither. */
	async function saveText({ id, to, body, consentLanguage, at }: NewText): Promise<void> {
		await database.transaction(async (tx) => {
			const text = await outbox.enqueue(
				{ id, agencyId: agency.id, to, body, consentLanguage, purpose: "reply" },
				{ tx },
			);
			const row = [id, text.to, body, at.toISOString()];
			await tx.query("insert into crm_text values ($1, $2, $3, $4) on conflict do nothing", row);
		});
		changed();
	}

	async function contacts(): Promise<Contact[]> {
		const { rows } = await database.query(
			`select distinct on (c.phone) c.phone, c.name, m.body, m.created_at::timestamptz as at
			from conversation c left join message m on m.agency_id = c.agency_id and m.phone = c.phone
			where c.agency_id = $1 order by c.phone, at desc nulls last, m.id desc`,
			[agency.id],
		);
		return rows
			.map(({ phone, name, body, at }) => ({
				phone: String(phone),
				name: textOrNull(name),
				lastBody: textOrNull(body),
				lastAt: at instanceof Date ? at : null,
			}))
			.sort((a, b) => Number(b.lastAt) - Number(a.lastAt));
	}

	async function chat(phone: string): Promise<Line[]> {
		const texts = await database.query(
			"select id, body, at from crm_text where phone = $1 order by at desc limit 200",
			[phone],
		);
		const written = await Promise.all(
			texts.rows.map(async ({ id, body, at }) => lineOf(`text-${id}`, { body, at }, await outbox.status(String(id)))),
		);
		const messages = await database.query(
			`select id, sid, direction, body, template, status, created_at::timestamptz as at
			from message where agency_id = $1 and phone = $2 order by at desc, id desc limit 200`,
			[agency.id, phone],
		);
		const others = new Set(written.reverse());
		const mirrored = messages.rows.reverse().map((row) => {
			const own = [...others].find((line) => isOwn(line, row));
			if (own) others.delete(own);
			return lineOf(own?.key ?? `message-${row.id}`, row, own?.text);
		});
		return [...mirrored, ...others].sort((a, b) => placeOf(a) - placeOf(b));
	}

	return { agency, outbox, news, follow, saveText, contacts, chat };
}

/** Calls `changed` after each change of a text. The outbox's `onSettled` is not called for `sending` and `held`. */
function reporting(database: Database, changed: () => void): PostgresQueryable {
	return {
		async query(sql, values) {
			const result = await database.query(sql, values);
			if (/\bupdate outbox_texts\b/.test(sql)) changed();
			return result;
		},
	};
}

function lineOf(key: string, row: Record<string, unknown>, text: OutboxStatus | undefined): Line {
	return {
		key,
		isInbound: row.direction === "inbound",
		body: textOrNull(row.body),
		at: row.at instanceof Date ? row.at : new Date(0),
		template: textOrNull(row.template),
		failed: row.status === "failed" || row.status === "undelivered",
		text,
	};
}

/**
 * Whether a message of the mirror is a text of this CRM. The outbox knows the message of each text that was sent. A moment
 * before, the mirror may have the message already: then the same words are enough, if they are not clearly older.
 */
function isOwn(
	{ text, body, at }: Line,
	{ sid, direction, body: mirrored, at: sentAt }: Record<string, unknown>,
): boolean {
	if (text?.messageId) return text.messageId === sid;
	const isOnItsWay = text?.state === "sending" || text?.state === "held";
	if (!isOnItsWay || direction !== "outbound" || mirrored !== body || !(sentAt instanceof Date)) return false;
	return sentAt.getTime() > at.getTime() - clockSlackMs;
}

/** Orders by time. A text that is still to be sent is at the end. */
function placeOf({ at, text }: Line): number {
	const isOpen = text && ["waiting", "sending", "held"].includes(text.state);
	return isOpen ? Number.MAX_SAFE_INTEGER : at.getTime();
}

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);
