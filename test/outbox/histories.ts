// Random histories of an outbox: texts, faults, kills, two workers, clock moves, contacts and staff. Each ends in a list of what
// went wrong, which must be empty.

import fc from "fast-check";
import { type Client, createClient } from "messaging-conversations";
import { type BeforeSend, createOutbox, type Outbox } from "messaging-conversations/outbox";
import {
	type ConsentSettings,
	createSandbox,
	type Sandbox,
	type SandboxOptions,
} from "messaging-conversations/sandbox";
import { memoryStore } from "./memory.ts";
import { type OutboxStore, storeMark } from "./port.ts";

const phones = ["+447700900101", "+447700900102"];
const effects = [
	"reset",
	{ status: 500 },
	{ status: 503 },
	"empty",
	"truncated",
	"html",
	{ kind: "html", status: 400 },
	{ kind: "html", status: 403 },
	{ kind: "html", status: 404, body: "default backend - 404", contentType: "text/plain" },
	{ kind: "html", status: 408, body: "" },
	{ kind: "html", status: 429 },
	"not-json",
	"missing-field",
] as const;
const policies = {
	templateOnReplace: [true, false],
	declineOpensWindow: [true, false],
	inboundFlushesQueue: [true, false],
	openSendWhileHeld: ["clear", "keep"],
	consentFlowCounts: [true, false],
	sendOverridesToggle: [true, false],
	retryAfterDelivery: ["replay", "resend"],
	operationIdTtlHours: [null, 10 / 60],
} as const;

const who = fc.nat(phones.length - 1);
const kill = fc.option(fc.record({ at: fc.integer({ min: 1, max: 14 }), done: fc.boolean() }), { freq: 2 });

/** A process that is stopped for a while, as by a full disk or a sleeping machine, while its contact or staff act. */
const stall = fc.option(
	fc.record({
		at: fc.integer({ min: 1, max: 3 }),
		seconds: fc.constantFrom(11, 40, 100),
		who,
		meanwhile: fc.constantFrom("writes" as const, "accepts" as const, "declines" as const, "staff" as const),
	}),
	{ freq: 4 },
);

const act = fc.oneof(
	{
		weight: 10,
		arbitrary: fc.record({ do: fc.constant("enqueue" as const), who, same: fc.boolean(), soon: fc.nat(9) }),
	},
	{ weight: 8, arbitrary: fc.record({ do: fc.constant("work" as const), kill, stall, two: fc.boolean() }) },
	{
		weight: 6,
		arbitrary: fc.record({
			do: fc.constant("advance" as const),
			seconds: fc.constantFrom(1, 5, 30, 66, 700, 7_200, 50_000, 90_000, 180_000),
		}),
	},
	{ weight: 2, arbitrary: fc.record({ do: fc.constant("writes" as const), who }) },
	{ weight: 3, arbitrary: fc.record({ do: fc.constant("accepts" as const), who }) },
	{ weight: 1, arbitrary: fc.record({ do: fc.constant("declines" as const), who }) },
	{ weight: 1, arbitrary: fc.record({ do: fc.constant("staff" as const), who }) },
	{ weight: 1, arbitrary: fc.record({ do: fc.constant("takeOver" as const), who }) },
	{
		weight: 1,
		arbitrary: fc.record({ do: fc.constant("key" as const), scopes: fc.constantFrom("none", "read", "write", "both") }),
	},
	{
		weight: 1,
		arbitrary: fc.record({
			do: fc.constant("report" as const),
			status: fc.constantFrom("delivered", "read", "failed"),
		}),
	},
	{ weight: 1, arbitrary: fc.record({ do: fc.constant("cancel" as const), which: fc.nat(20) }) },
	{ weight: 1, arbitrary: fc.record({ do: fc.constant("cancelAll" as const), who }) },
	{ weight: 1, arbitrary: fc.record({ do: fc.constant("leaves" as const) }) },
	{ weight: 1, arbitrary: fc.record({ do: fc.constant("stops" as const), who }) },
	{
		weight: 1,
		arbitrary: fc.record({ do: fc.constant("clock" as const), minutes: fc.integer({ min: -60, max: 60 }) }),
	},
	{
		weight: 1,
		arbitrary: fc.record({
			do: fc.constant("settings" as const),
			settings: fc.constantFrom<ConsentSettings>(
				{ languages: ["nl", "fr", "de"], defaultLanguage: null },
				{ languages: ["nl", "fr"], defaultLanguage: "nl" },
				{ languages: ["en"], defaultLanguage: null },
				{ missingTemplates: ["consent"] },
				{ missingTemplates: [] },
			),
		}),
	},
	{ weight: 1, arbitrary: fc.record({ do: fc.constant("late" as const), seconds: fc.integer({ min: 1, max: 60 }) }) },
	{
		weight: 5,
		arbitrary: fc.record({
			do: fc.constant("fault" as const),
			operation: fc.constantFrom("messages.send" as const, "messages.send" as const, "conversations.get" as const),
			phase: fc.constantFrom("before" as const, "after" as const),
			effect: fc.constantFrom(...effects),
			times: fc.integer({ min: 1, max: 3 }),
		}),
	},
	{
		weight: 1,
		arbitrary: fc.record({
			do: fc.constant("fault" as const),
			operation: fc.constant("messages.send" as const),
			phase: fc.constant("before" as const),
			effect: fc.constantFrom(
				{ status: 429, retryAfter: 40 },
				{ status: 429, retryAfter: "4102444800000" },
				{ status: 429, retryAfter: "Fri, 31 Dec 9999 23:59:59 GMT" },
				{ status: 404 },
				{ status: 400 },
				{ kind: "redirect" as const },
			),
			times: fc.integer({ min: 1, max: 2 }),
		}),
	},
);

export const history = fc.record({
	policy: fc.record(
		Object.fromEntries(Object.entries(policies).map(([name, values]) => [name, fc.constantFrom<unknown>(...values)])),
	),
	languages: fc.constantFrom(["en"], ["nl", "fr"]),
	wrote: fc.tuple(fc.boolean(), fc.boolean()),
	onReply: fc.constantFrom("send" as const, "wait" as const),
	onHeld: fc.constantFrom("wait" as const, "wait" as const, "replace" as const),
	maxAgeHours: fc.constantFrom(Number.POSITIVE_INFINITY, 48, 3),
	/** No texts from 20:00 to 08:00. */
	isQuietAtNight: fc.boolean(),
	seed: fc.nat(),
	variation: fc.option(fc.nat()),
	acts: fc.array(act, { minLength: 3, maxLength: 40, size: "max" }),
});

export type History = typeof history extends fc.Arbitrary<infer Value> ? Value : never;

/** What a process is made of: its death stops all of it at one operation, before or after that has its effect. */
interface Process {
	outbox: Outbox;
	die: (at: number, done: boolean) => Promise<void>;
	/** Does something right before a request is marked as begun, the so-many-th. */
	stallAt: (at: number, act: () => Promise<void>) => void;
}

/** A store, and what only the histories need to know of it. */
export interface HistoryStore extends OutboxStore {
	/** When something is to be done next. */
	nextDue: () => Promise<number | undefined>;
	/** Ends all leases, if they end by another clock than the given one. */
	expire?: () => Promise<void>;
}
type OpenStore = (clock: () => number) => HistoryStore | Promise<HistoryStore>;

/** Plays random histories. Throws what went wrong in the first in which something did. */
export async function playAll(numRuns: number, openStore?: OpenStore): Promise<void> {
	const property = fc.asyncProperty(history, async (given) => {
		const wrong = await play(given, openStore);
		if (wrong.length > 0) throw new Error(wrong.join("; "));
	});
	await fc.assert(property, { seed: 20_260_105, numRuns, endOnFailure: true });
}

/** Runs a history by a clock of its own, which the outbox takes for that of the machine. Returns what went wrong, in words. */
export async function play(given: History, openStore: OpenStore = memoryStore): Promise<string[]> {
	const real = Date.now;
	try {
		return await playOn(given, openStore);
	} finally {
		Date.now = real;
	}
}

async function playOn(given: History, openStore: OpenStore): Promise<string[]> {
	const random = lcg(given.seed);
	const sandbox = createSandbox({
		policy: given.policy as SandboxOptions["policy"] & {},
		...(given.variation !== null && { variation: given.variation }),
	});
	const agency = sandbox.agency();
	agency.consent.set({ languages: given.languages });
	phones.forEach((phone, index) => {
		if (given.wrote[index]) agency.contact(phone).writes("Hello");
	});
	const network = createNetwork(sandbox, given);
	Date.now = () => sandbox.clock.now().getTime() + network.aheadMs;
	// The clock of a database would be another one than the history's.
	const { nextDue, expire, time: _, ...store } = await openStore(() => sandbox.clock.now().getTime());
	await store.migrate();
	network.expire = expire;
	const start = (): Process => startProcess(sandbox, network, store, given, random);
	let processes = [start(), start()];
	const texts: { id: string; to: string }[] = [];
	/** Contacts to whom staff have sent. */
	const staffTo = new Set<string>();
	const keyId = sandbox.keys.list()[0]?.id ?? "";
	let staff = 0;
	let isWithoutTemplate = false;

	/** A worker that finds its clock set back looks at every text again. */
	const setClock = async (aheadMs: number): Promise<void> => {
		// How long a request has been on its way is unknown if the clock is set meanwhile.
		if (phones.some((phone) => network.isUnderWay(phone))) await network.advance(61);
		const isBack = aheadMs < network.aheadMs;
		network.aheadMs = aheadMs;
		if (isBack) await store.recover(Date.now());
	};

	const doAct = async (next: History["acts"][number]): Promise<void> => {
		switch (next.do) {
			case "enqueue": {
				const to = phones[next.who] ?? "";
				const id = `t${texts.length}`;
				// If one of two equal texts takes the other's place, it is unknown which one arrived.
				const body = next.same && given.onHeld === "wait" ? "Yes." : `Text ${texts.length}`;
				const notAfter = next.soon === 0 ? new Date(sandbox.clock.now().getTime() + 3_600_000) : undefined;
				const language = given.languages.length > 1 ? { consentLanguage: "fr" } : {};
				await processes[0]?.outbox.enqueue({
					id,
					agencyId: agency.id,
					to,
					body,
					...language,
					...(notAfter && { notAfter }),
				});
				texts.push({ id, to });
				network.enqueued.set(id, { to, at: Date.now(), notAfter: notAfter?.getTime() });
				return;
			}
			case "work": {
				const [one, other] = processes;
				if (!one || !other) return;
				const { stall } = next;
				if (stall && !next.two) {
					one.stallAt(stall.at, async () => {
						await network.advance(stall.seconds);
						await doAct({ do: stall.meanwhile, who: stall.who });
					});
				}
				const death = next.kill ? one.die(next.kill.at, next.kill.done) : undefined;
				const works = [one.outbox.runOnce(), ...(next.two ? [other.outbox.runOnce()] : [])];
				await Promise.race([Promise.all(works), ...(death ? [death] : [])]);
				// A stall that was not reached: in a later round of two workers the clock would move in the middle of a request.
				one.stallAt(Number.POSITIVE_INFINITY, async () => {});
				if (next.two && death) await works[1];
				if (death) processes = [start(), other];
				return;
			}
			case "advance":
				return network.advance(next.seconds);
			case "writes":
				return void agency.contact(phones[next.who] ?? "").writes("And?");
			case "accepts": {
				const phone = phones[next.who] ?? "";
				// A request on its way may deliver a text that the consent has just delivered, if the service has forgotten its
				// id. No client can prevent that.
				if (given.policy.operationIdTtlHours !== null && network.isUnderWay(phone)) return;
				return void agency.contact(phone).accepts();
			}
			case "declines": {
				const phone = phones[next.who] ?? "";
				const contact = agency.contact(phone);
				// A decline of what staff have sent says nothing about the CRM's texts.
				const held = network.owners.get(contact.state().held?.operationId ?? "");
				if (held) network.stop(phone, "the contact had declined");
				return void contact.declines();
			}
			case "stops":
				return void agency.contact(phones[next.who] ?? "").writes("STOP");
			case "cancelAll": {
				const phone = phones[next.who] ?? "";
				await processes[1]?.outbox.cancelAll({ to: phone });
				return network.stop(phone, "cancelAll");
			}
			case "leaves":
				await processes[1]?.outbox.cancelAll({ agencyId: agency.id });
				for (const phone of phones) network.stop(phone, "cancelAll of the agency");
				return;
			case "clock":
				return setClock(next.minutes * 60_000);
			case "settings":
				if (next.settings.missingTemplates) isWithoutTemplate = next.settings.missingTemplates.length > 0;
				return agency.consent.set(next.settings);
			case "staff": {
				const phone = phones[next.who] ?? "";
				// Staff cannot write to a closed window either while the agency has no template.
				if (isWithoutTemplate) return;
				staffTo.add(phone);
				return void agency.staff.sends({ contact: phone, text: `Staff ${staff++}` });
			}
			case "takeOver":
				return agency.conversation(phones[next.who] ?? "").takeOver({ times: 1 });
			case "key": {
				const scopes = {
					none: [],
					read: ["conversations:read"],
					write: ["messages:write"],
					both: ["conversations:read", "messages:write"],
				};
				return void sandbox.keys.setScopes(keyId, scopes[next.scopes] as ("conversations:read" | "messages:write")[]);
			}
			case "report": {
				const sids = await network.sids();
				for (const sid of sids)
					sandbox.message(sid)[next.status === "failed" ? "undelivered" : (next.status as "read")]();
				return;
			}
			case "cancel":
				return void (await processes[1]?.outbox.cancel(texts[next.which]?.id ?? "none"));
			case "late":
				network.lateBy = next.seconds;
				return;
			case "fault":
				return void sandbox.faults.add({
					operation: next.operation,
					phase: next.phase,
					effect: next.effect,
					times: next.times,
				});
		}
	};

	for (const next of given.acts) await doAct(next);

	// Everything is well again; all that is left is to wait.
	sandbox.faults.clear();
	agency.consent.set({ languages: given.languages, defaultLanguage: null, missingTemplates: [] });
	await setClock(0);
	network.lateBy = 0;
	sandbox.keys.setScopes(keyId, ["conversations:read", "messages:write"]);
	for (const phone of phones) agency.conversation(phone).takeOver({ times: 0 });
	const { outbox } = start();
	for (let round = 0; round < 600; round++) {
		await outbox.runOnce();
		const next = await nextDue();
		if (next === undefined) break;
		// The first reads come close together. Then a consent may take two days.
		const seconds = Math.ceil((next - sandbox.clock.now().getTime()) / 1_000);
		await network.advance(Math.max(1, seconds, round > 30 ? 21_600 : 0));
	}
	return verdictOf(sandbox, network, store, texts, staffTo, given);
}

async function verdictOf(
	sandbox: Sandbox,
	network: Network,
	store: OutboxStore,
	texts: readonly { id: string; to: string }[],
	staffTo: ReadonlySet<string>,
	given: History,
): Promise<string[]> {
	const wrong = [...network.wrong];
	const asked = askedBy(sandbox);
	const tapped = new Set<string>();
	for (const event of sandbox.events())
		if (event.type === "contact.wrote" && event.buttonClicked !== null) tapped.add(event.contact);
	if (given.onHeld === "wait") wrong.push(...ousted(sandbox));
	const inboxes = phones.map((phone) => sandbox.agency().contact(phone).inbox());
	const has = (name: string, also: (next: unknown) => boolean = () => true): boolean =>
		given.acts.some((next) => next.do === name && also(next));
	const failedOnce = given.acts.some((next) => next.do === "report" && next.status === "failed");
	for (const { id, to } of texts) {
		const isOwn = (operationId: string | null): boolean =>
			operationId !== null && network.owners.get(operationId) === id;
		const byStaff = staffTo.has(to);
		const text = await store.find(id);
		const got = inboxes.flat().filter((entry) => entry.kind === "text" && isOwn(entry.operationId)).length;
		const state = text?.state ?? "gone";
		if (got > 1) wrong.push(`${id} was delivered ${got} times`);
		if (["sent", "delivered", "read"].includes(state) && got === 0 && !failedOnce)
			wrong.push(`${id} is ${state} and did not arrive`);
		if (["dropped", "replaced", "refused", "expired", "cancelled"].includes(state) && got > 0)
			wrong.push(`${id} is ${state} and arrived`);
		if (["waiting", "sending", "held"].includes(state)) wrong.push(`${id} is ${state} for ever`);
		if (state === "refused" && !has("fault", (next) => JSON.stringify(next).includes("400")))
			wrong.push(`${id} is refused`);
		if (state === "replaced" && given.onHeld === "wait" && !byStaff) wrong.push(`${id} is replaced, by nobody`);
		// The outcome cannot be known after an unusable answer, for a conversation that was never seen, and after too many
		// requests without a known end. Nor if a template may belong to a flow, or a button reply may have ended a queue
		// entry that the text took over.
		const { requests = [], baseline = null } = text?.progress ?? {};
		const tookOver = given.onHeld === "replace" && baseline?.queued != null && tapped.has(to);
		const isAsked = text?.queueId === null && ([...asked.keys()].some(isOwn) || byStaff || tookOver);
		if (state === "unknown" && ![...network.taken].some(isOwn) && !isAsked && baseline?.seen && requests.length < 8)
			wrong.push(`${id} is unknown`);
		const times = Math.max(0, ...[...asked].map(([operationId, count]) => (isOwn(operationId) ? count : 0)));
		if (times > 1) wrong.push(`${id} asked for consent ${times} times`);
	}
	for (const inbox of given.onHeld === "wait" ? inboxes : []) {
		const order = inbox
			.flatMap((entry) => texts.findIndex(({ id }) => id === network.owners.get(entry.operationId ?? "")))
			.filter((at) => at >= 0);
		if (order.some((at, index) => at < (order[index - 1] ?? -1))) wrong.push(`order ${order.join(" ")}`);
	}
	return wrong;
}

/** How often each send asked for consent, whether or not its answer arrived. */
function askedBy(sandbox: Sandbox): Map<string, number> {
	const events = sandbox.events();
	const senders = new Map(
		events.flatMap((event) =>
			event.type === "text.held" || event.type === "text.replaced" ? [[event.correlationId, event.operationId]] : [],
		),
	);
	const asked = new Map<string, number>();
	for (const { type, correlationId } of events) {
		const operationId = type === "consent.asked" && correlationId !== null ? senders.get(correlationId) : undefined;
		if (operationId) asked.set(operationId, (asked.get(operationId) ?? 0) + 1);
	}
	return asked;
}

/** Own texts that waited in the queue, had not gone out, and lost their place to another own text. */
function ousted(sandbox: Sandbox): string[] {
	const sent = new Set<string | null>();
	return sandbox.events().flatMap((event) => {
		if (event.type === "text.sent") sent.add(event.operationId);
		if (event.type !== "text.replaced") return [];
		const { replaced, operationId } = event;
		const isOwn = operationId !== null && replaced.operationId !== null && operationId !== replaced.operationId;
		return isOwn && !sent.has(replaced.operationId) ? ["an own held text was replaced"] : [];
	});
}

interface Network {
	fetch: typeof globalThis.fetch;
	/** Ends the leases of a database with a clock of its own. */
	expire?: (() => Promise<void>) | undefined;
	/** Moves the clock, and lets what was late arrive on the way. */
	advance: (seconds: number) => Promise<void>;
	/** The next send arrives so many seconds late; its sender hears of a cut connection at once. */
	lateBy: number;
	/** Whether a late send to a contact is still on its way. */
	isUnderWay: (phone: string) => boolean;
	/** The attempt record of the latest send to a contact. */
	marks: Map<string, { id: string; at: number }>;
	/** The text of each `operationId`. */
	owners: Map<string, string>;
	/** Sends that were answered unusably. */
	taken: Set<string>;
	wrong: string[];
	/** How far the clock of the machine is ahead of the service's. */
	aheadMs: number;
	/** Number and time of each text, by the clock of the machine. */
	enqueued: Map<string, { to: string; at: number; notAfter: number | undefined }>;
	/** No text to the contact that was enqueued until now may be requested from now on. */
	stop: (phone: string, why: string) => void;
	sids: () => Promise<string[]>;
}

/** The sandbox, with requests that arrive late. */
function createNetwork(sandbox: Sandbox, given: History): Network {
	const agency = sandbox.agency();
	const bytes = new Map<string, string>();
	const late: { to: string; at: number; run: () => Promise<unknown> }[] = [];
	// With a key of its own, and by operations that no fault hits.
	const { apiKey } = sandbox.keys.create({ scopes: ["conversations:read"] });
	const reader = createClient({ ...sandbox.connection, apiKey });

	/** Texts that may not be requested any more, each with the reason. */
	const stopped = new Map<string, string>();
	const firstAt = new Map<string, number>();
	/** What is wrong with a request that begins now. */
	function noteBegin(id: string, operationId: string): void {
		const now = Date.now();
		const why = stopped.get(id);
		if (why) network.wrong.push(`${id} was requested after ${why}`);
		const text = network.enqueued.get(id);
		const limit = text?.notAfter ?? (text?.at ?? 0) + given.maxAgeHours * 3_600_000;
		// The clock may be set between the check and here.
		if (now > limit + 1_000) network.wrong.push(`${id} was requested after its time`);
		const first = firstAt.get(operationId) ?? now;
		firstAt.set(operationId, first);
		if (given.isQuietAtNight && isNight(now) && !(now - first > 0 && now - first < 70_000))
			network.wrong.push(`${id} was requested at night`);
	}

	async function watched(url: Parameters<typeof fetch>[0], init: RequestInit): Promise<Response> {
		const { operationId } = JSON.parse(String(init.body));
		if ((bytes.get(operationId) ?? init.body) !== init.body) network.wrong.push("one id with two messages");
		bytes.set(operationId, String(init.body));
		const response = await sandbox.fetch(url, init);
		const answer = response.ok
			? await response
					.clone()
					.json()
					.catch(() => undefined)
			: undefined;
		if (answer?.success === true && answer.queued === undefined) network.taken.add(operationId);
		return response;
	}

	const network: Network = {
		lateBy: 0,
		isUnderWay: (phone) => late.some(({ to }) => to === phone),
		marks: new Map(),
		owners: new Map(),
		taken: new Set(),
		wrong: [],
		aheadMs: 0,
		enqueued: new Map(),
		stop(phone, why) {
			for (const [id, { to }] of network.enqueued) if (to === phone) stopped.set(id, why);
		},
		async fetch(url, init = {}) {
			if (init.method !== "POST" || !String(url).endsWith("/messages")) return sandbox.fetch(url, init);
			const sent = JSON.parse(String(init.body));
			const owner = network.marks.get(sent.to)?.id ?? "none";
			if (!network.owners.has(sent.operationId)) network.owners.set(sent.operationId, owner);
			noteBegin(owner, sent.operationId);
			if (network.lateBy === 0) return watched(url, init);
			// A process may have been stopped between the mark and the request. It is late by a minute at most from the mark on.
			const now = sandbox.clock.now().getTime();
			const { to } = JSON.parse(String(init.body));
			const mark = network.marks.get(to)?.at ?? now;
			late.push({
				to,
				at: Math.min(now + network.lateBy * 1_000, Math.max(now, mark + 60_000)),
				run: () => watched(url, { ...init, signal: null }),
			});
			network.lateBy = 0;
			throw Object.assign(new TypeError("fetch failed"), {
				cause: Object.assign(new Error("reset"), { code: "ECONNRESET", syscall: "read" }),
			});
		},
		async advance(seconds) {
			const end = sandbox.clock.now().getTime() + seconds * 1_000;
			const waiting = late.splice(0).sort((a, b) => a.at - b.at);
			late.push(...waiting.filter(({ at }) => at > end));
			for (const { at, run } of waiting.filter(({ at }) => at <= end)) {
				if (at > sandbox.clock.now().getTime()) sandbox.clock.advanceTo(new Date(at));
				await run().catch(() => {});
			}
			if (end > sandbox.clock.now().getTime()) sandbox.clock.advanceTo(new Date(end));
			if (seconds >= 30) await network.expire?.();
		},
		async sids() {
			const pages = await Promise.all(
				phones.map((phone) => reader.agency(agency.id).conversations.listMessages(phone).page().result()),
			);
			return pages
				.flatMap((page) => (page.ok ? page.data.messages : []))
				.filter(({ direction, templateName }) => direction === "outbound" && templateName === null)
				.map(({ messageSid }) => messageSid);
		},
	};
	return network;
}

function startProcess(
	sandbox: Sandbox,
	network: Network,
	store: OutboxStore,
	given: History,
	random: () => number,
): Process {
	let left = Number.POSITIVE_INFINITY;
	let done = false;
	let isDead = false;
	let operations = 0;
	let died = (): void => {};
	let untilStall = Number.POSITIVE_INFINITY;
	let whileStalled = async (): Promise<void> => {};
	const never = new Promise<never>(() => {});
	/** One operation of the process, at which it may die. */
	async function mortal<T>(run: () => Promise<T>, lost: () => Promise<T>): Promise<T> {
		for (let yields = Math.floor(random() * 3); yields > 0; yields--) await null;
		if (++operations > 20_000) throw new Error("It does not come to an end.");
		if (isDead) return lost();
		if (--left > 0) return run();
		isDead = true;
		if (done) await run().catch(() => {});
		died();
		return lost();
	}
	const mortalMethods = Object.fromEntries(
		Object.entries(store).map(([name, method]) => [
			name,
			async (...args: unknown[]) => {
				const { id, state, to, progress } = Object(args[0]);
				const isMark = name === "save" && state === "sending";
				if (isMark && --untilStall === 0 && !isDead) await whileStalled();
				const run = async () => {
					const result = await (method as (...args: unknown[]) => Promise<unknown>)(...args);
					if (isMark && result) network.marks.set(to, { id, at: progress.requests.at(-1).at });
					return result;
				};
				return mortal(run, () => never);
			},
		]),
	);
	const mortalStore = { ...mortalMethods, ...storeMark } as unknown as OutboxStore;
	const client: Client = createClient({
		...sandbox.connection,
		fetch: (url, init) =>
			mortal(
				() => network.fetch(url, init),
				() => Promise.reject(new TypeError("the process is dead")),
			),
		retry: { attempts: 2, baseDelayMs: 1, maxDelayMs: 1, budget: Number.POSITIVE_INFINITY },
	});
	// Without a lock, as on several machines.
	const engine = { start: async () => {}, wake: async () => {}, work: async () => async () => {} };
	const { onHeld, onReply } = given;
	const rules = { onHeld, onReply, defaultMaxAgeMs: given.maxAgeHours * 3_600_000 };
	const beforeSend: BeforeSend = (_text, { now }) => {
		if (!given.isQuietAtNight || !isNight(now.getTime())) return "send";
		const morning = new Date(now.getTime() + (now.getUTCHours() >= 20 ? 86_400_000 : 0));
		morning.setUTCHours(8, 0, 0, 0);
		return { waitUntil: morning, because: "Later" };
	};
	const outbox = createOutbox({ client, store: mortalStore, engine, ...rules, beforeSend });
	return {
		outbox,
		stallAt(at, act) {
			untilStall = at;
			whileStalled = act;
		},
		die(at, isDone) {
			left = at;
			done = isDone;
			return new Promise((resolve) => {
				died = resolve;
			});
		},
	};
}

function isNight(time: number): boolean {
	const hour = new Date(time).getUTCHours();
	return hour >= 20 || hour < 8;
}

/** Numbers from 0 to 1, the same for the same seed. */
function lcg(seed: number): () => number {
	let state = seed >>> 0;
	return () => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return state / 2 ** 32;
	};
}
