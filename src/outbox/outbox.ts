import type { Message } from "messaging-conversations";
import { can, fields, moment, object, refuse, text } from "./check.ts";
import { checkedText, type EnqueuedText, type EnqueueOptions, type ObservedChange } from "./enqueued.ts";
import { checkedOptions, type OutboxOptions } from "./options.ts";
import { isFurther, phaseOf } from "./reading.ts";
import { isInDoubt } from "./retry.ts";
import { type OutboxStatus, statusOf } from "./status.ts";
import { type StepContext, stepLane } from "./step.ts";
import { changed, type OutboxText, operationIdOf, unfinished } from "./text.ts";
import { createTroubles } from "./trouble.ts";
import { asOnlyWorker, createLoop, type LaneWork, untilAborted, workWith } from "./work.ts";

/** Durable sends. */
export interface Outbox {
	/**
	 * Creates the tables. Does nothing when they are there.
	 * @example await outbox.migrate();
	 */
	migrate: () => Promise<void>;
	/**
	 * Stores a text, in the caller's transaction when `tx` is given. The same id with the same text returns the row that is there: a
	 * double click is one text. It is sent by {@link Outbox.work}, here or in another process.
	 *
	 * @throws PartnerInvalidInput for a bad number or text, and for an id that has another text; nothing is stored then
	 * @example
	 * await outbox.enqueue({ id: "note-1", agencyId: agency.id, to: "0470 12 34 56", body: "See you at 14:00." });
	 */
	enqueue: (text: EnqueuedText, options?: EnqueueOptions) => Promise<OutboxStatus>;
	/**
	 * Sends what is stored and follows what was sent, until the signal aborts; sends under way end first. Reads by
	 * `conversations.get` before a first request and before each retry that could be a second text, and sends by `messages.send`.
	 *
	 * @throws PartnerInvalidInput when another process works on the store and there is no engine; what the store throws
	 * @example
	 * const signal = AbortSignal.timeout(50); // in a server: aborted by SIGTERM
	 * await outbox.work({ signal });
	 */
	work: (options?: { signal?: AbortSignal | undefined }) => Promise<void>;
	/**
	 * Does what is due now, and no more: for a cron job or a test. A second call waits for the first.
	 *
	 * @throws as {@link Outbox.work}, also while {@link Outbox.work} of this process runs
	 * @example await outbox.drain();
	 */
	drain: () => Promise<void>;
	/**
	 * Returns the status of a text; undefined for an unknown id.
	 * @example console.log((await outbox.status("note-1"))?.words ?? "never sent");
	 */
	status: (id: string) => Promise<OutboxStatus | undefined>;
	/**
	 * Cancels a text that waits to be sent, also between two tries. Returns true when it was not sent and will not be; false for
	 * an unknown id, and when it is too late or not known: a text in `sending` can be cancelled once it waits again, and one
	 * that was tried in a conversation that nobody could read becomes `unclear`.
	 * @example if (!(await outbox.cancel("note-1"))) console.log("too late");
	 */
	cancel: (id: string) => Promise<boolean>;
	/**
	 * Takes in a change of the change feed: messages that were delivered, read or failed, without a request; and contacts whose
	 * unfinished texts are looked at now.
	 * @example
	 * const { conversation, messagePage } = await agency.conversations.get("+32470123456");
	 * await outbox.observe({ agencyId: agency.id, conversation, messages: messagePage.messages });
	 */
	observe: (change: ObservedChange) => Promise<void>;
	/**
	 * Deletes the texts that were finished before a time, because the rows hold numbers and texts. A time that is text needs its
	 * zone. Returns the number of rows. Do not enqueue their ids again: the service may know the `operationId` of the same id and
	 * text, and answer without delivering it.
	 * @example await outbox.purge({ before: new Date(Date.now() - 90 * 86_400_000) });
	 */
	purge: (options: { before: Date | string | number }) => Promise<number>;
}

const longestSweepMs = 30_000;

/**
 * An outbox: texts that are stored with your own rows, sent each once and in the contact's order, through crashes, outages and the
 * consent queue, and followed until they are read. Makes no request by itself.
 *
 * @throws PartnerInvalidInput naming the option and the rule
 * @example
 * const crmOutbox = createOutbox({ client, store }); // sqliteStore(db) or postgresStore(pool)
 * await crmOutbox.migrate();
 * await crmOutbox.enqueue({ id: "note-1", agencyId: agency.id, to: "0470 12 34 56", body: "See you at 14:00." });
 * await crmOutbox.drain();
 * console.log((await crmOutbox.status("note-1"))?.attempts); // 1
 */
export function createOutbox(options: OutboxOptions): Outbox {
	const { concurrency, ...rules } = checkedOptions(options);
	const { client, store, engine, onSettled, onTrouble, defaultCountry = client.defaultCountry } = options;
	const now = (): number => Math.round(Number(options.now?.() ?? Date.now()));
	const troubles = createTroubles((trouble) => ignoringErrors(() => onTrouble?.(trouble)), now);
	const context: StepContext = {
		client,
		store,
		rules,
		troubles,
		now,
		isClockGiven: options.now !== undefined,
		onChange: settled,
	};
	const sweepMs = Math.min(longestSweepMs, rules.settleMs);
	const laneWork: LaneWork = {
		...context,
		concurrency,
		sweepMs,
		step: (lane, signal) => stepLane(context, lane, signal),
	};
	const loop = createLoop(laneWork, troubles);

	async function settled(text: OutboxText): Promise<void> {
		if (unfinished.some((state) => state === text.state)) return;
		const status = await statusOf(text);
		// Called in the order of the states, and not waited for, because a slow callback holds up no text.
		void ignoringErrors(() => onSettled?.(status));
	}

	/** Nothing is awaited before the statement: with a synchronous database it is part of the transaction that is open. */
	async function enqueue(given: EnqueuedText, options: EnqueueOptions = {}): Promise<OutboxStatus> {
		const { tx, allowUnlistedNumber, ...unknown } = options;
		// A transaction in place of the options would be ignored, and the text stored although it is rolled back.
		fields("options", unknown, "enqueue");
		const text = checkedText(given, client, { defaultCountry, allowUnlistedNumber }, now());
		const row = await store.insert(text, tx);
		const status = await statusOf(row);
		if (status.operationId !== (await operationIdOf(text))) refuse("id", "was enqueued with another text", "enqueue");
		if (row.version === 0) await engine?.wake(row, row.nextAt ?? now(), row.id, tx);
		if (tx === undefined) loop.nudge();
		return status;
	}

	async function work(given: { signal?: AbortSignal | undefined } = {}): Promise<void> {
		fields("options", given, "work", "signal");
		const { signal } = given;
		if (signal !== undefined && !can(signal, "addEventListener")) refuse("signal", "must be an AbortSignal", "work");
		if (engine) {
			const failed = new AbortController();
			return untilAborted([signal, failed.signal], (ended) => workWith(engine, laneWork, failed, ended));
		}
		await asOnlyWorker(store, "work", async (lost) => {
			await store.recover(now());
			await untilAborted([signal, lost], (ended) => loop.run(true, ended));
		});
	}

	let drained: Promise<unknown> = Promise.resolve();
	function drain(): Promise<void> {
		if (engine) return loop.run(false);
		const turn = drained.then(() => asOnlyWorker(store, "drain", (lost) => loop.run(false, lost)));
		drained = turn.catch(() => {});
		return turn;
	}

	async function status(id: string): Promise<OutboxStatus | undefined> {
		const row = await store.find(text("id", id, "status"));
		const [head] = row?.state === "waiting" ? await store.open(row, 1) : [];
		return row && statusOf(row, head);
	}

	async function cancel(id: string): Promise<boolean> {
		for (;;) {
			const row = await store.find(text("id", id, "cancel"));
			if (row?.state !== "waiting") return row?.state === "cancelled";
			const state = isInDoubt(row) ? "unclear" : "cancelled";
			const ended = changed(row, { state, nextAt: null }, now());
			if (!(await store.save(ended))) continue;
			await settled(ended);
			await wake(row);
			return state === "cancelled";
		}
	}

	async function observe(change: ObservedChange): Promise<void> {
		object("change", change, "observe");
		const { agencyId, conversation, messages = [] } = change;
		for (const message of messages) if (message.direction === "outbound") await report(message);
		const phoneNumber = conversation && ("summary" in conversation ? conversation.summary : conversation).phoneNumber;
		if (phoneNumber) await wake({ to: phoneNumber, agencyId });
	}

	/** Stores what is reported of a message, again when a worker changed the row at that moment. */
	async function report(message: Message): Promise<void> {
		const text = await store.byMessage(message.messageSid);
		const phase = phaseOf(message);
		if (!text || !isFurther(phase, text.state)) return;
		const next = changed(text, { state: phase, nextAt: phase === "delivered" ? text.nextAt : null }, now());
		await ((await store.save(next)) ? settled(next) : report(message));
	}

	async function wake({ agencyId, to }: { agencyId: string | undefined; to: string }): Promise<void> {
		await store.wake({ to, ...(agencyId !== undefined && { agencyId }) }, now());
		if (agencyId !== undefined) await engine?.wake({ agencyId, to }, now());
		loop.nudge();
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
		observe,
		purge: async (given) => {
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
