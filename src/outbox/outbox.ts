import type { Message } from "messaging-conversations";
import { phaseOf } from "../shared/delivery-phase.ts";
import { ifQuiet, unsent } from "./decide.ts";
import {
	checkedText,
	type EnqueuedText,
	type EnqueueOptions,
	numberIn,
	type ObservedChange,
	refuseOther,
} from "./enqueue.ts";
import { can, fields, moment, object, refuse, text } from "./input.ts";
import { isFurther } from "./match.ts";
import { checkedOptions, type OutboxOptions } from "./options.ts";
import { createContact, createOptOutReader } from "./policy/contact.ts";
import { policies, priorityOf, purposeOf } from "./policy/purpose.ts";
import { type OutboxStatus, statusOf } from "./status.ts";
import type { Lease } from "./store.ts";
import { changed, isUnfinished, type OutboxText, type Recipient, storableId } from "./text.ts";
import type { Transaction } from "./transaction.ts";
import { createGateway } from "./work/gateway.ts";
import { createPauses } from "./work/pauses.ts";
import { createQuietClock } from "./work/quiet.ts";
import { createSettingsCache } from "./work/settings.ts";
import { workQueue } from "./work/step.ts";
import { createSummaries } from "./work/watch.ts";
import { createLoop, throughOutages, workWith } from "./work/worker.ts";

/** Durable sends. */
export interface Outbox {
	/**
	 * Creates the tables, and brings older ones up to date. Does nothing when they are.
	 * @example await outbox.migrate();
	 */
	migrate: () => Promise<void>;
	/**
	 * Stores a text, in the caller's transaction if `tx` is given. The same id with the same text returns the existing row, so a
	 * double click is one text. It is sent by {@link Outbox.work}, here or in another process.
	 *
	 * @throws PartnerInvalidInput for a bad number or text, and for an id that has another text. Nothing is stored then
	 * @example
	 * await outbox.enqueue({ id: "note-1", agencyId: agency.id, to: "+447700900101", body: "See you at 14:00." });
	 */
	enqueue: (text: EnqueuedText, options?: EnqueueOptions) => Promise<OutboxStatus>;
	/**
	 * Sends what is stored and follows what was sent, until the signal aborts. Then requests under way end, and no new one
	 * begins. Reads by `conversations.get` before a first request and before each retry that could be a second text, and sends
	 * by `messages.send`.
	 *
	 * Any number of processes may work on a store at once, with or without an engine.
	 *
	 * @throws an error of the store that does not pass by itself, such as a missing table, and any other one after an hour
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
	 * await outbox.drain();
	 * await outbox.drain({ signal: AbortSignal.timeout(20_000) }); // begins no request after 20 seconds
	 */
	drain: (options?: { signal?: AbortSignal | undefined }) => Promise<void>;
	/**
	 * Returns the status of a text; undefined for an unknown id.
	 * @example console.log((await outbox.status("note-1"))?.description ?? "never sent");
	 */
	status: (id: string) => Promise<OutboxStatus | undefined>;
	/**
	 * Cancels a text that waits to be sent, also between two tries. Returns true when it was not sent and will not be.
	 *
	 * Returns false for an unknown id, and when it is too late. A text in `sending` or `held` is marked then
	 * (`cancelRequested`): the outbox never sends it again, but the service may still deliver it. One that was tried in a
	 * conversation that could not be read becomes `unknown`.
	 * @example if (!(await outbox.cancel("note-1"))) console.log("too late");
	 */
	cancel: (id: string) => Promise<boolean>;
	/**
	 * Cancels every text that waits for a contact, and marks those that are `sending` or `held` as {@link Outbox.cancel} does.
	 * Covers texts whose transaction is still open. Texts that are enqueued later are sent. Without `agencyId` it covers all
	 * agencies.
	 * @example
	 * const { tooLate } = await outbox.cancelAll({ to: "+447700900101" });
	 * console.log(`${tooLate.length} texts may still be delivered`);
	 */
	cancelAll: (options: CancelOptions) => Promise<CancelledTexts>;
	/**
	 * Erases a contact: cancels as {@link Outbox.cancelAll} does, and removes the number and the text of every finished row.
	 * Texts that are `sending` or `held` are erased as soon as they end. A text whose transaction is still open is cancelled, and
	 * erased by a second call. The ids stay, so that a second `enqueue` with one is refused: the service may still know its
	 * `operationId`. Put no phone number into an id: `operationIdFrom` makes one of it.
	 * @example await outbox.forget({ to: "+447700900101" });
	 */
	forget: (options: CancelOptions) => Promise<void>;
	/**
	 * Stores that a contact asked for no more texts, for example by telephone. What waits for them ends as a message with STOP ends
	 * it: see `optOut` of {@link OutboxOptions}. It stays when the contact is forgotten. Without `agencyId` it covers all agencies.
	 * @example await outbox.optOut({ to: "+447700900101" });
	 */
	optOut: (options: CancelOptions) => Promise<void>;
	/**
	 * Stores that a contact wants texts again. Of an opt-out and an opt-in the newer one counts.
	 * @example await outbox.optIn({ to: "+447700900101" });
	 */
	optIn: (options: CancelOptions) => Promise<void>;
	/**
	 * Returns the texts that reached a final state, or whose message changed, and which were not acknowledged: the oldest
	 * first, at most `limit`. Read them, store what you need, and {@link Outbox.acknowledge} them in the same transaction.
	 * Nothing is lost with a process, unlike with `onSettled`. From the first call on, {@link Outbox.purge} keeps such texts, so
	 * acknowledge them if you call it at all.
	 * @example
	 * const changes = await outbox.settled({ limit: 100 });
	 * for (const { id, state } of changes) console.log(id, state);
	 * await outbox.acknowledge(changes);
	 */
	settled: (options?: { limit?: number | undefined }) => Promise<SettledChange[]>;
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
	 * Deletes the texts that were finished before a time, because the rows hold numbers and texts. A time that is text needs its
	 * zone. Returns the number of rows. Once you use {@link Outbox.settled}, a text stays until its end is acknowledged. Do not enqueue their ids again: the service may know the `operationId` of the same id and
	 * text, and answer without delivering it.
	 * @example await outbox.purge({ before: new Date(Date.now() - 90 * 86_400_000) });
	 */
	purge: (options: { before: Date | string | number }) => Promise<number>;
}

/** Options of `cancelAll` and `forget`. */
export interface CancelOptions {
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
 * they are read. Crashes, outages and the consent queue change nothing about that. Creating it makes no request.
 *
 * @throws PartnerInvalidInput naming the option and the rule
 * @example
 * const crmOutbox = createOutbox({ client, store }); // sqliteStore(db), postgresStore(pool) or mysqlStore(pool)
 * await crmOutbox.migrate();
 * await crmOutbox.enqueue({ id: "note-1", agencyId: agency.id, to: "+447700900101", body: "See you at 14:00." });
 * await crmOutbox.drain();
 * console.log((await crmOutbox.status("note-1"))?.attempts); // 1
 */
export function createOutbox(given: OutboxOptions): Outbox {
	const options = checkedOptions(given);
	const { client, store, engine, onSettled, onPaused, now } = options;
	const pauses = createPauses((pause) => ignoringErrors(() => onPaused?.(pause)), now, store);
	const leaseMs = Math.min(longestLeaseMs, Math.max(shortestLeaseMs, Math.floor(options.settleMs / 2)));
	const optOuts = createOptOutReader(options.optOut);
	const quiet = createQuietClock(options.quietHours);
	const summaries = createSummaries(client, store, now);
	const context = {
		options,
		pauses,
		gateway: createGateway(client, pauses, now),
		settings: createSettingsCache(client, now),
		summaries,
		optOuts,
		quiet,
		onChange: settled,
		leaseMs,
	};
	const { concurrency } = options;
	const step = (lease: Lease, signal?: AbortSignal) => workQueue(context, lease, signal);
	const loop = createLoop({ store, step, now, concurrency, leaseMs }, pauses);

	async function settled(text: OutboxText): Promise<void> {
		if (isUnfinished(text.state)) return;
		pauses.cleared(text.id);
		const status = await statusOf(text);
		// Called in the order of the states, and not waited for, because a slow callback holds up no text.
		void ignoringErrors(() => onSettled?.(status));
	}

	/** Nothing is awaited before the statement: with a synchronous database it is part of the transaction that is open. */
	async function enqueue(given: EnqueuedText, enqueueOptions: EnqueueOptions = {}): Promise<OutboxStatus> {
		// A transaction in place of the options would be ignored, and the text stored although it is rolled back.
		fields("options", enqueueOptions, "enqueue", "tx", "allowUnlistedNumber");
		const { tx, allowUnlistedNumber } = enqueueOptions;
		const { defaultCountry } = options;
		const text = checkedText(given, client, { defaultCountry, allowUnlistedNumber }, now());
		const row = await store.insert(text, tx);
		refuseOther(text, row);
		const expired = row.version === 0 && tx === undefined ? await expireIfQuiet(row) : undefined;
		if (expired) return statusOf(expired);
		// What is due later is found by the workers themselves.
		if (row.version === 0 && (row.nextAt ?? 0) <= now()) await wakeWorker(row, row.id, tx);
		if (tx === undefined) loop.nudge();
		return statusOf(row);
	}

	/** Ends a text that can only be sent in quiet hours at once, while somebody may be in the office who can call. */
	async function expireIfQuiet(row: OutboxText): Promise<OutboxText | undefined> {
		if (policies[purposeOf(row)].keepsQuiet !== "always" || row.state !== "waiting") return undefined;
		// If the time zone cannot be had, the worker tells of it.
		const until = await quiet.end(row.agencyId, Math.max(now(), row.readyAt)).catch(() => undefined);
		const change = until === undefined ? undefined : ifQuiet(row, until, options);
		if (!change?.state) return undefined;
		const next = changed(row, change, now());
		if (!(await store.save(next))) return undefined;
		await settled(next);
		return next;
	}

	async function work(given: { signal?: AbortSignal | undefined } = {}): Promise<void> {
		const signal = signalIn(given, "work");
		const run = () => (engine ? workWith(engine, loop, signal) : loop.run(true, signal));
		await throughOutages(run, { pauses, now, signal });
	}

	let drained: Promise<unknown> = Promise.resolve();
	async function drain(given: { signal?: AbortSignal | undefined } = {}): Promise<void> {
		const signal = signalIn(given, "drain");
		const turn = drained.then(() => loop.run(false, signal));
		drained = turn.catch(() => {});
		return turn;
	}

	function signalIn(given: { signal?: AbortSignal | undefined }, operation: string): AbortSignal | undefined {
		fields("options", given, operation, "signal");
		const { signal } = given;
		if (signal !== undefined && !can(signal, "addEventListener")) refuse("signal", "must be an AbortSignal", operation);
		return signal;
	}

	async function status(id: string): Promise<OutboxStatus | undefined> {
		const row = await store.find(text("id", id, "status"));
		const [head] = row?.state === "waiting" ? await store.open(row, 1, now()) : [];
		return row && statusOf(row, head);
	}

	async function cancel(id: string): Promise<boolean> {
		const row = await cancelText(text("id", id, "cancel"), { cancelRequested: true });
		if (row) await wake(row);
		return row?.state === "cancelled";
	}

	/** Cancels a text, or marks it when it is too late. Tries again when a worker changed the row at that moment. */
	async function cancelText(
		id: string,
		marks: { cancelRequested: true; forget?: true },
	): Promise<OutboxText | undefined> {
		for (;;) {
			const row = await store.find(id);
			if (!row || !isUnfinished(row.state)) return row;
			const change = row.state === "waiting" ? unsent(row, "cancelled", "requested") : {};
			const next = changed(row, { ...change, progress: marks }, now());
			if (!(await store.save(next))) continue;
			if (next.state !== row.state) await settled(next);
			return next;
		}
	}

	async function cancelAll(given: CancelOptions): Promise<CancelledTexts> {
		return stopRecipient(recipientFrom(given, "cancelAll"), { cancelRequested: true });
	}

	async function forget(given: CancelOptions): Promise<void> {
		const recipient = recipientFrom(given, "forget");
		await stopRecipient(recipient, { cancelRequested: true, forget: true });
		await store.erase(recipient);
	}

	function recipientFrom(given: CancelOptions, operation: string): Pick<Recipient, "to"> & Partial<Recipient> {
		object("options", given, operation);
		fields("options", given, operation, "to", "agencyId");
		const { to, agencyId } = given;
		const { defaultCountry } = options;
		// The number of a contact can have become invalid since.
		const number = numberIn(to, { defaultCountry, allowUnlistedNumber: true }, operation);
		return { to: number, ...(agencyId !== undefined && { agencyId: client.agency(agencyId).id }) };
	}

	/** First no further text may begin, then each one is cancelled. */
	async function stopRecipient(
		recipient: Partial<Recipient>,
		marks: { cancelRequested: true; forget?: true },
	): Promise<CancelledTexts> {
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
		for (const message of messages) if (message.direction === "outbound") await report(message);
		const phoneNumber = conversation && ("summary" in conversation ? conversation.summary : conversation).phoneNumber;
		if (!phoneNumber) return;
		const who = { to: phoneNumber, agencyId: agencyId ?? "" };
		await createContact(store, optOuts, who, now).learn(messages);
		await wake({ to: phoneNumber, agencyId });
	}

	async function noteOptOut(given: CancelOptions, operation: "optOut" | "optIn"): Promise<void> {
		const recipient = recipientFrom(given, operation);
		await store.note(recipient, { [operation === "optOut" ? "optedOut" : "optedIn"]: now() });
		await wake({ to: recipient.to, agencyId: recipient.agencyId });
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
		loop.nudge();
	}

	async function wakeWorker(text: OutboxText, key: string, tx: Transaction | undefined): Promise<void> {
		await engine?.wake({ text: text.seq }, { key, priority: priorityOf(text), tx }).catch((error: unknown) => {
			if (!engine.mayFailToWake) throw error;
		});
	}

	async function settledChanges(given: { limit?: number | undefined } = {}): Promise<SettledChange[]> {
		fields("options", given, "settled", "limit");
		const { limit = 100 } = given;
		if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
			refuse("limit", "must be a whole number from 1 to 1000", "settled");
		const rows = await store.unacknowledged(limit);
		return Promise.all(
			rows.map(async (row) => ({ ...(await statusOf(row)), revision: row.unacknowledged ?? row.version })),
		);
	}

	/** Nothing is awaited before the statement, as in `enqueue`. */
	async function acknowledge(
		changes: Iterable<Pick<SettledChange, "id" | "revision">>,
		given: { tx?: Transaction | undefined } = {},
	): Promise<void> {
		fields("options", given, "acknowledge", "tx");
		const { tx } = given;
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
		work,
		drain,
		status,
		cancel,
		cancelAll,
		forget,
		optOut: (given) => noteOptOut(given, "optOut"),
		optIn: (given) => noteOptOut(given, "optIn"),
		settled: settledChanges,
		acknowledge,
		observe,
		purge: async (given) => {
			object("options", given, "purge");
			fields("options", given, "purge", "before");
			return store.purge(moment("before", given.before, "purge"));
		},
	};
}

async function ignoringErrors(act: () => unknown): Promise<void> {
	try {
		await act();
	} catch {
		// A callback of the caller's never changes what becomes of a text.
	}
}
