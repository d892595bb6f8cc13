// A month of the whole outbox in virtual time: agencies, workers, people and everything that goes wrong between them. The judge knows
// only the phones and what the service was asked.
import { createClient } from "messaging-conversations";
import { createOutbox, type Outbox, type Purpose } from "messaging-conversations/outbox";
import { type AgencyControl, type Contact, createSandbox } from "messaging-conversations/sandbox";
import { expect, test } from "vitest";
import { isLong } from "../length.ts";
import { memoryStore } from "./memory.ts";
import type { OutboxStore } from "./port.ts";

const [months, days, agencyCount, contactCount] = isLong ? [20, 30, 3, 3] : [1, 8, 2, 2];
const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];
const timeZone = "Europe/Brussels";
/** How far the workers' clock may be beside the service's. */
const mostSkewMs = 4 * minute;
const keepsQuiet = (purpose: Purpose): boolean => purpose !== "reply";

/** Numbers from 0 to 1, the same for the same seed. */
function randomFrom(seed: number): () => number {
	let state = seed + 1;
	return () => {
		state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
		return state / 2 ** 32;
	};
}

/** Minutes since midnight on the contact's wall. */
function minutesOf(at: number): number {
	const [hours = "", minutes = ""] = new Date(at).toLocaleTimeString("en-GB", { timeZone }).split(":");
	return Number(hours) * 60 + Number(minutes);
}

/** Night, and not just by one of the clocks. */
function isNight(at: number): boolean {
	const minutes = minutesOf(at);
	const skew = mostSkewMs / minute + 1;
	return minutes >= 20 * 60 + skew || minutes < 8 * 60 - skew;
}

interface Text {
	purpose: Purpose;
	who: Person;
	notAfter: number;
	at: number;
	/** The text that it takes the place of. */
	supersedes?: string;
}

interface Person {
	agency: AgencyControl;
	phone: Contact;
	/** Asked for no more texts, and has not asked for them again. */
	outAt: number;
	wroteAt: number;
	/** The text that the service holds for this person, as of the last act or send. */
	held?: string | undefined;
}

/** Returns what went wrong in a month. */
async function month(seed: number): Promise<string[]> {
	const random = randomFrom(seed);
	const pick = <Each>(list: readonly Each[]): Each => list[Math.floor(random() * list.length)] as Each;
	const sandbox = createSandbox();
	const { clock, faults } = sandbox;
	const now = (): number => clock.now().getTime();
	let skewMs = 0;
	const wrong: string[] = [];
	const statements = { count: 0, requests: 0 };
	const store = memoryStore(now);
	/** The database as one process has it, which dies after some statements. */
	function connected(lives: number): OutboxStore {
		let left = lives;
		return new Proxy(store, {
			get(target, name) {
				const method: unknown = Reflect.get(target, name);
				if (typeof method !== "function") return method;
				return (...args: unknown[]) => {
					statements.count++;
					return --left < 0 ? Promise.reject(new Error("killed")) : Reflect.apply(method, target, args);
				};
			},
		});
	}
	const start = (lives = Number.POSITIVE_INFINITY): Outbox =>
		createOutbox({
			client: createClient({ ...sandbox.connection, retry: false }),
			store: connected(lives),
			now: () => new Date(now() + skewMs),
			quietHours: { from: "20:00", to: "08:00", timeZone },
		});
	const workers = [start(), start(), start()];
	const anyWorker = (): Outbox => pick(workers);

	const agencies = [sandbox.agency()];
	while (agencies.length < agencyCount) agencies.push(sandbox.link({ name: `Agency ${agencies.length}` }));
	const people = agencies.flatMap((agency, of) =>
		Array.from({ length: contactCount }, (_, at): Person => {
			const phone = agency.contact(`+4477009001${of}${at}`);
			return { agency, phone, outAt: 0, wroteAt: 0 };
		}),
	);
	const texts = new Map<string, Text>();
	/** What the status of a text has promised: not before then, unless something happens. */
	const promises = new Map<string, { until: number; says: string }>();
	const suspended = new Set<AgencyControl>();
	let count = 0;

	const heldFor = ({ phone }: Person): string | undefined => phone.state().held?.body;
	sandbox.subscribe((event) => {
		if (event.type !== "request") return;
		statements.requests++;
		if (event.operation !== "messages.send") return;
		const id = String(Object(event.body).body);
		const text = texts.get(id);
		if (!text) return;
		const { purpose, who, notAfter, supersedes } = text;
		const at = now();
		// Nothing rings: the question of the held text stays, and another text stands behind it.
		const isExchange = supersedes !== undefined && who.held === supersedes && heldFor(who) === id;
		who.held = heldFor(who);
		if (who.outAt > 0 && !(purpose === "reply" && who.wroteAt > who.outAt))
			wrong.push(`${id} was requested after a STOP`);
		if (keepsQuiet(purpose) && isNight(at) && !isExchange)
			wrong.push(`${id} was requested at ${minutesOf(at)} minutes of the night`);
		if (at > notAfter + mostSkewMs) wrong.push(`${id} was requested after its notAfter`);
		const { expiresAt } = who.phone.state().window;
		if (purpose === "marketing" && at > Date.parse(expiresAt ?? ""))
			wrong.push(`${id} was requested although the window is closed`);
		if (suspended.has(who.agency)) wrong.push(`${id} was requested while its agency is suspended`);
		const promise = promises.get(id);
		if (promise && at + 1_000 < promise.until) wrong.push(`${id} was requested before the time of "${promise.says}"`);
	});

	async function enqueue(who: Person): Promise<void> {
		const purpose = pick(["reply", "notice", "notice", "marketing"] as const);
		const id = `${purpose} ${++count} of month ${seed}`;
		const notAfter = now() + pick([3, 30, 100]) * hour;
		texts.set(id, { purpose, who, notAfter, at: now() });
		const given = { id, agencyId: who.agency.id, to: who.phone.phoneNumber, body: id, purpose };
		const notBefore = random() < 0.2 ? new Date(now() + 2 * hour) : undefined;
		await anyWorker().enqueue({ ...given, notAfter: new Date(notAfter), notBefore });
	}
	const acts: Record<string, (who: Person) => unknown> = {
		enqueue,
		async "enqueue for everybody"() {
			for (const who of people) await enqueue(who);
		},
		writes(who) {
			who.wroteAt = now();
			who.phone.writes(pick(["Is it still free?", "Yes please!", "Who is this?", "See you on Friday"]));
		},
		stops(who) {
			who.outAt = now();
			who.phone.writes(pick(["STOP", "Stop texting me", "Uitschrijven", "Arrêtez de m'écrire"]));
		},
		starts(who) {
			who.outAt = 0;
			who.wroteAt = now();
			who.phone.writes("START");
		},
		accepts: ({ phone }) => phone.accepts(),
		declines: ({ phone }) => phone.declines(),
		flow: ({ phone }) => phone.taps("visit_confirm"),
		reads: ({ phone }) => phone.reads(),
		colleague: ({ agency, phone }) => agency.staff.sends({ contact: phone, text: pick(["Hello", "See you"]) }),
		ai({ agency, phone }) {
			if (phone.state().window.open && phone.state().ai.enabled)
				agency.ai.replies({ contact: phone, text: "Of course." });
		},
		moves: async (who) => {
			const old = [...texts].filter(([, text]) => text.who === who && text.purpose === "notice").at(-1);
			if (!old) return;
			const id = `notice ${++count} of month ${seed}`;
			texts.set(id, { ...old[1], notAfter: now() + day, at: now(), supersedes: old[0] });
			const given = { id, agencyId: who.agency.id, to: who.phone.phoneNumber, body: id, supersedes: old[0] };
			await anyWorker().enqueue({ ...given, notAfter: new Date(now() + day) });
		},
		cancels: () => anyWorker().cancel(pick([...texts.keys(), ""]) || "none"),
		unlinks: ({ agency }) => agency.unlink(),
		links() {
			for (const agency of agencies) agency.link();
		},
		async suspends({ agency }) {
			suspended.add(agency);
			await anyWorker().suspend({ agencyId: agency.id, reason: "a complaint" });
		},
		async resumes() {
			for (const agency of suspended) await anyWorker().resume({ agencyId: agency.id });
			suspended.clear();
		},
		limits: () => faults.add({ times: 1 + Math.floor(8 * random()), effect: { status: 429, retryAfter: 60 } }),
		breaks: () =>
			faults.add({ times: 1 + Math.floor(20 * random()), effect: pick([{ status: 503 }, "html", "reset"]) }),
		"loses an answer": () => faults.add({ operation: "messages.send", phase: "after", effect: "reset" }),
		clock() {
			skewMs = Math.round((2 * random() - 1) * mostSkewMs);
		},
		// A process dies in the middle of what is due, and another one takes its place.
		dies: () =>
			start(Math.ceil(60 * random()))
				.runOnce()
				.catch(() => {}),
		restarts() {
			workers[Math.floor(workers.length * random())] = start();
		},
	};
	const weightOf: Record<string, number> = {
		stops: 1,
		suspends: 1,
		unlinks: 1,
		links: 6,
		resumes: 6,
		enqueue: 30,
		"enqueue for everybody": 2,
	};
	const weights = Object.keys(acts).flatMap((name) => Array<string>(weightOf[name] ?? 3).fill(name));

	/** Time passes, and the workers do what falls due on the way, by one or by all at once. */
	async function pass(ms: number): Promise<void> {
		const end = now() + ms;
		for (;;) {
			const before = statements.count;
			await (random() < 0.2 ? Promise.all(workers.map((each) => each.runOnce())) : anyWorker().runOnce());
			const made = statements.count - before;
			if (made > 5_000) wrong.push(`${made} statements in one moment of month ${seed}`);
			const next = await store.nextDue();
			if (next === undefined || next - skewMs > end || now() >= end) break;
			if (next - skewMs > now()) clock.advanceTo(new Date(Math.min(end, next - skewMs)));
			else clock.advance({ ms: 1_000 });
		}
		if (end > now()) clock.advanceTo(new Date(end));
	}
	/** What people are told of some texts now. */
	async function promise(): Promise<void> {
		promises.clear();
		for (const id of [...texts.keys()].slice(-12)) {
			const status = await anyWorker().status(id);
			if (status?.state !== "waiting" || !status.nextAttemptAt) continue;
			promises.set(id, { until: status.nextAttemptAt.getTime() - skewMs, says: status.description });
		}
	}

	for (const end = now() + days * day; now() < end; ) {
		const who = pick(people);
		const isAsked = who.phone.state().held !== null && random() < 0.5;
		promises.clear();
		await acts[isAsked ? pick(["accepts", "declines", "writes"]) : pick(weights)]?.(who);
		for (const each of people) each.held = heldFor(each);
		await pass(2 * minute);
		await promise();
		await pass(pick([2, 10, 30, 120, 480]) * minute);
	}
	promises.clear();
	for (const agency of agencies) agency.link();
	await acts.resumes?.(people[0] as Person);
	await pass(6 * day);
	for (const [id, { who }] of texts) {
		const status = await anyWorker().status(id);
		const times = who.phone.inbox().filter(({ body }) => body === id).length;
		const isThere = ["sent", "delivered", "read"].includes(status?.state ?? "");
		if (times > 1) wrong.push(`${id} arrived ${times} times`);
		if (["waiting", "sending", "held"].includes(status?.state ?? ""))
			wrong.push(`${id} is ${status?.state} for good: ${status?.description}`);
		else if (status?.state !== "unknown" && isThere !== times > 0)
			wrong.push(`${id} is ${status?.state} (${status?.reason}), and arrived ${times} times`);
	}
	return wrong;
}

test("nobody is texted after a no or at night, no text is doubled or lost, nothing spins, and no status is false", {
	timeout: 3_600_000,
}, async () => {
	const wrong: string[] = [];
	for (let seed = 0; seed < months; seed++) wrong.push(...(await month(seed)));
	expect(wrong).toEqual([]);
});
