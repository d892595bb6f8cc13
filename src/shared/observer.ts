/*
 * How an outbox and a feed show themselves to a sandbox. The `fetch` of a sandbox's connection carries an observer, and the
 * client passes it on. The service's own connection has none, so nothing is made or sent for it.
 */

import { protocol } from "./protocol.ts";

/** A text of an outbox, as the sandbox's page shows it. Times are ISO 8601 in UTC. */
export interface ObservedText {
	/** The caller's id. */
	readonly id: string;
	/** The agency's id. */
	readonly agencyId: string;
	/** Contact phone number, E.164; null once it was erased. */
	readonly to: string | null;
	/** The text, at most its first 500 characters. */
	readonly body: string;
	/** Its state, as in `OutboxStatus`. */
	readonly state: string;
	/** Why it is in this state; null when the state says it all. */
	readonly reason: string | null;
	/** State and reason in a sentence for a person, in English. */
	readonly description: string;
	/** When the state began. */
	readonly since: string;
	/** When the outbox next tries to send it; null if it needs no try, or if that is unknown. */
	readonly nextAttemptAt: string | null;
	/** Sends that began. */
	readonly attempts: number;
	/** Idempotency key of the send; null before the first one. */
	readonly operationId: string | null;
	/** `_tag` of the last error, which may have passed; null without one. */
	readonly error: string | null;
}

/** A poll of a feed, as the sandbox's page shows it. */
export interface ObservedPoll {
	/** The function that polled: `changes`, `watch` or `watchAgencies`. */
	readonly feed: string;
	/** The agency's id. */
	readonly agencyId: string;
	/** When it began, in real time, ISO 8601 in UTC. */
	readonly at: string;
	/** How long it took, with the caller's loop, in milliseconds. */
	readonly ms: number;
	/** The conversations that it delivered, at most the first 50. */
	readonly delivered: readonly {
		/** The contact's number, E.164. */
		readonly phoneNumber: string;
		/** How many messages came with it. */
		readonly messages: number;
	}[];
	/** How many conversations it delivered. */
	readonly count: number;
	/** How many it had listed and not delivered when it ended. */
	readonly remaining: number;
	/** How many it could not read. The next poll tries them again. */
	readonly unread: number;
	/** `_tag` or name of the error that ended it; null without one. */
	readonly error: string | null;
}

/** What is used of the store of an outbox. */
export interface ObservedStore {
	list(state: "waiting" | "sending" | "held" | "unknown", limit: number): Promise<ObservedRow[]>;
	find(id: string): Promise<ObservedRow | undefined>;
}

/** What is used of a row of it. */
export interface ObservedRow {
	readonly id: string;
	readonly seq: number;
	readonly body: string;
}

/** What is used of the status of a text. */
export interface ObservedStatus extends Omit<ObservedText, "body" | "since" | "nextAttemptAt" | "error"> {
	readonly since: Date;
	readonly nextAttemptAt: Date | null;
	readonly error: { readonly tag: string } | null;
}

/** A poll that runs. */
export interface RunningPoll {
	/** A change was delivered. */
	delivered(change: { readonly phoneNumber: string; readonly messages: readonly unknown[] }): void;
	/** It ended, with an error or without. */
	ended(feed: { readonly remaining: number; readonly failures: readonly unknown[] }, error: unknown): void;
}

/** What an outbox and a feed call. None of it throws, and nothing is read until it is shown. */
export interface Observer {
	/** Returns what to call with the id of each text that was enqueued, or has come to its end. */
	outbox(store: ObservedStore, status: (id: string) => Promise<ObservedStatus | undefined>): (id: string) => void;
	poll(feed: string, agencyId: string): RunningPoll;
}

// Registered, because client, sandbox, outbox and sync are bundles of their own. One of another protocol is not seen.
const key: unique symbol = /* @__PURE__ */ Symbol.for(`messaging-conversations/observer/${protocol}`);

/** The observer that a `fetch`, a client or an agency of a client carries. */
export const observerOf = (of: unknown): Observer | undefined => Object(of)[key];

/** Makes it carry an observer, if there is one. */
export const observedBy = <Of extends object>(of: Of, observer: Observer | undefined): Of =>
	observer ? Object.defineProperty(of, key, { value: observer, configurable: true }) : of;
