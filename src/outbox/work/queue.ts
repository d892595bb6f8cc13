/*
 * Works through the queue of one recipient, text by text.
 */

import { onMove } from "../gate/waiting.ts";
import { createContact } from "../policy/contact.ts";
import { isKeptByNumber, isOptedOut } from "../policy/contact-view.ts";
import { byUrgency } from "../policy/purpose.ts";
import { bandOf, type Lease, type NextDue } from "../store.ts";
import { heirsIn } from "../supersede.ts";
import type { OpenText, OutboxText } from "../text.ts";
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

/** What is known once no step of a queue follows. */
interface Rest {
	/** When the queue is due next, if there is nothing to be done but to wait for that. */
	next?: NextDue;
	/** The lease has ended. */
	isReleased?: true;
	/** The database shows less than this process has stored. */
	isBehind?: true;
	/** What is due, if nothing was changed since it was read. */
	due?: readonly OpenText[];
}

/** Counts the steps that follow each other although no text comes into another state. */
interface Steps {
	idle: number;
	of: Map<string, number>;
}

/** What was done in a queue. */
export interface Worked {
	/** When it is due next. */
	next: Next;
	/** Whether a text came into another state. */
	isChanged: boolean;
	/** The lease has ended. */
	isReleased: boolean;
	/** The database shows less than this process has stored. */
	isBehind: boolean;
}

/** Does what is due in a queue, until the signal aborts. */
export async function workQueue(
	shared: Omit<QueueContext, "lease" | "contact" | "heirs" | "pausedUntil">,
	lease: Lease,
	signal?: AbortSignal,
): Promise<Worked> {
	const { store, now } = shared.options;
	let isChanged = false;
	const steps: Steps = { idle: 0, of: new Map() };
	const onChange = (text: OutboxText): Promise<void> => {
		isChanged = true;
		steps.idle = 0;
		steps.of.clear();
		return shared.onChange(text);
	};
	const contact = createContact(store, shared.optOuts, lease, now);
	const pausedUntil = shared.pauses.pausedUntil(lease.agencyId);
	const context = { ...shared, onChange, lease, contact, heirs: new Set<string>(), pausedUntil };
	const rest = await workTexts(context, steps, signal);
	if (rest.isReleased) return { next: undefined, isChanged, isReleased: true, isBehind: false };
	const aborted = signal?.aborted ? { at: now(), band: lease.band } : undefined;
	const next = rest.next ?? aborted ?? (await nextAfter(context, rest));
	return { next, isChanged, isReleased: false, isBehind: rest.isBehind === true };
}

/** Goes from step to step, until nothing in the queue is due. */
async function workTexts(context: QueueContext, steps: Steps, signal: AbortSignal | undefined): Promise<Rest> {
	const { lease, options, pauses, pausedUntil } = context;
	const { store, now } = options;
	// Another text of the agency has met an error since the queue was leased. One that meets an error later stops only itself.
	const isPaused = pausedUntil > now();
	// Before anything is sent: it reads further back, and may find that the contact wants no more texts.
	if (!isPaused && lease.isFollowing) await follow(context, lease, signal);
	let last: OutboxText | undefined;
	while (!signal?.aborted) {
		if (steps.idle++ > mostIdle) {
			const next = { at: now() + idleMs, band: lease.band };
			// Many texts may have been put off, each once.
			if (last && (steps.of.get(last.id) ?? 0) > mostOfOne) reportFault(pauses, last, next.at);
			return { next };
		}
		const { texts, isBehind = false } = lease.isSuspended
			? { texts: await store.open(lease, Number.MAX_SAFE_INTEGER, now()) }
			: await textsAndFacts(context);
		// It may have been sent already. The worker finds out first.
		if (isBehind) return { next: { at: now(), band: lease.band }, isBehind };
		const isMove = texts.some((text) => text.given.supersedes !== undefined);
		// One that is not due yet may take a place too.
		if (isMove && (await endUnsent(context, await allOpen(context), onMove))) continue;
		const step = { ...context, heirs: await heirsIn(store, texts), keyScope: {} };
		const { isChanged, head, known, isAwaited } = await turnOf(step, texts, last?.id);
		if (isChanged) continue;
		// Nothing is read either. Not later than in a second, because another worker may end the pause.
		if (isPaused && head?.state !== "waiting")
			return { next: { at: Math.min(pausedUntil, now() + 1_000), band: lease.band } };
		const isDue = (head?.nextAt ?? 0) <= now();
		if (!head || (head.state !== "waiting" && !isDue && !isAwaited)) return { due: texts };
		// More urgent texts of other recipients come first.
		if (last && byUrgency(last, head) < 0) {
			if (!isDue) await write(context, head, { nextAt: now() });
			return {};
		}
		const begun = { previousId: last?.id, known };
		last = head;
		steps.of.set(head.id, (steps.of.get(head.id) ?? 0) + 1);
		await cancelSuperseded(context, head);
		if (!(await pass(step, head, texts, begun, signal))) return {};
		// Mostly nothing else is due. If the text still waits, it may have been cancelled meanwhile.
		if (texts.length === 1 && (await mayRest(context)) && (await store.rest(lease, now()))) return { isReleased: true };
	}
	return {};
}

/** When the queue is due next. First all texts learn what is known of the contact, also those whose turn has not come. */
async function nextAfter(context: QueueContext, { due }: Rest): Promise<Next> {
	const { lease, contact, options } = context;
	const known = await contact.view();
	const isOut = known.isUpToDate && isOptedOut(known);
	let isChanged = (isOut || known.isNewlyDeclined === true) && (await endUnsent(context, await allOpen(context)));
	const isMarked = !isChanged && due?.some(({ reason }) => reason === "wrong_number");
	if ((known.isUpToDate || isMarked) && (await markWrongNumber(context))) isChanged = true;
	const suspended = lease.isSuspended ? await nextWhileSuspended(options, lease) : undefined;
	if (suspended) return suspended;
	return dueNext(context, isChanged ? undefined : due);
}

/** Whether nothing is known of the contact that concerns texts whose turn has not come. */
async function mayRest({ lease, contact }: QueueContext): Promise<boolean> {
	const known = await contact.view();
	return !lease.isSuspended && !isOptedOut(known) && !known.isNewlyDeclined && !known.facts.wrongNumber;
}

/** Lets the status of all texts that wait say that the number is wrong, or no longer. Returns whether any has changed. */
async function markWrongNumber(context: QueueContext): Promise<boolean> {
	const known = await context.contact.view();
	if (!known.facts.wrongNumber) return false;
	let isAny = false;
	for (const text of await allOpen(context)) {
		const isMarked = text.reason === "wrong_number";
		const isMeant = isKeptByNumber(text, known);
		if (text.state !== "waiting" || isMarked === isMeant) continue;
		if (await write(context, text, isMeant ? { reason: "wrong_number" } : {})) isAny = true;
	}
	return isAny;
}

const allOpen = ({ options: { store }, lease }: QueueContext): Promise<OpenText[]> =>
	store.open(lease, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);

/** The texts whose turn is near. What is known of the contact comes with them. */
async function textsAndFacts({ options: { store, now }, lease, contact }: QueueContext) {
	const found = await store.openWithFacts(lease, 20, now());
	contact.know(found.facts);
	return found;
}

/** When the first text is due. Those that wait behind it are due with it. */
async function dueNext({ options: { store, now }, lease }: QueueContext, due?: readonly OpenText[]): Promise<Next> {
	const at = now();
	const first = await store.nextOf(lease, 0);
	if (!first || first.at > at) return first;
	const [head] = due ?? (await store.open(lease, 1, at));
	if (head && (head.nextAt ?? 0) <= at) return { at, band: bandOf(head.state, head.purpose) };
	// What was due later may have been made due meanwhile, because a clock was set back.
	return (await store.nextOf(lease, at)) ?? { ...first, at };
}
