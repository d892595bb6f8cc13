/*
 * The switch that a person throws. It is in the store, so that every worker obeys it: `claim` gives no queue to send from, and the
 * statement that begins a request refuses it. Pauses come and go beside it.
 */
import { isRestored } from "../decide.ts";
import type { CheckedOptions } from "../options.ts";
import { lastMoment } from "../requests.ts";
import { allSends, bandOf, type NextDue, type OutboxStore, type StoredSuspension } from "../store.ts";
import { suspensionOf } from "../suspension.ts";
import type { Recipient } from "../text.ts";
import type { Alerts } from "./alerts.ts";

/** Texts expire meanwhile, so that a suspension must not be forgotten. */
const repeatMs = 15 * 60_000;

/** Reports suspensions when they are first seen, and every 15 minutes. */
export function createSuspensionReports(
	alerts: Alerts,
	now: () => number,
): (all: readonly StoredSuspension[]) => Promise<void> {
	const nameOf = ({ agencyId, since }: StoredSuspension): string => `suspended ${agencyId} ${since}`;
	return async (all) => {
		await alerts.ended("suspension", new Set(all.map(nameOf)));
		for (const each of all) {
			const { agencyId, reason, by, since } = each;
			const suspension = { reason, by, since: new Date(since) };
			const retryAt = new Date(now() + repeatMs);
			await alerts.met({
				name: nameOf(each),
				call: "suspension",
				agencyId,
				pause: { reason: "suspended", ...(agencyId !== "" && { agencyId }), suspension, retryAt },
				isCertain: true,
				againMs: repeatMs,
			});
		}
	};
}

/** Whether nothing of an agency is to be sent: a person has suspended it, or the key may not send. */
async function isStopped(store: OutboxStore, agencyId: string): Promise<boolean> {
	if (suspensionOf(agencyId, await store.suspended())) return true;
	return (await store.paused()).some((pause) => pause.agencyId === allSends);
}

/** A queue of an agency that is suspended is looked at again after this time, even if nothing in it is due. */
const longestMs = 3_600_000;

/**
 * When the queue of an agency that is suspended is due next: when a message is to be followed or a held text to be read, or when a
 * waiting text expires. Undefined if nothing waits to be sent, or if the suspension has ended. If it ends later, every queue is made
 * due after that, and its release does not undo it.
 */
export async function nextWhileSuspended(
	{ store, now, ...rules }: CheckedOptions,
	recipient: Recipient,
): Promise<NextDue | undefined> {
	const at = now();
	const texts = await store.open(recipient, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
	const [head] = texts;
	const waiting = texts.filter(({ state }) => state === "waiting");
	const [first] = waiting;
	if (!head || !first || !(await isStopped(store, recipient.agencyId))) return undefined;
	if (head !== first && (head.nextAt ?? 0) <= at) return { at, band: bandOf(head.state, head.purpose) };
	const next = await store.nextOf(recipient, at);
	// What was restored from a backup only ends after a read, once the suspension has ended.
	const expires = waiting.filter((text) => !isRestored(text)).map((text) => Math.max(at, lastMoment(text, rules) + 1));
	return {
		at: Math.min(at + longestMs, next?.at ?? at + longestMs, ...expires),
		band: bandOf(first.state, first.purpose),
	};
}
