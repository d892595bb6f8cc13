import { action, batch, computed } from "@preact/signals";
import type {
	AgencyState,
	BreakpointState,
	ConversationRow,
	ConversationState,
	Gone,
	KeyState,
	MessageState,
	SandboxEvent,
	Violation,
} from "../index.ts";
import { forgetRefusal, read } from "./control.ts";
import { type Call, type HeldState, list, log, type ShownBug, sandbox, view, type WaitingFault } from "./store.ts";
import type { EventOf, RequestEvent } from "./words.ts";

/** The key that the page's own sends carry: the oldest one that is good. */
export const apiKey = computed(
	() => (sandbox.keys.value.find(({ state }) => state === "live") ?? sandbox.keys.value[0])?.apiKey ?? "",
);

export const agencyId = computed(() => view.agencyId.value || sandbox.defaultAgencyId.value);
export const agency = computed(() => sandbox.agencies.value.find(({ id }) => id === agencyId.value));

export const isOpen = ({ window }: ConversationRow): boolean =>
	window.expiresAt !== null && Date.parse(window.expiresAt) > sandbox.now.value;

/*
 * The list. It is loaded page by page, and each conversation that changes is read again, wherever it is in the list.
 */

const pageLength = 100;
/** How many rows were loaded from the top of the list. */
let loaded = 0;

/** The rows that are listed: those with the newest message first, contacts without a conversation last. */
export const rows = computed(() => {
	const last = list.edge.value;
	const listed = [...list.known.value.values()].filter((row) => isFound(row) && (!last || byNewest(row, last) <= 0));
	return listed.sort(byNewest);
});

/** The digits of what may be a number. With letters it is a name, such as "Flat 12". */
export const digitsIn = (text: string): string => (/\p{L}/u.test(text) ? "" : text.replace(/\D/g, ""));

function isFound({ phoneNumber, name }: ConversationRow): boolean {
	const text = list.search.value.trim().toLowerCase();
	const digits = digitsIn(text).replace(/^0+/, "");
	return Boolean((name ?? "").toLowerCase().includes(text)) || (digits.length > 1 && phoneNumber.includes(digits));
}

function byNewest(a: ConversationRow, b: ConversationRow): number {
	const [x, y] = [a.lastMessage, b.lastMessage];
	if (x && y) return y.at.localeCompare(x.at) || y.id - x.id;
	return Number(y !== null) - Number(x !== null) || Number(b.exists) - Number(a.exists);
}

export const rowOf = (phone: string): ConversationRow | undefined => list.known.value.get(phone);

/** Loads the next rows of the list. */
export const loadMoreRows = (): Promise<void> => readRows(loaded, pageLength);

let typing: ReturnType<typeof setTimeout>;

/** Lists what has the text. */
export function searchFor(text: string): void {
	list.search.value = text;
	clearTimeout(typing);
	typing = setTimeout(() => readRows(0, pageLength).catch(() => undefined), 200);
}

/** Whether the page still shows what it showed before: the answer to an earlier question undoes no choice. */
function asBefore(): () => boolean {
	const [chosen, at] = [agencyId.value, view.at.value];
	return () => chosen === agencyId.value && at === view.at.value;
}

async function readRows(offset: number, limit: number, isAll = false): Promise<void> {
	const [isAsBefore, text] = [asBefore(), list.search.value.trim()];
	const query = new URLSearchParams({ contacts: "true", offset: String(offset), limit: String(limit) });
	if (text !== "") query.set("search", text);
	const page = await read<ConversationRow[]>(asShown(placed(`conversations?${query}`)));
	if (!isAsBefore() || text !== list.search.value.trim()) return;
	loaded = offset + page.length;
	list.edge.value = (page.length === limit && page.at(-1)) || null;
	keepRows(page, isAll);
}

function keepRows(page: readonly ConversationRow[], isAll = false): void {
	const all = isAll ? new Map<string, ConversationRow>() : new Map(list.known.value);
	for (const row of page) all.set(row.phoneNumber, row);
	list.known.value = all;
	const named = page.flatMap((row): [string, string][] =>
		row.name === null ? [] : [[keyOf(row.agencyId, row.phoneNumber), row.name]],
	);
	list.names.value = new Map([...list.names.value, ...named]);
}

/** The name of a contact of an agency, or else the number. */
export function nameOf(agency: string | null, contact: string): string {
	const row = rowOf(contact);
	const isOwn = agency === null || row?.agencyId === agency || row?.visibility.agencyIds.includes(agency);
	const key = keyOf(agency ?? agencyId.value, contact);
	return (isOwn && row?.name) || (eventNames.value.get(key) ?? list.names.value.get(key) ?? contact);
}

/** The names that events have, the newest of each contact. */
const eventNames = computed(() => {
	const names = new Map<string, string>();
	for (const event of known.value)
		if ("name" in event && event.name !== null) names.set(keyOf(event.agencyId, event.contact), event.name);
	return names;
});

/*
 * The events.
 */

const mostEvents = 5_000;
const eventsLength = 2_000;

const readEvents = (query: string): Promise<SandboxEvent[]> => read(`events?brief=true&limit=${eventsLength}&${query}`);

/** Reads the newest events in place of all others. */
export async function readNewestEvents(): Promise<void> {
	const all = await readEvents("");
	list.unread.value = new Map();
	log.events.value = [];
	forgetOlder();
	log.hasOlder.value = all.length === eventsLength;
	take(all, false);
	if (log.hasOlder.value) log.olderLosses.value = await readOlder(`types=${lossTypes}`);
}

/*
 * Of older events the page has those that say what became of what it shows: texts that were never sent and what took others
 * back, everything about the chosen contact, and what a search found.
 */

const lossTypes = "text.replaced,text.dropped,sandbox.restored,sandbox.reset";

const isLoss = ({ type }: SandboxEvent): boolean => lossTypes.split(",").includes(type);

const isOfContact = (event: SandboxEvent): boolean => "contact" in event && event.contact === view.contact.value;

const readOlder = (query: string, before = log.events.value[0]?.id ?? 0): Promise<SandboxEvent[]> =>
	read(`events?brief=true&limit=${mostEvents}&before=${before}&${query}`);

const forgetOlder = (): void => {
	log.olderLosses.value = [];
	log.olderOfContact.value = null;
};

/** Reads older events of the chosen contact than the page has. */
async function readOlderOfContact(): Promise<void> {
	const phone = view.contact.value;
	if (phone === null || !log.hasOlder.value) return;
	const known = log.olderOfContact.value ?? [];
	const older = await readOlder(`contact=${encodeURIComponent(phone)}`, known[0]?.id);
	if (phone === view.contact.value) log.olderOfContact.value = [...older, ...(log.olderOfContact.value ?? [])];
}

/** All events that the page has, the oldest first; before the loaded ones there are gaps. */
export const known = computed((): readonly SandboxEvent[] => {
	const all = log.events.value;
	const first = all[0]?.id ?? 0;
	const older = new Map<number, SandboxEvent>();
	for (const some of [log.olderLosses.value, log.olderOfContact.value, log.found.value?.events])
		for (const event of some ?? []) if (event.id < first) older.set(event.id, event);
	return older.size === 0 ? all : [...[...older.values()].sort((a, b) => a.id - b.id), ...all];
});

export async function loadOlderEvents(): Promise<void> {
	const first = log.events.value[0]?.id;
	const [older, gone] = await Promise.all([readEvents(`before=${first}`), read<Gone>("forgotten")]);
	if (first !== log.events.value[0]?.id) return;
	log.hasOlder.value = older.length === eventsLength;
	sandbox.forgotten.value = gone;
	log.events.value = withoutTicks([...older, ...log.events.value]);
}

/** An event with everything that it holds: in the list, requests lack long answers. */
export async function wholeEvent({ id }: SandboxEvent): Promise<SandboxEvent | undefined> {
	const [event] = await read<SandboxEvent[]>(`events?after=${id - 1}&before=${id + 1}`);
	return event;
}

export const requests = computed(() =>
	log.events.value.filter((event): event is RequestEvent => event.type === "request"),
);

/** The consequences of each request, by its correlation id. */
export const consequences = computed(() => {
	const byRequest = new Map<string, SandboxEvent[]>();
	for (const event of known.value) {
		if (event.correlationId === null || event.type === "request" || event.type === "fault.hit") continue;
		const group = byRequest.get(event.correlationId);
		if (group) group.push(event);
		else byRequest.set(event.correlationId, [event]);
	}
	return byRequest;
});

/** The events that led to what is shown. */
export const standing = computed(() => standingAt(view.at.value ?? Number.POSITIVE_INFINITY));

/** The events that led to a moment. A restore takes back those that came after its snapshot. */
export function standingAt(moment: number): readonly SandboxEvent[] {
	const all: SandboxEvent[] = [];
	let last = moment;
	for (const event of [...known.value].reverse()) {
		if (event.id > last) continue;
		if (event.type === "sandbox.restored") last = event.lastEventId;
		else if (isWholeNew(event)) break;
		else all.push(event);
	}
	return all.reverse();
}

/** Whether an event comes after the moment that is shown. */
export const isLater = ({ id }: SandboxEvent): boolean => view.at.value !== null && id > view.at.value;

/** How an event was taken back: by a restore, or with its whole world. Undefined if it still holds. */
export function undoneBy({ id }: SandboxEvent): EventOf<"sandbox.restored"> | "another world" | undefined {
	let newest = Number.POSITIVE_INFINITY;
	for (const end of endings.value) {
		if (end.id < id) return undefined;
		if (end.id > newest) continue; // it was taken back itself
		if (end.type !== "sandbox.restored") return "another world";
		if (id > end.lastEventId) return end;
		newest = end.lastEventId;
	}
	return undefined;
}

/** The events that took others back, the newest first. */
const endings = computed(() => known.value.filter(isEnding).reverse());

/** How many texts of each contact were replaced or dropped, by agency and number. */
export const lostTexts = computed(() => {
	const counts = new Map<string, number>();
	for (const event of standing.value) {
		if (event.type !== "text.replaced" && event.type !== "text.dropped") continue;
		const key = keyOf(event.agencyId, event.contact);
		counts.set(key, (counts.get(key) ?? 0) + 1);
	}
	return counts;
});

export const keyOf = (agency: string, contact: string): string => `${agency} ${contact}`;

/** How many messages came into a listed conversation while another one was shown. */
export const newsOf = ({ agencyId, phoneNumber }: ConversationRow): number =>
	list.unread.value.get(keyOf(agencyId, phoneNumber)) ?? 0;

/** How many came into all conversations of the agency that were read. */
export const allNews = computed(() => [...list.known.value.values()].reduce((sum, row) => sum + newsOf(row), 0));

/** Another agency may own a conversation that this one sees. */
const newsKey = (phone: string | null): string => keyOf(rowOf(phone ?? "")?.agencyId ?? agencyId.value, phone ?? "");

/** Whether a message came into a conversation. */
export const isMessage = (event: SandboxEvent): event is EventOf<"contact.wrote" | "text.sent" | "consent.asked"> =>
	/wrote|sent$|asked/.test(event.type);

const isEnding = (event: SandboxEvent): event is EventOf<"sandbox.restored" | "sandbox.reset"> => isWholeNew(event);

/** Whether everything that the sandbox holds was replaced, and what happened before belongs to another world. */
const isWholeNew = ({ type }: SandboxEvent): boolean => type !== "sandbox.opened" && type.startsWith("sandbox.");

/** A clock that follows real time moves again and again: of such moves in a row the last one says all. */
const withoutTicks = (all: readonly SandboxEvent[]): SandboxEvent[] =>
	all.filter((event, i) => event.type !== "clock.moved" || all[i + 1]?.type !== "clock.moved");

/** Takes in events in the order of their ids. */
export const take = action((news: readonly SandboxEvent[], isLive: boolean): void => {
	const counts = new Map(list.unread.value);
	for (const event of news) {
		if (view.at.value === null) sandbox.now.value = Date.parse(event.at);
		if (isWholeNew(event)) counts.clear();
		if (!isLive) continue;
		if (event.type === "sandbox.opened") openBug();
		markStale(event);
		if (!isMessage(event)) continue;
		const key = keyOf(event.agencyId, event.contact);
		if (key !== newsKey(view.contact.value)) counts.set(key, (counts.get(key) ?? 0) + 1);
	}
	const reset = news.map(({ type }) => type).lastIndexOf("sandbox.reset");
	const all = withoutTicks(reset < 0 ? [...log.events.value, ...news] : news.slice(reset));
	if (reset >= 0) forgetOlder();
	const most = Math.max(mostEvents, log.events.value.length);
	log.hasOlder.value = all.length > most || (log.hasOlder.value && reset < 0);
	const older = all.slice(0, -most);
	if (older.some(isLoss)) log.olderLosses.value = [...log.olderLosses.value, ...older.filter(isLoss)];
	if (older.some(isOfContact))
		log.olderOfContact.value = [...(log.olderOfContact.value ?? []), ...older.filter(isOfContact)];
	log.events.value = all.slice(-most);
	list.unread.value = counts;
	refresh();
});

/** Shows a bug file that was opened: its own events, and the place that it names. */
async function openBug(): Promise<void> {
	const [{ value: contact }, { value: request }] = [view.contact, view.request];
	const { bug } = await read<ShownBug>("shown");
	await readNewestEvents();
	// Unless another contact or request was chosen meanwhile. One that the file does not have is closed by itself.
	if (![contact, null].includes(view.contact.value) || ![request, ""].includes(view.request.value)) return;
	chooseAgency(bug?.place.agencyId ?? "");
	select(bug?.place.contact ?? null);
	view.request.value = bug?.place.request ?? "";
	view.pane.value = view.request.value ? "requests" : view.contact.value ? "phone" : "conversations";
}

/*
 * What changed is read again, and nothing else.
 */

interface Stale {
	/** Everything. */
	all: boolean;
	/** What is of no conversation: agencies, keys, faults. */
	world: boolean;
	/** The conversation that is shown, whole. */
	thread: boolean;
	/** Single conversations by number, with the agencies that own them. */
	readonly rows: Map<string, readonly string[]>;
	/** Messages of the conversation that is shown. */
	readonly messages: Set<number>;
}

const nothing = (): Stale => ({
	all: false,
	world: false,
	thread: false,
	rows: new Map(),
	messages: new Set(),
});

let stale = nothing();

function markStale(event: SandboxEvent): void {
	if (/^(sandbox|scenario|violation)/.test(event.type)) stale.all = true;
	else if (/^(agency|access|fault|breakpoint|request\.)/.test(event.type)) stale.world = true;
	else if (event.type === "request") {
		// It waited, and its caller gave up.
		if (sandbox.heldRequests.value.some(({ correlationId }) => correlationId === event.correlationId))
			stale.world = true;
		// A send that is refused can use up a take-over, which no event reports.
		const { operation, status, contact } = event;
		const row = operation === "messages.send" && status !== 200 && contact !== null && rowOf(contact);
		if (row) markRow(row.phoneNumber, row.agencyId);
	} else if ("contact" in event) {
		// The page knows when a window ends; `state` of the conversation that is shown says it too.
		if (event.type.startsWith("window") && event.contact !== view.contact.value) return;
		markRow(event.contact, event.agencyId);
		if ("messageId" in event) stale.messages.add(event.messageId);
	}
}

const markRow = (phone: string, owner: string): unknown =>
	stale.rows.set(phone, [...(stale.rows.get(phone) ?? []), owner]);

/** With more changed conversations than this, the list is read again. */
const manyRows = 20;

let reading: Promise<void> | undefined;

/** Reads what is stale: at most one reading at a time. */
function refresh(): void {
	// Until the first reading, which is of everything.
	if (sandbox.defaultAgencyId.value !== "") reading ??= readStale().finally(() => (reading = undefined));
}

async function readStale(): Promise<void> {
	while (stale.all || stale.world || stale.thread || stale.rows.size > 0) {
		const todo = stale;
		stale = nothing();
		// A failure shows as a lost connection, after which everything is read again.
		await readParts(todo).catch(() => undefined);
	}
}

async function readParts(todo: Stale): Promise<void> {
	if (todo.all) return readState();
	const { rows, messages } = todo;
	const phone = view.contact.value;
	const hasThread = phone !== null && rows.has(phone) && !todo.thread;
	const others = [...rows.keys()].filter((each) => each !== phone);
	await Promise.all([
		todo.world && readWorld(),
		todo.thread && readThread(),
		todo.thread && readOlderOfContact(),
		hasThread && readThread(`messages=${[0, ...messages].join(",")}`),
		others.length > manyRows
			? readRows(0, Math.max(loaded, pageLength), true)
			: others.length > 0 && readSome(others, rows),
	]);
}

/** Reads single rows. Each event names the agency whose conversation it is about: the other one may have its own. */
async function readSome(phones: readonly string[], owners: Stale["rows"]): Promise<void> {
	const isAsBefore = asBefore();
	const query = new URLSearchParams({ phones: phones.join(",") });
	const page = await read<ConversationRow[]>(asShown(placed(`conversations?${query}`)));
	if (isAsBefore()) keepRows(page.filter((row) => owners.get(row.phoneNumber)?.includes(row.agencyId)));
}

/** Reads the conversation that is shown, with its newest messages or with those that a query names. */
async function readThread(query?: string): Promise<void> {
	const [isAsBefore, phone] = [asBefore(), view.contact.value];
	if (phone === null) return;
	const limit = Math.max(pageLength, sandbox.thread.value?.messages.length ?? 0);
	const state = await read<ConversationState>(asShown(placed(`conversations/${phone}?${query ?? `limit=${limit}`}`)));
	if (!isAsBefore() || phone !== view.contact.value) return;
	const before = sandbox.thread.value?.messages;
	// The conversation was left and opened again, and is read whole.
	if (query !== undefined && before === undefined) return;
	const { flows: _, messages: __, ...row } = state;
	batch(() => {
		sandbox.thread.value = before && query ? { ...state, messages: merged(before, state.messages) } : state;
		if (row.exists || rowOf(phone)) keepRows([row]);
	});
}

/** Reads older messages of the conversation that is shown. What else is in the answer may be older than what is shown. */
async function readOlderMessages(): Promise<void> {
	const [isAsBefore, phone] = [asBefore(), view.contact.value];
	const first = sandbox.thread.value?.messages[0]?.id ?? 0;
	const query = `limit=${pageLength}&before=${first}`;
	const older = await read<ConversationState>(asShown(placed(`conversations/${phone}?${query}`)));
	const shown = sandbox.thread.value;
	if (!shown || !isAsBefore() || phone !== view.contact.value) return;
	if (first === shown.messages[0]?.id)
		sandbox.thread.value = { ...shown, messages: [...older.messages, ...shown.messages] };
}

/** Messages with newer ones: some are changed, and the others come last. */
function merged(before: readonly MessageState[], newer: readonly MessageState[]): MessageState[] {
	const changed = new Map(newer.map((message) => [message.id, message]));
	const all = before.map((message) => changed.get(message.id) ?? message);
	for (const { id } of before) changed.delete(id);
	return [...all, ...changed.values()];
}

/** Whether the conversation that is shown has messages that were not loaded. */
export const hasOlderMessages = computed(
	() => sandbox.thread.value !== null && sandbox.thread.value.messages.length < sandbox.thread.value.totalMessages,
);

/** Loads older messages of the conversation that is shown. */
export async function loadOlderMessages(): Promise<void> {
	await Promise.all([readOlderMessages(), readOlderOfContact()]);
}

/** Reads everything that the page shows. */
export async function readState(): Promise<void> {
	await readWorld();
	const [wrong, names, gone] = await Promise.all([
		read<Violation[]>("violations"),
		read<string[]>("scenarios"),
		read<Gone>("forgotten"),
		readRows(0, Math.max(loaded, pageLength), true),
		readThread(),
		log.olderOfContact.value === null && readOlderOfContact(),
	]);
	sandbox.violations.value = wrong;
	sandbox.forgotten.value = gone;
	list.isRead.value = true;
	sandbox.scenarios.value = names;
}

async function readWorld(): Promise<void> {
	const [chosen, at] = [view.agencyId.value, view.at.value];
	const [connection, all, waiting, stops, held, clock, crms, shown, history] = await Promise.all([
		read<{ agencyId: string }>("connection"),
		read<AgencyState[]>(asShown("agencies")),
		read<WaitingFault[]>("faults"),
		read<BreakpointState[]>("breakpoints"),
		read<HeldState[]>("held"),
		read<{ now: string }>(asShown("clock")),
		read<{ id: string; hidden: boolean }[]>("integrations"),
		read<ShownBug>("shown"),
		read<{ first: number | null }>("history"),
	]);
	// Another moment was chosen meanwhile, and is read next.
	if (view.at.value !== at) return;
	sandbox.historyFrom.value = history.first;
	sandbox.bug.value = shown;
	sandbox.defaultAgencyId.value = connection.agencyId;
	sandbox.agencies.value = all;
	sandbox.faults.value = waiting;
	sandbox.breakpoints.value = stops;
	sandbox.heldRequests.value = held;
	sandbox.now.value = Date.parse(clock.now);
	// An agency that was chosen meanwhile may be newer than these answers, and is read next.
	if (view.agencyId.value !== chosen) return;
	// A reset, an import or a restart may have removed the chosen agency, and each read of it would fail.
	if (chosen && !agency.value) chooseAgency("");
	const crm = crms.find(({ id }) => id === agency.value?.integrationId);
	sandbox.isCrmHidden.value = crm?.hidden ?? false;
	const isAsBefore = asBefore();
	const keys = await read<KeyState[]>(`integrations/${crm?.id}/keys`);
	if (isAsBefore()) sandbox.keys.value = keys;
}

/*
 * What the user chooses.
 */

export const chooseAgency = action((id: string): void => {
	view.agencyId.value = id;
	view.contact.value = null;
	sandbox.thread.value = null;
	log.olderOfContact.value = null;
	list.known.value = new Map();
	list.isRead.value = false;
	loaded = 0;
	stale.all = true;
	refresh();
});

export const select = action((phone: string | null): void => {
	if (phone !== view.contact.value) {
		view.line.value = "";
		sandbox.thread.value = null;
		log.olderOfContact.value = null;
	}
	forgetRefusal();
	view.contact.value = phone;
	if (phone === null) return;
	view.pane.value = "phone";
	const counts = new Map(list.unread.value);
	counts.delete(newsKey(phone));
	list.unread.value = counts;
	stale.thread = true;
	refresh();
});

/** A control call that speaks of the chosen agency. */
export const here = (path: string, body?: object): Call => post(placed(path), body);

/** Shows everything as it was right after an event, or as it is. */
export function showAt(eventId: number | null): void {
	if (eventId === view.at.value) return;
	view.at.value = eventId;
	stale.all = true;
	refresh();
}

/** The path of what the page shows: of now, or of then. */
function asShown(path: string): string {
	const at = view.at.value;
	return at === null ? path : `${path}${path.includes("?") ? "&" : "?"}at=${at}`;
}

const placed = (path: string): string =>
	agencyId.value === sandbox.defaultAgencyId.value ? path : `agencies/${agencyId.value}/${path}`;

/** A control call of the whole sandbox. */
export const post = (path: string, body?: object): Call => ({ verb: "POST", path, body });
