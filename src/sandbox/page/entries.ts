import type { SandboxEvent } from "../index.ts";
import { outcomes } from "./outcomes.ts";
import { computed, signal } from "./signal.ts";
import { consequences, requests, rowOf, thread } from "./store.ts";
import { dayOf } from "./time.ts";
import { isAbout } from "./timeline.ts";
import { brief, operationIdOf, type RequestEvent, wordsOf } from "./words.ts";

/** Requests that are one line of the log: a single one, equal polls in a row, or the attempts of one send. */
export interface Entry {
	readonly kind: "request" | "polls" | "attempts";
	/** The oldest first. */
	readonly requests: readonly RequestEvent[];
	readonly newest: RequestEvent;
}

/** Which requests are shown: all, sends, errors, or those of one operation. */
export const kind = signal("");
/** A text that shown lines have. */
export const text = signal("");
/** Whether only lines of the chosen contact are shown. */
export const isOfContact = signal(false);

export const isGood = ({ status }: RequestEvent): boolean => status !== null && status < 400;

/** Whether a line is of the contact, and has the text, of the filter. */
export const fits = (event: SandboxEvent, ...parts: readonly unknown[]): boolean =>
	(!isOfContact.value || !thread.value || isAbout(event, thread.value)) &&
	(text.value === "" || JSON.stringify([event, parts]).toLowerCase().includes(text.value.toLowerCase()));

function isShown(event: RequestEvent): boolean {
	if (kind.value === "errors" ? isGood(event) : kind.value !== "" && event.operation !== kind.value) return false;
	const then = consequencesOf(event);
	return fits(
		event,
		rowOf(event.contact ?? "")?.name,
		targetOf(event),
		outcomes.value.get(event.correlationId)?.steps.join(" → "),
		then.map(wordsOf),
	);
}

/** The events that followed from a request. */
export const consequencesOf = ({ correlationId }: RequestEvent): readonly SandboxEvent[] =>
	consequences.value.get(correlationId ?? "") ?? [];

/** What a request is about, where its operation does not say it. */
export function targetOf({ operation, method, path, query, contact, body }: RequestEvent): string {
	const name = contact === null ? "" : (rowOf(contact)?.name ?? contact);
	const said = operation === "messages.send" && typeof body === "object" && body !== null && "body" in body;
	if (said) return `${brief(name, 25)} “${body.body}”`;
	return [operation === null ? `${method} ${path}` : name, query && `?${query}`].join(" ").trim();
}

/** The lines of the log, the newest first. */
export const entries = computed(() => {
	const bySend = new Map<string, RequestEvent[]>();
	for (const event of requests.value) {
		const key = sendOf(event);
		if (key !== undefined) bySend.set(key, [...(bySend.get(key) ?? []), event]);
	}
	const lines: Entry[] = [];
	for (const event of [...requests.value].reverse()) {
		const attempts = bySend.get(sendOf(event) ?? "") ?? [event];
		if (attempts.at(-1) !== event || !attempts.some(isShown)) continue;
		const last = lines.at(-1);
		if (last && isPollOf(last, event)) {
			lines[lines.length - 1] = { ...last, kind: "polls", requests: [event, ...last.requests] };
		} else lines.push({ kind: attempts.length > 1 ? "attempts" : "request", requests: attempts, newest: event });
	}
	return lines;
});

/** Names the send of which a request is an attempt. An id that comes again with another text or contact is another send. */
function sendOf(event: RequestEvent): string | undefined {
	const { operation, agencyId, body } = event;
	const isSend = operation === "messages.send" && operationIdOf(event) !== undefined;
	return isSend ? JSON.stringify([agencyId, body]) : undefined;
}

/** Whether a request only repeats the same read, and nothing came of it. */
function isPollOf({ newest }: Entry, event: RequestEvent): boolean {
	const [a, b] = [newest, event];
	const isSame = a.operation === b.operation && a.path === b.path && a.status === b.status && a.keyId === b.keyId;
	return isSame && isQuiet(a) && isQuiet(b) && dayOf(a.at) === dayOf(b.at);
}

const isQuiet = (event: RequestEvent): boolean =>
	event.operation !== "messages.send" && isGood(event) && event.fault === null && consequencesOf(event).length === 0;
