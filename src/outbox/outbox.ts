import type { Message } from "messaging-conversations";
import { phaseOf } from "../shared/delivery-phase.ts";
import { observerOf } from "../shared/observer.ts";
import { abortSignal, checkedLater, fieldsOf, flag, optional, whole } from "../shared/validation.ts";
import { type Awaitable, after } from "./awaitable.ts";
import { type CancelMarks, cancelling } from "./cancel.ts";
import { isRestored } from "./decide.ts";
import {
	checkedText,
	checkedTexts,
	type EnqueuedStatus,
	type EnqueuedText,
	type EnqueueOptions,
	ignoredIn,
	numberIn,
	type ObservedChange,
	refuseOther,
} from "./enqueue.ts";
import type { Explanation } from "./explain.ts";
import { gate } from "./gate/gate.ts";
import { storedSituation } from "./gate/situation.ts";
import { onEnqueue, onOptOut } from "./gate/waiting.ts";
import type { OutboxHealth } from "./health.ts";
import { check, moment, object, refuse, text, time } from "./input.ts";
import { isFurther } from "./match.ts";
import { createOperator, type ResolveOptions, type ResumeOptions, type SuspendOptions } from "./operator.ts";
import { checkedOptions, type OutboxOptions } from "./options.ts";
import { createContact, createOptOutReader } from "./policy/contact.ts";
import { isNumberWrong, isOptedOut, storedView } from "./policy/contact-view.ts";
import { priorityOf } from "./policy/purpose.ts";
import { type OutboxStatus, statusOf } from "./status.ts";
import type { Lease, Superseded, Superseding } from "./store.ts";
import {
	earlierTexts,
	hasSuperseded,
	mayStillArrive,
	refuseSuperseding,
	stillArriving,
	supersededBy,
} from "./supersede.ts";
import { changed, isUnfinished, type NewText, type OutboxText, type Recipient, storableId } from "./text.ts";
import { synchronousIn, type Transaction } from "./transaction.ts";
import { createAccess } from "./work/access.ts";
import { createAlerts } from "./work/alerts.ts";
import { createGateway } from "./work/gateway.ts";
import { throughOutages } from "./work/outage.ts";
import type { Pause } from "./work/pause.ts";
import { createPauses } from "./work/pauses.ts";
import { workQueue } from "./work/queue.ts";
import { createAlarm, createQuietClock } from "./work/quiet.ts";
import { createSettingsCache } from "./work/settings.ts";
import { createSuspensionReports } from "./work/suspended.ts";
import { createSummaries } from "./work/watch.ts";
import { createLoop, workWith } from "./work/worker.ts";

/** Durable sends. */
export interface Outbox {
	/**
	 * Creates the tables. Does nothing when they are there.
	 *
	 * @throws PartnerInvalidInput on PostgreSQL, if strangers can read or change the tables, or row level security hides rows from the
	 * role. It has the statements that mend it
	 * @example await outbox.migrate();
	 */
	migrate: () => Promise<void>;
	/**
	 * Stores a text, in the caller's transaction if `tx` is given. The same id with the same text returns the existing row, so a
	 * double click is one text. Fields that differ, such as `notBefore`, change nothing then: `ignored` of the status names them.
	 * It is sent by {@link Outbox.work}, here or in another process.
	 *
	 * @throws PartnerInvalidInput for a bad number or text, for an id that has another text, and if it can't take the place of the text
	 * that `supersedes` names. Nothing is stored then. In a synchronous transaction of SQLite it throws at once, so that the
	 * transaction is rolled back
	 * @example
	 * await outbox.enqueue({ id: "note-1", agencyId: agency.id, to: "+447700900101", body: "See you at 14:00." });
	 */
	enqueue: (text: EnqueuedText, options?: EnqueueOptions) => Promise<EnqueuedStatus>;
	/**
	 * Stores up to a thousand texts, such as a campaign, with one statement, in the caller's transaction if `tx` is given.
	 * Returns the status of each in the same order. Ids that exist already are as in {@link Outbox.enqueue}. `supersedes` is only for
	 * {@link Outbox.enqueue}.
	 *
	 * @throws PartnerInvalidInput that names the text, such as `texts[3].to`, before anything is stored. An id that has another text in
	 * the database is found when the others are stored: in a transaction, roll back then
	 * @example
	 * const to = ["+447700900101", "+447700900102"];
	 * const texts = to.map((number, at) => ({ id: `june-${at}`, agencyId: agency.id, to: number, body: "New flats!" }));
	 * await outbox.enqueueMany(texts.map((text) => ({ ...text, purpose: "marketing" as const })));
	 */
	enqueueMany: (
		texts: Iterable<Omit<EnqueuedText, "supersedes">>,
		options?: EnqueueOptions,
	) => Promise<EnqueuedStatus[]>;
	/**
	 * Sends what is stored and follows what was sent, until the signal aborts. Then requests under way end, and no new one
	 * begins. Reads by `conversations.get` before a first request and before each retry that could be a second text, and sends
	 * by `messages.send`.
	 *
	 * Any number of processes may work on a store at once, with or without an engine.
	 *
	 * @throws an error of the store that does not pass by itself, such as a missing table, and any other one after an hour.
	 * PartnerInvalidInput if row level security hides rows from the role. PartnerConfigurationError if the client refuses an option
	 * that the outbox itself passes; the text stays as it is
	 * @example
	 * const signal = AbortSignal.timeout(50); // in a server: aborted by SIGTERM
	 * await outbox.work({ signal });
	 */
	work: (options?: { signal?: AbortSignal | undefined }) => Promise<void>;
	/**
	 * Does what is due now, for a cron job, a serverless function or a test. When the signal aborts, requests in progress
	 * are finished, no new one begins, and the rest waits for the next call. A second call waits for the first.
	 *
	 * @throws as {@link Outbox.work}, and if the database is away
	 * @example
	 * await outbox.runOnce();
	 * await outbox.runOnce({ signal: AbortSignal.timeout(20_000) }); // begins no request after 20 seconds
	 */
	runOnce: (options?: { signal?: AbortSignal | undefined }) => Promise<void>;
	/**
	 * Returns the status of a text; undefined for an unknown id. For an unfinished one it says what it waits for.
	 * @example console.log((await outbox.status("note-1"))?.description ?? "never sent");
	 */
	status: (id: string) => Promise<OutboxStatus | undefined>;
	/**
	 * Returns what happened to a text, step by step: what was read, what was decided and why. Undefined for an unknown id.
	 * @example for (const { at, sentence } of (await outbox.explain("note-1"))?.steps ?? []) console.log(at, sentence);
	 */
	explain: (id: string) => Promise<Explanation | undefined>;
	/**
	 * Returns how the outbox is: workers, unfinished texts, what is due, pauses and suspensions. It reads a few rows, whatever the
	 * size of the table, so that a monitor may ask often.
	 * @example console.log((await outbox.health()).oldestDueAt ?? "nothing is due");
	 */
	health: () => Promise<OutboxHealth>;
	/**
	 * Stops the sends of an agency, or of everybody, until {@link Outbox.resume}. It is stored, and every worker obeys it at once; a
	 * request that has begun ends by itself. What was sent is still followed, held texts are still read, and texts expire as
	 * always, so `onPaused` repeats it every 15 minutes. If it is suspended already, the reason is replaced.
	 *
	 * @throws PartnerInvalidInput if `reason` is missing, too long, or not on one line
	 * @example
	 * await outbox.suspend({ agencyId: agency.id, reason: "Wrong price in the campaign", by: "Ann" });
	 * await outbox.resume({ agencyId: agency.id });
	 */
	suspend: (options: SuspendOptions) => Promise<void>;
	/**
	 * Ends a suspension; that of everybody without `agencyId`. Texts are sent again at once, unless something else stops them. Returns false
	 * if there was none. A pause, such as one after a refused key, stays.
	 * @example if (!(await outbox.resume())) console.log("nothing was suspended");
	 */
	resume: (options?: ResumeOptions) => Promise<boolean>;
	/**
	 * Ends an `unknown` text after somebody has looked at the conversation. `"sent"` makes it `sent`. `"not_sent"` makes it
	 * `cancelled`; it is never sent again under its id. Both have the reason `resolved`. Returns false for an unknown id, and for a
	 * text in any other state.
	 * @example await outbox.resolve("note-1", "not_sent", { by: "Ann" });
	 */
	resolve: (id: string, outcome: "sent" | "not_sent", options?: ResolveOptions) => Promise<boolean>;
	/**
	 * Cancels a text that waits to be sent, also between two tries. Returns true when it was not sent and will not be.
	 *
	 * Returns false for an unknown id, and when it is too late. A text in `sending` or `held` is marked then
	 * (`cancelRequested`): the outbox never sends it again, but the service may still deliver it. One that was tried in a
	 * conversation that could not be read becomes `unknown`.
	 *
	 * With `tx` it is cancelled with your transaction, or not at all. Keep that short: until it ends, a worker that wants to send the
	 * text waits for it. A text between two tries is only marked then, and `onSettled` is not called.
	 * @example if (!(await outbox.cancel("note-1"))) console.log("too late");
	 */
	cancel: (id: string, options?: { tx?: Transaction | undefined }) => Promise<boolean>;
	/**
	 * Cancels every text that waits for a contact, and marks those that are `sending` or `held` as {@link Outbox.cancel} does.
	 * Covers texts whose transaction is still open. Texts that are enqueued later are sent. Without `agencyId` it covers all
	 * agencies.
	 * @example
	 * const { tooLate } = await outbox.cancelAll({ to: "+447700900101" });
	 * console.log(`${tooLate.length} texts may still be delivered`);
	 */
	cancelAll: (options: ContactOptions) => Promise<CancelledTexts>;
	/**
	 * Erases a contact: cancels as {@link Outbox.cancelAll} does, and removes the number and the text of every finished row.
	 * Those of `tooLate`, which are `sending` or `held`, are erased as soon as they end: a held one within 48 hours, and the contact
	 * may still get it. Once `tooLate` is empty, no row has the number or a text of theirs. A text whose transaction is still open is cancelled, and
	 * erased by a second call. The ids stay, so that a second `enqueue` with one is refused: the service may still know its
	 * `operationId`. Put no phone number into an id: `operationIdFrom` makes one of it.
	 * @example
	 * const { tooLate } = await outbox.erase({ to: "+447700900101" });
	 * if (tooLate.length > 0) console.log("Call it again later, before you confirm the erasure.");
	 */
	erase: (options: ContactOptions) => Promise<CancelledTexts>;
	/**
	 * Stores that a contact asked for no more texts, for example by telephone. What waits for them ends as a message with STOP ends
	 * it: see `optOut` of {@link OutboxOptions}. It stays when the contact is forgotten. Without `agencyId` it covers all agencies.
	 * @example await outbox.optOut({ to: "+447700900101" });
	 */
	optOut: (options: ContactOptions) => Promise<void>;
	/**
	 * Stores that a contact wants texts again. Returns whether they get them now: of an opt-out and an opt-in the newer one counts. A
	 * message with STOP has the time of the service, and this call that of your machine. If the two are less than five minutes apart,
	 * the opt-out counts, and this returns false: call it again later.
	 *
	 * It also says that the number is right, after the contact wrote that it is wrong: what waited as `wrong_number` goes out.
	 * @example if (!(await outbox.optIn({ to: "+447700900101" }))) console.log("call again in five minutes");
	 */
	optIn: (options: ContactOptions) => Promise<boolean>;
	/**
	 * Returns the texts that reached a final state, or whose message changed, and which were not acknowledged: the oldest
	 * first, at most `limit`. Read them, store what you need, and {@link Outbox.acknowledge} them in the same transaction.
	 * Nothing is lost with a process, unlike with `onSettled`. From the first call on, {@link Outbox.purge} keeps such texts, so
	 * acknowledge them if you call it at all.
	 *
	 * With `held: true` it also returns those that wait as `wrong_number`, those that became `held`, that you cancelled while they were held, or whose request for consent
	 * did not reach the phone. For a status column: the contact's phone shows a question, or does not.
	 * @example
	 * const changes = await outbox.settled({ limit: 100 });
	 * for (const { id, state } of changes) console.log(id, state);
	 * await outbox.acknowledge(changes);
	 */
	settled: (options?: { limit?: number | undefined; held?: boolean | undefined }) => Promise<SettledChange[]>;
	/**
	 * Acknowledges changes that {@link Outbox.settled} returned, in the caller's transaction when `tx` is given. A text that
	 * has changed again since stays in the list.
	 * @example await outbox.acknowledge(await outbox.settled());
	 */
	acknowledge: (
		changes: Iterable<Pick<SettledChange, "id" | "revision">>,
		options?: { tx?: Transaction | undefined },
	) => Promise<void>;
	/**
	 * Takes in a change of the change feed. Messages that were delivered, read or failed need no request then, and the
	 * contact's unfinished texts are checked at once.
	 * @example
	 * const { conversation, messagePage } = await agency.conversations.get("+447700900101");
	 * await outbox.observe({ agencyId: agency.id, conversation, messages: messagePage.messages });
	 */
	observe: (change: ObservedChange) => Promise<void>;
	/**
	 * Deletes the texts that were finished before a time, because the rows hold numbers and texts. Returns the number of
	 * rows. A string must include a UTC offset or `Z`. Once you use {@link Outbox.settled}, a text stays until its end is acknowledged.
	 * Do not enqueue the ids again: the service may know the `operationId` of the same id and text, and answer without delivering it.
	 * @example await outbox.purge({ before: new Date(Date.now() - 90 * 86_400_000) });
	 */
	purge: (options: { before: Date | string | number }) => Promise<number>;
	/**
	 * Declares that the database was restored from a backup. Call it once, while no worker runs, and before any starts. What
	 * was unfinished in the backup may have been sent since: before its next request each such text is looked for in its conversation.
	 * One that is found there is `sent` or `held`. One that may have been held, or whose conversation is unknown or hidden, becomes
	 * `unknown`. One that the contact declined, or opted out of, becomes `cancelled`. Returns the number of these texts.
	 *
	 * What was cancelled, erased, or asked for by telephone since the backup is lost: repeat it before the workers start.
	 *
	 * @param options - `backupAt`: when the backup was made. A string must include a UTC offset or `Z`
	 * @throws PartnerInvalidInput if `backupAt` is not a time, or is in the future
	 * @example await outbox.restored({ backupAt: new Date(Date.now() - 3 * 3_600_000) });
	 */
	restored: (options: { backupAt: Date | string | number }) => Promise<number>;
}

/** Which contact `cancelAll`, `erase`, `optOut` and `optIn` mean. */
export interface ContactOptions {
	/** Contact phone number, as written. */
	to: string;
	/** The agency's id. @default all agencies */
	agencyId?: string | undefined;
}

/** Ids of the texts that `cancelAll` found. */
export interface CancelledTexts {
	/** Texts that were not sent and will not be. */
	cancelled: string[];
	/** Texts that were `sending` or `held`, or whose conversation could not be read. They may still be delivered. */
	tooLate: string[];
}

/** A text that reached a final state, or whose message changed. */
export interface SettledChange extends OutboxStatus {
	/** Names this change of the text for `acknowledge`. */
	revision: number;
}

const longestLeaseMs = 30_000;
const shortestLeaseMs = 1_000;

/**
 * Creates an outbox. It stores texts with your own rows, sends each once and in the contact's order, and follows them until
 * they are read. It survives crashes, outages and the consent queue. Creating it makes no request.
 *
 * @throws PartnerInvalidInput naming the option and the rule. PartnerConfigurationError for a client or a store of another version
 * @example
 * const crmOutbox = createOutbox({ client, store }); // sqliteStore(db), postgresStore(pool) or mysqlStore(pool)
 * await crmOutbox.migrate();
 * await crmOutbox.enqueue({ id: "note-1", agencyId: agency.id, to: "+447700900101", body: "See you at 14:00." });
 * await crmOutbox.runOnce();
 * console.log((await crmOutbox.status("note-1"))?.attempts); // 1
 */
export function createOutbox(given: OutboxOptions): Outbox {
	const options = checkedOptions(given);
	const { client, store, engine, onSettled, onPaused, clock, now } = options;
	const tell = (pause: Pause) => void ignoringErrors(() => onPaused?.(pause));
	const access = createAccess(client, store, now);
	const alerts = createAlerts(tell, now, store);
	const pauses = createPauses({ alerts, tell }, now, store, access);
	const leaseMs = Math.min(longestLeaseMs, Math.max(shortestLeaseMs, Math.floor(options.settleMs / 2)));
	const optOuts = createOptOutReader(options.optOut);
	const quiet = createQuietClock(options.quietHours, now);
	const summaries = createSummaries(client, store, now);
	const context = {
		options,
		pauses,
		gateway: createGateway(access, pauses, now),
		settings: createSettingsCache(client, now),
		summaries,
		optOuts,
		quiet,
		onChange: settled,
		leaseMs,
	};
	const { concurrency } = options;
	const step = (lease: Lease, signal?: AbortSignal) => workQueue(context, lease, signal);
	const suspended = createSuspensionReports(alerts, now);
	const awaken = createAlarm(store, quiet, now);
	const loop = createLoop({ store, step, clock, concurrency, leaseMs, awaken, suspended, alerts }, pauses);
	const operator = createOperator(store, clock, { agencyOf: (id) => client.agency(id).id, onChange: settled, options });
	/** Tells a sandbox of a text, if the client has its connection. */
	const show = observerOf(client)?.outbox(store, operator.status);

	async function settled(text: OutboxText): Promise<void> {
		show?.(text.id);
		if (isUnfinished(text.state)) return;
		await pauses.cleared(text.id);
		const status = await statusOf(text);
		// Called in the order of the states, and not waited for, because a slow callback holds up no text.
		void ignoringErrors(() => onSettled?.(status));
	}

	/** Nothing is awaited before the statement: with a synchronous database it is part of the transaction that is open. */
	function enqueue(given: EnqueuedText, enqueueOptions: EnqueueOptions = {}): Promise<EnqueuedStatus> {
		return atOnce(enqueueOptions, "enqueue", ({ tx, allowUnlistedNumber }) => {
			const checked = checkedText(
				given,
				client,
				{ defaultCountry: options.defaultCountry, allowUnlistedNumber },
				now(),
			);
			return after(clock.measure(tx), () => insertOne({ ...checked, createdAt: now() }, tx));
		});
	}

	function insertOne(text: NewText, tx: Transaction | undefined): Awaitable<EnqueuedStatus> {
		const superseded = supersededBy(text);
		if (superseded && tx === undefined) return enqueueInPlace(text, superseded);
		if (!superseded) return after(store.insert(text, tx), (row) => enqueued(text, checkedRow(text, { text: row }), tx));
		return after(store.supersede(text, superseded, tx), (rows) => {
			const row = checkedRow(text, rows);
			const { old } = rows;
			return enqueued(text, row, tx, old && hasSuperseded(row, old) && mayStillArrive(row, old) ? old : undefined);
		});
	}

	/** The row of a text that was enqueued. Refuses one that can't be, before anything is awaited. */
	function checkedRow(text: NewText, { text: row, old }: Superseding): OutboxText {
		if (row) refuseOther(text, row);
		refuseSuperseding(text, row, old);
		return row ?? refuse("supersedes", "was changed at this moment: enqueue again", "enqueue");
	}

	/** Stores a text and cancels the one whose place it takes, in two steps. */
	async function enqueueInPlace(text: NewText, { id }: Superseded): Promise<EnqueuedStatus> {
		const [old, known] = await Promise.all([store.find(id), store.find(text.id)]);
		// A repeated call finds its own text, whatever the earlier one does by now.
		if (!known) refuseSuperseding(text, known, old);
		const row = checkedRow(text, { text: known ?? (await store.insert(text, undefined)), old });
		// A process that dies before this leaves both, and the worker cancels the earlier one.
		if (old && !old.progress.cancelRequested && hasSuperseded(row, old)) await cancelText(old.id, { superseded: true });
		return enqueued(text, row, undefined, await stillArriving(store, row));
	}

	/** @param arriving the text that was superseded, and may still arrive at another number of the contact */
	async function enqueued(
		text: NewText,
		row: OutboxText,
		tx: Transaction | undefined,
		arriving?: OutboxText,
	): Promise<EnqueuedStatus> {
		const ignored = ignoredIn(text, row);
		show?.(row.id);
		// In the place of a held text it rings no phone.
		const mayExpire = row.version === 0 && tx === undefined && !(await takesPlaceOfHeld(row));
		const expired = mayExpire ? await expireIfQuiet(row) : undefined;
		if (expired) return { ...(await statusOf(expired, undefined, arriving)), ignored };
		// What is due later is found by the workers themselves.
		if (row.version === 0 && (row.nextAt ?? 0) <= now()) await wakeWorker(row, row.id, tx);
		if (tx === undefined) loop.claimNow();
		return { ...(await statusOf(row, undefined, arriving)), ignored };
	}

	/** Nothing is awaited before the statements, as in `enqueue`. */
	function enqueueMany(
		given: Iterable<Omit<EnqueuedText, "supersedes">>,
		enqueueOptions: EnqueueOptions = {},
	): Promise<EnqueuedStatus[]> {
		return atOnce(enqueueOptions, "enqueueMany", ({ tx, allowUnlistedNumber }) => {
			const numbers = { defaultCountry: options.defaultCountry, allowUnlistedNumber };
			const checked = checkedTexts(given, client, numbers, now());
			if (checked.length === 0) return Promise.resolve([]);
			return after(clock.measure(tx), () => {
				const createdAt = now();
				return insertAll(
					checked.map((text) => ({ ...text, createdAt })),
					tx,
				);
			});
		});
	}

	function insertAll(texts: readonly NewText[], tx: Transaction | undefined): Awaitable<EnqueuedStatus[]> {
		return after(store.insertMany(texts, tx), (rows) => {
			const all = rows.map((row, at) => ({ text: texts[at] as NewText, row }));
			for (const [at, { text, row }] of all.entries()) refuseOther(text, row, `texts[${at}].id`, "enqueueMany");
			return enqueuedMany(all, tx);
		});
	}

	async function enqueuedMany(
		all: readonly { text: NewText; row: OutboxText }[],
		tx: Transaction | undefined,
	): Promise<EnqueuedStatus[]> {
		for (const { row } of all) show?.(row.id);
		// An id may be in the list twice.
		const unique = new Map(all.map(({ row }) => [row.id, row]));
		await Promise.all(
			[...unique].map(async ([id, row]) => {
				const ended = row.version === 0 && tx === undefined ? await expireIfQuiet(row) : undefined;
				if (ended) unique.set(id, ended);
			}),
		);
		const stored = all.map(({ text, row }) => ({ ignored: ignoredIn(text, row), row: unique.get(row.id) ?? row }));
		const first = stored.find(
			({ row: { state, version, nextAt } }) => state === "waiting" && version === 0 && (nextAt ?? 0) <= now(),
		);
		if (first) await wakeWorker(first.row, first.row.id, tx);
		if (tx === undefined) loop.claimNow();
		return Promise.all(stored.map(async ({ row, ignored }) => ({ ...(await statusOf(row)), ignored })));
	}

	/** Whether a text takes the place of one that the service holds for the same contact. */
	async function takesPlaceOfHeld(text: OutboxText): Promise<boolean> {
		for await (const { state, to, agencyId } of earlierTexts(store, text))
			if (state === "held" && to === text.to && agencyId === text.agencyId) return true;
		return false;
	}

	/** Ends a text that can only be sent in quiet hours at once, while somebody may be in the office who can call. */
	async function expireIfQuiet(row: OutboxText): Promise<OutboxText | undefined> {
		if (row.state !== "waiting") return undefined;
		// If the time zone cannot be had, the worker tells of it.
		const known = { hours: await quiet.hours(row.agencyId).catch(() => null) };
		const answer = gate({ ...storedSituation(row, options, Math.max(now(), row.readyAt)), known }, onEnqueue);
		if (answer?.do !== "become") return undefined;
		const next = changed(row, answer.change, now());
		if (!(await store.save(next))) return undefined;
		await settled(next);
		return next;
	}

	async function work(given: { signal?: AbortSignal | undefined } = {}): Promise<void> {
		const signal = signalIn(given, "work");
		const run = () => (engine ? workWith(engine, loop, signal) : loop.run(true, signal));
		await throughOutages(run, { pauses, now, signal });
	}

	let ranOnce: Promise<unknown> = Promise.resolve();
	async function runOnce(given: { signal?: AbortSignal | undefined } = {}): Promise<void> {
		const signal = signalIn(given, "runOnce");
		const turn = ranOnce.then(() => loop.run(false, signal));
		ranOnce = turn.catch(() => {});
		return turn;
	}

	function signalIn(given: { signal?: AbortSignal | undefined }, operation: string): AbortSignal | undefined {
		return check(optionsOf.work, "options", given, operation).signal;
	}

	/** Nothing is awaited before the statement of a transaction, as in `enqueue`. */
	async function cancel(id: string, given: { tx?: Transaction | undefined } = {}): Promise<boolean> {
		const { tx } = check(optionsOf.tx, "options", given, "cancel");
		const known = text("id", id, "cancel");
		const measuring = clock.measure(tx);
		if (measuring) await measuring;
		if (tx !== undefined) return (await store.cancelIn(known, now(), tx))?.state === "cancelled";
		const row = await cancelText(known);
		if (row) await wake(row);
		return row?.state === "cancelled";
	}

	/** Cancels a text, or marks it when it is too late. Tries again when a worker changed the row at that moment. */
	async function cancelText(id: string, marks: CancelMarks = {}): Promise<OutboxText | undefined> {
		for (;;) {
			const row = await store.find(id);
			if (!row || !isUnfinished(row.state)) return row;
			const next = changed(row, cancelling(row, marks, options, now()), now());
			if (!(await store.save(next))) continue;
			if (next.state !== row.state) await settled(next);
			// A worker finds out whether it was sent.
			else if (next.state === "waiting") await wake(next);
			return next;
		}
	}

	async function cancelAll(given: ContactOptions): Promise<CancelledTexts> {
		return stopRecipient(recipientFrom(given, "cancelAll"), {});
	}

	async function erase(given: ContactOptions): Promise<CancelledTexts> {
		const recipient = recipientFrom(given, "erase");
		const found = await stopRecipient(recipient, { erase: true });
		await store.erase(recipient);
		return found;
	}

	function recipientFrom(given: ContactOptions, operation: string): Pick<Recipient, "to"> & Partial<Recipient> {
		const { to, agencyId } = check(optionsOf.recipient, "options", given, operation);
		const { defaultCountry } = options;
		// The number of a contact can have become invalid since.
		const number = numberIn(to, { defaultCountry, allowUnlistedNumber: true }, operation);
		return { to: number, ...(agencyId !== undefined && { agencyId: client.agency(agencyId).id }) };
	}

	/** First no further text may begin, then each one is cancelled. */
	async function stopRecipient(recipient: Partial<Recipient>, marks: CancelMarks): Promise<CancelledTexts> {
		await clock.measure();
		await store.stop(recipient);
		const found: CancelledTexts = { cancelled: [], tooLate: [] };
		for (const { id } of await store.unfinished(recipient)) {
			const row = await cancelText(id, marks);
			found[row?.state === "cancelled" ? "cancelled" : "tooLate"].push(id);
		}
		return found;
	}

	async function observe(change: ObservedChange): Promise<void> {
		object("change", change, "observe");
		const { agencyId, conversation, messages = [] } = change;
		if (agencyId !== undefined && typeof agencyId !== "string") refuse("agencyId", "must be a string", "observe");
		if (conversation !== undefined && conversation !== null) object("conversation", conversation, "observe");
		if (!Array.isArray(messages)) refuse("messages", "must be a list of messages", "observe");
		for (const [at, message] of messages.entries()) object(`messages[${at}]`, message, "observe");
		await clock.measure();
		for (const message of messages) if (message.direction === "outbound") await report(message);
		const phoneNumber = conversation && ("summary" in conversation ? conversation.summary : conversation).phoneNumber;
		if (!phoneNumber) return;
		text("phoneNumber", phoneNumber, "observe");
		const who = { to: phoneNumber, agencyId: agencyId ?? "" };
		// A "START" to one agency says nothing to the others.
		const asked = agencyId === undefined ? messages.filter((message) => optOuts.asks(message) !== "in") : messages;
		await createContact(store, optOuts, who, now).hear(asked);
		if (asked.some((message) => optOuts.asks(message) === "out"))
			await endOptedOut({ to: phoneNumber, agencyId }, asked);
		await wake({ to: phoneNumber, agencyId });
	}

	async function noteOptOut(given: ContactOptions, operation: "optOut" | "optIn") {
		const recipient = recipientFrom(given, operation);
		await clock.measure();
		await store.note(recipient, { [operation === "optOut" ? "optedOut" : "optedIn"]: { own: now() } });
		if (operation === "optOut") await endOptedOut(recipient, []);
		else await clearWrongNumber(recipient);
		await wake({ to: recipient.to, agencyId: recipient.agencyId });
		return recipient;
	}

	/** Takes the reason from what waited because of a wrong number. What is due in days would keep it until then. */
	async function clearWrongNumber(recipient: { to: string; agencyId?: string | undefined }): Promise<void> {
		const { to, agencyId } = recipient;
		for (const { id } of await store.unfinished({ to, ...(agencyId !== undefined && { agencyId }) })) {
			for (;;) {
				const row = await store.find(id);
				if (row?.state !== "waiting" || row.reason !== "wrong_number") break;
				if (isNumberWrong(storedView(await store.facts(row)))) break;
				if (await store.save(changed(row, {}, now()))) break;
			}
		}
	}

	/** Whether texts may go out again. Of all agencies that is known of those with a text to the contact. */
	async function optIn(given: ContactOptions): Promise<boolean> {
		const { to, agencyId } = await noteOptOut(given, "optIn");
		const texts = agencyId === undefined ? await store.unfinished({ to }) : [];
		const agencies = new Set([agencyId ?? "", ...texts.map((row) => row.agencyId)]);
		const all = await Promise.all([...agencies].map((each) => store.facts({ to, agencyId: each })));
		return !all.map(storedView).some((contact) => isOptedOut(contact) || isNumberWrong(contact));
	}

	/**
	 * Ends what waits for a contact who has asked for no more texts, also what is due in days, and keeps what is held from being sent
	 * again. Tries again when a worker changed a row at that moment.
	 */
	async function endOptedOut(
		{ to, agencyId }: { to: string; agencyId?: string | undefined },
		messages: readonly Message[],
	): Promise<void> {
		for (const { id } of await store.unfinished({ to, ...(agencyId !== undefined && { agencyId }) })) {
			for (;;) {
				const row = await store.find(id);
				// What was restored from a backup may have been sent, which the worker finds out.
				const isWaiting = row?.state === "waiting" && !isRestored(row);
				const isHeld = row?.state === "held" && !row.progress.cancelRequested;
				if (!isWaiting && !isHeld) break;
				const contact = createContact(store, optOuts, row, now);
				await contact.learn(null);
				await contact.hear(messages);
				const answer = gate({ ...storedSituation(row, options, now()), contact: await contact.view() }, onOptOut);
				// A held text is not sent again, also by a worker that is about to.
				if (!answer || !("change" in answer) || !answer.change) break;
				const next = changed(row, answer.change, now());
				if (!(await store.save(next))) continue;
				if (isWaiting) await settled(next);
				break;
			}
		}
	}

	/** Stores what is reported of a message, again when a worker changed the row at that moment. */
	async function report(message: Message): Promise<void> {
		const text = await store.byMessage(storableId(message.messageSid));
		const phase = phaseOf(message);
		if (!text || !isFurther(phase, text.state)) return;
		const next = changed(text, { state: phase, nextAt: phase === "delivered" ? text.nextAt : null }, now());
		await ((await store.save(next)) ? settled(next) : report(message));
	}

	async function wake({ agencyId, to }: { agencyId: string | undefined; to: string }): Promise<void> {
		const recipient = { to, ...(agencyId !== undefined && { agencyId }) };
		summaries.forget(to);
		await store.wake(recipient, now());
		// One job is enough, because the worker that it wakes looks at all queues.
		const [first] = engine ? await store.unfinished(recipient) : [];
		if (first) await wakeWorker(first, crypto.randomUUID(), undefined);
		loop.claimNow();
	}

	async function wakeWorker(text: OutboxText, key: string, tx: Transaction | undefined): Promise<void> {
		await engine?.wake({ text: text.seq }, { key, priority: priorityOf(text), tx }).catch((error: unknown) => {
			if (!engine.mayFailToWake) throw error;
		});
	}

	async function settledChanges(
		given: { limit?: number | undefined; held?: boolean | undefined } = {},
	): Promise<SettledChange[]> {
		const { limit = 100, held = false } = check(optionsOf.settled, "options", given, "settled");
		const rows = await store.unacknowledged(limit, { held });
		return Promise.all(
			rows.map(async (row) => ({ ...(await statusOf(row)), revision: row.unacknowledged ?? row.version })),
		);
	}

	/** Nothing is awaited before the statement, as in `enqueue`. */
	async function acknowledge(
		changes: Iterable<Pick<SettledChange, "id" | "revision">>,
		given: { tx?: Transaction | undefined } = {},
	): Promise<void> {
		const { tx } = check(optionsOf.tx, "options", given, "acknowledge");
		if (!(Symbol.iterator in Object(changes)))
			refuse("changes", "must be a list, as settled returns it", "acknowledge");
		const all = [...changes].map((change, index) => {
			const { id, revision }: Partial<SettledChange> = Object(change);
			if (typeof id !== "string" || !Number.isInteger(revision))
				refuse(`changes[${index}]`, "must have id and revision, as settled returns them", "acknowledge");
			return { id, revision: Number(revision) };
		});
		if (all.length > 0) await store.acknowledge(all, tx);
	}

	return {
		migrate: async () => {
			await store.migrate();
			await engine?.start();
		},
		enqueue,
		enqueueMany,
		work,
		runOnce,
		status: operator.status,
		explain: operator.explain,
		health: operator.health,
		suspend: operator.suspend,
		async resume(given = {}) {
			const isEnded = await operator.resume(given);
			loop.claimNow();
			return isEnded;
		},
		resolve: operator.resolve,
		cancel,
		cancelAll,
		erase,
		optOut: async (given) => void (await noteOptOut(given, "optOut")),
		optIn,
		settled: settledChanges,
		acknowledge,
		observe,
		purge: async (given) =>
			store.purge(moment("before", check(optionsOf.purge, "options", given, "purge").before, "purge")),
		restored: operator.restored,
	};
}

/** The options of the methods. Each is a copy with all of its fields, so that it has nothing that it inherits. */
const optionsOf = {
	work: fieldsOf<{ signal?: AbortSignal | undefined }>({ signal: optional(abortSignal) }),
	// The store knows its transactions.
	tx: fieldsOf<{ tx?: Transaction | undefined }>({ tx: checkedLater() }),
	enqueue: fieldsOf<EnqueueOptions>({ tx: checkedLater(), allowUnlistedNumber: optional(flag) }),
	// The client knows numbers and agency ids.
	recipient: fieldsOf<ContactOptions>({ to: checkedLater(), agencyId: checkedLater() }),
	settled: fieldsOf<{ limit?: number | undefined; held?: boolean | undefined }>({
		limit: optional(whole(1, 1_000)),
		held: optional(flag),
	}),
	purge: fieldsOf<{ before: Date | string | number }>({ before: time }),
};

/**
 * Runs what stores texts. An error in a synchronous transaction is thrown, because a rejection would reach the caller after the
 * commit.
 */
function atOnce<Result>(
	given: EnqueueOptions,
	operation: "enqueue" | "enqueueMany",
	act: (given: EnqueueOptions) => Awaitable<Result>,
): Promise<Result> {
	try {
		// A transaction in place of the options would be ignored, and the text stored although it is rolled back.
		return Promise.resolve(act(check(optionsOf.enqueue, "options", given, operation)));
	} catch (error) {
		if (synchronousIn(Object(given).tx, "enqueue")) throw error;
		return Promise.reject(error);
	}
}

async function ignoringErrors(act: () => unknown): Promise<void> {
	try {
		await act();
	} catch {
		// A callback of the caller's never changes what becomes of a text.
	}
}
