/*
 * Works through the queue of one recipient, text by text.
 */

import { onMove } from "../gate/waiting.ts";
import { createContact } from "../policy/contact.ts";
import { isNumberWrong, isOptedOut } from "../policy/contact-view.ts";
import { byUrgency, policies } from "../policy/purpose.ts";
import { bandOf, type Lease, type NextDue } from "../store.ts";
import { heirsIn } from "../supersede.ts";
import type { OpenText, OutboxText, Recipient } from "../text.ts";
import type { QueueContext } from "./context.ts";
import { pass, reportFault } from "./pass.ts";
import { follow } from "./read.ts";
import { nextWhileSuspended } from "./suspended.ts";
import { turnOf } from "./turn.ts";
import { cancelSuperseded, endUnsent, write } from "./write.ts";

/** After so many steps in which no text came into another state, a rule is wrong. The others must not wait for that queue. */
const mostIdle = 50;
const mostOfOne = 5;
const idleMs = 60_000;

/** When a queue is due next, and what it waits for. Undefined if nothing is left in it. */
export type Next = NextDue | undefined;

/** Does what is due in a queue, until the signal aborts. Returns when it is due next, and whether a text came into another state. */
export async function workQueue(
	shared: Omit<QueueContext, "lease" | "contact" | "heirs" | "pausedUntil">,
	lease: Lease,
	signal?: AbortSignal,
): Promise<{ next: Next; isChanged: boolean }> {
	const { store, now } = shared.options;
	let isChanged = false;
	const steps = { idle: 0, of: new Map<string, number>() };
	const onChange = (text: OutboxText): Promise<void> => {
		isChanged = true;
		steps.idle = 0;
		steps.of.clear();
		return shared.onChange(text);
	};
	const contact = createContact(store, shared.optOuts, lease, now);
	const pausedUntil = shared.pauses.pausedUntil(lease.agencyId);
	const context = { ...shared, onChange, lease, contact, heirs: new Set<string>(), pausedUntil };
	const next = await workTexts(context, steps, signal);
	return { next, isChanged };
}

async function workTexts(
	context: QueueContext,
	steps: { idle: number; of: Map<string, number> },
	signal: AbortSignal | undefined,
): Promise<Next> {
	const { lease } = context;
	const { store, now } = context.options;
	// Another text of the agency has met an error since the queue was leased. One that meets an error later stops only itself.
	const isPaused = context.pausedUntil > now();
	// Before anything is sent: it reads further back, and may find that the contact wants no more texts.
	if (!isPaused) await follow(context, lease, signal);
	let last: OutboxText | undefined;
	/** What is due, as long as nothing was changed since it was read. */
	let due: readonly OpenText[] | undefined;
	/** When the queue is due next, once nothing in it is due now. */
	let rest: { next: Next } | undefined;
	while (!signal?.aborted) {
		if (steps.idle++ > mostIdle) {
			const at = now() + idleMs;
			// Many texts may have been put off, each once.
			if (last && (steps.of.get(last.id) ?? 0) > mostOfOne) reportFault(context.pauses, last, at);
			return { at, band: lease.band };
		}
		const texts = await store.open(lease, lease.isSuspended ? Number.MAX_SAFE_INTEGER : 20, now());
		const isMove = texts.some((text) => text.given.supersedes !== undefined);
		// One that is not due yet may take a place too.
		if (isMove && (await endUnsent(context, await allOpen(context, lease), onMove))) continue;
		const step = { ...context, heirs: await heirsIn(store, texts), keyScope: {} };
		const turn = await turnOf(step, texts, last?.id);
		if (turn.isChanged) continue;
		const { head } = turn;
		// Nothing is read either. Not later than in a second, because another worker may end the pause.
		if (isPaused && head?.state !== "waiting")
			return { at: Math.min(context.pausedUntil, now() + 1_000), band: lease.band };
		due = texts;
		if (!head) break;
		const isDue = (head.nextAt ?? 0) <= now();
		if (head.state !== "waiting" && !isDue && !turn.isAwaited) break;
		// More urgent texts of other recipients come first.
		if (last && byUrgency(last, head) < 0) {
			if (!isDue) await write(context, head, { nextAt: now() });
			due = undefined;
			break;
		}
		const begun = { previousId: last?.id, known: turn.known };
		last = head;
		steps.of.set(head.id, (steps.of.get(head.id) ?? 0) + 1);
		due = undefined;
		await cancelSuperseded(context, head);
		const isDone = await pass(step, head, texts, begun, signal);
		if (!isDone) break;
		if (texts.length > 1) continue;
		// Mostly nothing else is due. If the text still waits, it may have been cancelled meanwhile.
		const next = await store.nextOf(lease, 0);
		if (next && (next.at <= now() || next.band !== 3)) continue;
		rest = { next };
		break;
	}
	if (signal?.aborted) return { at: now(), band: lease.band };
	// Those whose turn has not come too, so that their status says so.
	const known = await context.contact.view();
	if (known.isUpToDate && isOptedOut(known) && (await endUnsent(context, await allOpen(context, lease))))
		[due, rest] = [undefined, undefined];
	const isMarked = due?.some(({ reason }) => reason === "wrong_number") ?? false;
	if ((known.isUpToDate || isMarked) && (await markWrongNumber(context, lease))) [due, rest] = [undefined, undefined];
	const suspended = lease.isSuspended ? await nextWhileSuspended(context.options, lease) : undefined;
	if (suspended) return suspended;
	return rest ? rest.next : nextOf(context, lease, due);
}

/** Lets the status of all texts that wait say that the number is wrong, or no longer. Returns whether any has changed. */
async function markWrongNumber(context: QueueContext, lease: Lease): Promise<boolean> {
	const { contact } = context;
	const known = await contact.view();
	const isWrong = isNumberWrong(known);
	if (!known.facts.wrongNumber) return false;
	let isAny = false;
	for (const text of await allOpen(context, lease)) {
		const isMarked = text.reason === "wrong_number";
		const isMeant = isWrong && policies[text.purpose].onWrongNumber === "wait";
		if (text.state !== "waiting" || isMarked === isMeant) continue;
		if (await write(context, text, isMeant ? { reason: "wrong_number" } : {})) isAny = true;
	}
	return isAny;
}

const allOpen = ({ options: { store } }: QueueContext, recipient: Recipient): Promise<OpenText[]> =>
	store.open(recipient, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);

/** Texts that wait behind the head are due with it. */
async function nextOf(
	{ options: { store, now } }: QueueContext,
	recipient: Recipient,
	due?: readonly OpenText[],
): Promise<Next> {
	const at = now();
	const first = await store.nextOf(recipient, 0);
	if (!first || first.at > at) return first;
	const [head] = due ?? (await store.open(recipient, 1, at));
	if (head && (head.nextAt ?? 0) <= at) return { at, band: bandOf(head.state, head.purpose) };
	// What was due later may have been made due meanwhile, because a clock was set back.
	return (await store.nextOf(recipient, at)) ?? { ...first, at };
}
