// What a store must do, on each database.
import type { OutboxStore } from "../port.ts";
import { equal } from "./assert.ts";
import type { Check, Given } from "./check.ts";
import { claimChecks } from "./claims.ts";
import { contactChecks } from "./contacts.ts";
import { leaseChecks } from "./leases.ts";
import { operationChecks } from "./operations.ts";
import { orderChecks } from "./order.ts";
import { rowChecks } from "./rows.ts";
import { stopChecks } from "./stops.ts";
import { transactionChecks } from "./transactions.ts";

/** Something that a store must do, as a test to run. */
export interface StoreCheck {
	/** What the store must do, in words: the title of its test. No two checks share one. */
	title: string;
	/**
	 * Opens a store and checks it. Rejects with an `Error` that names the method, the expected value and the value that the
	 * store gave. Its fields `actual` and `expected` let test runners show a diff.
	 */
	run: () => Promise<void>;
}

/** Options of {@link storeChecks}. */
export interface StoreChecksOptions {
	/**
	 * Runs a function in a transaction on the database of the store that was opened last, and passes it what callers give as
	 * `tx`. Commits when the function resolves. Rolls back when it rejects, and rejects with the same error. Without this
	 * option, transactions are not checked.
	 */
	transaction?: ((act: (tx: unknown) => Promise<void>) => Promise<void>) | undefined;
}

/** The compiler finds a method that is missing here. */
const methods = Object.keys({
	migrate: true,
	insert: true,
	insertMany: true,
	supersede: true,
	cancelIn: true,
	find: true,
	open: true,
	openWithFacts: true,
	unfinished: true,
	followed: true,
	save: true,
	outboxId: true,
	facts: true,
	note: true,
	stop: true,
	wake: true,
	recover: true,
	nextOf: true,
	claimed: true,
	byMessage: true,
	unacknowledged: true,
	acknowledge: true,
	erase: true,
	purge: true,
	restored: true,
	finishRestore: true,
	restoration: true,
	claim: true,
	heal: true,
	watched: true,
	renew: true,
	release: true,
	rest: true,
	paused: true,
	pause: true,
	agencies: true,
	consent: true,
	keepConsent: true,
	asleep: true,
	awaken: true,
	resume: true,
	probe: true,
	suspend: true,
	endSuspension: true,
	suspended: true,
	beat: true,
	leave: true,
	workers: true,
	counts: true,
	list: true,
	search: true,
	countDays: true,
	nextAgency: true,
	takeLease: true,
	prolongLeases: true,
	confirmLease: true,
	endLease: true,
	countLeases: true,
	contacts: true,
	contactsOf: true,
	learn: true,
	keys: true,
	addKeys: true,
	checkKeys: true,
	numbers: true,
	declared: true,
} satisfies Record<Exclude<keyof OutboxStore, "~outbox" | "time" | "timeline">, true>);

/**
 * The checks that a store must pass.
 *
 * @param open opens a new, empty store, and is called once by each check. Its `migrate` is called here
 */
export function storeChecks(
	open: () => OutboxStore | Promise<OutboxStore>,
	options: StoreChecksOptions = {},
): StoreCheck[] {
	const { transaction } = options;
	const given: Given = async (...texts) => {
		const store = await open();
		await store.migrate();
		for (const text of texts) await store.insert(text, undefined);
		return store;
	};
	const hasMethods: Check = {
		title: "the store has every method of OutboxStore",
		async run() {
			const store = await open();
			const missing = methods.filter((name) => typeof Reflect.get(Object(store), name) !== "function");
			equal("the missing methods", missing, []);
		},
	};
	const checks = [
		hasMethods,
		...rowChecks,
		...orderChecks,
		...stopChecks,
		...claimChecks,
		...operationChecks,
		...leaseChecks,
		...contactChecks,
		...(transaction ? transactionChecks(transaction) : []),
	];
	return checks.map(({ title, run }) => ({ title, run: () => run(given) }));
}
