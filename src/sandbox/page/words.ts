import type { EventFault, SandboxEvent } from "../index.ts";
import { minuteOf } from "./time.ts";

/** Events of one type. */
export type EventOf<Type extends SandboxEvent["type"]> = Extract<SandboxEvent, { type: Type }>;

/** A request to the service. */
export type RequestEvent = EventOf<"request">;

/** How much a line asks for attention; always beside words that say the same. */
export type Tone = "" | "ok" | "warn" | "bad";

/** The meaning of an event in words. */
export interface Words {
	readonly text: string;
	readonly tone: Tone;
}

const plain = (text: string): Words => ({ text, tone: "" });
const good = (text: string): Words => ({ text, tone: "ok" });
const careful = (text: string): Words => ({ text, tone: "warn" });
const lost = (text: string): Words => ({ text, tone: "bad" });

const who = ({ name, contact }: { readonly name: string | null; readonly contact: string }): string => name ?? contact;

/** Why a held text was dropped. */
export const dropReasons = { declined: "the contact declined", expired: "no answer in time" } as const;
/** The names of those who write for the agency. */
export const authors = { api: "API", staff: "Staff", ai: "AI", contact: "" } as const;

/** What can happen to a request, by the words on its button. */
export const presets: readonly (readonly [string, object])[] = [
	["Lose its answer", { phase: "after", effect: "hang" }],
	["Answer 503", { effect: { status: 503 } }],
	["Reset the connection", { effect: "reset" }],
	["Delay it by 5 s", { effect: { latencyMs: 5_000 } }],
	[
		"A gateway's 404",
		{ effect: { kind: "html", status: 404, body: "default backend - 404", contentType: "text/plain" } },
	],
];

/** A fault in words, with what is left of it. */
export const faultWords = ({ remaining, ...fault }: Omit<EventFault, "id" | "operation">): string =>
	`${faultName(fault)}, ${remaining === null ? "without end" : `${remaining} left`}`;

/** By the words on its button, where it has one. */
function faultName({ kind, status, phase }: Pick<EventFault, "kind" | "status" | "phase">): string {
	if (kind === "hang" && phase === "after") return "Lose its answer";
	return `${status ?? kind}, ${phase} it runs`;
}

/** Says what an event means, where its type does not. */
export function wordsOf(event: SandboxEvent): Words {
	switch (event.type) {
		case "contact.wrote":
			if (event.buttonClicked !== null) return plain(`${who(event)} tapped ${event.buttonClicked}`);
			return plain(`${who(event)} wrote${event.body === null ? "" : `: ${quote(event.body)}`}${filesOf(event.files)}`);
		case "contact.read":
			return plain(`${who(event)} read ${counted(event.messages, "message")}`);
		case "contact.reachable":
			return event.reachable
				? good(`${who(event)} can be reached again`)
				: lost(`${who(event)} cannot be reached: every message fails`);
		case "text.sent":
			return good(
				`sent to ${who(event)} by ${authors[event.author]}${event.queueId === null ? "" : ", after it was held"}`,
			);
		case "text.held":
			return careful(`held for ${who(event)}: the window is closed and consent was asked`);
		case "text.replaced":
			return lost(
				`replaced the text held at ${minuteOf(event.replaced.heldAt)}, ${quote(event.replaced.body)}: never sent`,
			);
		case "text.dropped":
			return lost(`dropped the held text ${quote(event.body)}: ${dropReasons[event.reason]}, never sent`);
		case "consent.asked":
			return careful(`asked ${who(event)} for consent: ${event.templateCode}`);
		case "consent.accepted":
			return good(`${who(event)} accepted${event.hadHeldText ? ": the held text went out" : ", and no text was held"}`);
		case "consent.declined":
			return lost(
				`${who(event)} declined${event.hadHeldText ? ": the held text was dropped" : ", and no text was held"}`,
			);
		case "window.opened":
			return good("window open for 24 hours");
		case "window.closed":
			return careful(`window closed, 24 hours after the last message of ${who(event)}`);
		case "ai.on":
			return good(event.reason === "staff" ? "AI on: staff turned it on" : "AI on again: the contact wrote");
		case "ai.off":
			return careful(
				event.reason === "user_toggle"
					? "AI off: staff turned it off"
					: "AI off: a message was sent by hand or by the API",
			);
		case "flow.started":
			return plain(`flow ${event.flowId} started`);
		case "flow.changed":
			return plain(`flow ${event.flowId}: ${event.status}`);
		case "message.status":
			return {
				text: `message ${event.messageId}: ${event.status}${event.errorCode === null ? "" : ` ${event.errorCode}`}`,
				tone: hasFailed(event) ? "bad" : "",
			};
		case "clock.moved":
			return plain(`clock moved to ${minuteOf(event.to)}`);
		case "fault.added":
			return careful(`fault ${event.fault.id} armed`);
		case "fault.hit":
			return lost(`fault: ${faultName(event.fault)}`);
		case "request.held":
			return careful("held at a breakpoint");
		case "request.resumed":
			return plain(`went on${event.kind === null ? "" : `: ${event.kind}, ${event.phase} it runs`}`);
		case "violation":
			return lost(`violation ${event.rule}: ${event.message}`);
		case "request":
			return requestWords(event);
		case "sandbox.opened":
			return careful("opened a bug file");
		case "sandbox.restored":
			return careful("went back to an earlier moment: what came later is undone");
		default:
			return plain("");
	}
}

function requestWords({ operation, method, path, status, answer, fault }: RequestEvent): Words {
	const name = operation ?? `${method} ${path}`;
	if (status === null)
		return lost(`${name} got no answer${fault?.phase === "after" ? ", though it was carried out" : ""}`);
	return status < 400 ? good(`${name} answered ${status}`) : lost(`${name} answered ${status}: ${reasonIn(answer)}`);
}

/** Whether a message of the agency did not reach the phone. */
export const isLost = ({ status }: { readonly status: string }): boolean =>
	status === "failed" || status === "undelivered";

/** Whether a message of the agency counts as failed (R158). */
export const hasFailed = (message: { readonly status: string; readonly errorCode: number | null }): boolean =>
	isLost(message) || message.errorCode !== null;

/** The message of a refusal. */
export const reasonIn = (answer: unknown): string =>
	typeof answer === "object" && answer !== null && "message" in answer ? String(answer.message) : "";

/** An explanation without the number of requests that its fault will still hit: each attempt of a send has another. */
export const withoutRest = (explanation: string): string => explanation.replace(/ It will hit.*?\./, "");

/** The operationId that a request carried. */
export function operationIdOf({ body }: RequestEvent): string | undefined {
	return typeof body === "object" && body !== null && "operationId" in body ? String(body.operationId) : undefined;
}

const filesOf = (files: number): string => (files === 0 ? "" : ` (${counted(files, "file")})`);

/** 1 file, 2 files */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
	`${count} ${count === 1 ? noun : plural}`;

/** A text that is short enough for a line; no emoji is cut in two. */
export const brief = (text: string, most = 60): string =>
	text.length > most ? `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…` : text;

const quote = (text: string): string => `“${brief(text)}”`;
