import { observerOf } from "../shared/observer.ts";
import { abortSignal, fieldsOf, optional } from "../shared/validation.ts";
import { type CancelledTexts, type CancelOptions, cancel, cancelAll, cancelText, erase } from "./cancel.ts";
import { createChange } from "./change.ts";
import type { ContactRecord } from "./contact-records.ts";
import { type OutboxContext, wake } from "./context.ts";
import { enqueue, enqueueMany } from "./enqueue.ts";
import type { Explanation } from "./explain.ts";
import type { ExportOptions, OptedOutOptions, OptOutStatus } from "./export-contacts.ts";
import { type FollowedChange, type FollowOptions, follow } from "./follow.ts";
import type { EnqueuedStatus, EnqueuedText, EnqueueOptions, ObservedChange } from "./given-text.ts";
import type { OutboxHealth } from "./health.ts";
import type { ImportedContacts, ImportOptions } from "./import-contacts.ts";
import { check, moment, time } from "./input.ts";
import { type AgencyLeases, createLeases, type LeasesOptions } from "./leases.ts";
import { observe, optIn, optOut } from "./observe.ts";
import {
	createOperator,
	type ListedText,
	type ListOptions,
	type ResolveOptions,
	type RestoredOptions,
	type ResumeOptions,
	type SuspendOptions,
} from "./operator.ts";
import { type CheckedOptions, checkedOptions, type OutboxOptions } from "./options.ts";
import { createOptOutReader } from "./policy/contact.ts";
import type { CancelAllOptions, EraseOptions, StopOptions } from "./recipient.ts";
import type { ReportOptions, ReportRow } from "./report.ts";
import { acknowledge, type SettledChange, settled } from "./settled.ts";
import { type OutboxStatus, statusOf } from "./status.ts";
import type { Lease } from "./store.ts";
import { isUnfinished, type OutboxText, type Restored } from "./text.ts";
import type { Transaction } from "./transaction.ts";
import { createAccess } from "./work/access.ts";
import { createAlerts } from "./work/alerts.ts";
import { createConsents } from "./work/consents.ts";
import { createGateway } from "./work/gateway.ts";
import { createNos } from "./work/nos.ts";
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
	 * Creates the tables, and changes those of an earlier version, while everything goes on. Does nothing when that is done. After an
	 * upgrade call it before you replace the processes.
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
	 * transaction is rolled back. PartnerConfigurationError if a later version has migrated the tables, and does not read any more what
	 * this one stores
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
	 * that the outbox itself passes, or if a later version has migrated the tables and holds back texts that this one would send; the
	 * text stays as it is
	 * @example
	 * const signal = AbortSignal.timeout(50); // in a server: aborted by SIGTERM
	 * await outbox.work({ signal });
	 */
	work: (options?: { signal?: AbortSignal | undefined }) => Promise<void>;
	/**
	 * Does what is due now, for a cron job, a serverless function or a test. When the signal aborts, requests in progress
	 * are finished, no new one begins, and the rest waits for the next call. A second call waits for the first.
	 *
	 * @throws as {@link Outbox.work}, and if the database is down
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
	 * Returns texts with their status, the newest first: of a contact, an agency, a state, or since a time. Who texted this person,
	 * why, and when was it sent? At most `limit`; `after` goes on behind the last one of a page. Texts that were erased have no number.
	 *
	 * @throws PartnerInvalidInput for a bad option, and if there is no text with the id `after`
	 * @example
	 * for (const { by, why, sentAt } of await outbox.list({ to: "+447700900101" })) console.log(by, why, sentAt);
	 */
	list: (options?: ListOptions) => Promise<ListedText[]>;
	/**
	 * Counts texts by day, agency and purpose: how many were sent, delivered, read, declined or not sent. A text counts on the day on
	 * which it was enqueued, or on the day of its `notBefore` if that is later, with what has become of it by now. It reads the index of
	 * the days alone. What {@link Outbox.purge} deleted is not counted.
	 *
	 * @throws PartnerInvalidInput for a bad option, and for more than 366 days
	 * @example
	 * const days = { since: "2026-03-01", until: "2026-04-01", timeZone: "Europe/Brussels" };
	 * for (const { day, purpose, sent, read } of await outbox.report(days)) console.log(day, purpose, sent, read);
	 */
	report: (options: ReportOptions) => Promise<ReportRow[]>;
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
	 * Ends a suspension. Without `agencyId` it ends the suspension of everybody. Texts are sent again at once, unless something else stops them. Returns false
	 * if there was none. A pause, such as one after a refused key, stays.
	 * @example if (!(await outbox.resume())) console.log("nothing was suspended");
	 */
	resume: (options?: ResumeOptions) => Promise<boolean>;
	/**
	 * Ends an `unknown` text after a person has looked at the conversation. `"sent"` makes it `sent`. `"not_sent"` makes it
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
	cancel: (id: string, options?: CancelOptions) => Promise<boolean>;
	/**
	 * Cancels every text that waits for a contact, and marks those that are `sending` or `held` as {@link Outbox.cancel} does.
	 * Covers texts whose transaction is still open. Texts that are enqueued later are sent. Without `agencyId` it covers all
	 * agencies.
	 *
	 * With `agencyId` and without `to` it does so for all contacts of the agency, for example when the agency leaves you. Once it has
	 * listed their texts, no request for one of them begins. They end one after the other, and if your process dies meanwhile, workers
	 * end the rest.
	 *
	 * Your workers may go on meanwhile. Each text that was unfinished when you called is in exactly one list of the result.
	 *
	 * @throws PartnerInvalidInput if neither `to` nor `agencyId` is given, or if `to` is given as undefined
	 * @example
	 * const { tooLate } = await outbox.cancelAll({ to: "+447700900101" });
	 * console.log(`${tooLate.length} texts may still be delivered`);
	 * @example await outbox.cancelAll({ agencyId: agency.id, by: "Ann" });
	 */
	cancelAll: (options: CancelAllOptions) => Promise<CancelledTexts>;
	/**
	 * Erases a contact of an agency, or with `everyAgency: true` of all of them: cancels as {@link Outbox.cancelAll} does, and removes
	 * the number, the text, `by`, `why`, `meta` and the steps of every finished row.
	 * Those of `tooLate`, which are `sending` or `held`, are erased as soon as they end: a held one within 48 hours, and the contact
	 * may still get it. Once `tooLate` is empty, no row has the number or a text of theirs. A text whose transaction is still open is cancelled, and
	 * erased by a second call. The ids stay, so that a second `enqueue` with one is refused: the service may still know its
	 * `operationId`. Put no phone number into an id: `operationIdFrom` makes one of it.
	 *
	 * @throws PartnerInvalidInput if neither `agencyId` nor `everyAgency` is given, or both are
	 * @example
	 * const { tooLate } = await outbox.erase({ to: "+447700900101", agencyId: agency.id });
	 * if (tooLate.length > 0) console.log("Call it again later, before you confirm the erasure.");
	 */
	erase: (options: EraseOptions) => Promise<CancelledTexts>;
	/**
	 * Stores that a contact asked for no more texts, for example by telephone. What waits for them ends as a message with STOP ends
	 * it: see `optOut` of {@link OutboxOptions}. It stays when the contact is forgotten. Without `agencyId` it covers all agencies.
	 * @example await outbox.optOut({ to: "+447700900101" });
	 */
	optOut: (options: StopOptions) => Promise<void>;
	/**
	 * Stores that a contact wants texts again. Returns whether they get them now: of an opt-out and an opt-in the newer one counts. A
	 * message with STOP has the service's time, and this call the time of the database (with SQLite, the machine). If the two are less than five minutes apart,
	 * the opt-out counts, and this returns false: call it again later.
	 *
	 * It also says that the number is right, after the contact wrote that it is wrong: what waited as `wrong_number` goes out. A No to
	 * an earlier text, or a refusal, stops nothing any more.
	 * @example if (!(await outbox.optIn({ to: "+447700900101" }))) console.log("call again in five minutes");
	 */
	optIn: (options: StopOptions) => Promise<boolean>;
	/**
	 * Returns whether a contact has opted out of the texts of an agency, as far as the outbox knows: since when, what told of it, and who.
	 * It makes no request, so that a STOP that no worker has read yet is not in it. It knows those who were erased, too. With the id of
	 * an agency that is new to the outbox, or mistyped, `isAgencyKnown` is false.
	 *
	 * @throws PartnerInvalidInput for a bad number or agency
	 * @example
	 * const { isOptedOut, isAgencyKnown, optOut } = await outbox.optedOut({ agencyId: agency.id, to: "+447700900101" });
	 * if (!isAgencyKnown) console.log("is it the right agency?");
	 * if (isOptedOut) console.log(optOut?.at, optOut?.source, optOut?.by);
	 */
	optedOut: (options: OptedOutOptions) => Promise<OptOutStatus>;
	/**
	 * Returns what is known of all contacts, of one agency or of all: opt-outs and opt-ins with their time, clock and source, declines,
	 * wrong numbers, and who was erased. The records are JSON, in pages, for `for await`. {@link Outbox.importContacts} of another outbox
	 * takes them in.
	 *
	 * They are personal data: each contact is there by a keyed hash of their number, and **the key is among the records**. Whoever has
	 * them can find out who it is by trying all numbers. Encrypt a file of them, show it to nobody, and delete it once it was imported.
	 * What is stored while the export runs may be missing.
	 *
	 * @throws PartnerInvalidInput for a bad agency
	 * @example for await (const record of outbox.exportContacts()) console.log(record.kind);
	 */
	exportContacts: (options?: ExportOptions) => AsyncIterable<ContactRecord>;
	/**
	 * Stores what another outbox knows of contacts. Of two times the later one counts, so that an import may be repeated, and takes back
	 * nothing that is newer. It may run while workers do. Then what waits for a contact who has opted out ends, as by
	 * {@link Outbox.optOut}, and texts to those who were erased are erased, if they were enqueued before that.
	 *
	 * With `into` the contacts of another agency become those of this one: each of their opt-outs holds, whatever they have said to
	 * this one before the export.
	 *
	 * @throws PartnerInvalidInput that names the record and its field, such as `records[12].hash`, which is line 13 of a file. What came
	 * before it may be stored. Also if the records end too early
	 * @example
	 * const { contacts } = await otherOutbox.importContacts(outbox.exportContacts());
	 * console.log(contacts);
	 */
	importContacts: (
		records: Iterable<ContactRecord> | AsyncIterable<ContactRecord>,
		options?: ImportOptions,
	) => Promise<ImportedContacts>;
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
	 * Passes what became of each text to your function, one after the other, until the signal aborts: the loop around
	 * {@link Outbox.settled}, beside {@link Outbox.work} or in a process of its own. Ends after the call in progress.
	 *
	 * If several processes follow, one of them calls your function, and another one goes on when it ends or dies. A change comes
	 * again if the process dies before it was acknowledged: `change.acknowledge(tx)` does so in your transaction. If your function
	 * throws, the change comes again after a second, then after twice as long each time, and after five minutes at most. Others
	 * come meanwhile. `onPaused` tells you if it keeps failing (`follow_failed`).
	 *
	 * @param onSettled - gets a change, and stores what you need. May be async
	 * @throws as {@link Outbox.work}
	 * @example
	 * const signal = AbortSignal.timeout(50); // in a server: aborted by SIGTERM
	 * await outbox.follow(({ id, state }) => console.log(id, state), { signal });
	 */
	follow: (onSettled: (change: FollowedChange) => unknown, options?: FollowOptions) => Promise<void>;
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
	 * Shares the agencies of `watchAgencies` among any number of processes, by leases in the outbox's tables. Each process gets
	 * its share. One that joins takes over what is beyond the share of the others. When one ends or dies, the others take over its agencies.
	 *
	 * @param options - `name`: the feed, if several of them follow the same agencies
	 * @throws PartnerInvalidInput if the name is not one line of at most 100 characters
	 * @example
	 * const lease = outbox.leases(); // watchAgencies(client, { lease, load, save })
	 * console.log(await lease(agency.id)); // true
	 * await lease.release(agency.id); // as watchAgencies does in the end
	 */
	leases: (options?: LeasesOptions) => AgencyLeases;
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
	 * was unfinished in the backup, and due by now, may have been sent since: before its next request each such text is looked for in its
	 * conversation. A worker that finds out by itself, as after a failover, does the same: a second call for the same time marks no text twice.
	 * One that is found there is `sent` or `held`. One that may have been held, or whose conversation is unknown or hidden, becomes
	 * `unknown`. One that the contact declined, or opted out of, becomes `cancelled`. Returns the number of these texts.
	 *
	 * What was cancelled, erased, or asked for by telephone since the backup is lost: repeat it before the workers start, or pass a later
	 * export to {@link Outbox.importContacts}.
	 *
	 * @throws PartnerInvalidInput if `backupAt` is not a time, or is in the future
	 * @example await outbox.restored({ backupAt: new Date(Date.now() - 3 * 3_600_000) });
	 */
	restored: (options: RestoredOptions) => Promise<number>;
}

/** A lease of a claim. That of a request lasts as long as `settleMs`. */
const claimLeaseMs = 30_000;
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
export function createOutbox(options: OutboxOptions): Outbox {
	return outboxOf(checkedOptions(options));
}

function outboxOf(checked: CheckedOptions): Outbox {
	const nos = createNos(checked.store, checked.now, cancelAgain);
	const options: CheckedOptions = { ...checked, store: nos.store };
	const { client, store, engine, onSettled, onPaused, clock, now } = options;
	const tell = (pause: Pause) => void ignoringErrors(() => onPaused?.(pause));
	const access = createAccess(client, store, now);
	const alerts = createAlerts(tell, now, store);
	const pauses = createPauses({ alerts, tell }, now, store, access);
	const leaseMs = Math.min(claimLeaseMs, Math.max(shortestLeaseMs, Math.floor(options.settleMs / 2)));
	const optOuts = createOptOutReader(options.optOut);
	const quiet = createQuietClock(options.quietHours, now);
	const summaries = createSummaries(client, store, now);
	const consents = createConsents(store, options);
	const work = {
		options,
		pauses,
		gateway: createGateway(access, pauses, now),
		settings: createSettingsCache(client, now),
		summaries,
		consents,
		optOuts,
		quiet,
		onChange: onState,
		leaseMs,
	};
	const { concurrency } = options;
	const step = (lease: Lease, signal?: AbortSignal) => workQueue(work, lease, signal);
	const suspended = createSuspensionReports(alerts, now);
	const awaken = createAlarm(store, quiet, now);
	const { sayAgain: sayNoAgain } = nos;
	const loop = createLoop(
		{ store, step, clock, concurrency, leaseMs, awaken, suspended, alerts, lost, sayNoAgain },
		pauses,
	);
	const { claimNow } = loop;
	const change = createChange(store, now, onState);
	const agencyOf = (id: string): string => client.agency(id).id;
	const operator = createOperator(store, clock, {
		agencyOf,
		change,
		options,
		wake: (whose) => wake(context, whose),
	});
	/** Tells a sandbox of a text, if the client has its connection. */
	const show = observerOf(client)?.outbox(store, operator.status);
	const context: OutboxContext = { options, optOuts, quiet, summaries, change, claimNow, show };

	/** Cancels a text again whose cancellation may be lost. */
	async function cancelAgain(id: string, marks: { superseded?: true }): Promise<void> {
		const row = await store.find(id);
		if (row && isUnfinished(row.state) && !row.progress.cancelRequested) await cancelText(context, id, marks);
	}

	/** Called once for each loss, by the worker that declares it. */
	async function lost({ from, to }: Restored, texts: number): Promise<void> {
		const timeline = (await store.timeline?.()) ?? null;
		tell({
			reason: "data_lost",
			retryAt: new Date(now()),
			lost: { from: new Date(from), to: new Date(to), texts, timeline },
		});
	}

	/** Called after each change of state that is stored. */
	async function onState(text: OutboxText): Promise<void> {
		show?.(text.id);
		if (isUnfinished(text.state)) return;
		await pauses.cleared(text.id);
		const status = await statusOf(store, text);
		// Called in the order of the states, and not waited for, because a slow callback holds up no text.
		void ignoringErrors(() => onSettled?.(status));
	}

	let ranOnce: Promise<unknown> = Promise.resolve();
	return {
		async migrate() {
			await store.migrate();
			await engine?.start();
		},
		enqueue: (text, given) => enqueue(context, text, given),
		enqueueMany: (texts, given) => enqueueMany(context, texts, given),
		async work(given = {}) {
			const signal = signalIn(given, "work");
			const run = () => (engine ? workWith(engine, loop, signal) : loop.run(true, signal));
			await throughOutages(run, { pauses, now, signal });
		},
		async runOnce(given = {}) {
			const signal = signalIn(given, "runOnce");
			const turn = ranOnce.then(() => loop.run(false, signal));
			ranOnce = turn.catch(() => {});
			return turn;
		},
		status: operator.status,
		explain: operator.explain,
		list: operator.list,
		report: operator.report,
		health: operator.health,
		suspend: operator.suspend,
		async resume(given = {}) {
			const isEnded = await operator.resume(given);
			claimNow();
			return isEnded;
		},
		resolve: operator.resolve,
		cancel: (id, given) => cancel(context, id, given),
		cancelAll: (given) => cancelAll(context, given),
		erase: (given) => erase(context, given),
		optOut: (given) => optOut(context, given),
		optIn: (given) => optIn(context, given),
		settled: (given) => settled(store, given),
		follow: (act, given) => follow({ options, alerts, pauses }, act, given),
		acknowledge: (changes, given) => acknowledge(store, changes, given),
		leases: (given) => createLeases(store, given),
		observe: (given) => observe(context, given),
		purge: async (given) =>
			store.purge(moment("before", check(purgeOptions, "options", given, "purge").before, "purge")),
		restored: operator.restored,
		optedOut: operator.optedOut,
		exportContacts: operator.exportContacts,
		importContacts: operator.importContacts,
	};
}

const workOptions = fieldsOf<{ signal?: AbortSignal | undefined }>({ signal: optional(abortSignal) });
const purgeOptions = fieldsOf<{ before: Date | string | number }>({ before: time });

function signalIn(given: { signal?: AbortSignal | undefined }, operation: string): AbortSignal | undefined {
	return check(workOptions, "options", given, operation).signal;
}

async function ignoringErrors(act: () => unknown): Promise<void> {
	try {
		await act();
	} catch {
		// A callback of the caller's never changes what becomes of a text.
	}
}
