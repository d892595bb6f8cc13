// How the libraries of SQLite run a transaction.
import type { Transaction } from "messaging-conversations/outbox";
import type { sqliteStore } from "../port.ts";

export interface SqliteLibrary {
	db: Parameters<typeof sqliteStore>[0];
	/** Runs in a transaction, which throws the error at its end. A synchronous one ends before the promise of `act` does. */
	transaction: (act: (tx: Transaction) => Promise<unknown>, error?: Error) => Promise<unknown>;
	/** The transactions are synchronous. */
	isSynchronous?: boolean;
}

/** A text that is enqueued in a synchronous transaction is part of it before `enqueue` returns its promise. */
export function synchronous(run: (act: (tx: Transaction) => void) => unknown): SqliteLibrary["transaction"] {
	return async (act, error) => {
		const all: Promise<unknown>[] = [];
		try {
			run((tx) => {
				all.push(act(tx));
				if (error) throw error;
			});
		} finally {
			await Promise.all(all);
		}
	};
}

/** The same for a library whose transactions are asynchronous. */
export function asynchronous(
	run: (act: (tx: Transaction) => Promise<void>) => Promise<unknown>,
): SqliteLibrary["transaction"] {
	return (act, error) =>
		run(async (tx) => {
			await act(tx);
			if (error) throw error;
		});
}
