import {
	type Client,
	type CountryCode,
	type Message,
	PartnerConfigurationError,
	PartnerInvalidInput,
	toE164,
} from "messaging-conversations";
import { otherVersion } from "../shared/protocol.ts";
import {
	callable,
	checkValue,
	hasMethods,
	isWhole,
	milliseconds,
	object,
	oneOf,
	optional,
	overwrite,
	rule,
	whole,
} from "../shared/validation.ts";
import { defaultSettleMs } from "./delivery.ts";
import type { OutboxEngine } from "./engines/engine.ts";
import { checkProtocol } from "./input.ts";
import { createOwnClock, type OwnClock } from "./own-clock.ts";
import type { OnHeld } from "./policy/purpose.ts";
import { isTimeZone, minutesFrom, type QuietHours } from "./policy/quiet-hours.ts";
import type { Rules } from "./requests.ts";
import type { OutboxStatus } from "./status.ts";
import { type DatabaseStore, isPort, isStore, type OutboxStore, storeProtocol } from "./store.ts";
import type { BeforeSend, OnReply } from "./work/hooks.ts";
import type { Pause } from "./work/pause.ts";

/** Options of {@link createOutbox}. */
export interface OutboxOptions {
	/**
	 * The client to send with. Its key needs both scopes, because the outbox reads the conversation before each send. Its
	 * `retry` and `deadline` do not apply to sends: the outbox makes one attempt and then reads what became of it.
	 */
	client: Client;
	/** Where the texts are, with or without an `engine`: what {@link sqliteStore}, {@link postgresStore} or {@link mysqlStore} returns. */
	store: DatabaseStore;
	/**
	 * Wakes workers in other processes within moments: {@link pgBossEngine} or {@link bullmqEngine}. Without one they look for new
	 * texts in the `store` once a second. Any number of processes may work, with and without an engine.
	 */
	engine?: OutboxEngine | undefined;
	/**
	 * Your own rule; `quietHours` and `optOut` are the ready ones. Runs before every request, except when the outbox repeats a request at once with the same id. Gets the conversation that
	 * was just read, and returns `"send"`, `{ cancel: "The flat is sold" }`, `{ waitUntil: Date, because: "The office is closed" }` or
	 * `{ consentLanguage: "fr" }`. The reasons are for the people who ask about a text: see {@link BeforeSendVerdict}. It may run
	 * repeatedly and on several workers, so it must not change anything. If it throws or takes more than 5 seconds, nothing is
	 * sent: the contact's queue waits, and `onPaused` is called.
	 */
	beforeSend?: BeforeSend | undefined;
	/**
	 * What happens to a held text when the contact answers in words, which opens the window. `"wait"` leaves it to the
	 * contact's consent. `"send"` sends it again with its own `operationId`, which should deliver it. A function gets the
	 * contact's messages and returns `"send"`, `"wait"` or `{ cancel: "A reason" }`. Be careful with `"send"`: "STOP" is an answer too. And
	 * if the service keeps a held text although the same one went out, a later consent delivers it a second time. `onHeld` is about
	 * the texts that wait behind a held one.
	 * @default "wait"
	 */
	onReply?: "wait" | "send" | OnReply | undefined;
	/**
	 * The hours in which no notice and no marketing text begins, such as
	 * `{ from: "20:00", to: "08:00", timeZone: "Europe/Brussels" }`. A text that comes due in them waits until they end, and
	 * keeps its place in the order. If its time ends before that, it expires as soon as this is known (`reason: "quiet_hours"`). A reply waits only
	 * while the window is closed. Repeats keep them too. `notBefore` delays one text. `timeZone` may be a function of the agency's id.
	 */
	quietHours?: QuietHours | undefined;
	/**
	 * Who asks for no more texts. By default {@link isOptOut} reads the messages that the outbox sees, before every request and in
	 * `observe`. A notice or marketing text to such a contact ends as `cancelled`, reason `opted_out`; a reply is sent if the contact
	 * wrote afterwards. A tap on a button stops texts only if its label says "Stop" or "Unsubscribe". {@link isOptIn} takes an opt-out
	 * back. A function replaces `isOptOut`, and `false` examines no message. If it throws, or returns anything but true or false,
	 * nothing is sent: the contact's queue waits, and `onPaused` is called.
	 */
	optOut?: ((message: Message) => boolean) | false | undefined;
	/**
	 * The `notAfter` of texts that have none of their own: how old a text may get before its request, in milliseconds, counted from
	 * `enqueue`, or from `notBefore` if that is later. An older one becomes `expired`. `Infinity` turns it off. It does not limit how
	 * long the service holds a text.
	 * @default 172800000 (48 hours)
	 */
	defaultMaxAgeMs?: number | undefined;
	/**
	 * The `onHeld` of texts that have none of their own: what they do while the service holds another text for the contact. `onReply`
	 * is about the held text itself.
	 * @default by the purpose of the text: see `onHeld` of {@link EnqueuedText}
	 */
	onHeld?: OnHeld | undefined;
	/**
	 * How long a response may be on its way, in milliseconds. If the result of a send is unknown and the conversation shows no
	 * sign of it for this long, it was not taken. What was taken is followed by `followMs`. A request may take 5 seconds less: at
	 * least one second (two thirds of a `settleMs` below 1,500), and at most 60.
	 * @default 65000
	 */
	settleMs?: number | undefined;
	/**
	 * How long to wait between checks of a message that was sent, in milliseconds; `settleMs` is for requests without a result. The checks end when it is read or has failed,
	 * or with the list. A held text is checked at the same intervals, at least every 10 minutes.
	 * @default 10 s, 30 s, 2 min, 10 min, 1 h, 6 h, 24 h
	 */
	followMs?: readonly number[] | undefined;
	/**
	 * Contacts that this process sends to at once; which come first is for `purpose` and `priority` of the texts. Half of them are of one agency at most while another one waits, and half are
	 * only read.
	 * @default 16
	 */
	concurrency?: number | undefined;
	/**
	 * Called when a text needs no more sending, and again when its message is delivered, read or failed. It is lost with the
	 * process: for anything that must not be missed use `settled`. Errors that it throws are ignored.
	 */
	onSettled?: ((status: OutboxStatus) => unknown) | undefined;
	/**
	 * Called once for each fact that keeps texts waiting, such as the key, an outage or a setting of an agency, whatever the number of
	 * agencies (`agencies`), workers and processes that meet it. What was told is stored, so a cron job that starts a new process each
	 * minute tells once too. It is called again when the fact comes back after it had passed, when ten times as many agencies meet it,
	 * and after six hours if it lasts. The outbox resumes by itself. Errors that it throws are ignored.
	 */
	onPaused?: ((pause: Pause) => unknown) | undefined;
	/** Country in which `enqueue` reads a number without `+` or `00`, in place of the client's. @default the client's */
	defaultCountry?: CountryCode | undefined;
	/**
	 * The outbox's own time, in milliseconds or as a Date; the service's comes with its answers. Give it in tests: `sandbox.clock.now`.
	 * By default all machines go by the database's clock, also for quiet hours, so that theirs may be wrong.
	 * @default the database's clock; with SQLite the machine's
	 */
	now?: (() => Date | number) | undefined;
}

const defaultFollowMs = [10_000, 30_000, 120_000, 600_000, 3_600_000, 21_600_000, 86_400_000];
const maxAgeMs = 48 * 3_600_000;

const isAge = (value: unknown): boolean =>
	value === Number.POSITIVE_INFINITY || isWhole(value, 1, Number.MAX_SAFE_INTEGER);
const isReplyOption = (value: unknown): boolean => value === "wait" || value === "send" || typeof value === "function";
const isTimes = (value: unknown): boolean =>
	Array.isArray(value) && value.every((ms) => Number.isInteger(ms) && ms > 0 && ms < 2 ** 31);

const time = rule<string>((value) => minutesFrom(value) !== undefined, "must be a time such as 20:00");
const quietHours = object({
	from: time,
	to: time,
	timeZone: rule<QuietHours["timeZone"]>(
		(value) => typeof value === "function" || isTimeZone(value),
		"must be a time zone such as Europe/Brussels, or a function that returns one",
	),
});
const areHours = ({ from, to }: { from: string; to: string }): boolean => from !== to;

const schema = object({
	client: rule<Client>((value) => hasMethods(value, "agency"), "must be a client: createClient(options)"),
	store: rule<DatabaseStore>(
		isStore,
		"must be what sqliteStore(db), postgresStore(pool) or mysqlStore(pool) returns, and no database or store of your own",
	),
	engine: optional(
		rule<OutboxEngine>(
			(value) => hasMethods(value, "wake", "work"),
			"must be an engine: pgBossEngine(boss) or bullmqEngine({ queue, Worker })",
		),
	),
	beforeSend: optional(callable<BeforeSend>()),
	onReply: optional(rule<"wait" | "send" | OnReply>(isReplyOption, 'must be "wait", "send" or a function')),
	defaultMaxAgeMs: optional(rule<number>(isAge, "must be a whole number of milliseconds, or Infinity")),
	onHeld: optional(oneOf("wait", "send_if_open", "replace")),
	quietHours: optional(quietHours),
	optOut: optional(
		rule<((message: Message) => boolean) | false>(
			(value) => value === false || typeof value === "function",
			"must be a function, or false",
		),
	),
	settleMs: optional(milliseconds),
	followMs: optional(
		rule<readonly number[]>(isTimes, "must be a list of whole numbers of milliseconds, from 1 to 2147483647").check(
			overwrite((given) => [...given]),
		),
	),
	concurrency: optional(whole(1, 1_000)),
	onSettled: optional(callable<(status: OutboxStatus) => unknown>()),
	onPaused: optional(callable<(pause: Pause) => unknown>()),
	defaultCountry: optional(
		rule<CountryCode>((value) => isCountry(value), 'must be a two-letter country code such as "BE"'),
	),
	now: optional(callable<() => Date | number>()),
});

function isCountry(value: unknown): boolean {
	try {
		toE164("+32470123456", { defaultCountry: value as CountryCode });
		return true;
	} catch {
		return false;
	}
}

/** The options with their defaults. */
export interface CheckedOptions extends Rules {
	client: Client;
	store: OutboxStore;
	engine: OutboxEngine | undefined;
	beforeSend: BeforeSend | undefined;
	onReply: "wait" | "send" | OnReply;
	quietHours: QuietHours | undefined;
	optOut: ((message: Message) => boolean) | false | undefined;
	/** Of all texts that have none of their own. */
	onHeld: OnHeld | undefined;
	concurrency: number;
	onSettled: ((status: OutboxStatus) => unknown) | undefined;
	onPaused: ((pause: Pause) => unknown) | undefined;
	defaultCountry: CountryCode;
	/** The clock that all processes of the outbox share. */
	clock: OwnClock;
	/** Its time, in whole milliseconds. */
	now: () => number;
}

/** Checks the options and fills in the defaults. */
export function checkedOptions(options: OutboxOptions): CheckedOptions {
	const refuse = (field: string, rule: string) => new PartnerInvalidInput({ field, rule, operation: "createOutbox" });
	const given = checkValue(schema, options, "options", refuse);
	const { client, store, onReply = "wait", now } = given;
	checkProtocol("client", client, "createOutbox");
	if (!isPort(store)) {
		const rule = otherVersion(store["~outbox"], storeProtocol);
		throw new PartnerConfigurationError({ field: "store", rule, operation: "createOutbox" });
	}
	if (given.quietHours && !areHours(given.quietHours))
		throw refuse("quietHours.to", "must be another time than the one at which they begin");
	const clock = createOwnClock(store, now);
	return {
		client,
		store,
		engine: given.engine,
		beforeSend: given.beforeSend,
		onReply,
		mayAnswer: onReply !== "wait",
		defaultMaxAgeMs: given.defaultMaxAgeMs ?? maxAgeMs,
		onHeld: given.onHeld,
		quietHours: given.quietHours,
		optOut: given.optOut,
		settleMs: given.settleMs ?? defaultSettleMs,
		followMs: given.followMs ?? defaultFollowMs,
		concurrency: given.concurrency ?? 16,
		onSettled: given.onSettled,
		onPaused: given.onPaused,
		defaultCountry: given.defaultCountry ?? client.defaultCountry,
		clock,
		now: clock.now,
	};
}
