// The worker: what it asks the store for, and what it does when the database fails.

import { createClient } from "messaging-conversations";
import { createOutbox, type OutboxEngine } from "messaging-conversations/outbox";
import { createSandbox, type Sandbox } from "messaging-conversations/sandbox";
import { expect, onTestFinished, test, vi } from "vitest";
import { memoryStore } from "./memory.ts";
import { changed, type OutboxStore } from "./port.ts";
import { createWorld } from "./world.ts";

/** An engine that keeps its handler, so that a test can wake a recipient's queue, and counts the workers that have not been stopped. */
function createEngine() {
	let handler = (): void => {};
	const counts = { working: 0, wakes: 0 };
	const engine: OutboxEngine = {
		start: async () => {},
		wake: async () => {
			counts.wakes++;
		},
		async work(wake) {
			handler = wake;
			counts.working++;
			return async () => {
				counts.working--;
			};
		},
	};
	return { engine, counts, wake: () => handler() };
}

function start(change: (store: OutboxStore) => Partial<OutboxStore>) {
	const sandbox = createSandbox();
	const store = memoryStore();
	const { engine, counts, wake } = createEngine();
	const client = createClient({ ...sandbox.connection });
	const outbox = createOutbox({ client, store: { ...store, ...change(store) }, engine, settleMs: 50 });
	const stop = new AbortController();
	return { outbox, counts, wake, stop, working: outbox.work({ signal: stop.signal }) };
}

/** What does not pass. */
const fails = () => Promise.reject(new TypeError("the database is down"));

test("work rejects if the first read of the store fails, and the engine's handlers are stopped", async () => {
	const { counts, working } = start(() => ({ claim: fails }));
	await expect(working).rejects.toThrow("the database is down");
	expect(counts.working).toBe(0);
});

test("work rejects if a later read of the store fails", async () => {
	let looks = 0;
	const { counts, working } = start((store) => ({
		claim: (...args) => (looks++ < 2 ? store.claim(...args) : fails()),
	}));
	await expect(working).rejects.toThrow("the database is down");
	expect(counts.working).toBe(0);
});

test("work rejects when the store fails in a step", async () => {
	const { outbox, counts, working } = start(() => ({ openWithFacts: fails }));
	const ended = expect(working).rejects.toThrow("the database is down");
	await outbox.enqueue({ id: "1", agencyId: "agy_1", to: "+447700900101", body: "Hello" });
	await ended;
	expect(counts.working).toBe(0);
});

test("work ends when its signal aborts, and no read of the store follows", async () => {
	let looks = 0;
	const { counts, working, stop } = start((store) => ({
		claim: (...args) => {
			looks++;
			return store.claim(...args);
		},
	}));
	await expect.poll(() => looks).toBeGreaterThan(1);
	stop.abort();
	await working;
	const before = looks;
	await new Promise((resolve) => setTimeout(resolve, 120));
	expect([counts.working, looks]).toEqual([0, before]);
});

/** The sandbox behind a line on which sends whose body includes `part` wait until they are released. */
function holdingBack(sandbox: Sandbox, part: string) {
	let release = (): void => {};
	const released = new Promise<void>((resolve) => {
		release = resolve;
	});
	const fetch: typeof globalThis.fetch = async (url, init) => {
		if (init?.method === "POST" && String(init.body).includes(part)) await released;
		return sandbox.fetch(url, init);
	};
	return { fetch, release: () => release() };
}

/** Two texts for one contact, and a signal that aborts while the first is being sent. */
async function startTwo(given: { engine?: OutboxEngine }) {
	const sandbox = createSandbox();
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Hello");
	const stop = new AbortController();
	const fetch: typeof globalThis.fetch = (url, init) => {
		if (init?.method === "POST") stop.abort();
		return sandbox.fetch(url, init);
	};
	const outbox = createOutbox({
		client: createClient({ ...sandbox.connection, fetch }),
		store: memoryStore(),
		...given,
	});
	const to = { agencyId: sandbox.agency().id, to: anna.phoneNumber };
	for (const id of ["1", "2"]) await outbox.enqueue({ ...to, id, body: `Text ${id}` });
	const states = async () => [(await outbox.status("1"))?.state, (await outbox.status("2"))?.state];
	return { outbox, signal: stop.signal, states };
}

test.each([false, true])(
	"a send under way when the signal aborts ends, and none begins (with an engine: %s)",
	async (isShared) => {
		const { outbox, signal, states } = await startTwo(isShared ? { engine: createEngine().engine } : {});
		await outbox.work({ signal });
		expect(await states()).toEqual(["sent", "waiting"]);
	},
);

test.each([false, true])(
	"runOnce ends the send under way when its signal aborts, and leaves the rest (with an engine: %s)",
	async (isShared) => {
		const { outbox, signal, states } = await startTwo(isShared ? { engine: createEngine().engine } : {});
		await outbox.runOnce({ signal });
		expect(await states()).toEqual(["sent", "waiting"]);
		await outbox.runOnce({ signal: AbortSignal.abort() });
		expect(await states()).toEqual(["sent", "waiting"]);
		await outbox.runOnce({ signal: new AbortController().signal });
		expect(await states()).toEqual(["sent", "sent"]);
	},
);

test("while a send is slow, the texts behind it do not cost one read of the store after the other", async () => {
	const sandbox = createSandbox({ now: new Date() });
	const [anna, bert] = ["+447700900101", "+447700900102"].map((number) => sandbox.agency().contact(number));
	if (!anna || !bert) throw new Error("no contacts");
	for (const contact of [anna, bert]) contact.writes("Hello");
	const { fetch, release } = holdingBack(sandbox, "Slow");
	const memory = memoryStore();
	let looks = 0;
	const store: OutboxStore = {
		...memory,
		claim: (...args) => {
			looks++;
			return memory.claim(...args);
		},
	};
	const outbox = createOutbox({ client: createClient({ ...sandbox.connection, fetch }), store });
	const agencyId = sandbox.agency().id;
	const stop = new AbortController();
	await outbox.enqueue({ id: "slow", agencyId, to: anna.phoneNumber, body: "Slow" });
	await outbox.enqueue({ id: "behind", agencyId, to: anna.phoneNumber, body: "Behind" });
	const working = outbox.work({ signal: stop.signal });
	await expect.poll(async () => (await outbox.status("slow"))?.state).toBe("sending");
	looks = 0;
	await new Promise((resolve) => setTimeout(resolve, 500));
	expect(looks).toBeLessThan(20);
	// Another contact is not kept waiting, and the end of the send is noticed.
	await outbox.enqueue({ id: "other", agencyId, to: bert.phoneNumber, body: "Other" });
	await expect.poll(async () => (await outbox.status("other"))?.state).toBe("sent");
	release();
	await expect.poll(async () => (await outbox.status("behind"))?.state).toBe("sent");
	stop.abort();
	await working;
});

test("while one worker sends, others that are woken for the same contact send nothing", async () => {
	const sandbox = createSandbox({ now: new Date() });
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Hello");
	const { fetch, release } = holdingBack(sandbox, "");
	const store = memoryStore();
	const { engine, counts, wake } = createEngine();
	const client = createClient({ ...sandbox.connection, fetch });
	const [outbox, other] = [1, 2].map(() => createOutbox({ client, store, engine }));
	if (!outbox || !other) throw new Error("no outboxes");
	const stop = new AbortController();
	const working = [outbox, other].map((each) => each.work({ signal: stop.signal }));
	await expect.poll(() => counts.working).toBe(2);
	const contact = { agencyId: sandbox.agency().id, to: anna.phoneNumber };
	for (const id of ["1", "2", "3"]) await outbox.enqueue({ id, ...contact, body: `Text ${id}` });
	await expect.poll(async () => (await outbox.status("1"))?.state).toBe("sending");
	// The second text is the more urgent one.
	await outbox.enqueue({ id: "4", ...contact, body: "Text 4", priority: 1 });
	wake();
	await other.runOnce();
	expect(sandbox.requests().filter(({ operation }) => operation === "messages.send")).toEqual([]);
	expect((await outbox.status("4"))?.attempts).toBe(0);
	release();
	await expect.poll(() => anna.inbox().map(({ body }) => body)).toEqual(["Text 1", "Text 4", "Text 2", "Text 3"]);
	stop.abort();
	await Promise.all(working);
});

test("when the store fails, a send under way ends before work rejects and the next worker has its turn", async () => {
	const sandbox = createSandbox({ now: new Date() });
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Hello");
	const { fetch, release } = holdingBack(sandbox, "");
	const memory = memoryStore();
	let isBroken = false;
	const store: OutboxStore = { ...memory, claim: (...args) => (isBroken ? fails() : memory.claim(...args)) };
	const outbox = createOutbox({ client: createClient({ ...sandbox.connection, fetch }), store });
	await outbox.enqueue({ id: "1", agencyId: sandbox.agency().id, to: anna.phoneNumber, body: "Hi" });
	const working = outbox.work();
	let hasRejected = false;
	const rejected = expect(working.finally(() => (hasRejected = true))).rejects.toThrow("the database is down");
	await expect.poll(async () => (await outbox.status("1"))?.state).toBe("sending");
	isBroken = true;
	// Wakes the loop, which looks at the store.
	await outbox.enqueue({ id: "2", agencyId: sandbox.agency().id, to: anna.phoneNumber, body: "And?" });
	await new Promise((resolve) => setTimeout(resolve, 50));
	expect(hasRejected).toBe(false);
	release();
	await rejected;
	expect((await outbox.status("1"))?.state).toBe("sent");
	isBroken = false;
	await outbox.runOnce();
	expect((await outbox.status("2"))?.state).toBe("sent");
});

test("of two agencies that share a conversation, one after the other keeps both texts, as the guide says", async () => {
	const { sandbox, agency, anna, outbox, restart, texts, pass } = createWorld({ concurrency: 1 });
	const second = sandbox.link({ name: "Second" });
	agency.conversation(anna).shareWith(second);
	sandbox.clock.advance({ hours: 25 });
	for (const { id } of [agency, second])
		await outbox.enqueue({ id: `from ${id}`, agencyId: id, to: anna.phoneNumber, body: `From ${id}` });
	await outbox.runOnce();
	expect(anna.state().held?.body).toBe(`From ${agency.id}`);
	anna.accepts();
	await pass({ minutes: 30 });
	expect(texts()).toEqual([`From ${agency.id}`, `From ${second.id}`]);
	const states = [agency, second].map(async ({ id }) => (await restart().status(`from ${id}`))?.state);
	expect(await Promise.all(states)).toEqual(["sent", "sent"]);
});

test("observe without an agency adds one job, whichever the agencies of the contact's texts", async () => {
	const sandbox = createSandbox();
	const second = sandbox.link({ name: "Second" });
	const jobs: unknown[] = [];
	const { engine } = createEngine();
	const client = createClient({ ...sandbox.connection });
	const outbox = createOutbox({
		client,
		store: memoryStore(),
		engine: { ...engine, wake: async (job) => void jobs.push(job) },
	});
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Hello");
	const agencies = [sandbox.agency().id, second.id];
	for (const agencyId of agencies) await outbox.enqueue({ id: agencyId, agencyId, to: anna.phoneNumber, body: "Hi" });
	jobs.length = 0;
	const { conversation } = await client.agency(sandbox.agency().id).conversations.get(anna.phoneNumber);
	await outbox.observe({ conversation });
	expect(jobs).toHaveLength(1);
});

test("runOnce sends what came while its last claim was being made", async () => {
	const store = memoryStore();
	const { agency, sandbox, outbox, enqueue, state } = createWorld({
		store: changed(store, {
			async claim(options) {
				const leases = await store.claim(options);
				await new Promise((resolve) => setTimeout(resolve, 30));
				return leases;
			},
		}),
	});
	const bert = agency.contact("+447700900102");
	bert.writes("Hello?");
	sandbox.during({ operation: "messages.send" }, () => void enqueue("Hi Bert", { id: "later", to: bert.phoneNumber }));
	await enqueue("Hi Anna", { id: "first" });
	await outbox.runOnce();
	expect([await state("first"), await state("later")]).toEqual(["sent", "sent"]);
});

test("a busy worker finds what another process stores, although its last claim found nothing", async () => {
	const store = memoryStore();
	vi.useFakeTimers({ toFake: ["performance"] });
	onTestFinished(() => void vi.useRealTimers());
	let claims = 0;
	const { agency, sandbox, client, restart } = createWorld({ store });
	const ends: (() => void)[] = [];
	// Each send takes until the test ends it.
	const fetch: typeof globalThis.fetch = async (input, init) => {
		if (init?.method === "POST") await new Promise<void>((resolve) => ends.push(resolve));
		return sandbox.fetch(input, init);
	};
	const busy = restart({
		client: createClient({ ...sandbox.connection, fetch, retry: false }),
		concurrency: 8,
		store: changed(store, {
			async claim(options) {
				const leases = await store.claim(options);
				// A claim takes a while.
				vi.advanceTimersByTime(5);
				claims++;
				return leases;
			},
		}),
	});
	const other = restart({ client });
	const enqueue = (id: string) => {
		agency.contact(id).writes("Hello?");
		return other.enqueue({ id, agencyId: agency.id, to: id, body: "Hi" });
	};
	const [one, two, three, late] = [1, 2, 3, 4].map((at) => `+44770090012${at}`) as [string, string, string, string];
	for (const id of [one, two, three]) await enqueue(id);
	/** In real time: `vi.waitFor` would move the clock. */
	const until = async (check: () => boolean) => {
		while (!check()) await new Promise((resolve) => setTimeout(resolve, 5));
	};
	const stop = new AbortController();
	const working = busy.work({ signal: stop.signal });
	await until(() => ends.length === 3);
	/** One send ends some time after the last claim, so that the worker claims again. */
	async function endOne(ms: number): Promise<void> {
		const before = claims;
		vi.advanceTimersByTime(ms);
		ends.shift()?.();
		await until(() => claims > before);
	}
	await endOne(300);
	await enqueue(late);
	// Two claims have taken 10 ms since the worker last looked for what is new, and the first of them ended 5 ms ago.
	await endOne(192);
	await until(() => ends.length === 2);
	stop.abort();
	for (const end of ends) end();
	await working;
	expect((await other.status(late))?.state).toBe("sent");
});

test("a text of a campaign costs at most eight calls of the store", async () => {
	const counts = new Map<string, number>();
	const counted = new Proxy(memoryStore(), {
		get(store, name) {
			const method = Reflect.get(store, name);
			if (typeof method !== "function") return method;
			return (...given: unknown[]) => {
				counts.set(String(name), (counts.get(String(name)) ?? 0) + 1);
				return method.apply(store, given);
			};
		},
	});
	const { agency, outbox, sandbox } = createWorld({ store: counted });
	// Time alone makes a worker claim again.
	vi.useFakeTimers({ toFake: ["performance"] });
	onTestFinished(() => void vi.useRealTimers());
	const numbers = Array.from({ length: 100 }, (_, at) => `+4477009001${String(at).padStart(2, "0")}`);
	for (const to of numbers) {
		agency.contact(to).writes("Hello?");
		await outbox.enqueue({ id: to, agencyId: agency.id, to, body: "Hi" });
	}
	counts.clear();
	await outbox.runOnce();
	expect(sandbox.requests().filter(({ operation }) => operation === "messages.send")).toHaveLength(100);
	expect(counts.get("openWithFacts")).toBe(100);
	expect([...counts.values()].reduce((one, other) => one + other)).toBeLessThan(800);
});
