import { type Client, type CountryCode, toE164 } from "messaging-conversations";
import { can, fields, object, refuse, whole } from "./check.ts";
import { defaultSettleMs } from "./fate.ts";
import type { OutboxEngine } from "./pg-boss.ts";
import type { OutboxStatus } from "./status.ts";
import type { OutboxStore } from "./store.ts";
import type { Rules } from "./text.ts";
import type { Trouble } from "./trouble.ts";

/** Options of {@link createOutbox}. */
export interface OutboxOptions {
	/** The client to send with. Its key needs both scopes, because the outbox reads before it sends again. */
	client: Client;
	/** The store of the texts: {@link sqliteStore} or {@link postgresStore}. */
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
	 * The waits between looks at a message that was sent, in milliseconds. The looks end when it is read or has failed, or with
	 * the list. A text that waits for consent is looked at by the same list, at least every 10 minutes.
	 * @default 10 s, 30 s, 2 min, 10 min, 1 h, 6 h, 24 h
	 */
	followMs?: readonly number[] | undefined;
	/**
	 * Whether a text waits while another one to the same contact waits for consent, or takes its place.
	 * @default "wait"
	 */
	onHeld?: "wait" | "replace" | undefined;
	/**
	 * Whether a text that waits for consent is sent again when the contact answers in words instead, with its own
	 * `operationId`, which should deliver it, or goes on waiting. The outbox does not read the words, which may be a refusal.
	 * Should the service keep a held text although the same one went out, a later consent would deliver it a second time.
	 * Only `"wait"` excludes both.
	 * @default "resend"
	 */
	onReply?: "resend" | "wait" | undefined;
	/** Contacts that are sent to at once, by this process. @default 4 */
	concurrency?: number | undefined;
	/** Called when a text needs no more sending, and again when its message is delivered, read or failed. Errors that it throws are ignored. */
	onSettled?: ((status: OutboxStatus) => unknown) | undefined;
	/**
	 * Called once when something keeps texts waiting: the key, an outage. They are sent when it has passed; a text whose sends
	 * have had no known end for some six hours is `unclear`. Errors that it throws are ignored.
	 */
	onTrouble?: ((trouble: Trouble) => unknown) | undefined;
	/** Country in which `enqueue` reads a number without `+` or `00`. @default that of the client */
	defaultCountry?: CountryCode | undefined;
	/** The time, in milliseconds or as a Date. Tests give a sandbox's own: `sandbox.clock.now`. @default Date.now */
	now?: (() => Date | number) | undefined;
}

const defaultFollowMs = [10_000, 30_000, 120_000, 600_000, 3_600_000, 21_600_000, 86_400_000];

/** Checks each option. Returns those that have a default. */
export function checkedOptions(options: OutboxOptions): Rules & { concurrency: number } {
	const operation = "createOutbox";
	object("options", options, operation);
	const {
		client,
		store,
		engine,
		settleMs = defaultSettleMs,
		followMs = defaultFollowMs,
		onHeld = "wait",
		onReply = "resend",
		concurrency = 4,
		defaultCountry,
		onSettled,
		onTrouble,
		now,
		...unknown
	} = options;
	fields("options", unknown, operation);
	if (!can(client, "agency")) refuse("client", "must be a client, as createClient gives it", operation);
	if (!can(store, "insert", "save", "due")) refuse("store", "must be a store, as sqliteStore gives it", operation);
	if (engine && !can(engine, "wake", "work"))
		refuse("engine", "must be an engine, as pgBossEngine gives it", operation);
	if (onHeld !== "wait" && onHeld !== "replace") refuse("onHeld", 'must be "wait" or "replace"', operation);
	if (onReply !== "wait" && onReply !== "resend") refuse("onReply", 'must be "wait" or "resend"', operation);
	whole("concurrency", concurrency, operation);
	for (const [name, value] of Object.entries({ onSettled, onTrouble, now }))
		if (value !== undefined && typeof value !== "function") refuse(name, "must be a function", operation);
	// Refuses a country that it does not know.
	toE164("+32470123456", { defaultCountry });
	whole("settleMs", settleMs, operation);
	if (!Array.isArray(followMs)) refuse("followMs", "must be a list of milliseconds", operation);
	for (const [index, ms] of followMs.entries()) whole(`followMs[${index}]`, ms, operation);
	return { settleMs, followMs, onHeld, onReply, concurrency };
}
