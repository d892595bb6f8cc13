import type { E164 } from "../input/phone.ts";
import { readinessOf } from "./consent.ts";
import { enter, entryKey, recall } from "./ledger.ts";
import { badRequest, conflict, internalError, isRefusal, type Refusal } from "./refusal.ts";
import { iso, isoOrNull } from "./rows.ts";
import { sidOf } from "./sid.ts";
import type { Agency, Held, LedgerEntry, Schemas, StoredMessage, Thread, World } from "./state.ts";
import {
	dropHeldText,
	holdText,
	isWindowOpen,
	type Outgoing,
	replaceHeldText,
	sendText,
	windowExpiresAt,
} from "./thread.ts";
import { agencyOf, change, threadFor } from "./world.ts";

/** A send whose fields were checked. */
export interface SendInput {
	readonly to: E164;
	readonly body: string;
	readonly operationId: string | undefined;
	readonly subaccountId: string | null;
	readonly consentLanguage: string | undefined;
}

type Result = Schemas["SendMessageResult"];

/** POST /agencies/{agencyId}/messages (§4 send). */
export function send(world: World, agency: Agency, input: SendInput): Result | Refusal {
	const { operationId } = input;
	const key = operationId === undefined ? null : entryKey(agency, operationId);
	const fingerprint = fingerprintOf(input);
	const known = key === null ? undefined : recall(world, key);
	const same = known?.fingerprint === fingerprint;
	const thread = agency.threads.get(input.to);
	const open = thread !== undefined && isWindowOpen(thread, world.clock.now());

	const replay = known && same ? replayed(world, known, thread, open) : undefined;
	if (replay) return replay; // R132: no side effects; nor is what was taken once checked again

	if (input.subaccountId !== null && !agency.senders.includes(input.subaccountId))
		return badRequest("subaccountId: is not one of the agency's senders."); // R98
	const language = open ? null : languageOf(agency, input.consentLanguage);
	if (isRefusal(language)) return language; // R184: also for a reused id
	if (known && !same) return internalError; // R134 to R137: the first body stays known
	if (thread && thread.conflicts > 0) {
		change(world, thread, () => thread.conflicts--);
		return conflict; // R116: nothing else changed
	}

	// From here on the send happens (R16, R144: until here nothing was changed or remembered).
	const target = threadFor(agency, input.to); // R108, R174
	if (key !== null) enter(world, key, fingerprint);
	const text: Outgoing = {
		body: input.body,
		sender: input.subaccountId ?? agency.senders[0] ?? null, // R176
		operationId: operationId ?? null,
		entry: key,
		language,
	};
	if (!open) return inQueue(target, hold(world, target, text).id);
	const message = sendNow(world, target, text);
	return sent(sidOf(message.id), "queued", isoOrNull(windowExpiresAt(target)));
}

// §4 send, rule 1
function sendNow(world: World, thread: Thread, text: Outgoing): StoredMessage {
	const { held } = thread;
	// R128: rule 3 "replaces it"; the retry of the held text itself always does, so that it arrives once (rule 4).
	const own = held !== null && text.entry !== null && held.entry === text.entry;
	if (held && (own || world.policy.openSendWhileHeld === "clear")) dropHeldText(world, thread, held);
	return sendText(world, thread, text);
}

// §4 send, rules 2 and 3
function hold(world: World, thread: Thread, text: Outgoing): Held {
	const { held } = thread;
	return held ? replaceHeldText(world, thread, held, text) : holdText(world, thread, text);
}

/** §4 send, rule 4: the answer to a retry that must not happen again; undefined when it is to run like a first send. */
function replayed(
	world: World,
	{ result }: LedgerEntry,
	thread: Thread | undefined,
	open: boolean,
): Result | undefined {
	if (result.state === "sent") {
		if (result.wasHeld && world.policy.retryAfterDelivery === "resend") return undefined; // R142
		return sent(sidOf(result.messageId), null, iso(result.windowExpiresAt)); // R131, R141
	}
	// R133: the held text is replaced by the same text, and nothing is checked again. R143: the retry of one that was
	// dropped or replaced is a new send, which an open window lets out at once (rule 1).
	return result.state === "held" && thread && !open ? inQueue(thread, result.queueId) : undefined;
}

/** R110 */
function sent(messageId: string, status: string | null, expires: string | null): Result {
	return {
		success: true,
		queued: false,
		messageId,
		queueId: null,
		status,
		windowOpen: true,
		windowExpiresAt: expires,
	};
}

/** R111 */
function inQueue(thread: Thread, queueId: string): Result {
	return {
		success: true,
		queued: true,
		messageId: null,
		queueId,
		status: null,
		windowOpen: false,
		windowExpiresAt: isoOrNull(windowExpiresAt(thread)),
	};
}

/** §4 send, rules 7 and 8: the language of the consent template, which only a closed window needs (R99). */
function languageOf(agency: Agency, asked: string | undefined): string | Refusal {
	const { eligibleForManualSend, availableLanguages } = readinessOf(agency);
	if (!eligibleForManualSend) return badRequest("The window is closed, and the agency cannot send a consent template."); // R104
	const [only, second] = availableLanguages;
	if (asked === undefined) {
		// R100: required with more than one, though there is a default; R102.
		if (only !== undefined && second === undefined) return only;
		return badRequest("consentLanguage: is required, as the agency has more than one consent language.");
	}
	if (availableLanguages.includes(asked)) return asked; // R103
	return badRequest("consentLanguage: is not one of the agency's consent languages."); // R101
}

/** R138: the whole payload, `to` normalised, null as absent. */
function fingerprintOf({ to, body, subaccountId, consentLanguage }: SendInput): string {
	return JSON.stringify([to, body, subaccountId, consentLanguage ?? null]);
}

/** A text by the agency's staff, by the same rules as a send; null when it is held. Throws where a send is refused. */
export function staffSends(world: World, thread: Thread, body: string): StoredMessage | null {
	const agency = agencyOf(world, thread);
	const open = isWindowOpen(thread, world.clock.now());
	const { eligibleForManualSend, defaultLanguage, availableLanguages } = readinessOf(agency);
	const language = open ? null : (defaultLanguage ?? availableLanguages[0] ?? null);
	const text: Outgoing = { body, sender: agency.senders[0] ?? null, operationId: null, entry: null, language };
	if (open) return sendNow(world, thread, text);
	if (!eligibleForManualSend) throw new Error("The window is closed, and the agency cannot send a consent template.");
	hold(world, thread, text);
	return null;
}
