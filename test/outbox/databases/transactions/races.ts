// Transactions that end beside an `enqueue`, `enqueueMany`, `cancel` or `acknowledge`: committed, rolled back, on connections that are used again.
import type { EnqueuedText, Outbox, Transaction } from "messaging-conversations/outbox";
import { isLong } from "../../../length.ts";
import type { OutboxStore } from "../../port.ts";

/** An outbox on a library. */
export interface Raced {
	outbox: Outbox;
	store: OutboxStore;
	note: EnqueuedText;
	/** Runs in a transaction, which is rolled back with an error. */
	transaction: (act: (tx: Transaction) => Promise<unknown>, error?: Error) => Promise<unknown>;
	/** The transactions are synchronous: what `act` awaits is not part of them. */
	isSynchronous?: boolean;
	/** The library runs one transaction at a time. */
	isAlone?: boolean;
	/** A transaction is the connection itself, which the next transaction uses again. */
	isReused?: boolean;
}

/** How the races of a library ended. All are lists of what happened, and should be empty. */
export interface Tally {
	races: number;
	/** What was done in a transaction that was rolled back, or after its end, is there. */
	survivors: string[];
	/** What was awaited in an open transaction was refused. */
	refused: string[];
	/** What succeeded is not there, or what was refused by an `enqueue` that was awaited is. */
	untrue: string[];
	/**
	 * Was begun after the end, or not awaited before it, while the next transaction was open on the same connection: nothing can
	 * tell the two apart.
	 */
	ofAnother: number;
}

/** The races of each library. */
export const length = isLong ? 3_000 : 60;

/** What is done with the promise of the outbox, before the transaction ends. */
const waits = ["awaited", "at once", "with another", "forgotten", "too late"] as const;

const operations = ["enqueue", "enqueue", "acknowledge", "acknowledge", "cancel", "supersede", "enqueueMany"] as const;

const rollBack = new Error("thought better of it");

export async function race({
	outbox,
	store,
	note,
	transaction,
	isSynchronous,
	isAlone,
	isReused,
}: Raced): Promise<Tally> {
	const random = randomFrom(length);
	const pick = <Each>(list: readonly Each[]): Each => list[Math.floor(random() * list.length)] as Each;
	const tally: Tally = { races: 0, survivors: [], refused: [], untrue: [], ofAnother: 0 };

	/** Lets others run: not at all, for some microtasks, or for some turns of the event loop. */
	async function pause(): Promise<void> {
		const turns = Math.floor(random() * 4);
		const isLater = random() < 0.5;
		for (let turn = 0; turn < turns; turn++)
			await (isLater ? new Promise((resolve) => setImmediate(resolve)) : undefined);
	}

	/** How many transactions have begun on each connection, and how many have ended. */
	const begun = new Map<unknown, number>();
	const ended = new Map<unknown, number>();
	const countIn = (counts: Map<unknown, number>, key: unknown): void =>
		void counts.set(key, (counts.get(key) ?? 0) + 1);

	/** One transaction. */
	async function one(id: string): Promise<void> {
		const wait = pick(isSynchronous ? waits.filter((each) => each !== "awaited") : waits);
		const isCommitted = random() < 0.4;
		const isFirst = random() < 0.5;
		const what = pick(operations);
		const name = [what, wait, isCommitted ? "commit" : "rollback"].join(", ");
		const old = `${id} old`;
		let revision = 0;
		if (what === "acknowledge" || what === "cancel") await outbox.enqueue({ ...note, id });
		if (what === "acknowledge") {
			await outbox.cancel(id);
			revision = (await store.find(id))?.unacknowledged ?? 0;
		}
		if (what === "supersede") await outbox.enqueue({ ...note, id: old });
		const tried = (tx: Transaction): Promise<unknown> => {
			if (what === "acknowledge") return outbox.acknowledge([{ id, revision }], { tx });
			if (what === "cancel") return outbox.cancel(id, { tx });
			if (what === "enqueueMany")
				return outbox.enqueueMany(
					[id, `${id} too`].map((each) => ({ ...note, id: each })),
					{ tx },
				);
			return outbox.enqueue({ ...note, id, ...(what === "supersede" && { supersedes: old }) }, { tx });
		};
		const all: Promise<unknown>[] = [];
		let outcome: Promise<boolean> = Promise.resolve(false);
		const begin = (tx: Transaction): Promise<unknown> => {
			const key = connectionOf(tx);
			const before = begun.get(key);
			const isOther = isEnded && begun.get(key) !== ended.get(key);
			const running = tried(tx);
			outcome = running.then(
				() => {
					// Another transaction was open on the connection while it ran.
					isOfAnother = isReused === true && (isOther || begun.get(key) !== before);
					return true;
				},
				(error: unknown) => {
					reasons.set(name, String(error));
					return false;
				},
			);
			return running;
		};
		let open: Transaction | undefined;
		let isEnded = false;
		let isOfAnother = false;
		const act = async (tx: Transaction): Promise<void> => {
			open = tx;
			countIn(begun, connectionOf(tx));
			// A transaction that has written before proves itself in another way.
			if (!isFirst && !isSynchronous) await outbox.enqueue({ ...note, id: `${id} before` }, { tx });
			if (wait === "awaited") await begin(tx);
			if (wait === "at once") {
				void begin(tx);
				if (!isSynchronous) await outcome;
			}
			if (wait === "with another") {
				const others = ["x", "y"].map((other) => outbox.enqueue({ ...note, id: `${id} ${other}` }, { tx }));
				const each = [begin(tx), ...others];
				all.push(...each.map((running) => running.catch(() => {})));
				if (!isSynchronous) await Promise.all(each);
			}
			if (wait === "forgotten") {
				void begin(tx);
				if (!isSynchronous) await pause();
			}
		};
		await transaction(act, isCommitted ? undefined : rollBack).catch((error: unknown) => {
			if (error !== rollBack && !(wait === "awaited" || wait === "with another")) throw error;
		});
		isEnded = true;
		countIn(ended, connectionOf(open));
		if (wait === "too late" && open) {
			// The pool is free, or another transaction has its connection in a moment.
			if (random() < 0.5) await pause();
			begin(open).catch(() => {});
		}
		// postgres.js never settles what was sent to a transaction that has ended.
		const isDone = await Promise.race([outcome, unsettled(wait === "forgotten" || wait === "too late")]);
		await Promise.all(all);
		const row = await store.find(id);
		const isThere =
			what === "acknowledge"
				? row?.unacknowledged === null
				: what === "cancel"
					? row?.state === "cancelled"
					: row !== undefined;
		const other = what === "supersede" ? (await store.find(old))?.state === "cancelled" : isThere;
		const isBoth = what === "enqueueMany" ? (await store.find(`${id} too`)) !== undefined : other;
		if (isBoth !== isThere && wait !== "forgotten" && !isOfAnother) tally.untrue.push(`${name}: half of it`);
		tally.races++;
		if (wait === "too late" && isOfAnother) tally.ofAnother++;
		else if ((!isCommitted || wait === "too late") && isThere) tally.survivors.push(name);
		else if (wait === "forgotten" && !isSynchronous) {
			if (isCommitted && isDone && !isThere && isOfAnother) tally.ofAnother++;
			// A commit between its statements may have an error, although the text is there: enqueuing it again finds it.
			else if (isCommitted && isDone && !isThere) tally.untrue.push(name);
		} else if (wait !== "too late") {
			if (!isDone) tally.refused.push(`${name}: ${reasons.get(name)}`);
			else if (isCommitted !== isThere) tally.untrue.push(name);
		} else if (isDone) tally.untrue.push(name);
	}

	const reasons = new Map<string, string>();
	let next = 0;
	async function runner(): Promise<void> {
		while (next < length) await one(`race ${next++}`);
	}
	// Several at a time, so that a connection is used again at once.
	await Promise.all(Array.from({ length: isAlone ? 1 : 4 }, runner));
	return tally;
}

/** What tells the connections apart. A transaction of Drizzle has that of its driver. */
function connectionOf(tx: Transaction | undefined): unknown {
	const ofDrizzle: unknown = Reflect.get(Object(Reflect.get(Object(tx), "session")), "client") ?? tx;
	// mysql2 and mariadb wrap it anew each time.
	return Reflect.get(Object(ofDrizzle), "threadId") ?? ofDrizzle;
}

/** False after a while, in which the outcome of a race has long been known; never if it is certain to come. */
function unsettled(isPossible: boolean): Promise<boolean> {
	return new Promise((resolve) => {
		if (isPossible) setTimeout(resolve, 1_000, false).unref();
	});
}

/** Numbers from 0 to 1, the same for the same seed. */
function randomFrom(seed: number): () => number {
	let state = seed;
	return () => {
		state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
		return state / 2 ** 32;
	};
}
