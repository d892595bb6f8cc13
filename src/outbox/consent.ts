/*
 * What the taps of a contact say. The service has no field for a No: each agency has templates and codes of its own, and a button of a
 * booking looks the same. Nothing here reads or stores.
 */
import type { Message } from "messaging-conversations";
import { isTap, isText, newestTime, type Reading, slackMs, timeOf } from "./match.ts";
import { storableId } from "./text.ts";

const dayMs = 86_400_000;

/** A button of a template, as it is stored. What an agency's conversations have shown of its consent are those whose tap has released a held text. */
export interface Button {
	template: string;
	code: string;
}

/** A No to somebody's question. */
export interface FoundNo {
	/** When it was tapped, by the service's clock. */
	at: number;
	/** Whether it is certain. Otherwise it may be a Yes that came too late, or an answer to a text. */
	isCertain: boolean;
}

/** What the newest tap of each template says. */
export interface Taps {
	no?: FoundNo | undefined;
	/** The times of the taps that are no No, because the newest one on the same template is a Yes. */
	takenBack: readonly number[];
	/** The times of the taps that somebody has answered at once, as the service does after a Yes. */
	answered: readonly number[];
}

interface Rules {
	settleMs: number;
	/** Whether this outbox has sent a text, and the service never held it. */
	isDirect: (message: Message) => boolean;
}

export const isTemplate = ({ direction, templateName }: Message): boolean =>
	direction === "outbound" && templateName !== null;

/** The codes that a template offers. */
function codesOf({ interactiveContent }: Message): (string | null | undefined)[] {
	const { quickReplies, listPicker, ctaButtons } = interactiveContent ?? {};
	return [
		...(quickReplies ?? []).map(({ code }) => code),
		...(listPicker?.items ?? []).map(({ id }) => id),
		...(ctaButtons ?? []).map(({ code }) => code),
	];
}

/** The template that a tap answers: the one that it replies to, or else the newest one that offers its code. */
export function templateOf(tap: Message, messages: readonly Message[]): Message | undefined {
	const older = messages.slice(messages.indexOf(tap) + 1).filter(isTemplate);
	const { replyTo, buttonClicked } = tap;
	if (!replyTo) return older.find((template) => codesOf(template).includes(buttonClicked));
	const at = timeOf(replyTo.createdAt);
	return older.find(
		({ templateName, createdAt }) =>
			templateName === replyTo.templateName && (at === 0 || Math.abs(timeOf(createdAt) - at) < 1_000),
	);
}

/** Whether such a tap has released a text before: then it is a Yes. */
export function isYes(tap: Message, messages: readonly Message[], released: readonly Button[]): boolean {
	const name = storableId(templateOf(tap, messages)?.templateName ?? null);
	const clicked = storableId(tap.buttonClicked);
	return released.some(({ template, code }) => template === name && code === clicked);
}

/** Whether the window was closed when a template went out: nobody is asked for consent while it is open. */
function wasClosed(template: Message, { messages, isWhole }: Pick<Reading, "messages" | "isWhole">): boolean {
	const from = timeOf(template.createdAt) - dayMs;
	for (const { direction, createdAt } of messages.slice(messages.indexOf(template) + 1)) {
		if (createdAt !== null && timeOf(createdAt) <= from) return true;
		if (direction === "inbound") return false;
	}
	return isWhole;
}

/**
 * What the newest tap of each template says, while the service holds nothing. It does not count who wrote long after the tap: the outbox
 * may read only then.
 */
export function tapsIn(reading: Reading, released: readonly Button[], { settleMs, isDirect }: Rules): Taps {
	const { messages } = reading;
	const { summary, queuedMessages } = reading.conversation;
	const isEmpty = summary.queuedMessages === 0 && queuedMessages.length === 0;
	// A reply of this outbox goes at once, and shows nothing of what the service held.
	const isOther = (message: Message): boolean => isText(message) && !isDirect(message);
	const newest = new Map<Message, Message>();
	const [takenBack, answered]: [number[], number[]] = [[], []];
	const found: FoundNo[] = [];
	let isBeforeYes = false;
	for (const [index, tap] of messages.entries()) {
		const template = isTap(tap) ? templateOf(tap, messages) : undefined;
		if (!template) continue;
		const at = timeOf(tap.createdAt);
		const since = messages.slice(0, index).filter(isOther);
		const isAtOnce = ({ createdAt }: Message): boolean => timeOf(createdAt) - at <= settleMs;
		const isDistinct = isOtherReleased(tap, template, released);
		// It would be the text that the tap has released, unless another button is the one that does.
		const isAnswered = !isDistinct && since.some((message) => timeOf(message.createdAt) >= at && isAtOnce(message));
		if (isAnswered) answered.push(at);
		const later = newest.get(template);
		if (later) {
			if (isYes(later, messages, released)) takenBack.push(at);
			continue;
		}
		newest.set(template, tap);
		// What was taken for a No before it was known what its button does.
		if (isYes(tap, messages, released)) {
			takenBack.push(at);
			isBeforeYes = true;
		}
		if (!isEmpty || isBeforeYes || isAnswered || at === 0 || timeOf(template.createdAt) === 0) continue;
		if (!wasClosed(template, reading)) continue;
		// It may be an answer to that text.
		const isAfterText = messages.slice(index, messages.indexOf(template)).some(isText);
		found.push({ at, isCertain: isDistinct && !isAfterText && !since.some(isAtOnce) });
	}
	return { no: found.find(({ isCertain }) => isCertain) ?? found[0], takenBack, answered };
}

/**
 * Whether its code has never released a text, and another one that this very template offers has. So the template is known too to ask for
 * consent.
 */
function isOtherReleased({ buttonClicked }: Message, template: Message, released: readonly Button[]): boolean {
	const offered = codesOf(template).map((code) => storableId(code ?? null));
	const [name, clicked] = [storableId(template.templateName), storableId(buttonClicked)];
	return (
		released.every(({ code }) => code !== clicked) &&
		released.some((button) => button.template === name && offered.includes(button.code))
	);
}

/** How long ago something was for certain: the clock of the outbox, or that of the one machine that has answered, may be wrong. */
export function surelySince(reading: Reading, at: number, now: number): number {
	const shown = newestTime(reading);
	const clocks = [now, reading.date ?? now].filter((time) => time >= shown - slackMs);
	// A sandbox lives in another year.
	const near = clocks.filter((time) => time - shown < 7 * dayMs);
	return Math.min(...(near.length > 0 ? near : clocks.length > 0 ? clocks : [shown])) - at;
}

/** The template that came with a held text, if it can't be another one. */
export function askedBy(messages: readonly Message[], heldAt: number): Message | undefined {
	const [template, other] = messages.filter(
		(message) => isTemplate(message) && Math.abs(timeOf(message.createdAt) - heldAt) <= slackMs,
	);
	return other || heldAt === 0 ? undefined : template;
}

/** The button whose tap has released a text that the service held: nothing else came between that text and the request for consent. */
export function releaseOf(
	messages: readonly Message[],
	text: Message,
	asked: Message | undefined,
	settleMs: number,
): Button | undefined {
	const tap = messages.slice(messages.indexOf(text) + 1).find(({ direction }) => direction === "inbound");
	if (!tap || !asked || !isTap(tap) || templateOf(tap, messages) !== asked) return undefined;
	const tookMs = timeOf(text.createdAt) - timeOf(tap.createdAt);
	const isPrompt = tookMs >= -slackMs && tookMs <= settleMs;
	const { templateName: template } = asked;
	const { buttonClicked: code } = tap;
	if (!isPrompt || template === null || code === null) return undefined;
	return { template: storableId(template), code: storableId(code) };
}
