// A CRM that sets purpose, quietHours and notAfter only, through random lives of contacts: what reaches their phones, and what its
// status column says.
import { createClient } from "messaging-conversations";
import { createOutbox, type EnqueuedText, type Purpose } from "messaging-conversations/outbox";
import { createSandbox, type Sandbox } from "messaging-conversations/sandbox";
import { expect, test } from "vitest";
import { isLong } from "../length.ts";
import { memoryStore } from "./memory.ts";
import { sentences } from "./opt-out-sentences.ts";

const lives = isLong ? 1_000 : 5;
const days = 10;
const hour = 3_600_000;
const timeZone = "Europe/Brussels";
const purposes = ["reply", "notice", "marketing"] as const;
const stops = Object.values(sentences).flatMap(({ stop }) => stop);
const starts = Object.values(sentences).flatMap(({ start }) => start);

/** Numbers from 0 to 1, the same for the same seed. */
function randomFrom(seed: number): () => number {
	let state = seed + 1;
	return () => {
		state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
		return state / 2 ** 32;
	};
}

/** The hour on the contact's wall. */
function hourOf(at: number): number {
	return Number(new Date(at).toLocaleString("en-GB", { timeZone, hour: "2-digit", hour12: false }));
}

interface Enqueued {
	body: string;
	purpose: Purpose;
	at: number;
	notAfter: number;
	/** No request for it may begin from then on, and why. */
	forbidden?: { at: number; why: string };
	/** Whether the contact waits for this answer now. */
	isAwaited: boolean;
}

/** What may happen in a life. */
interface Kind {
	/** A backup is restored. */
	isRestored?: boolean;
	hasRepeats?: boolean;
	/** One answer has a Date that lags by hours, one has that of tomorrow, and one is a copy of hours ago. */
	hasWrongAnswers?: boolean;
	/** The AI books visits, and some of these flows hang. */
	hasFlows?: boolean;
	/** While a text is held, the consent counts as a flow. */
	consentFlowCounts?: boolean;
}

/** One life of a contact. Returns what went wrong. */
async function live(seed: number, kind: Kind): Promise<string[]> {
	const { isRestored = false, hasRepeats = false, hasWrongAnswers = false, hasFlows = false } = kind;
	const random = randomFrom(seed);
	const pick = <Each>(list: readonly Each[]): Each => list[Math.floor(random() * list.length)] as Each;
	const sandbox = createSandbox({ policy: { consentFlowCounts: kind.consentFlowCounts } });
	const { clock } = sandbox;
	const agency = sandbox.agency();
	const anna = agency.contact("+447700900101");
	const now = () => clock.now().getTime();
	const store = memoryStore();
	const answers = createAnswers(sandbox, random, hasWrongAnswers);
	const ask = hasWrongAnswers ? answers.fetch : sandbox.fetch;
	/** Until when a text would end a flow, or the AI's conversation, by what the contact has right before a request. */
	let busy = { flowUntil: 0, talkUntil: 0 };
	const fetch: typeof globalThis.fetch = (input, init) => {
		const { activeFlows, ai, lastMessage, held } = anna.state();
		const lastAt = Date.parse(lastMessage?.at ?? "") || 0;
		busy = {
			flowUntil: activeFlows > 0 && held === null ? lastAt + hour / 2 : 0,
			talkUntil: ai.enabled ? lastAt + hour : 0,
		};
		return ask(input, init);
	};
	const client = createClient({ ...sandbox.connection, fetch });
	const outbox = createOutbox({
		client,
		store,
		now: clock.now,
		quietHours: { from: "20:00", to: "08:00", timeZone },
	});
	const texts = new Map<string, Enqueued>();
	const column = new Map<string, string>();
	const wrong: string[] = [];
	let isOut = false;
	let outAt = 0;
	/** When the contact last wrote words that ask for nothing. */
	let wroteAt = 0;
	let declinedAt = 0;
	/** When the contact said No to a text of whomever, unless they or somebody else have written since, or they have said Yes. */
	let noAt = 0;
	/** When the text that the contact declined was enqueued. */
	let declinedFrom = 0;
	let count = 0;

	/** Whether the outbox has read the conversation since the contact declined. */
	let hasSeenDecline = false;
	sandbox.subscribe((event) => {
		if (event.type === "request" && event.operation === "conversations.get") hasSeenDecline = true;
		if (event.type !== "request" || event.operation !== "messages.send") return;
		const body = String(Object(event.body).body);
		const text = texts.get(body);
		if (!text) return;
		const at = now();
		if (text.purpose === "marketing" && noAt > 0) wrong.push(`${body} was requested after a No`);
		if (text.forbidden) wrong.push(`${body} was requested after ${text.forbidden.why}`);
		if (at > text.notAfter) wrong.push(`${body} was requested after its notAfter`);
		const isNight = hourOf(at) >= 20 || hourOf(at) < 8;
		if (text.purpose !== "reply" && isNight) wrong.push(`${body} was requested at night`);
		const isBusy = at < Math.max(busy.flowUntil, busy.talkUntil);
		if (text.purpose === "marketing" && isBusy) wrong.push(`${body} was requested in a flow, or while the AI is on`);
		const isEarly = at < Math.min(text.at + 10 * 60_000, text.notAfter - 15 * 60_000 - 1_000);
		const { expiresAt } = anna.state().window;
		const isPressed = hourOf(at + 2 * 60_000) >= 20 || at + 2 * 60_000 > Date.parse(expiresAt ?? "");
		if (text.purpose === "notice" && at < busy.flowUntil && isEarly && !isPressed)
			wrong.push(`${body} was requested in a flow, ${(at - text.at) / 60_000} minutes after it was enqueued`);
		if (text.purpose === "marketing" && at + 5 * 60_000 > Date.parse(expiresAt ?? ""))
			wrong.push(`${body} was requested although the window is about to close`);
	});

	const forbid = (why: string, which: (text: Enqueued) => boolean): void => {
		for (const text of texts.values()) if (which(text)) text.forbidden ??= { at: now(), why };
	};
	const isOfOutbox = (body: string | undefined): boolean => [...texts.values()].some((text) => text.body === body);
	/** After words of the contact: what nobody has ended meanwhile may be sent again. */
	const welcome = (why: string): void => {
		for (const [id, text] of texts) if (text.forbidden?.why === why && !column.has(id)) delete text.forbidden;
	};
	/** Whoever writes before the outbox has read: nobody can tell the decline from the tap of a booking then. */
	const hideDecline = (): void => {
		if (hasSeenDecline) return;
		welcome("a decline");
		declinedAt = 0;
	};
	async function enqueue(): Promise<void> {
		const purpose = pick(purposes);
		const id = `${purpose} ${++count} of life ${seed}`;
		const notAfter = now() + pick([2, 20, 60]) * hour;
		const isOpen = anna.state().window.open;
		const isHeldByOther = anna.state().held !== null && !isOfOutbox(anna.state().held?.body);
		const mayAnswer = !isOut || (wroteAt > outAt && isOpen);
		// A held text that has just left the service's queue may be on its way, for about a minute.
		const isSettling = [...column.values()].includes("held") && anna.state().held === null;
		const isAwaited = purpose === "reply" && isOpen && !isHeldByOther && mayAnswer && !isSettling;
		const body = hasRepeats ? pick(["See you on Friday.", "Does that suit you?"]) : id;
		const text: Enqueued = { body, purpose, at: now(), notAfter, isAwaited };
		if (isOut && (purpose !== "reply" || !(wroteAt > outAt))) text.forbidden = { at: now(), why: "an opt-out" };
		if (purpose === "marketing" && declinedAt > wroteAt) text.forbidden = { at: now(), why: "an earlier decline" };
		texts.set(id, text);
		const given: EnqueuedText = { id, agencyId: agency.id, to: anna.phoneNumber, body, purpose };
		await outbox.enqueue({ ...given, notAfter: new Date(notAfter) });
	}
	const flows: string[] = [];
	/** The contact asks for a visit, and often writes on while the AI books it. A flow that is left alone hangs. */
	async function books(): Promise<void> {
		wroteAt = now();
		welcome("an earlier decline");
		anna.writes("I want to visit the flat");
		flows.push(agency.startFlow(anna).id);
		if (random() < 0.5) await enqueue();
		for (let turn = Math.floor(4 * random()); turn > 0; turn--) {
			await pass(pick([1, 3, 8]) * 60_000);
			wroteAt = now();
			anna.writes("Monday at two");
		}
		if (random() < 0.5) endsFlow();
	}
	function endsFlow(): void {
		const id = flows.at(-1);
		if (id !== undefined && anna.state().activeFlows > 0) sandbox.flow(id).complete();
	}
	const acts: Record<string, () => unknown> = {
		enqueue,
		async "enqueue three"() {
			for (let each = 0; each < 3; each++) await enqueue();
		},
		writes() {
			wroteAt = now();
			welcome("an earlier decline");
			anna.writes(pick(["Is it still free?", "Yes please, send it!", "Stop by on Friday?", "Who is this?"]));
		},
		stops() {
			anna.writes(pick(stops));
			isOut = true;
			outAt = now();
			forbid("an opt-out", () => true);
		},
		starts() {
			anna.writes(pick(starts));
			isOut = false;
			wroteAt = now();
			welcome("an opt-out");
			welcome("an earlier decline");
		},
		accepts() {
			noAt = 0;
			// A Yes takes back a No to the same request for consent.
			const asked = anna.state().messages.filter(({ author }) => author === "template");
			if (Date.parse(asked.at(-1)?.at ?? "") <= declinedAt) {
				declinedAt = 0;
				welcome("a decline");
				welcome("an earlier decline");
			}
			anna.accepts();
		},
		declines() {
			const held = anna.state().held;
			if (held !== null) noAt = now();
			const isOwn = held !== null && isOfOutbox(held.body);
			anna.declines();
			if (!isOwn) return;
			hasSeenDecline = false;
			declinedAt = now();
			declinedFrom = texts.get(held.body)?.at ?? 0;
			// A reply is ended by a No to itself alone.
			forbid("a decline", ({ at, body, purpose }) => at <= now() && (purpose !== "reply" || body === held.body));
		},
		colleague() {
			hideDecline();
			agency.staff.sends({ contact: anna, text: pick(["Hello", "See you"]) });
		},
		ai() {
			if (!anna.state().window.open || !anna.state().ai.enabled) return;
			hideDecline();
			agency.ai.replies({ contact: anna, text: "Of course." });
		},
		flow: () => anna.taps("visit_confirm"),
		reads: () => anna.reads(),
		...(hasFlows && { books, books2: books, "flow ends": endsFlow }),
	};
	const weights = Object.keys(acts).flatMap((name) => Array(name === "stops" || name === "starts" ? 1 : 3).fill(name));

	/** Time passes, and the outbox does what falls due on the way. */
	async function pass(ms: number): Promise<void> {
		const end = now() + ms;
		await outbox.runOnce();
		for (;;) {
			const next = await store.nextDue();
			if (next === undefined || next > end) break;
			if (next > now()) clock.advanceTo(new Date(next));
			await outbox.runOnce();
		}
		if (end > now()) clock.advanceTo(new Date(end));
		await outbox.runOnce();
		const changes = await outbox.settled({ held: true, limit: 1_000 });
		for (const { id, state } of changes) column.set(id, state);
		await outbox.acknowledge(changes);
	}
	if (random() < 0.4) anna.writes("Hello");
	const start = now();
	const [backupAfter, restoreAfter] = isRestored
		? [72 * hour * random(), 72 * hour * (1 + random())]
		: [Infinity, Infinity];
	/** Everything as it is in the backup; the CRM's rows are in the same database. */
	let backup: { at: number; restore: () => void; column: Map<string, string> } | undefined;
	let hasRestored = false;
	for (const end = now() + days * 24 * hour; now() < end; ) {
		// Most who are asked answer.
		const isAsked = anna.state().held !== null && random() < 0.5;
		const act = isAsked ? pick(["accepts", "declines", "writes"]) : pick(weights);
		const before = new Set(texts.keys());
		const wrongBefore = answers.wrongSoFar();
		if (["writes", "stops", "starts", "colleague", "ai", "books", "books2"].includes(act)) noAt = 0;
		await acts[act]?.();
		// Nothing else happens within a second.
		await pass(1_000);
		// A wrong answer may delay a reply.
		const isRight = answers.wrongSoFar() === wrongBefore;
		for (const [id, { isAwaited }] of texts)
			if (isRight && isAwaited && !hasRepeats && !before.has(id) && !anna.inbox().some(({ body }) => body === id))
				wrong.push(`${id} was not sent at once: ${(await outbox.status(id))?.description}`);
		// The window closes after a day of silence.
		await pass(pick([1, 30, 240, 1_500, 2_000]) * 60_000);
		if (now() - start > backupAfter) backup ??= { at: now(), restore: store.snapshot(), column: new Map(column) };
		if (!backup || hasRestored || now() - start < restoreAfter) continue;
		hasRestored = true;
		backup.restore();
		// What was sent since may be anybody's.
		noAt = 0;
		column.clear();
		for (const [id, state] of backup.column) column.set(id, state);
		// The next act begins at the moment of the backup, after it.
		for (const [id, { at }] of texts) if (at >= backup.at) texts.delete(id);
		// Nobody can know that a contact has declined a text of which the backup knows nothing.
		if (declinedFrom >= backup.at) declinedAt = 0;
		await outbox.restored({ backupAt: new Date(backup.at) });
	}
	await pass(5 * 24 * hour);
	const inbox = anna.inbox().map(({ body }) => body);
	const arrived = (words: string): number => inbox.filter((body) => body === words).length;
	const isThere = (id: string): boolean => ["sent", "delivered", "read"].includes(column.get(id) ?? "");
	for (const [id, { purpose }] of texts) {
		if (hasRestored && !column.has(id) && (await outbox.status(id)) === undefined) continue;
		if (!column.has(id)) wrong.push(`${id}, a ${purpose}, is not settled`);
	}
	// Of texts with the same words the phone tells only how many have arrived.
	for (const words of new Set([...texts.values()].map(({ body }) => body))) {
		const ids = [...texts].flatMap(([id, { body }]) => (body === words && column.has(id) ? [id] : []));
		// It was enqueued after the backup.
		if (ids.length === 0) continue;
		const [sent, unknown] = [ids.filter(isThere), ids.filter((id) => column.get(id) === "unknown")];
		const times = arrived(words);
		const found = `"${words}" of life ${seed} arrived ${times} times, and ${sent.length} are sent`;
		if (times < sent.length || times > sent.length + unknown.length) wrong.push(found);
		const messages = await Promise.all(sent.map(async (id) => (await outbox.status(id))?.messageId));
		if (new Set(messages).size < sent.length) wrong.push(`two texts of life ${seed} are one message`);
	}
	return wrong;
}

/** A service of which one answer lags, one leads and one is a copy, at some time in a life. */
function createAnswers({ fetch, clock }: Sandbox, random: () => number, isWrong: boolean) {
	interface Kept {
		body: string;
		status: number;
		headers: Headers;
		at: number;
	}
	const kept: Kept[] = [];
	let reads = 0;
	let given = 0;
	/** Which read of the conversation gets it. */
	const wrong = isWrong
		? new Map([
				[Math.floor(1 + 40 * random()), "lags"],
				[Math.floor(1 + 40 * random()), "leads"],
				[Math.floor(10 + 40 * random()), "copy"],
			])
		: new Map<number, string>();
	/** Of a copy, one of these shows that it is one. */
	const tells = random() < 0.5 ? "age" : "correlation id";
	const hours = Math.ceil(3 * random());
	return {
		wrongSoFar: () => given,
		async fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
			const isRead = init?.method === "GET" && /\/conversations\/%2B\d+(\?|$)/.test(String(input));
			const what = isRead ? wrong.get(++reads) : undefined;
			if (what) given++;
			const at = clock.now().getTime();
			const old = kept.find((each) => at - each.at > hours * hour);
			if (what === "copy" && old) {
				const headers = new Headers(old.headers);
				if (tells === "age") {
					headers.set("age", String(Math.round((at - old.at) / 1_000)));
					headers.set("x-correlation-id", crypto.randomUUID());
				}
				return new Response(old.body, { status: old.status, headers });
			}
			const response = await fetch(input, init);
			const headers = new Headers(response.headers);
			const aheadMs = what === "lags" ? -3 * hour : what === "leads" ? 24 * hour : 0;
			headers.set("date", new Date(at + aheadMs).toUTCString());
			const body = await response.text();
			const { status } = response;
			if (isRead && status === 200) kept.unshift({ body, status, headers, at });
			return new Response(body, { status, headers });
		},
	};
}

test.each([
	["without a restore", {}],
	["with wrong answers", { hasWrongAnswers: true }],
	["with wrong answers and a restore", { hasWrongAnswers: true, isRestored: true }],
	["with a restore", { isRestored: true }],
	["with repeated words", { hasRepeats: true }],
	["with flows", { hasFlows: true }],
	["with flows, of which the consent is one", { hasFlows: true, consentFlowCounts: true }],
])(
	"nobody is texted after a no, at night or too late, and the column equals the phone: %s",
	{
		timeout: 3_600_000,
	},
	async (_, kind) => {
		const wrong: string[] = [];
		for (let seed = 0; seed < lives; seed++) wrong.push(...(await live(seed, kind)));
		expect(wrong).toEqual([]);
	},
);
