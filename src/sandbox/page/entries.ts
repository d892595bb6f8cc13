import { action, computed } from "@preact/signals";
import type { Found, SandboxEvent } from "../index.ts";
import { read } from "./control.ts";
import { consequences, requests, rowOf } from "./model.ts";
import { outcomes } from "./outcomes.ts";
import { log, sandbox } from "./store.ts";
import { dayOf } from "./time.ts";
import { isAbout } from "./timeline.ts";
import { brief, operationIdOf, type RequestEvent, wordsOf } from "./words.ts";

/** Requests that are one line of the log: a single one, equal polls of one round after the other, or the attempts of one send. */
export interface Entry {
	readonly kind: "request" | "polls" | "attempts";
	/** The oldest first. */
	readonly requests: readonly RequestEvent[];
	readonly newest: RequestEvent;
}

/** What the log shows of events: those until it was paused. */
export const untilPause = <Event extends SandboxEvent>(all: readonly Event[]): readonly Event[] => {
	const last = log.pausedAt.value;
	return last === null ? all : all.filter(({ id }) => id <= last);
};

export const isGood = ({ status }: RequestEvent): boolean => status !== null && status < 400;

const isOfChosen = (event: SandboxEvent): boolean =>
	!log.isOfContact.value || !sandbox.thread.value || isAbout(event, sandbox.thread.value);

/** Whether a line is of the contact, and has the text, of the filter. */
export const fits = (event: SandboxEvent, ...parts: readonly unknown[]): boolean =>
	isOfChosen(event) &&
	(log.text.value === "" || JSON.stringify([event, parts]).toLowerCase().includes(log.text.value.toLowerCase()));

/** Takes every filter off. */
export const showAll = action((): void => {
	log.kind.value = "";
	log.text.value = "";
	log.pausedAt.value = null;
	log.isOfContact.value = false;
	log.order.value = "newest";
	ask();
});

const mostFound = 200;
let asking: ReturnType<typeof setTimeout> | undefined;

/** Asks the server for what the filter names, after a pause. */
export function ask(waitMs = 200): void {
	clearTimeout(asking);
	asking = undefined;
	if (log.text.value.trim() === "" && log.order.value === "newest") log.found.value = null;
	else asking = setTimeout(askNow, waitMs);
}

/** Asks again, because more has come: once a second at most. */
export function askAgain(): void {
	if (log.found.value !== null && asking === undefined) ask(1_000);
}

async function askNow(): Promise<void> {
	const [query, end] = [log.text.value, log.order.value];
	const search = new URLSearchParams({ search: query, order: end, limit: String(mostFound) });
	const answer = await read<Found>(`search?${search}`).catch(() => undefined);
	if (query !== log.text.value || end !== log.order.value) return;
	asking = undefined;
	if (!answer) return; // it shows as a lost connection
	log.found.value = { ...answer, query, order: end };
}

/** What the server found, if that is of the filter as it is now. */
export const answered = computed(() => {
	const given = log.found.value;
	return given?.query === log.text.value && given.order === log.order.value ? given : null;
});

function isShown(event: RequestEvent): boolean {
	if (log.kind.value === "errors" && isGood(event)) return false;
	if (log.kind.value === "notable" && isQuiet(event)) return false;
	if (log.kind.value.includes(".") && event.operation !== log.kind.value) return false;
	if (answered.value) return isOfChosen(event);
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
export function targetOf({
	operation,
	method,
	path,
	query,
	contact,
	body,
}: Pick<RequestEvent, "operation" | "method" | "path" | "query" | "contact" | "body">): string {
	const name = contact === null ? "" : (rowOf(contact)?.name ?? contact);
	const said = operation === "messages.send" && typeof body === "object" && body !== null && "body" in body;
	if (said) return `${brief(name, 25)} “${body.body}”`;
	return [operation === null ? `${method} ${path}` : name, query && `?${query}`].join(" ").trim();
}

/** The lines of the log, the newest first. */
export const entries = computed(() => {
	const bySend = new Map<string, RequestEvent[]>();
	const all = untilPause(answered.value?.events.filter(isRequest) ?? requests.value);
	for (const event of all) {
		const key = sendOf(event);
		if (key !== undefined) bySend.set(key, [...(bySend.get(key) ?? []), event]);
	}
	const lines: Entry[] = [];
	/** The polls since the last line of another kind. A program that polls makes the same few reads in turn. */
	let round = new Map<string, number>();
	for (const event of [...all].reverse()) {
		const attempts = bySend.get(sendOf(event) ?? "") ?? [event];
		if (attempts.at(-1) !== event || !attempts.some(isShown)) continue;
		const poll = pollOf(event);
		if (poll === undefined) round = new Map();
		const at = round.get(poll ?? "");
		const same = at === undefined ? undefined : lines[at];
		if (at !== undefined && same) lines[at] = { ...same, kind: "polls", requests: [event, ...same.requests] };
		else {
			if (poll !== undefined) round.set(poll, lines.length);
			lines.push({ kind: attempts.length > 1 ? "attempts" : "request", requests: attempts, newest: event });
		}
	}
	return log.order.value === "oldest" ? lines.reverse() : lines;
});

const isRequest = (event: SandboxEvent): event is RequestEvent => event.type === "request";

/** Names the send of which a request is an attempt. An id that comes again with another text or contact is another send. */
function sendOf(event: RequestEvent): string | undefined {
	const { operation, agencyId, body } = event;
	const isSend = operation === "messages.send" && operationIdOf(event) !== undefined;
	return isSend ? JSON.stringify([agencyId, body]) : undefined;
}

/** Names a read of which nothing came: the same reads on one day are one line. */
function pollOf(event: RequestEvent): string | undefined {
	const { operation, path, status, keyId, at } = event;
	return isQuiet(event) ? JSON.stringify([operation, path, status, keyId, dayOf(at)]) : undefined;
}

const isQuiet = (event: RequestEvent): boolean =>
	event.operation !== "messages.send" && isGood(event) && event.fault === null && consequencesOf(event).length === 0;
