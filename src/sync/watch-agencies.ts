import type { Client, PartnerError } from "messaging-conversations";
import { onAbort } from "../shared/signals.ts";
import { callable, fieldsOf, optional, rule, whole } from "../shared/validation.ts";
import type { AgencyChange, AgencyLease, WatchAgenciesOptions } from "./agencies.ts";
import type { AgencyLoop } from "./agency-loop.ts";
import { createAlerts } from "./alerts.ts";
import { openBudget } from "./budget.ts";
import { feedFields, feedSettings } from "./feed.ts";
import { hash } from "./fingerprint.ts";
import { checkOptions, checkPhoneNumber, checkProtocol, checkWhole, pausesFrom, refuse, timerMs } from "./input.ts";
import { followLinked } from "./linked-agencies.ts";
import { abandoning } from "./signal.ts";

/** The loop over all agencies that {@link watchAgencies} returns. */
export interface AgenciesFeed<Tx = unknown> extends AsyncIterable<AgencyChange<Tx>> {
	/** The ids of the agencies that this process follows now. */
	readonly agencies: readonly string[];
	/** Polls an agency as soon as there is a turn, for example after you send a message. */
	pollNow: (agencyId: string) => void;
	/**
	 * Removes a contact's number from all checkpoints of this process. What was delivered of the contact does not come again, and
	 * everything else is delivered unless `skip` answers true. Resolves when the checkpoints are saved. An agency that is being
	 * polled at this moment delivers nothing more of the contact, and is saved when its poll ends.
	 *
	 * @throws PartnerInvalidInput if the number is not in E.164. PartnerConfigurationError if `load` or `save` failed.
	 */
	erase: (phoneNumber: string) => Promise<void>;
}

/**
 * Follows all agencies of the key's integration in one process, for as long as you iterate. Yields each conversation that
 * has changed, as `watch` does for one agency. It finds agencies that are linked later, and those that are linked again.
 * Agencies where something happened lately are polled more often, within `requestsPerSecond`.
 *
 * An agency that fails delays no other. It has a pause of its own, which doubles. `me.get` that answers nothing but 401 for
 * five minutes ends the loop with its error, because the key is no longer valid.
 *
 * `break`, `return` and `signal` end the loop. No timer, no request and no call of `save` is left behind.
 *
 * Uses `me.get`, `conversations.list`, `conversations.get` and, for more than 100 new messages,
 * `conversations.listMessages`.
 *
 * @throws PartnerInvalidInput at once if an option is invalid
 * @example
 * import { watchAgencies } from "messaging-conversations/sync";
 *
 * const checkpoints = new Map<string, string>(); // in place of your database
 * const feed = watchAgencies(client, {
 *   load: async (agencyId) => checkpoints.get(agencyId),
 *   save: async (agencyId, checkpoint) => void checkpoints.set(agencyId, checkpoint),
 *   onError: (error, agencyId) => console.error(agencyId, error.message),
 * });
 * for await (const { agencyId, conversation, messages, save } of feed) {
 *   console.log(agencyId, conversation.summary.contactName, messages.length);
 *   await save(); // save(tx), in the transaction that stores the change
 *   break; // or never
 * }
 */
export function watchAgencies<Tx = unknown>(client: Client, options: WatchAgenciesOptions<Tx>): AgenciesFeed<Tx> {
	if (!client?.me || !client.agency) refuse("watchAgencies", "client", "must be a client of createClient");
	checkProtocol("watchAgencies", "client", client);
	const { signal, onPoll, onError, requestsPerSecond, ...settings } = checked(options);
	/** The agencies that are followed now. */
	const loops = new Map<string, AgencyLoop>();
	let isBusy = false;

	async function* run(stop: AbortSignal): AsyncGenerator<AgencyChange<Tx>, void, undefined> {
		if (isBusy) refuse("watchAgencies", "feed", "is in another loop");
		isBusy = true;
		const offers: Offer<Tx>[] = [];
		let failure: { error: unknown } | undefined;
		let wake = (): void => {};
		const fail = (error: unknown): void => {
			failure ??= { error };
			wake();
		};
		/** Calls a function of the caller that observes the loop. */
		const tell = async (call: () => unknown): Promise<void> => {
			try {
				await call();
			} catch (error) {
				fail(error);
			}
		};
		const alerts = createAlerts((agencyId) => agencyId === undefined || loops.has(agencyId));
		/** Refusals of agencies. They are told of once `me.get` has said whether the agency is linked. */
		const refusals = new Map<string, PartnerError>();
		const own = new AbortController();
		const removeListener = onAbort(stop, () => {
			own.abort();
			wake();
		});
		const linked = followLinked(
			{
				...settings,
				client,
				budget: openBudget(requestsPerSecond, settings.maxMs),
				deliver: (change, isOver) =>
					new Promise((end) => {
						if (own.signal.aborted) return end(false);
						offers.push({ change, isOver, end });
						wake();
					}),
				onPoll(poll) {
					alerts.polled(poll.agencyId);
					void tell(() => onPoll(poll));
				},
				onError(error, agencyId) {
					if (error._tag === "PartnerForbidden" && agencyId !== undefined) {
						alerts.met(error, agencyId);
						refusals.set(agencyId, error);
					} else if (alerts.isNew(error, agencyId)) void tell(() => onError(error, agencyId));
				},
				onListed(isAnswer) {
					if (isAnswer) alerts.polled();
					const all = [...refusals];
					refusals.clear();
					// What linked agencies meet has one cause, such as a key without a scope.
					for (const [agencyId, error] of all)
						if (alerts.isNew(error, agencyId, !loops.has(agencyId))) void tell(() => onError(error, agencyId));
				},
			},
			loops,
			own.signal,
		);
		linked.catch(fail);
		try {
			while (!stop.aborted && !failure) {
				const offer = offers.shift();
				if (!offer)
					await new Promise<void>((resolve) => {
						wake = resolve;
					});
				else if (offer.isOver()) offer.end(false);
				else yield* yielded(offer, own);
			}
			if (failure) throw failure.error;
		} finally {
			removeListener();
			own.abort();
			for (const { end } of offers) end(false);
			await linked.catch(() => {});
			isBusy = false;
		}
	}

	return {
		get agencies() {
			return [...loops.keys()];
		},
		pollNow(agencyId) {
			loops.get(agencyId)?.pollNow();
		},
		async erase(phoneNumber) {
			checkPhoneNumber(phoneNumber);
			await Promise.all([...loops.values()].map((loop) => loop.erase(phoneNumber)));
		},
		[Symbol.asyncIterator]: () => abandoning(signal, run),
	};
}

/** A change that waits for the caller's loop. */
interface Offer<Tx> {
	change: AgencyChange<Tx>;
	/** Whether nobody wants it any more. */
	isOver: () => boolean;
	end: (isDelivered: boolean) => void;
}

/** Yields a change. It is delivered when the loop asks for the next one. Otherwise everything ends. */
async function* yielded<Tx>(
	{ change, end }: Offer<Tx>,
	own: AbortController,
): AsyncGenerator<AgencyChange<Tx>, void, undefined> {
	let isDelivered = false;
	try {
		yield change;
		isDelivered = true;
	} finally {
		if (!isDelivered) own.abort();
		end(isDelivered);
	}
}

/** The options with their defaults. Throws `PartnerInvalidInput`. */
function checked<Tx>(options: WatchAgenciesOptions<Tx>) {
	const operation = "watchAgencies";
	const given = checkOptions(operation, schema, options);
	const feed = feedSettings(operation, given);
	const { load, save, lease, onPoll = () => {}, onError = () => {}, signal, since = "beginning", partition } = given;
	const { requestsPerSecond = 5, discoverMs = 60_000 } = given;
	const { minMs, maxMs } = pausesFrom(operation, given, { minMs: 10_000, maxMs: 100_000 });
	if (partition) checkWhole(operation, "partition.index", partition.index, 0, partition.of - 1);
	const { index, of } = partition ?? { index: 0, of: 1 };
	const isOurs = (agencyId: string): boolean => Number.parseInt(hash(agencyId)[1] ?? "", 36) % of === index;
	return {
		feed,
		load,
		save,
		lease,
		onPoll,
		onError,
		signal,
		since,
		minMs,
		maxMs,
		discoverMs,
		requestsPerSecond,
		isOurs,
	};
}

const { since: _, ...fields } = feedFields;
const isRate = (value: unknown): boolean => typeof value === "number" && value >= 0.01 && value <= 10_000;

const schema = fieldsOf<WatchAgenciesOptions>({
	...fields,
	load: callable<WatchAgenciesOptions["load"]>(),
	save: optional(callable<WatchAgenciesOptions["save"]>()),
	lease: optional(callable<AgencyLease>()),
	since: optional(
		rule<"now" | "beginning">(
			(value) => value === "now" || value === "beginning",
			'must be "now" or "beginning". Checkpoints come from load',
		),
	),
	requestsPerSecond: optional(rule<number>(isRate, "must be a number from 0.01 to 10000")),
	minMs: optional(timerMs(1)),
	maxMs: optional(timerMs(1)),
	discoverMs: optional(timerMs(1)),
	partition: optional(fieldsOf<{ index: number; of: number }>({ index: whole(0, 9_999), of: whole(1, 10_000) })),
	onPoll: optional(callable<WatchAgenciesOptions["onPoll"]>()),
	onError: optional(callable<WatchAgenciesOptions["onError"]>()),
});
