/*
 * What the outbox is told of contacts and messages beside what it reads: by `observe`, `optOut` and `optIn`.
 */
import type { Message } from "messaging-conversations";
import { phaseOf } from "../shared/delivery-phase.ts";
import { type OutboxContext, wake } from "./context.ts";
import { gate } from "./gate/gate.ts";
import { storedSituation } from "./gate/situation.ts";
import { onOptOut } from "./gate/waiting.ts";
import type { ObservedChange } from "./given-text.ts";
import { object, refuse, text } from "./input.ts";
import { isFurther } from "./match.ts";
import { createContact } from "./policy/contact.ts";
import { isKeptByNumber, isNumberWrong, isOptedOut, storedView } from "./policy/contact-view.ts";
import { type StopOptions, stoppedFrom, type Whose } from "./recipient.ts";
import { storableId } from "./text.ts";

export async function observe(context: OutboxContext, change: ObservedChange): Promise<void> {
	const { optOuts, options } = context;
	const { store, clock, now } = options;
	object("change", change, "observe");
	const { agencyId, conversation, messages = [] } = change;
	if (agencyId !== undefined && typeof agencyId !== "string") refuse("agencyId", "must be a string", "observe");
	if (conversation !== undefined && conversation !== null) object("conversation", conversation, "observe");
	if (!Array.isArray(messages)) refuse("messages", "must be a list of messages", "observe");
	for (const [at, message] of messages.entries()) object(`messages[${at}]`, message, "observe");
	await clock.measure();
	for (const message of messages) if (message.direction === "outbound") await report(context, message);
	const isDetail = conversation && "summary" in conversation;
	const phoneNumber = isDetail ? conversation.summary.phoneNumber : conversation?.phoneNumber;
	if (!phoneNumber) return;
	text(`conversation.${isDetail ? "summary." : ""}phoneNumber`, phoneNumber, "observe");
	const who = { to: phoneNumber, ...(agencyId !== undefined && { agencyId }) };
	// A "START" to one agency says nothing to the others.
	const asked = agencyId === undefined ? messages.filter((message) => optOuts.asks(message) !== "in") : messages;
	await createContact(store, optOuts, { agencyId: "", ...who }, now, "observe").hear(asked);
	const asks = new Set(asked.map((message) => optOuts.asks(message)));
	if (asks.has("out")) await endOptedOut(context, who, asked);
	if (asks.has("wrongNumber")) await markWrongNumber(context, who);
	await wake(context, who);
}

export async function optOut(context: OutboxContext, given: StopOptions): Promise<void> {
	const { store, clock, now } = context.options;
	const { recipient, by } = stoppedFrom(context.options, given, "optOut");
	await clock.measure();
	await store.note(recipient, { optedOut: { own: now() } }, "optOut", by);
	await endOptedOut(context, recipient, [], by);
	await wake(context, recipient);
}

/** Returns whether texts may go out again. Of all agencies that is known of those with a text to the contact. */
export async function optIn(context: OutboxContext, given: StopOptions): Promise<boolean> {
	const { store, clock, now } = context.options;
	const { recipient, by } = stoppedFrom(context.options, given, "optIn");
	await store.checkKeys("optIn");
	await clock.measure();
	await store.note(recipient, { optedIn: { own: now() } }, "optIn", by);
	await clearWrongNumber(context, recipient, by);
	await wake(context, recipient);
	const { to, agencyId } = recipient;
	const texts = agencyId === undefined ? await store.unfinished({ to }) : [];
	const agencies = new Set([agencyId ?? "", ...texts.map((row) => row.agencyId)]);
	const all = await Promise.all([...agencies].map((each) => store.facts({ to, agencyId: each })));
	return !all.map(storedView).some((contact) => isOptedOut(contact) || isNumberWrong(contact));
}

/**
 * Ends what waits for a contact who has asked for no more texts, also what is due in days, and keeps what is held from being sent again,
 * also by a worker that is about to.
 */
async function endOptedOut(
	{ options, optOuts, change }: OutboxContext,
	recipient: Whose,
	messages: readonly Message[],
	by?: string,
): Promise<void> {
	const { store, now } = options;
	for (const { id } of await store.unfinished(recipient))
		await change(
			id,
			async (row) => {
				const isHeld = row.state === "held" && !row.progress.cancelRequested;
				if (row.state !== "waiting" && !isHeld) return undefined;
				const contact = createContact(store, optOuts, row, now, "observe");
				await contact.learn(null);
				await contact.hear(messages);
				const answer = gate({ ...storedSituation(row, options, now()), contact: await contact.view() }, onOptOut);
				return answer && "change" in answer ? answer.change : undefined;
			},
			by,
		);
}

/** Lets what waits say that the number is wrong. What is due in days would say so only then. */
async function markWrongNumber({ options: { store }, change }: OutboxContext, recipient: Whose): Promise<void> {
	for (const { id } of await store.unfinished(recipient))
		await change(id, async (row) => {
			if (row.state !== "waiting" || row.reason === "wrong_number") return undefined;
			return isKeptByNumber(row, storedView(await store.facts(row))) ? { reason: "wrong_number" } : undefined;
		});
}

/** Takes the reason from what waited because of a wrong number. What is due in days would keep it until then. */
async function clearWrongNumber(
	{ options: { store }, change }: OutboxContext,
	recipient: Whose,
	by: string | undefined,
): Promise<void> {
	for (const { id } of await store.unfinished(recipient))
		await change(
			id,
			async (row) => {
				if (row.state !== "waiting" || row.reason !== "wrong_number") return undefined;
				return isNumberWrong(storedView(await store.facts(row))) ? undefined : {};
			},
			by,
		);
}

/** Stores what is reported of a message. */
async function report({ options: { store }, change }: OutboxContext, message: Message): Promise<void> {
	const found = await store.byMessage(storableId(message.messageSid));
	const phase = phaseOf(message);
	if (!found) return;
	await change(found, ({ state, nextAt }) =>
		isFurther(phase, state) ? { state: phase, nextAt: phase === "delivered" ? nextAt : null } : undefined,
	);
}
