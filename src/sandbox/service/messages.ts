import type { E164, Schemas } from "../base/contract.ts";
import { readinessOf } from "../world/consent.ts";
import { decisionOf, type SendDecision } from "../world/decision.ts";
import { iso, isoOrNull } from "../world/instant.ts";
import { messageSidOf } from "../world/message.ts";
import { operationKey, recallOperation, retryOf, takeOperation } from "../world/operation-ids.ts";
import type { RuleId } from "../world/rules.ts";
import { hold, isWindowOpen, type Outgoing, sendNow, windowExpiresAt } from "../world/thread.ts";
import { type Agency, type Fate, type Thread, threadFor, type World } from "../world/world.ts";
import { factsOf } from "./decide.ts";
import {
	explainIneligible,
	explainLanguage,
	explainReuse,
	explainSender,
	explainTakeOver,
	type Payload,
} from "./explain.ts";
import { badRequest, conflict, isRefusal, type Refusal, reusedId } from "./refusal.ts";

/** A send whose fields were checked. */
export interface SendInput {
	readonly to: E164;
	readonly body: string;
	readonly operationId: string | undefined;
	/** As it came: its case is part of the payload (R138). */
	readonly subaccountId: string | null;
	readonly consentLanguage: string | undefined;
}

type Result = Schemas["SendMessageResult"];

/** `messages.send`. `decide` takes what decided it. */
export function send(
	world: World,
	agency: Agency,
	input: SendInput,
	decide: (decision: SendDecision) => void,
): Result | Refusal {
	const { operationId = null } = input;
	const key = operationId === null ? null : operationKey(agency, operationId);
	const payload = payloadOf(input);
	const known = key === null ? undefined : recallOperation(world, key);
	const isRetry = known?.payload === payload;
	const thread = agency.threads.get(input.to);
	const open = thread !== undefined && isWindowOpen(thread, world.now);
	const facts = factsOf(world, agency, thread, known?.fate);
	const refused = (refusal: Refusal, rule: RuleId): Refusal => {
		decide(decisionOf(facts, "refused", rule));
		return refusal;
	};

	if (known && isRetry && thread) {
		const retry = retryOf(world, known, open);
		// R132: no side effects, and nothing that was accepted once is checked again.
		if (retry !== "send") {
			decide(decisionOf(facts, "repeat", ruleOfRepeat(retry.answer, open)));
			return answerOf(thread, retry.answer);
		}
	}
	const sender = input.subaccountId?.toLowerCase() ?? null;
	if (sender !== null && !agency.senders.includes(sender))
		return refused(badRequest("subaccountId: is not one of the agency's senders.", explainSender(agency)), "R98");
	const language = open ? null : languageOf(agency, input.consentLanguage);
	// R184: also for a reused id
	if (isRefusal(language)) return refused(language, ruleOfLanguage(agency, input.consentLanguage));
	// R134 to R137: the first body stays known
	if (known && !isRetry) return refused(reusedId(explainReuse(payloadFrom(known.payload), input)), "R134");
	if (thread && thread.conflicts > 0) {
		thread.conflicts--;
		world.history.touched(thread);
		return refused(conflict(explainTakeOver(thread)), "R116"); // nothing else changed
	}

	// The send happens below. Nothing was changed or remembered above (R16, R144).
	const target = threadFor(world, agency, input.to); // R108, R174
	if (key !== null) takeOperation(world, key, payload);
	const text: Outgoing = {
		body: input.body,
		author: "api",
		sender: sender ?? agency.senders[0] ?? null, // R176
		operationId,
		operation: key,
		language,
	};
	const again = ruleOfResend(known?.fate);
	if (!open) {
		decide(decisionOf(facts, "held", again ?? (facts.held ? "R119" : "R113"), "replaced"));
		return inQueue(hold(world, target, text).id, isoOrNull(windowExpiresAt(target)));
	}
	const { held } = target;
	const message = sendNow(world, target, text);
	const own = held !== null && held.operation === key && held.body === text.body && key !== null;
	const became = own ? "sent" : target.held ? "kept" : "replaced";
	decide(decisionOf(facts, "sent", own ? "R133" : (again ?? (held ? "R128" : "R112")), became));
	return sent(messageSidOf(message.id), "queued", isoOrNull(windowExpiresAt(target)));
}

/** The answer to a retry that does nothing. */
function answerOf(thread: Thread, fate: Exclude<Fate, { state: "taken" }>): Result {
	if (fate.state === "sent") return sent(messageSidOf(fate.messageId), null, iso(fate.windowExpiresAt)); // R131, R141
	const expires = fate.state === "held" ? windowExpiresAt(thread) : fate.windowExpiresAt;
	return inQueue(fate.queueId, isoOrNull(expires)); // R133, R185, R186
}

/** The rule by which a retry does nothing. */
function ruleOfRepeat(fate: Fate, open: boolean): RuleId {
	if (fate.state === "sent") return fate.wasHeld ? "R142" : open ? "R131" : "R141";
	return ruleOfResend(fate) ?? "R133";
}

/** The rule by which a retry is a send once more; undefined for a first send. */
function ruleOfResend(fate: Fate | undefined): RuleId | undefined {
	if (fate?.state === "sent") return "R142";
	return fate?.state === "dropped" ? "R185" : fate?.state === "replaced" ? "R186" : undefined;
}

/** The rule by which a language is refused. */
const ruleOfLanguage = (agency: Agency, asked: string | undefined): RuleId =>
	readinessOf(agency).eligibleForManualSend ? (asked === undefined ? "R100" : "R101") : "R104";

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
function inQueue(queueId: string, expires: string | null): Result {
	return {
		success: true,
		queued: true,
		messageId: null,
		queueId,
		status: null,
		windowOpen: false,
		windowExpiresAt: expires,
	};
}

/** R100 to R104: the language of the consent template, which only a closed window needs (R99). */
function languageOf(agency: Agency, asked: string | undefined): string | Refusal {
	const { eligibleForManualSend, availableLanguages } = readinessOf(agency);
	if (!eligibleForManualSend)
		return badRequest(
			"The window is closed, and the agency cannot send a consent template.",
			explainIneligible(agency),
		); // R104
	const [only, second] = availableLanguages;
	if (asked === undefined) {
		// R100: required with more than one, though there is a default; R102.
		if (only !== undefined && second === undefined) return only;
		return badRequest(
			"consentLanguage: is required, as the agency has more than one consent language.",
			explainLanguage(availableLanguages),
		);
	}
	if (availableLanguages.includes(asked)) return asked; // R103
	return badRequest(
		"consentLanguage: is not one of the agency's consent languages.",
		explainLanguage(availableLanguages),
	); // R101
}

/** R138: the whole payload, `to` normalised, null as absent. */
function payloadOf({ to, body, subaccountId, consentLanguage }: SendInput): string {
	return JSON.stringify([to, body, subaccountId, consentLanguage ?? null]);
}

function payloadFrom(payload: string): Payload {
	const [to, body, subaccountId, consentLanguage] = JSON.parse(payload);
	return { to, body, subaccountId, consentLanguage };
}
