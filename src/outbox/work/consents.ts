/*
 * What agencies' conversations show of their requests for consent: templates and codes differ from agency to agency. It is derived, and
 * may be lost: then a No is not certain until the agency has shown a Yes again.
 */
import type { Message } from "messaging-conversations";
import { askedBy, type Button, isTemplate, isYes, releaseOf, surelySince, tapsIn, templateOf } from "../consent.ts";
import { isTap, isText, type Match, type Reading, timeOf } from "../match.ts";
import type { SettledTaps } from "../policy/contact.ts";
import type { OutboxStore } from "../store.ts";
import { type OutboxText, type Recipient, storableId } from "../text.ts";

/** What was learned of agencies' requests for consent. */
export interface Consents {
	/** Whether a tap is a Yes for certain. */
	yesIn: (agencyId: string, messages: readonly Message[]) => Promise<(tap: Message) => boolean>;
	/** Takes in what a reading shows of an agency: which buttons release a text. */
	learn: (recipient: Recipient, reading: Reading, own?: { text: OutboxText; match: Match }) => Promise<void>;
	/** What the taps of a contact say. */
	tapsIn: (agencyId: string, reading: Reading, own: Own) => Promise<SettledTaps>;
}

/** What is known of texts of this outbox to the contact. */
interface Own {
	/** Whether the service holds one, as far as is known. */
	isHeld: () => Promise<boolean>;
	/** Ids of messages that the service never held, as they are stored. */
	direct: () => Promise<ReadonlySet<string>>;
}

interface Known {
	released: readonly Button[];
	revision: number;
}

const keepMs = 60_000;
const mostConversations = 1_000;
/** An agency has a few templates. More come from buttons that have a code of their own each time. */
const mostKept = 100;

export function createConsents(
	store: Pick<OutboxStore, "consent" | "keepConsent">,
	{ now, settleMs }: { now: () => number; settleMs: number },
): Consents {
	const agencies = new Map<string, { known: Promise<Known>; at: number }>();
	/** What the service holds of others too, as it was last read. Only in memory: it is theirs. */
	const held = new Map<string, { body: string; at: number }>();

	function of(agencyId: string, isFresh = false): Promise<Known> {
		const found = agencies.get(agencyId);
		if (found && !isFresh && performance.now() - found.at < keepMs) return found.known;
		const known = store
			.consent(agencyId)
			.then(({ consent, revision }) => ({ released: buttonsFrom(consent), revision }));
		known.catch(() => agencies.delete(agencyId));
		agencies.set(agencyId, { known, at: performance.now() });
		return known;
	}

	/** Stores a button that is new. Another worker may do so at the same time. */
	async function keep(agencyId: string, button: Button): Promise<void> {
		const isNew = ({ released }: Known): boolean =>
			!released.some(({ template, code }) => template === button.template && code === button.code);
		let known = await of(agencyId);
		for (let tries = 0; isNew(known) && tries < 10; tries++) {
			known = await of(agencyId, true);
			if (!isNew(known)) return;
			const next = [...known.released, button].slice(-mostKept);
			if (!(await store.keepConsent(agencyId, JSON.stringify(next), known.revision))) continue;
			agencies.delete(agencyId);
			return;
		}
	}

	/** The button that released what the service held when the conversation was last read. */
	function releaseIn({ agencyId, to }: Recipient, { conversation, messages }: Reading): Button | undefined {
		const name = `${agencyId} ${to}`;
		const [queued] = conversation.queuedMessages;
		if (queued) {
			held.delete(name);
			held.set(name, { body: queued.body, at: timeOf(queued.createdAt) });
			for (const [first] of held) if (held.size > mostConversations) held.delete(first);
			return undefined;
		}
		const before = held.get(name);
		const isIt = (message: Message): boolean =>
			isText(message) && message.body === before?.body && timeOf(message.createdAt) >= before.at;
		const text = messages.filter(isIt).at(-1);
		if (!before || !text) return undefined;
		held.delete(name);
		return releaseOf(messages, text, askedBy(messages, before.at), settleMs);
	}

	return {
		async yesIn(agencyId, messages) {
			const released = messages.some(isTap) ? (await of(agencyId)).released : [];
			return (tap) => isYes(tap, messages, released);
		},
		async learn(recipient, reading, own) {
			const button = releaseIn(recipient, reading) ?? (own && ownRelease(own, settleMs));
			if (button) await keep(recipient.agencyId, button);
		},
		async tapsIn(agencyId, reading, { isHeld, direct }) {
			const { messages } = reading;
			const none = { takenBack: [], answered: [], settledAt: 0 };
			if (!messages.some((message) => isTap(message) && templateOf(message, messages))) return none;
			const ids = messages.some(isText) ? await direct() : new Set();
			const rules = { settleMs, isDirect: ({ messageSid }: Message) => ids.has(storableId(messageSid)) };
			const first = tapsIn(reading, (await of(agencyId)).released, rules);
			// Another worker may have seen by now that the code, or the other one, releases a text.
			const { no, ...said } = first.no ? tapsIn(reading, (await of(agencyId, true)).released, rules) : first;
			// What an own text shows has rules of its own.
			if (!no || (await isHeld())) return { ...none, ...said };
			const at = now();
			return { no, ...said, settledAt: at + Math.max(0, settleMs - surelySince(reading, no.at, at)) };
		},
	};
}

/** The button that released a text of this outbox, which the row shows as held. */
function ownRelease({ text, match }: { text: OutboxText; match: Match }, settleMs: number): Button | undefined {
	if (match.kind !== "message" || text.state !== "held" || text.progress.requests.at(-1)?.end !== "held") return;
	// The request for consent is the first message after the request for the text.
	const first = match.since.filter(isTemplate).at(-1);
	const asked = askedBy(match.since, timeOf(first?.createdAt));
	return releaseOf(match.reading.messages, match.message, asked, settleMs);
}

/** What is stored. */
const buttonsFrom = (consent: string | null): Button[] => (consent === null ? [] : JSON.parse(consent));
