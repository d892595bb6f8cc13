import { action, computed, effect } from "@preact/signals";
import type { Found, SandboxEvent } from "../index.ts";
import { read } from "./control.ts";
import { consequences, known, nameOf, requests } from "./model.ts";
import { outcomes } from "./outcomes.ts";
import { log, sandbox, view } from "./store.ts";
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

const has = (text: string, ...parts: readonly unknown[]): boolean =>
	text === "" || JSON.stringify(parts).toLowerCase().includes(text.toLowerCase());

/** Whether an event is of the contact, and has the words, of the filter. */
export const fits = (event: SandboxEvent): boolean =>
	isOfChosen(event) && has(log.eventText.value, event, wordsOf(event));

/** Takes every filter off. */
export const showAll = action((): void => {
	log.kind.value = "";
	log.text.value = "";
	log.pausedAt.value = null;
	log.isOfContact.value = false;
	log.order.value = "newest";
});

/*
 * With a filter, the server searches the whole log. Until it answers, the loaded requests that fit are shown.
 */

const kinds: Readonly<Record<string, string>> = { errors: "status:4xx,5xx,none", notable: "outcome:any" };

/** What the server is asked for; empty without a filter. */
const query = computed(() => {
	const [kind, thread] = [log.kind.value, sandbox.thread.value];
	const parts = [
		kind && (kinds[kind] ?? `op:${kind}`),
		log.isOfContact.value && thread && `contact:${thread.phoneNumber} agency:${thread.visibility.agencyIds.join()}`,
		log.text.value.trim(),
	];
	return parts.filter(Boolean).join(" ");
});

/** Whether the server is asked at all. */
export const isAsked = computed(() => query.value !== "" || log.order.value === "oldest");

const firstFound = 200;
let asking: ReturnType<typeof setTimeout> | undefined;
/** How long the last search took. */
let tookMs = 0;

effect(() => {
	const [text, order, found] = [query.value, log.order.value, log.found.peek()];
	if (found?.query !== text || found.order !== order) {
		log.mostFound.value = firstFound;
		log.from.value = 0;
	}
	if (isAsked.value) ask(200);
	else {
		clearTimeout(asking);
		asking = undefined;
		log.found.value = null;
	}
});

// Each tab has lines of its own.
effect(() => {
	if (view.tab.value) log.from.value = 0;
});

function ask(waitMs: number): void {
	clearTimeout(asking);
	const timer = setTimeout(
		() =>
			askNow().finally(() => {
				// A newer question may wait already.
				if (asking === timer) asking = undefined;
			}),
		waitMs,
	);
	asking = timer;
}

/** Asks again, because more has come: once a second at most, and a long log takes a tenth of the sandbox's time. */
export function askAgain(): void {
	if (log.found.value !== null && asking === undefined) ask(Math.max(1_000, 10 * tookMs));
}

/** Asks for more of what was found. */
export function findMore(): Promise<void> {
	log.mostFound.value += firstFound;
	return askNow();
}

async function askNow(): Promise<void> {
	const [text, order, most] = [query.value, log.order.value, log.mostFound.value];
	const search = new URLSearchParams({ search: text, order, limit: String(most) });
	const begun = performance.now();
	const answer = await read<Found>(`search?${search}`).catch(() => undefined);
	tookMs = performance.now() - begun;
	const isAsBefore = text === query.value && order === log.order.value && most === log.mostFound.value;
	// A failure shows as a lost connection.
	if (answer && isAsBefore) log.found.value = { ...answer, query: text, order };
}

/** What the server found, if that is of the filter as it is now. */
export const answered = computed(() => {
	const given = log.found.value;
	return given?.query === query.value && given.order === log.order.value ? given : null;
});

/** How many of the requests that were found are shown. */
export const shownCount = computed(() => answered.value?.events.filter(isRequest).length ?? 0);

function isShown(event: RequestEvent): boolean {
	if (answered.value) return true;
	if (log.kind.value === "errors" && isGood(event)) return false;
	if (log.kind.value === "notable" && isQuiet(event)) return false;
	if (log.kind.value.includes(".") && event.operation !== log.kind.value) return false;
	const outcome = outcomes.value.get(event.correlationId)?.steps.join(" → ");
	const then = consequencesOf(event).map(wordsOf);
	return (
		isOfChosen(event) &&
		has(log.text.value, event, event.contact && nameOf(event.agencyId, event.contact), targetOf(event), outcome, then)
	);
}

/** The events that followed from a request. */
export const consequencesOf = ({ correlationId }: RequestEvent): readonly SandboxEvent[] =>
	consequences.value.get(correlationId ?? "") ?? [];

/** What a request is about, where its operation does not say it. */
export function targetOf({
	operation,
	agencyId,
	method,
	path,
	query,
	contact,
	body,
}: Pick<RequestEvent, "operation" | "agencyId" | "method" | "path" | "query" | "contact" | "body">): string {
	const name = contact === null ? "" : nameOf(agencyId, contact);
	const said = operation === "messages.send" && typeof body === "object" && body !== null && "body" in body;
	if (said) return `${brief(name, 25)} “${body.body}”`;
	return [operation === null ? `${method} ${path}` : name, query && `?${query}`].join(" ").trim();
}

/** The lines of the log, the newest first. */
export const entries = computed(() => {
	const all = untilPause(answered.value?.events.filter(isRequest) ?? requests.value);
	/** All attempts of each send, also those that a search did not find. */
	const bySend = new Map<string, RequestEvent[]>();
	for (const event of untilPause(known.value)) {
		const key = isRequest(event) ? sendOf(event) : undefined;
		if (key !== undefined && isRequest(event)) bySend.set(key, [...(bySend.get(key) ?? []), event]);
	}
	const lines: Entry[] = [];
	/** The polls since the last line of another kind. A program that polls makes the same few reads in turn. */
	let round = new Map<string, number>();
	const listed = new Set<RequestEvent>();
	for (const event of [...all].reverse()) {
		const attempts = bySend.get(sendOf(event) ?? "") ?? [event];
		const newest = attempts.at(-1) ?? event;
		if (listed.has(newest) || !attempts.some(isShown)) continue;
		listed.add(newest);
		const poll = pollOf(event);
		if (poll === undefined) round = new Map();
		const at = round.get(poll ?? "");
		const same = at === undefined ? undefined : lines[at];
		if (at !== undefined && same) lines[at] = { ...same, kind: "polls", requests: [event, ...same.requests] };
		else {
			if (poll !== undefined) round.set(poll, lines.length);
			lines.push({ kind: attempts.length > 1 ? "attempts" : "request", requests: attempts, newest });
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
