import { type Client, type CountryCode, type Message, toE164 } from "messaging-conversations";
import { can, text as checkedText, fields, milliseconds, moment, refuse } from "./check.ts";
import { defaultSettleMs, phaseOf } from "./fate.ts";
import type { Rules } from "./lane.ts";
import type { OutboxEngine } from "./pg-boss.ts";
import { type OutboxStatus, statusOf } from "./status.ts";
import { type StepContext, stepLane } from "./step.ts";
import type { OutboxStore } from "./store.ts";
import { changed, type Lane, type NewText, type OutboxText } from "./text.ts";
import { createTroubles, type Trouble } from "./trouble.ts";
import { asOnlyWorker, createLoop } from "./work.ts";

/** Options of {@link createOutbox}. */
export interface OutboxOptions {
	/** The client to send with. Its key needs both scopes, because the outbox reads before it sends again. */
	client: Client;
	/** Where the texts are: {@link sqliteStore} or {@link postgresStore}. */
	store: OutboxStore;
	/** Lets several processes work: {@link pgBossEngine}. Without one a second worker is refused. */
	engine?: OutboxEngine | undefined;
	/**
	 * How long an answer may be on its way, in milliseconds. A send whose end is unknown, and which has left no trace for so
	 * long, was not taken.
	 * @default 65000
	 */
	settleMs?: number | undefined;
	/**
	 * The waits between looks at a message that was sent, in milliseconds, until it is read or has failed. A text that waits
	 * for consent is looked at by the same list, at least every 10 minutes.
	 * @default 10 s, 30 s, 2 min, 10 min, 1 h, 6 h, 24 h
	 */
	followMs?: readonly number[] | undefined;
	/**
	 * What a text does while another one to the same contact waits for consent: it waits too, or takes its place.
	 * @default "wait"
	 */
	onHeld?: "wait" | "replace" | undefined;
	/**
	 * What becomes of a text that waits for consent when the contact answers in words instead: it is sent again with its own
	 * `operationId`, which delivers it, or goes on waiting. Should the service keep a held text although the same one went
	 * out, a later consent would deliver it a second time: only `"wait"` excludes that.
	 * @default "resend"
	 */
	onReply?: "resend" | "wait" | undefined;
	/**
	 * Contacts that are sent to at once, by this process.
	 * @default 4
	 */
	concurrency?: number | undefined;
	/** Called when a text needs no more sending, and again when its message is delivered, read or failed. What it throws is ignored. */
	onSettled?: ((status: OutboxStatus) => unknown) | undefined;
	/** Called once when something keeps texts waiting: the key, an outage. They are sent when it has passed. What it throws is ignored. */
	onTrouble?: ((trouble: Trouble) => unknown) | undefined;
	/**
	 * Country in which a number without `+` or `00` is read.
	 * @default "BE"
	 */
	defaultCountry?: CountryCode | undefined;
	/**
	 * The time, in milliseconds or as a Date. Tests give a sandbox's own: `sandbox.clock.now`.
	 * @default Date.now
	 */
	now?: (() => Date | number) | undefined;
}

/** A text to send. */
export interface EnqueuedText {
	/** Your id of the text, such as the id of the note it belongs to: the same id is the same text. */
	id: string;
	/** The agency's id. */
	agencyId: string;
	/** Contact phone number, as written. */
	to: string;
	/** The text. */
	body: string;
	/** Language of the consent template: needed when the agency has several, also while the window is open. */
	consentLanguage?: string | undefined;
	/** The agency's sender to use, a UUID; its default sender when left out or null. */
	subaccountId?: string | null | undefined;
	/** After this moment it is not sent any more. A text that waits for consent cannot be taken back. */
	notAfter?: Date | string | number | undefined;
}

/** What the change feed hands over, as far as the outbox uses it. */
export interface ObservedChange {
	/** The agency's id; without it the contact's texts of every agency are looked at. */
	agencyId?: string | undefined;
	/** The conversation, by its detail or its summary. */
	conversation?: { phoneNumber: string } | { summary: { phoneNumber: string } } | null | undefined;
	/** Messages that are new, or whose status is. */
	messages?: readonly Message[] | undefined;
}

/** Durable sends. */
export interface Outbox {
	/**
	 * Creates the tables. Does nothing when they are there.
	 * @example await outbox.migrate();
	 */
	migrate: () => Promise<void>;
	/**
	 * Stores a text, in the caller's transaction when `tx` is given. The same id with the same text gives the row that is there: a
	 * double click is one text. It is sent by {@link Outbox.work}, here or in another process.
	 *
	 * @throws PartnerInvalidInput for a bad number or text, and for an id that has another text; nothing is stored then
	 * @example
	 * await outbox.enqueue({ id: "note-1", agencyId: agency.id, to: "0470 12 34 56", body: "See you at 14:00." });
	 */
	enqueue: (text: EnqueuedText, options?: { tx?: unknown }) => Promise<OutboxStatus>;
	/**
	 * Sends what is stored and follows what was sent, until the signal aborts; sends under way end first. Reads by
	 * `conversations.get` before a first request and before each retry that could be a second text, and sends by `messages.send`.
	 *
	 * @throws PartnerInvalidInput when another process works on the store and there is no engine; what the store throws
	 * @example
	 * const stop = new AbortController();
	 * process.once("SIGTERM", () => stop.abort());
	 * await outbox.work({ signal: stop.signal });
	 */
	work: (options?: { signal?: AbortSignal | undefined }) => Promise<void>;
	/**
	 * Does what is due now, and no more: for a cron job or a test.
	 *
	 * @throws as {@link Outbox.work}
	 * @example await outbox.drain();
	 */
	drain: () => Promise<void>;
	/**
	 * What became of a text; undefined for an unknown id.
	 * @example (await outbox.status("note-1"))?.words; // what to show beside the button
	 */
	status: (id: string) => Promise<OutboxStatus | undefined>;
	/**
	 * Cancels a text that waits to be sent. True when it will not be sent; false when it is too late, or the id is unknown.
	 * @example if (!(await outbox.cancel("note-1"))) console.log("too late");
	 */
	cancel: (id: string) => Promise<boolean>;
	/**
	 * Takes in a change of the change feed: messages that were delivered, read or failed, and contacts whose texts wait. Costs no
	 * request of its own for what the change holds.
	 * @example for await (const change of changes(agency, { since: "now" })) await outbox.observe({ agencyId: agency.id, ...change });
	 */
	observe: (change: ObservedChange) => Promise<void>;
	/**
	 * Deletes the texts that were finished before a moment, because the rows hold numbers and texts. Their ids can be enqueued again.
	 * Gives the number of rows.
	 * @example await outbox.purge({ before: new Date(Date.now() - 90 * 86_400_000) });
	 */
	purge: (options: { before: Date | string | number }) => Promise<number>;
}

const defaultFollowMs = [10_000, 30_000, 120_000, 600_000, 3_600_000, 21_600_000, 86_400_000];
/** Without an engine's wake-up, or with a lost one. */
const sweepMs = 30_000;

const known: Record<keyof OutboxOptions, true> = {
	client: true,
	store: true,
	engine: true,
	settleMs: true,
	followMs: true,
	onHeld: true,
	onReply: true,
	concurrency: true,
	onSettled: true,
	onTrouble: true,
	defaultCountry: true,
	now: true,
};

/**
 * An outbox: texts that are stored with your own rows, sent each once and in the contact's order, through crashes, outages and the
 * consent queue, and followed until they are read. Makes no request by itself.
 *
 * @throws PartnerInvalidInput naming the option and the rule
 * @example
 * import { createClient as open } from "@libsql/client";
 *
 * const outbox = createOutbox({ client, store: sqliteStore(open({ url: ":memory:" })) });
 * await outbox.migrate();
 * await outbox.enqueue({ id: "note-1", agencyId: agency.id, to: "0470 12 34 56", body: "See you at 14:00." });
 * await outbox.drain();
 * console.log((await outbox.status("note-1"))?.state); // sent
 */
export function createOutbox(options: OutboxOptions): Outbox {
	const rules = checkedRules(options);
	const { client, store, engine, concurrency = 4, onSettled, onTrouble, defaultCountry } = options;
	const now = (): number => Number(options.now?.() ?? Date.now());
	const troubles = createTroubles((trouble) => ignoringErrors(() => onTrouble?.(trouble)), now);
	let stopping = 0;
	const context: StepContext = {
		client,
		store,
		rules,
		troubles,
		now,
		isClockGiven: options.now !== undefined,
		isStopping: () => stopping > 0,
		onChange: (text) => void settled(text),
	};
	const loop = createLoop({
		store,
		now,
		concurrency,
		step: (lane) => stepLane(context, lane),
		pausedUntil: troubles.allPausedUntil,
	});

	async function settled(text: OutboxText): Promise<void> {
		if (["waiting", "sending", "held"].includes(text.state)) return;
		const status = await statusOf(text);
		await ignoringErrors(() => onSettled?.(status));
	}

	/** Not async up to the statement: with a synchronous database it is part of the transaction that is open. */
	function enqueue(given: EnqueuedText, { tx }: { tx?: unknown } = {}): Promise<OutboxStatus> {
		try {
			const text = checkedTextToSend(given);
			return store.insert(text, tx).then(async (row) => {
				const content = (of: NewText) =>
					JSON.stringify([of.agencyId, of.to, of.body, of.subaccountId, of.consentLanguage]);
				if (content(row) !== content(text)) refuse("id", "was enqueued with another text", "enqueue");
				if (row.version === 0) await engine?.wake(row, row.nextAt ?? now(), row.id, tx);
				if (tx === undefined) loop.nudge();
				return statusOf(row);
			});
		} catch (error) {
			return Promise.reject(error);
		}
	}

	function checkedTextToSend(given: EnqueuedText): NewText {
		const names = ["id", "agencyId", "to", "body", "consentLanguage", "subaccountId", "notAfter"];
		fields("text", given, names, "enqueue");
		const { id, agencyId, to, body, consentLanguage, subaccountId = null, notAfter } = given;
		if (subaccountId !== null && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(String(subaccountId)))
			refuse("subaccountId", "must be a UUID or null", "enqueue");
		return {
			id: checkedText("id", id, "enqueue"),
			agencyId: client.agency(agencyId).id,
			to: toE164(to, { defaultCountry }),
			body: checkedText("body", body, "enqueue"),
			consentLanguage:
				consentLanguage === undefined ? null : checkedText("consentLanguage", consentLanguage, "enqueue"),
			subaccountId,
			notAfter: notAfter === undefined ? null : moment("notAfter", notAfter, "enqueue"),
			createdAt: now(),
		};
	}

	async function work({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<void> {
		if (engine) return workWithEngine(engine, signal);
		await asOnlyWorker(store, "work", async (lost) => {
			await store.recover(now());
			await untilAborted([signal, lost], (either) => loop.run(true, either));
		});
	}

	/** Runs with a signal that any of the given ones aborts; no text is begun after it. */
	async function untilAborted(
		signals: readonly (AbortSignal | undefined)[],
		act: (signal: AbortSignal) => Promise<void>,
	): Promise<void> {
		const either = new AbortController();
		const abort = (): void => {
			if (!either.signal.aborted) stopping++;
			either.abort();
		};
		for (const signal of signals) {
			if (signal?.aborted) abort();
			signal?.addEventListener("abort", abort);
		}
		try {
			await act(either.signal);
		} finally {
			for (const signal of signals) signal?.removeEventListener("abort", abort);
			if (either.signal.aborted) stopping--;
		}
	}

	async function workWithEngine(wakes: OutboxEngine, signal: AbortSignal | undefined): Promise<void> {
		const wake = (lane: Lane, at: number): Promise<void> => wakes.wake(lane, Math.ceil(at / 1_000) * 1_000);
		await wakes.start();
		await untilAborted([signal], async (ended) => {
			const stop = await wakes.work(async (lane) => {
				const next = await stepLane(context, lane);
				if (next !== undefined) await wake(lane, next);
			}, concurrency);
			const sweep = async (): Promise<void> => {
				for (const lane of await store.due(now() - sweepMs / 2, 1_000)) await wake(lane, now());
			};
			const timer = setInterval(() => void sweep().catch(() => {}), sweepMs);
			await sweep();
			await new Promise<void>((resolve) => {
				if (ended.aborted) resolve();
				ended.addEventListener("abort", () => resolve());
			});
			clearInterval(timer);
			await stop();
		});
	}

	async function drain(): Promise<void> {
		if (engine) return loop.run(false);
		await asOnlyWorker(store, "drain", async (lost) => {
			await untilAborted([lost], (signal) => loop.run(false, signal));
		});
	}

	async function status(id: string): Promise<OutboxStatus | undefined> {
		const text = await store.find(checkedText("id", id, "status"));
		return text && statusOf(text);
	}

	async function cancel(id: string): Promise<boolean> {
		for (;;) {
			const text = await store.find(checkedText("id", id, "cancel"));
			if (text?.state !== "waiting") return text?.state === "cancelled";
			const cancelled = changed(text, { state: "cancelled", nextAt: null }, now());
			if (!(await store.save(cancelled))) continue;
			await settled(cancelled);
			return true;
		}
	}

	async function observe(change: ObservedChange): Promise<void> {
		const { agencyId, conversation, messages = [] } = change;
		for (const message of messages) {
			const text = message.direction === "outbound" ? await store.byMessage(message.messageSid) : undefined;
			const phase = phaseOf(message);
			if (!text || phase === "sent" || phase === text.state || text.state === "read") continue;
			const next = changed(text, { state: phase, nextAt: phase === "delivered" ? text.nextAt : null }, now());
			if (await store.save(next)) await settled(next);
		}
		const phoneNumber = conversation && ("summary" in conversation ? conversation.summary : conversation).phoneNumber;
		if (!phoneNumber) return;
		await store.wake({ to: phoneNumber, ...(agencyId !== undefined && { agencyId }) }, now());
		if (agencyId !== undefined) await engine?.wake({ agencyId, to: phoneNumber }, now());
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
		purge: async ({ before }) => store.purge(moment("before", before, "purge")),
	};
}

function checkedRules(options: OutboxOptions): Rules {
	const operation = "createOutbox";
	fields("options", options, Object.keys(known), operation);
	const { client, store, engine, concurrency = 4, onHeld = "wait", onReply = "resend" } = options;
	const { settleMs = defaultSettleMs, followMs = defaultFollowMs, onSettled, onTrouble, now } = options;
	if (!can(client, "agency")) refuse("client", "must be a client, as createClient gives it", operation);
	if (!can(store, "insert", "save", "due")) refuse("store", "must be a store, as sqliteStore gives it", operation);
	if (engine && !can(engine, "wake", "work"))
		refuse("engine", "must be an engine, as pgBossEngine gives it", operation);
	if (onHeld !== "wait" && onHeld !== "replace") refuse("onHeld", 'must be "wait" or "replace"', operation);
	if (onReply !== "wait" && onReply !== "resend") refuse("onReply", 'must be "resend" or "wait"', operation);
	if (!Number.isInteger(concurrency) || concurrency < 1)
		refuse("concurrency", "must be a whole number, 1 or more", operation);
	for (const [name, value] of Object.entries({ onSettled, onTrouble, now }))
		if (value !== undefined && typeof value !== "function") refuse(name, "must be a function", operation);
	milliseconds("settleMs", settleMs, operation);
	if (!Array.isArray(followMs)) refuse("followMs", "must be a list of milliseconds", operation);
	for (const [index, ms] of followMs.entries()) milliseconds(`followMs[${index}]`, ms, operation);
	return { settleMs, followMs, onHeld, onReply };
}

async function ignoringErrors(act: () => unknown): Promise<void> {
	try {
		await act();
	} catch {
		// A callback of the caller's never changes what becomes of a text.
	}
}
