import type { PartnerError } from "messaging-conversations";
import type { ChangesOptions } from "./feed.ts";
import type { Change } from "./memory.ts";

/** The `lease` option of `watchAgencies`: a function, which may have these two more. */
export interface AgencyLease {
	/** Returns true if this process may poll the agency for the next minute. May be async. */
	(agencyId: string): boolean | Promise<boolean>;
	/**
	 * Whether no other process can have the agency at this moment. It is asked in place of the function while a poll runs, before each
	 * change is delivered, and before a checkpoint is saved.
	 */
	holds?: ((agencyId: string) => boolean) | undefined;
	/** Called when this process does not follow the agency any more, because the loop ends or the agency is not linked. May be async. */
	release?: ((agencyId: string) => unknown) | undefined;
}

/** Options of `watchAgencies`. `Tx` is the transaction that `save` takes. */
export interface WatchAgenciesOptions<Tx = unknown> extends Omit<ChangesOptions, "since"> {
	/**
	 * Returns the agency's stored checkpoint, or null or undefined if there is none. It is called before each poll, because another
	 * process may have stored one. Without `save` and `lease` it is called once for each agency.
	 */
	load: (agencyId: string) => string | null | undefined | Promise<string | null | undefined>;
	/**
	 * Stores an agency's checkpoint. It is called after each poll that moved it, and by `change.save(tx)` with what you pass
	 * there. Without this option, store `change.checkpoint` in the body of your loop, and `checkpoint` of `onPoll`.
	 */
	save?: ((agencyId: string, checkpoint: string, tx?: Tx) => unknown) | undefined;
	/** Where an agency without a stored checkpoint starts, as in {@link ChangesOptions}. @default "beginning" */
	since?: "now" | "beginning" | undefined;
	/**
	 * How many requests the feed makes per second in this process, over all agencies, retries included. Agencies take turns. It may
	 * be a fraction, such as 0.5.
	 * @default 5
	 */
	requestsPerSecond?: number | undefined;
	/** The shortest pause between two polls of one agency, while something happens there. In milliseconds. @default 10000 */
	minMs?: number | undefined;
	/**
	 * The longest pause, in milliseconds. A pause grows with the time since something was found at the agency, and doubles with
	 * each failed poll. A `Retry-After` of up to an hour is honoured beyond it, and an agency that answers 403 is
	 * polled after up to 15 minutes.
	 * @default 100000
	 */
	maxMs?: number | undefined;
	/**
	 * How often `me.get` is asked which agencies are linked, in milliseconds; `minMs` and `maxMs` are pauses between polls. After a 403 it is asked sooner.
	 * @default 60000
	 */
	discoverMs?: number | undefined;
	/**
	 * This process follows its part of the agencies, chosen by their ids: `{ index: 0, of: 3 }` is the first of three. The parts are
	 * fixed, so that no database is needed; with `lease` another process takes over.
	 */
	partition?:
		| {
				/** Which part this process follows, from 0. */
				index: number;
				/** The number of parts. */
				of: number;
		  }
		| undefined;
	/**
	 * Shares the agencies among processes: `outbox.leases()`, or a function of yours. It returns true if this process may poll the
	 * agency for the next minute, such as from a row of your database with an owner and a time. It is called before each poll, and
	 * every 15 seconds while one runs. May be async.
	 */
	lease?: AgencyLease | undefined;
	/** Gets the figures of each poll, for your metrics; `onError` gets each failure once. May be async. An error that it throws ends the loop. */
	onPoll?: ((poll: AgencyPoll) => unknown) | undefined;
	/**
	 * Gets each fact once, with the agency that met it first, or undefined for an error of `me.get`: an outage that every agency
	 * meets at each poll is one fact. A 403 that all of them meet, because the key lacks a scope, is one fact too. Only the 403 of an
	 * agency that is no longer linked is a fact of its own. A 403 comes after the next answer of `me.get`. A fact comes again after it had
	 * passed. None of them ends the loop. An error of `load`, `save`, `lease` or `skip` comes as a `PartnerConfigurationError` that names it, and has the code of
	 * what was thrown in its `cause`. May be async. An error that it throws ends the loop.
	 */
	onError?: ((error: PartnerError, agencyId: string | undefined) => unknown) | undefined;
	/** Ends the loop, without an error, once the current change is processed. */
	signal?: AbortSignal | undefined;
}

/** The figures of one poll of one agency. */
export interface AgencyPoll {
	/** The agency. */
	agencyId: string;
	/**
	 * How old the oldest undelivered message could have been when the poll ended, in milliseconds: the time since the beginning
	 * of the latest poll that delivered everything. It grows while the agency's polls fail.
	 */
	lagMs: number;
	/** How many conversations are listed and not delivered yet. The next poll continues with them. */
	remaining: number;
	/** The requests of the poll, retries included. */
	requests: number;
	/** How many changes were delivered. */
	changes: number;
	/** The first error of the poll, at each poll. */
	error?: PartnerError | undefined;
	/** The position after the poll. Store it if you gave no `save`. Undefined if none could be loaded. */
	checkpoint?: string | undefined;
}

/** A conversation of one of the agencies in which something has changed. */
export interface AgencyChange<Tx = unknown> extends Change {
	/** The agency. */
	agencyId: string;
	/** The agency's checkpoint with this change. Read it in the body of the loop. */
	readonly checkpoint: string;
	/**
	 * Calls your `save` with the agency's checkpoint, which includes this change, and with the transaction in which you store
	 * the change. Call it in the body of the loop. Without it the checkpoint is saved when the poll ends, and a process that is
	 * killed before delivers some changes again.
	 */
	save: (tx?: Tx) => Promise<void>;
}
