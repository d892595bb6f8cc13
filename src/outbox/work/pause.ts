import type { PartnerError } from "messaging-conversations";
import type { Suspension } from "../suspension.ts";

/**
 * Why texts are not sent for the moment.
 * - `key`: the API key is wrong, revoked or absent
 * - `forbidden`: the agency is not linked; without an `agencyId` the key lacks a scope, belongs to another integration, or its
 *   integration is gone
 * - `rate_limited`: a 429
 * - `unreachable`: the service was not reached
 * - `gateway`: something in front of the service, such as a firewall, refuses what the outbox sends
 * - `failing`: a read or a send of a text failed
 * - `consent_unavailable`, `language_required`, `language_unavailable`: settings of the agency, see {@link OutboxReason}
 * - `hook_failed`: `beforeSend` or `onReply` threw, took longer than 5 seconds, or returned something else than a verdict
 * - `follow_failed`: your function of `follow` threw three times for a text, or for three texts in a row. Texts are still sent
 * - `database`: the store failed, or the Redis of {@link bullmqEngine}
 * - `suspended`: a person called `suspend`
 * - `data_lost`: the database has lost its last seconds, as after a failover: see `lost`. Nothing waits for a person
 * - `fault`: the outbox goes round in circles with a text, which is a fault of this package. Please report it
 */
export type PauseReason =
	| "key"
	| "forbidden"
	| "rate_limited"
	| "unreachable"
	| "gateway"
	| "failing"
	| "consent_unavailable"
	| "language_required"
	| "language_unavailable"
	| "hook_failed"
	| "follow_failed"
	| "database"
	| "suspended"
	| "data_lost"
	| "fault";

/** What a database has lost, as a worker has found out. */
export interface DataLoss {
	/** What was stored since then may be lost, by the clock of the outbox. */
	from: Date;
	/** When a worker found out. */
	to: Date;
	/** Unfinished texts that may have been sent in that time. Each is looked for in its conversation before it is sent. */
	texts: number;
	/** The timeline of PostgreSQL, which a promoted standby counts up; null if it can't be read. */
	timeline: number | null;
}

/** Why texts wait although they could be sent, for example an outage. The outbox resumes by itself, and no text is lost. */
export interface Pause {
	/** The kind of reason. */
	reason: PauseReason;
	/** The error, if there is one. It holds no key, no number and no text. */
	error?: PartnerError;
	/** The error of the database or of Redis, if it is the reason. It holds no number and no text. */
	databaseError?: Error;
	/**
	 * What a hook of yours or your function of `follow` threw, if that is the reason. Its message can quote a number or a text, so that it is not enumerable:
	 * a log of the pause does not show it.
	 */
	cause?: unknown;
	/** The agency, when it concerns one alone. */
	agencyId?: string;
	/** How many agencies have met it so far, if they are several and it may not concern everybody. */
	agencies?: number;
	/** The text, when it concerns one alone. */
	id?: string;
	/** What a person said when they suspended the agency, or everybody, if that is the reason. */
	suspension?: Omit<Suspension, "agencyId">;
	/** What the database has lost, if that is the reason. */
	lost?: DataLoss;
	/**
	 * When the outbox tries again. A Retry-After of more than an hour counts as an hour. Of a suspension, which only a person ends,
	 * it is when `onPaused` is called again.
	 */
	retryAt: Date;
}
