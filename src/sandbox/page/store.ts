import type { AgencyState, ConversationRow, ConversationState, FaultState, SandboxEvent, Violation } from "../index.ts";
import { type Call, read } from "./control.ts";
import { computed, signal } from "./signal.ts";
import type { EventOf, RequestEvent } from "./words.ts";

/** A fault that still waits; JSON has null for one without end. */
export type WaitingFault = Omit<FaultState, "remaining"> & { readonly remaining: number | null };

export const agencies = signal<readonly AgencyState[]>([]);
export const rows = signal<readonly ConversationRow[]>([]);
export const contacts = signal<readonly { readonly phoneNumber: string; readonly name: string | null }[]>([]);
export const faults = signal<readonly WaitingFault[]>([]);
export const violations = signal<readonly Violation[]>([]);
export const scenarios = signal<readonly string[]>([]);
/** The sandbox's time, in milliseconds. */
export const now = signal(0);
export const apiKey = signal("");
const defaultAgencyId = signal("");
const chosenAgencyId = signal("");

export const agencyId = computed(() => chosenAgencyId.value || defaultAgencyId.value);
export const agency = computed(() => agencies.value.find(({ id }) => id === agencyId.value));

/** The phone number of the conversation that is shown. */
export const selected = signal<string | null>(null);
/** That conversation. */
export const thread = signal<ConversationState | null>(null);
/** Which pane a narrow page shows. */
export const pane = signal<"conversations" | "phone" | "requests">("conversations");

/** The newest events, the oldest first. */
export const events = signal<readonly SandboxEvent[]>([]);
const mostEvents = 5_000;

/** How many messages came into each conversation while another one was shown, by agency and number. */
const unread = signal<ReadonlyMap<string, number>>(new Map());

export const requests = computed(() => events.value.filter((event): event is RequestEvent => event.type === "request"));

/** The consequences of each request, by its correlation id. */
export const consequences = computed(() => {
	const byRequest = new Map<string, SandboxEvent[]>();
	for (const event of events.value) {
		if (event.correlationId === null || event.type === "request" || event.type === "fault.hit") continue;
		const group = byRequest.get(event.correlationId);
		if (group) group.push(event);
		else byRequest.set(event.correlationId, [event]);
	}
	return byRequest;
});

/** How many texts of each contact were replaced or dropped, by agency and number. */
export const lostTexts = computed(() => {
	const counts = new Map<string, number>();
	for (const event of events.value) {
		if (isWholeNew(event)) counts.clear();
		if (event.type !== "text.replaced" && event.type !== "text.dropped") continue;
		const key = keyOf(event.agencyId, event.contact);
		counts.set(key, (counts.get(key) ?? 0) + 1);
	}
	return counts;
});

export const keyOf = (agency: string, contact: string): string => `${agency} ${contact}`;

/** How many messages came into a listed conversation while another one was shown. */
export const newsOf = ({ agencyId, phoneNumber }: ConversationRow): number =>
	unread.value.get(keyOf(agencyId, phoneNumber)) ?? 0;

/** Another agency may own a conversation that this one sees. */
const newsKey = (phone: string | null): string =>
	keyOf(rows.value.find(({ phoneNumber }) => phoneNumber === phone)?.agencyId ?? agencyId.value, phone ?? "");

/** Whether a message came into a conversation. */
export const isMessage = (event: SandboxEvent): event is EventOf<"contact.wrote" | "text.sent" | "consent.asked"> =>
	/wrote|sent$|asked/.test(event.type);

/** Whether everything that the sandbox holds was replaced. */
export const isWholeNew = ({ type }: SandboxEvent): boolean => /^sandbox\./.test(type);

/** A control call that speaks of the chosen agency. */
export const here = (path: string, body?: object): Call => post(placed(path), body);

const placed = (path: string): string =>
	agencyId.value === defaultAgencyId.value ? path : `agencies/${agencyId.value}/${path}`;

/** A control call of the whole sandbox. */
export const post = (path: string, body?: object): Call => ({ verb: "POST", path, body });

export function chooseAgency(id: string): void {
	chosenAgencyId.value = id;
	selected.value = null;
	thread.value = null;
	refresh();
}

export function select(phone: string | null): void {
	if (phone !== selected.value) thread.value = null;
	selected.value = phone;
	if (phone !== null) {
		pane.value = "phone";
		const counts = new Map(unread.value);
		counts.delete(newsKey(phone));
		unread.value = counts;
	}
	refresh();
}

/** Takes in events in the order of their ids. */
export function take(news: readonly SandboxEvent[], isLive: boolean): void {
	const counts = new Map(unread.value);
	for (const event of news) {
		if (event.type === "clock.moved") now.value = Date.parse(event.to);
		if (isWholeNew(event)) counts.clear();
		if (!isLive || !isMessage(event)) continue;
		const key = keyOf(event.agencyId, event.contact);
		if (key !== newsKey(selected.value)) counts.set(key, (counts.get(key) ?? 0) + 1);
	}
	const reset = news.map(({ type }) => type).lastIndexOf("sandbox.reset");
	const all = reset < 0 ? [...events.value, ...news] : news.slice(reset);
	events.value = withoutTicks(all).slice(-mostEvents);
	unread.value = counts;
	if (news.some(changesState)) refresh();
}

/** Forgets all events, because the sandbox is another one than before. */
export function forget(): void {
	events.value = [];
	unread.value = new Map();
}

/** A clock that follows real time moves ten times a second: of such moves in a row the last one says all. */
const withoutTicks = (all: readonly SandboxEvent[]): SandboxEvent[] =>
	all.filter((event, i) => event.type !== "clock.moved" || all[i + 1]?.type !== "clock.moved");

/** Reads and steps of the clock change nothing by themselves; a hit spends a fault. */
function changesState(event: SandboxEvent): boolean {
	if (event.type === "request") return event.operation === "messages.send";
	return event.type !== "clock.moved";
}

let reading: Promise<void> | undefined;
let isStale = false;

/** Reads the state again: at most one reading at a time, and one more when something changed meanwhile. */
function refresh(): void {
	isStale = true;
	reading ??= readWhileStale().finally(() => (reading = undefined));
}

async function readWhileStale(): Promise<void> {
	while (isStale) {
		isStale = false;
		// A failure shows as a lost connection, after which everything is read again.
		await readState().catch(() => undefined);
	}
}

export async function readState(): Promise<void> {
	const [connection, all, names] = await Promise.all([
		read<{ apiKey: string; agencyId: string }>("connection"),
		read<AgencyState[]>("agencies"),
		read<string[]>("scenarios"),
	]);
	apiKey.value = connection.apiKey;
	defaultAgencyId.value = connection.agencyId;
	agencies.value = all;
	scenarios.value = names;
	// A reset, an import or a restart may have removed the chosen agency, and each read of it would fail.
	if (chosenAgencyId.value && !agency.value) chooseAgency("");
	const phone = selected.value;
	const chosen = agencyId.value;
	const [list, known, waiting, wrong, clock, one] = await Promise.all([
		read<ConversationRow[]>(placed("conversations")),
		read<{ phoneNumber: string; name: string | null }[]>(placed("contacts")),
		read<WaitingFault[]>("faults"),
		read<Violation[]>("violations"),
		read<{ now: string }>("clock"),
		phone === null ? null : read<ConversationState>(placed(`conversations/${phone}`)),
	]);
	faults.value = waiting;
	violations.value = wrong;
	now.value = Date.parse(clock.now);
	if (chosen !== agencyId.value) return;
	rows.value = list;
	contacts.value = known;
	if (phone === selected.value) thread.value = one;
}
