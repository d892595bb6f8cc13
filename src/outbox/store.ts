import type { Awaitable } from "./awaitable.ts";
import type { OutboxReason } from "./names.ts";
import type { Purpose } from "./policy/purpose.ts";
import type { Migration } from "./stores/migration.ts";
import type {
	ContactFacts,
	FactSource,
	NewText,
	OpenText,
	OutboxState,
	OutboxText,
	Recipient,
	Restored,
	StoredContact,
} from "./text.ts";

/** Changes when a store no longer fits the outbox of before: a program may have two versions of this package. */
export const storeProtocol = 1;

/**
 * The tables of an outbox in your database: what {@link sqliteStore}, {@link postgresStore} and {@link mysqlStore} return. Pass it to
 * {@link createOutbox}. It has no methods for you.
 */
export interface DatabaseStore {
	/** Says which outbox can use it. */
	readonly "~outbox": number;
}

/** What the databases have in common. Every store begins with it. */
export const storeMark: DatabaseStore = { "~outbox": storeProtocol };

/** Whether it is a store of this package, of whichever version. */
export function isStore(value: unknown): value is DatabaseStore {
	return typeof Reflect.get(Object(value), "~outbox") === "number";
}

/** Whether this outbox can use a store. */
export function isPort(store: DatabaseStore): store is OutboxStore {
	return store["~outbox"] === storeProtocol;
}

/**
 * What the outbox asks of its database. Each change is one statement that is committed when it returns. Only `insert`,
 * `insertMany`, `supersede`, `cancelIn`, `acknowledge` and `confirmLease` may be part of the caller's transaction. Times are in milliseconds.
 */
export interface OutboxStore extends DatabaseStore {
	/**
	 * The time of the database, in milliseconds, also over the connection of the caller's transaction. Absent if the database runs on
	 * the machine that asks.
	 */
	time?: (tx?: unknown) => Promise<number>;
	/**
	 * Runs the migrations that are missing. Does nothing when they are done, also by a later version.
	 *
	 * @param later those of a later version, which a test pretends to be
	 */
	migrate: (later?: readonly Migration[]) => Promise<void>;
	/**
	 * Stores a text as `waiting`, due at `readyAt`. Returns its row, or the row that has its id already. If the library is synchronous,
	 * as better-sqlite3 is, it returns the row itself and not a promise, so that an error of `enqueue` can roll the transaction back.
	 */
	insert: (text: NewText, tx: unknown) => Awaitable<OutboxText>;
	/** Stores many texts, as `insert` stores each, and returns their rows in the same order. */
	insertMany: (texts: readonly NewText[], tx: unknown) => Awaitable<OutboxText[]>;
	/**
	 * Stores a text in the caller's transaction, and cancels `old`, whose place it takes, with it: as `cancelIn` does, with the reason
	 * `superseded`. Returns both rows as they are then. If a row has the id of the text already, it changes nothing. If the old
	 * one is not of the agency that is named and was not erased, it stores nothing and returns no `text`.
	 */
	supersede: (text: NewText, old: Superseded, tx: unknown) => Awaitable<Superseding>;
	/**
	 * Cancels an unfinished text in the caller's transaction, and returns its row. One that waits and was never requested ends as
	 * `cancelled`, reason `requested`. Any other one is only marked as `cancelRequested`, and due at once if it waits, because a worker
	 * ends it. Undefined for an unknown id.
	 *
	 * @param by the person who cancels it
	 */
	cancelIn: (id: string, now: number, tx: unknown, by?: string) => Promise<OutboxText | undefined>;
	/** Finds the row of an id. */
	find: (id: string) => Promise<OutboxText | undefined>;
	/**
	 * Finds at most `limit` unfinished texts of a recipient whose turn has come. Order: sending, then held, then those that
	 * were attempted, then by purpose, priority and the order of arrival.
	 */
	open: (recipient: Recipient, limit: number, now: number) => Promise<OpenText[]>;
	/**
	 * The same with what is known of the recipient, in one statement. The limit is a small one. `isBehind` if the database shows less than
	 * this process has stored, so that the next `beat` says whether something is lost.
	 */
	openWithFacts: (
		recipient: Recipient,
		limit: number,
		now: number,
	) => Promise<{ texts: OpenText[]; facts: ContactFacts; isBehind?: boolean }>;
	/** Finds all unfinished texts of a number, without an agency those of all agencies; or without a number those of an agency. */
	unfinished: (recipient: Partial<Recipient>) => Promise<OutboxText[]>;
	/** Finds the sent texts of a recipient that are due. */
	followed: (recipient: Recipient, now: number) => Promise<OutboxText[]>;
	/**
	 * Replaces the row and counts up its version. Returns false, and does nothing, when it was changed since it was read.
	 * With `unlessStopped` it returns false when the recipient was stopped after the text's transaction had begun. With `lease` it returns false when another worker has taken the
	 * queue over, and prolongs the lease otherwise. With `isAsked`, for what an application or a person asks, it rejects if a later
	 * version no longer reads what this one stores. A worker stores what it has sent all the same.
	 */
	save: (
		text: OutboxText,
		options?: { unlessStopped?: boolean; lease?: Lease | undefined; leaseMs?: number; isAsked?: boolean },
	) => Promise<boolean>;
	/** The random id of the outbox, which it keeps wherever its tables go. It is read once. */
	outboxId: () => Promise<string>;
	/** What is known of a recipient, or of the number in all agencies: of each fact the latest time by each clock. */
	facts: (recipient: Recipient) => Promise<ContactFacts>;
	/**
	 * Stores facts of a recipient; without an agency of the number in all agencies. Of two times by one clock the later one stays.
	 *
	 * @param by the person who told them
	 */
	note: (recipient: Partial<Recipient>, facts: ContactFacts, source: FactSource, by?: string) => Promise<void>;
	/** Finds the next contacts behind one, some hundreds, by key, hash and agency. An empty list is the end. */
	contacts: (after?: Pick<StoredContact, "keyId" | "hash" | "agencyId">) => Promise<StoredContact[]>;
	/** Finds what is stored of numbers, in each agency and in all of them. */
	contactsOf: (numbers: readonly string[]) => Promise<{ to: string; contact: StoredContact }[]>;
	/** Stores what another outbox knows of contacts, each of which is another one, as `note` stores facts. */
	learn: (contacts: readonly StoredContact[]) => Promise<void>;
	/** The keys of the hashes, by their ids. */
	keys: () => Promise<ReadonlyMap<string, string>>;
	/** Adds keys of other outboxes. Those that are there stay as they are. */
	addKeys: (keys: ReadonlyMap<string, string>) => Promise<void>;
	/** Rejects if something is known of a contact under a key that is missing: a No would count as none. */
	checkKeys: (operation?: string) => Promise<void>;
	/** Finds the next numbers that texts have, some hundreds, behind one. An empty list is the end. */
	numbers: (after: string) => Promise<string[]>;
	/**
	 * Stops a recipient: texts whose transaction has begun before are not to be sent. Without an agency the number in all agencies, and
	 * without a number all of an agency.
	 */
	stop: (recipient: Partial<Recipient>, source: FactSource) => Promise<void>;
	/** Makes the waiting and held texts of a number due, or as soon as their turn comes; without an agency in all agencies. */
	wake: (recipient: Partial<Recipient>, now: number) => Promise<void>;
	/** Finds until when texts wait for the end of quiet hours, once for each agency and time. */
	asleep: () => Promise<StoredSleep[]>;
	/** Makes the texts due that wait for such an end. */
	awaken: (sleep: StoredSleep, now: number) => Promise<void>;
	/** Makes all unfinished texts due and ends all pauses, because the clock was set back. Reasons and failures of the pauses stay. */
	recover: (now: number) => Promise<void>;
	/** Finds the first text of the recipient that is due after `now`: its time, and what it waits for then. */
	nextOf: (recipient: Recipient, now: number) => Promise<NextDue | undefined>;
	/** Finds the messages of a recipient's newest texts. */
	claimed: (recipient: Recipient) => Promise<Claimed[]>;
	/** Finds the text of a message. */
	byMessage: (messageId: string) => Promise<OutboxText | undefined>;
	/**
	 * Finds at most `limit` texts in a final state that was not acknowledged, the oldest first; with `held` also those that are
	 * `held`. From the first call on, by whichever process, `purge` keeps the finished ones.
	 */
	unacknowledged: (limit: number, options?: { held?: boolean }) => Promise<OutboxText[]>;
	/** Acknowledges the final states of texts, except of those that have changed since their `revision`. */
	acknowledge: (changes: readonly { id: string; revision: number }[], tx: unknown) => Promise<void>;
	/**
	 * Erases number, text and message id of one finished text, or of those of a number; without an agency in all agencies.
	 * What is left of each is its id, which `insert` finds. Of a number it also forgets who told what of it, and notes that it was
	 * erased at this time, if there is one.
	 */
	erase: (which: { id: string } | Partial<Recipient>, at?: number) => Promise<void>;
	/**
	 * Deletes the texts that were finished before a time, except for what `erase` left. Returns the number of rows. What stopped a
	 * recipient still stops it afterwards, as after `erase`.
	 */
	purge: (before: number) => Promise<number>;
	/**
	 * Stores that the database has lost what came after `from`, because a person says so, or because the `beat` of a worker has found
	 * out. Marks in `progress.restored` the unfinished texts whose request could have begun since, and returns their number. A loss that
	 * was declared already is not declared again: its beginning may only become an earlier one, and each text is marked once. Until
	 * all are marked, `claim` gives no queue and `save` with a lease returns false.
	 *
	 * @param by the person who declared it
	 */
	restored: (
		restored: Restored,
		source: Restoration["source"],
		by?: string,
	) => Promise<{ count: number; isNew: boolean }>;
	/**
	 * Goes on to mark texts if the process that declared it has died. Returns whether texts may be sent again: not before each worker that
	 * is alive has given a sign with the number of the restoration, for a moment at most.
	 */
	finishRestore: () => Promise<boolean>;
	/** The timeline of PostgreSQL; undefined if it can't be read. Absent for other databases. */
	timeline?: () => Promise<number | undefined>;
	/** The latest restoration; undefined if there was none. */
	restoration: () => Promise<Restoration | undefined>;
	/**
	 * Leases queues that are due, and that no other worker has leased: more urgent bands first, then agencies in turn. A queue is that
	 * of one recipient. Texts that were inserted since are put into their queues first, unless `leavesNew`. Agencies that are
	 * paused are left out.
	 */
	claim: (options: ClaimOptions) => Promise<Lease[]>;
	/**
	 * Puts unfinished texts back into their queues, if those are missing or due too late, and adds the rows of their agencies. Ends
	 * waits and pauses that a clock of the future has stored. Of all workers one does so in 40 seconds, whose call takes as long as a
	 * look at all unfinished texts. Returns how many it has found.
	 */
	heal: (now: number, signal?: AbortSignal) => Promise<number>;
	/** Finds the numbers of an agency's queues that are due, those that wait for a read first. */
	watched: (agencyId: string, now: number, limit: number) => Promise<string[]>;
	/** Prolongs the leases with these tokens by `leaseMs`, unless another worker has taken them over. */
	renew: (tokens: readonly string[], leaseMs: number) => Promise<void>;
	/**
	 * Ends a lease, if it is still there. The queue is due at `next`, or at once if a text came into it since. Without `next`
	 * nothing is left in it.
	 */
	release: (lease: Lease, next?: NextDue) => Promise<void>;
	/**
	 * Ends a lease if nothing is due by `now`, and if what is due first is only to be read. The queue is due then; one that is empty is
	 * removed. Returns false if it has done neither, for example because a text came into the queue since.
	 */
	rest: (lease: Lease, now: number) => Promise<boolean>;
	/** Finds the agencies that have texts, or had some. */
	agencies: () => Promise<string[]>;
	/** What was learned of an agency's requests for consent, as JSON, and its revision; and whether a worker has seen the agency. */
	consent: (agencyId: string) => Promise<{ consent: string | null; revision: number; isKnown: boolean }>;
	/** Stores that. Returns false if another worker has done so since that revision. */
	keepConsent: (agencyId: string, consent: string, revision: number) => Promise<boolean>;
	/** Finds the pauses; that of everybody has an empty `agencyId`, and that of everybody's sends `*`. And finds the alerts. */
	paused: () => Promise<StoredPause[]>;
	/**
	 * Pauses an agency, or everybody. Of two pauses the longer one counts, and the earlier `since`. Under `*` only what is
	 * to be sent waits: until `resume`, `claim` and `save` do as if everybody were suspended.
	 */
	pause: (pause: StoredPause) => Promise<void>;
	/** Ends a pause. That of everybody's sends makes all queues due. */
	resume: (agencyId: string, now: number) => Promise<void>;
	/** Changes the end of a pause from `from` to `until`. Returns false if another worker has changed it. */
	probe: (agencyId: string, from: number, until: number) => Promise<boolean>;
	/**
	 * Stores that a person has suspended an agency, or everybody. If it is suspended already, the reason and the person are
	 * replaced, and `since` stays. Until `endSuspension`, `save` with a lease returns false, and `claim` gives the agency's queues
	 * only with `isReading`, each with `isSuspended`.
	 */
	suspend: (suspension: StoredSuspension) => Promise<void>;
	/** Ends a suspension, and makes the queues that it concerns due. Returns false if there was none. Pauses stay. */
	endSuspension: (agencyId: string, now: number, told?: { at: number; by: string | null }) => Promise<boolean>;
	/** Finds what people have resumed since a time, and the last restore that was declared. */
	declared: (since: number) => Promise<StoredDeclarations>;
	/** Finds the suspensions; that of everybody has an empty `agencyId`. */
	suspended: () => Promise<StoredSuspension[]>;
	/**
	 * Notes that a worker is alive, by the clock of the store, and checks that it may work and read what is known of contacts: it calls it at least every 10 seconds. Forgets
	 * those that have been silent for a day. It says whether something is lost that this process has stored before: then call `restored`,
	 * and again `beat`.
	 */
	beat: (worker: Beat) => Promise<Beaten>;
	/** Notes that a worker has stopped. */
	leave: (id: string) => Promise<void>;
	/** Finds the workers, those that were seen last first, at most 100. */
	workers: () => Promise<StoredWorker[]>;
	/** Counts unfinished and `unknown` texts, of each state at most `most`. */
	counts: (now: number, most: number) => Promise<StoredCounts>;
	/** Finds at most `limit` texts in an unfinished state or in `unknown`, those that are due first, of one agency or of all. */
	list: (state: ListedState, limit: number, agencyId?: string) => Promise<OutboxText[]>;
	/**
	 * Takes a lease for 30 seconds by the clock of the store, or prolongs it. Returns false if it is another owner's. It is nobody's if it
	 * was not prolonged.
	 */
	takeLease: (lease: NamedLease) => Promise<boolean>;
	/** Prolongs an owner's leases. Returns those that are still the owner's. */
	prolongLeases: (topic: string, owner: string, names: readonly string[]) => Promise<string[]>;
	/** Prolongs a lease in the caller's transaction. Returns whether it is the owner's, which it stays until that ends. */
	confirmLease: (lease: NamedLease, tx: unknown) => Promise<boolean>;
	/** Gives a lease back, if it is still the owner's. */
	endLease: (lease: NamedLease) => Promise<void>;
	/** Counts the leases of a topic that are not over. */
	countLeases: (topic: string) => Promise<number>;
	/**
	 * Counts the texts of an agency by purpose, state, reason and day. The days are those between the bounds, which are times in order.
	 * A text is of the day on which it was enqueued, or on that of its `notBefore` if that is later.
	 */
	countDays: (agencyId: string, bounds: readonly number[]) => Promise<StoredCount[]>;
	/** Finds the first agency with a text after this one, in some order. */
	nextAgency: (after: string) => Promise<string | undefined>;
	/** Finds at most `limit` texts, the newest first. No statement reads more than a few hundred rows. */
	search: (filter: TextFilter, limit: number) => Promise<OutboxText[]>;
}

/** The right of one process to follow something. */
export interface NamedLease {
	/** What it is about. */
	topic: string;
	/** Which one of it, such as an agency. */
	name: string;
	/** The process. */
	owner: string;
}

/** A message that is a text of the outbox. */
export interface Claimed {
	messageId: string;
	/** Whether the service has held it before. */
	wasHeld: boolean;
}

/** Which texts `search` finds. What is left out is not asked for. */
export interface TextFilter {
	to?: string | undefined;
	agencyId?: string | undefined;
	state?: OutboxState | undefined;
	/** Enqueued at this time or later, in milliseconds. */
	since?: number | undefined;
	/** That arrived before this one, by `seq`. */
	before?: number | undefined;
}

/** The text whose place another one takes. */
export interface Superseded {
	/** Its id. */
	id: string;
	/** Its agency. Tenants may share ids, so that an id alone names only a text of the same agency. */
	agencyId: string;
}

/** What `supersede` found or stored. */
export interface Superseding {
	/** The row of the new text. */
	text?: OutboxText | undefined;
	/** The row of the earlier one, if there is one. */
	old?: OutboxText | undefined;
}

/** The states that `list` finds. */
export type ListedState = "waiting" | "sending" | "held" | "unknown";

/** Why a person has suspended an agency. */
export interface StoredSuspension {
	/** The agency; empty for everybody. */
	agencyId: string;
	/** What the person wrote. */
	reason: string;
	/** Who it was; null if they did not say. */
	by: string | null;
	/** Since when, in milliseconds. */
	since: number;
}

/** What people have declared. */
export interface StoredDeclarations {
	/** Suspensions that ended; that of everybody has an empty `agencyId`. */
	resumed: { agencyId: string; at: number; by: string | null }[];
	/** The last restore; null if there was none. */
	restored: (Restored & { by: string | null }) | null;
}

/** A process that works, or has until a while ago. */
export interface StoredWorker {
	/** A random id, which says nothing of the machine. */
	id: string;
	/** The version of this package that it runs. */
	version: string;
	/** Whether it calls `runOnce`, so that it is silent in between. */
	runsOnce: boolean;
	/** How long ago it started, in milliseconds, by the clock of the store. */
	ageMs: number;
	/** How long ago it gave its last sign of life, in milliseconds. */
	silentMs: number;
}

/** The sign of life of a worker. */
export interface Beat extends Pick<StoredWorker, "id" | "version" | "runsOnce"> {
	/** The time, by the clock of the outbox. */
	at: number;
	/** The number of the restoration that it knows of, after which it has stored again what it knows. Absent in its first sign. */
	restore?: number | undefined;
}

/** What a sign of life has found. */
export interface Beaten {
	/** Something is lost that this process has stored, and that nobody has declared as lost: what came after this time. */
	lostSince?: number;
	/** The number of the latest restoration. */
	restore: number;
	/** Its texts are not all marked yet, or not every worker knows of it. */
	isRestoring: boolean;
}

/** A time of which the database has lost what was stored. */
export interface Restoration extends Restored {
	/** A person has declared it, or a worker has found out. */
	source: "restored" | "worker";
	/** Its texts are marked, and are sent again. */
	isDone: boolean;
}

/** How many texts there are, each number at most the one that was asked for. */
export interface StoredCounts {
	/** The texts in a state. */
	states: Record<ListedState, number>;
	/**
	 * Texts whose time has come and that wait: also those that could not be sent and are tried again, and those whose result is
	 * not known for two minutes. Left out are those of agencies that are suspended, and those behind an earlier text to the contact
	 * whose time has not come.
	 */
	due: number;
	/** When the first of these was due, in milliseconds; null if there is none. */
	oldestDueAt: number | null;
	/** What settings and hooks keep back, once for each agency and reason. */
	keptBack: StoredWait[];
}

/** Texts of an agency that are kept back until a person has changed something, with the reason of these texts. */
export interface StoredWait {
	/** The agency. */
	agencyId: string;
	/** One of the settings, `hook_failed` or `wrong_number`. */
	reason: OutboxReason;
	/** When the next try is, in milliseconds. */
	until: number;
}

/** How many texts of an agency have something in common. */
export interface StoredCount {
	/** The day, by its number. */
	day: number;
	purpose: Purpose;
	state: OutboxState;
	reason: OutboxReason | null;
	count: number;
}

/** Until when texts of an agency wait because of its quiet hours. */
export interface StoredSleep {
	/** The agency. */
	agencyId: string;
	/** The end of the quiet hours, as it was known when the texts came due, in milliseconds. */
	until: number;
}

/** When a queue is due next. */
export interface NextDue {
	/** The time, in milliseconds. */
	at: number;
	/** What it waits for then. */
	band: Band;
}

/**
 * What a queue waits for next: 0 is a reply, 1 a notice, 2 marketing, and 3 a
 * read about a text that was sent or is held.
 */
export type Band = 0 | 1 | 2 | 3;

/** What a text in its queue waits for. */
export function bandOf(state: string, purpose: string): Band {
	if (state !== "waiting" && state !== "sending") return 3;
	return purpose === "reply" ? 0 : purpose === "marketing" ? 2 : 1;
}

/** Which queues to lease. */
export interface ClaimOptions {
	/** The time, by the clock of the outbox. Queues are due by it, and leases end by the clock of the database. */
	now: number;
	/** At most this many queues. */
	limit: number;
	/** At most this many queues of one agency. */
	each: number;
	/** How long the leases last, in milliseconds. */
	leaseMs: number;
	/** Reads alone, or everything but reads. */
	isReading: boolean;
	/** Agencies to leave out. */
	without?: readonly string[];
	/** Texts that were inserted since may stay where they are until another claim. A store need not heed it. */
	leavesNew?: boolean;
	/**
	 * Only queues of this agency, which may be paused; with an empty one of any agency, although everybody is paused, except of those
	 * with a pause of their own that has not come to its end. Of an agency that is suspended those that wait for a read.
	 */
	probing?: string;
}

/** The right of one worker to work on a queue. It ends by itself if the worker is gone. */
export interface Lease extends Recipient {
	/** The queue. */
	id: number;
	/** Made anew for each claim. */
	token: string;
	/** Grows with each text that comes into the queue, so that `release` sees it. */
	revision: number;
	/** What the queue waited for. */
	band: Band;
	/** A person has suspended its agency, so that nothing may be sent. */
	isSuspended: boolean;
	/** Texts that were sent are to be followed by the time of the claim. */
	isFollowing: boolean;
}

/** The longest lease that a worker stores, in milliseconds. */
export const longestLeaseMs: number = 15 * 60_000;

/** In place of an agency: the sends of everybody, while everything can still be read. */
export const allSends = "*";

/**
 * In place of an agency: what people were told of, which pauses nothing. `until` is when it is tried next, `since` when they were told,
 * and `failures` the number of agencies that met it by then.
 */
export const alertName = (name: string): string => `!${name}`;

/** Whether it is such a name. */
export const isAlert = (agencyId: string): boolean => agencyId.startsWith("!");

/** Why the texts of an agency wait, for every worker and after a restart. */
export interface StoredPause {
	/** The agency; empty for everybody, and `*` for everybody's sends. */
	agencyId: string;
	/** When the next attempt for one queue is due, in milliseconds. */
	until: number;
	/** Failures in a row, by which pauses grow. */
	failures: number;
	/** Which calls wait: `read`, `send`, or those that need the `key` or pass the `gateway`. */
	reason: string;
	/** Why, as `onPaused` names it. */
	cause: string;
	/** When the first of the failures in a row was, in milliseconds. */
	since: number;
}
