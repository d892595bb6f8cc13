// The worker: what it asks the store for, and what it does when the database fails.

import { createClient } from "messaging-conversations";
import { createOutbox, type OutboxEngine, type OutboxStore } from "messaging-conversations/outbox";
import { createSandbox, type Sandbox } from "messaging-conversations/sandbox";
import { expect, test } from "vitest";
import { memoryStore } from "./memory.ts";
import { createWorld } from "./world.ts";

/** An engine that keeps its handler, so that a test can wake a recipient's queue, and counts the workers that have not been stopped. */
function createEngine() {
	let handler: (seq: number) => Promise<boolean> = async () => true;
	const counts = { working: 0, wakes: 0 };
	const engine: OutboxEngine = {
		start: async () => {},
		wake: async () => {
			counts.wakes++;
		},
		async work(step) {
			handler = step;
			counts.working++;
			return async () => {
				counts.working--;
			};
		},
	};
	return { engine, counts, wake: (seq: number) => handler(seq) };
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
	const { counts, working } = start(() => ({ due: fails }));
	await expect(working).rejects.toThrow("the database is down");
	expect(counts.working).toBe(0);
});

test("work rejects if a later read of the store fails", async () => {
	let looks = 0;
	const { counts, working } = start((store) => ({ due: (...args) => (looks++ < 2 ? store.due(...args) : fails()) }));
	await expect(working).rejects.toThrow("the database is down");
	expect(counts.working).toBe(0);
});

test("work rejects when the store fails in a step", async () => {
	const { outbox, counts, working, wake } = start(() => ({ open: fails }));
	await outbox.enqueue({ id: "1", agencyId: "agy_1", to: "+447700900101", body: "Hello" });
	const ended = expect(working).rejects.toThrow("the database is down");
	await expect.poll(() => counts.working).toBe(1);
	await expect(wake(1)).rejects.toThrow("the database is down");
	await ended;
	expect(counts.working).toBe(0);
});

test("work ends when its signal aborts, and no read of the store follows", async () => {
	let looks = 0;
	const { counts, working, stop } = start((store) => ({
		due: (...args) => {
			looks++;
			return store.due(...args);
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
		const { engine, counts, wake } = createEngine();
		const { outbox, signal, states } = await startTwo(isShared ? { engine } : {});
		const working = outbox.work({ signal });
		if (isShared) {
			await expect.poll(() => counts.working).toBe(1);
			await wake(1);
		}
		await working;
		expect(await states()).toEqual(["sent", "waiting"]);
	},
);

test.each([false, true])(
	"drain ends the send under way when its signal aborts, and leaves the rest (with an engine: %s)",
	async (isShared) => {
		const { outbox, signal, states } = await startTwo(isShared ? { engine: createEngine().engine } : {});
		await outbox.drain({ signal });
		expect(await states()).toEqual(["sent", "waiting"]);
		await outbox.drain({ signal: AbortSignal.abort() });
		expect(await states()).toEqual(["sent", "waiting"]);
		await outbox.drain({ signal: new AbortController().signal });
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
		due: (...args) => {
			looks++;
			return memory.due(...args);
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
	expect(looks).toBeLessThan(10);
	// Another contact is not kept waiting, and the end of the send is noticed.
	await outbox.enqueue({ id: "other", agencyId, to: bert.phoneNumber, body: "Other" });
	await expect.poll(async () => (await outbox.status("other"))?.state).toBe("sent");
	release();
	await expect.poll(async () => (await outbox.status("behind"))?.state).toBe("sent");
	stop.abort();
	await working;
});

test("while one worker sends, another that is woken for the same contact puts nothing off", async () => {
	const sandbox = createSandbox({ now: new Date() });
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Hello");
	const { fetch, release } = holdingBack(sandbox, "");
	const { engine, counts, wake } = createEngine();
	const client = createClient({ ...sandbox.connection, fetch });
	const outbox = createOutbox({ client, store: memoryStore(), engine });
	const stop = new AbortController();
	const working = outbox.work({ signal: stop.signal });
	await expect.poll(() => counts.working).toBe(1);
	const contact = { agencyId: sandbox.agency().id, to: anna.phoneNumber };
	for (const id of ["1", "2", "3"]) await outbox.enqueue({ id, ...contact, body: `Text ${id}` });
	const first = wake(1);
	await expect.poll(async () => (await outbox.status("1"))?.state).toBe("sending");
	await wake(1);
	release();
	await first;
	expect(anna.inbox().map(({ body }) => body)).toEqual(["Text 1", "Text 2", "Text 3"]);
	stop.abort();
	await working;
});

test("when the store fails, a send under way ends before work rejects and the next worker has its turn", async () => {
	const sandbox = createSandbox({ now: new Date() });
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Hello");
	const { fetch, release } = holdingBack(sandbox, "");
	const memory = memoryStore();
	let isBroken = false;
	const store: OutboxStore = { ...memory, nextDue: (...args) => (isBroken ? fails() : memory.nextDue(...args)) };
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
	expect([hasRejected, await memory.worker()]).toEqual([false, expect.anything()]);
	release();
	await rejected;
	expect([(await outbox.status("1"))?.state, await memory.worker()]).toEqual(["sent", undefined]);
});

test("of two agencies that share a conversation, one after the other keeps both texts, as the guide says", async () => {
	const { sandbox, agency, anna, outbox, restart, texts, pass } = createWorld({ concurrency: 1 });
	const second = sandbox.link({ name: "Second" });
	agency.conversation(anna).shareWith(second);
	sandbox.clock.advance({ hours: 25 });
	for (const { id } of [agency, second])
		await outbox.enqueue({ id: `from ${id}`, agencyId: id, to: anna.phoneNumber, body: `From ${id}` });
	await outbox.drain();
	expect(anna.state().held?.body).toBe(`From ${agency.id}`);
	anna.accepts();
	await pass({ minutes: 30 });
	expect(texts()).toEqual([`From ${agency.id}`, `From ${second.id}`]);
	const states = [agency, second].map(async ({ id }) => (await restart().status(`from ${id}`))?.state);
	expect(await Promise.all(states)).toEqual(["sent", "sent"]);
});

test("observe without an agency wakes the contact's queue in every agency", async () => {
	const sandbox = createSandbox();
	const second = sandbox.link({ name: "Second" });
	const woken: string[] = [];
	const { engine } = createEngine();
	const store = memoryStore();
	const client = createClient({ ...sandbox.connection });
	const outbox = createOutbox({
		client,
		store,
		engine: { ...engine, wake: async ({ agencyId }) => void woken.push(agencyId) },
	});
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Hello");
	const agencies = [sandbox.agency().id, second.id];
	for (const agencyId of agencies) await outbox.enqueue({ id: agencyId, agencyId, to: anna.phoneNumber, body: "Hi" });
	woken.length = 0;
	const { conversation } = await client.agency(sandbox.agency().id).conversations.get(anna.phoneNumber);
	await outbox.observe({ conversation });
	expect(woken.sort()).toEqual(agencies.sort());
});
