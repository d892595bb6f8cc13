// What pauses all texts: how long, how often it is reported, and what ends it.
import { createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { afterEach, expect, test, vi } from "vitest";
import { memoryStore } from "./memory.ts";
import { changed, type OutboxStore } from "./port.ts";
import { createWorld } from "./world.ts";

afterEach(() => {
	vi.restoreAllMocks();
});

type World = ReturnType<typeof createWorld>;

/** Steps of a second, because a pause of all texts is in no row. */
async function tick({ sandbox, outbox }: Pick<World, "sandbox" | "outbox">, seconds: number): Promise<void> {
	for (let second = 0; second < seconds; second++) {
		sandbox.clock.advance({ ms: 1_000 });
		await outbox.runOnce();
	}
}

test("a text goes out at most a minute after a refusal of its agency that lasted for ten", async () => {
	vi.spyOn(Math, "random").mockReturnValue(1);
	const world = createWorld();
	await world.enqueue("1");
	world.agency.unlink();
	await tick(world, 600);
	world.agency.link();
	await tick(world, 61);
	expect([await world.state("note-1"), world.pauses.length]).toEqual(["sent", 1]);
});

test("a host that does not resolve pauses all agencies once, and is retried within a minute", async () => {
	vi.spyOn(Math, "random").mockReturnValue(1);
	const sandbox = createSandbox();
	let isDown = true;
	const lost = Object.assign(new TypeError("fetch failed"), {
		cause: Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" }),
	});
	const fetch: typeof globalThis.fetch = async (url, init) => {
		if (isDown) throw lost;
		return sandbox.fetch(url, init);
	};
	const client = createClient({ ...sandbox.connection, fetch, retry: false });
	const noted: unknown[] = [];
	const now = sandbox.clock.now;
	const outbox = createOutbox({ client, store: memoryStore(), now, onPaused: ({ agencyId }) => noted.push(agencyId) });
	for (const [at, agency] of [sandbox.agency(), sandbox.link({ name: "Second" })].entries()) {
		const anna = agency.contact("+447700900101");
		anna.writes("Hello");
		await outbox.enqueue({ id: `note-${at}`, agencyId: agency.id, to: anna.phoneNumber, body: "Hi" });
	}
	await tick({ sandbox, outbox }, 600);
	isDown = false;
	await tick({ sandbox, outbox }, 61);
	expect((await outbox.status("note-0"))?.state).toBe("sent");
	expect((await outbox.status("note-1"))?.state).toBe("sent");
	expect(noted).toEqual([undefined]);
});

test.each(["unreachable", "rate_limited", "key"])(
	"an outage that begins at a send is told once, and again when it comes back: %s",
	async (reason) => {
		const sandbox = createSandbox();
		let isAway = false;
		const fetch: typeof globalThis.fetch = async (url, init) => {
			// The reads before it have succeeded.
			if (init?.method === "POST" && told.length === 0) isAway = true;
			if (!isAway) return sandbox.fetch(url, init);
			const cause = Object.assign(new Error("connect"), { code: "ECONNREFUSED", syscall: "connect" });
			if (reason === "unreachable") throw Object.assign(new TypeError("fetch failed"), { cause });
			const body = { _tag: "PartnerUnauthorized", message: "Revoked." };
			return Response.json(body, { status: reason === "key" ? 401 : 429, headers: { "Retry-After": "1" } });
		};
		const client = createClient({ ...sandbox.connection, fetch, retry: false });
		const told: unknown[] = [];
		const now = sandbox.clock.now;
		const outbox = createOutbox({ client, store: memoryStore(), now, onPaused: ({ reason }) => told.push(reason) });
		const enqueue = async (last: number) => {
			const contact = sandbox.agency().contact(`+44770090010${last}`);
			contact.writes("Hello");
			const text = { agencyId: sandbox.agency().id, to: contact.phoneNumber, body: "Hi" };
			await outbox.enqueue({ ...text, id: `note-${last}` });
		};
		for (const last of [1, 2, 3]) await enqueue(last);
		await tick({ sandbox, outbox }, 300);
		expect(told).toEqual([reason]);
		isAway = false;
		await tick({ sandbox, outbox }, 700);
		for (const last of [1, 2, 3]) expect((await outbox.status(`note-${last}`))?.state).toBe("sent");
		expect(told).toEqual([reason]);
		// Now the reads meet it first.
		isAway = true;
		await enqueue(4);
		await tick({ sandbox, outbox }, 60);
		expect(told).toEqual([reason, reason]);
	},
);

test("the answer of a call that began before a pause does not end it", async () => {
	const sandbox = createSandbox();
	const [anna, bert, cora] = ["+447700900101", "+447700900102", "+447700900103"].map((number) =>
		sandbox.agency().contact(number),
	);
	if (!anna || !bert || !cora) throw new Error("no contacts");
	for (const contact of [anna, bert, cora]) contact.writes("Hello");
	let refused = (): void => {};
	const isRefused = new Promise<void>((resolve) => {
		refused = resolve;
	});
	const fetch: typeof globalThis.fetch = async (url, init) => {
		if (String(url).includes("0102")) await isRefused;
		if (!String(url).includes("0101")) return sandbox.fetch(url, init);
		setTimeout(refused, 20);
		return new Response("{}", { status: 429, headers: { "Retry-After": "600" } });
	};
	const client = createClient({ ...sandbox.connection, fetch });
	const outbox = createOutbox({ client, store: memoryStore(), now: sandbox.clock.now });
	const enqueue = (id: string, to: string) =>
		outbox.enqueue({ id, agencyId: sandbox.agency().id, to, body: `Text ${id}` });
	await enqueue("a", anna.phoneNumber);
	await enqueue("b", bert.phoneNumber);
	await outbox.runOnce();
	expect((await outbox.status("b"))?.state).toBe("sent");
	await enqueue("c", cora.phoneNumber);
	await outbox.runOnce();
	expect((await outbox.status("c"))?.state).toBe("waiting");
});

test("the next outage is reported if the text that met the last one was cancelled", async () => {
	const world = createWorld();
	const { sandbox, outbox, agency, enqueue, pass, pauses } = world;
	const bert = agency.contact("+447700900102");
	bert.writes("Hello");
	const outage = () => sandbox.faults.add({ operation: "conversations.get", times: 4, effect: { status: 503 } });
	outage();
	await enqueue("1");
	await outbox.runOnce();
	await outbox.cancel("note-1");
	sandbox.faults.clear();
	await pass({ hours: 2 });
	await enqueue("2", { to: bert.phoneNumber });
	await pass({ hours: 1 });
	expect(pauses).toHaveLength(1);
	outage();
	await enqueue("3", { to: bert.phoneNumber });
	await pass({ hours: 1 });
	expect([pauses.length, await world.state("note-3")]).toEqual([2, "sent"]);
});

test("no request is made when notAfter passes while its mark is stored", async () => {
	const { sandbox, store, enqueue, sends, restart, anna } = createWorld();
	const slow: OutboxStore = {
		...store,
		async save(text) {
			if (text.state === "sending") sandbox.clock.advance({ ms: 5_000 });
			return store.save(text);
		},
	};
	const outbox = restart({ store: slow });
	await enqueue("1", { notAfter: new Date(sandbox.clock.now().getTime() + 2_000) });
	await outbox.runOnce();
	await tick({ sandbox, outbox }, 5);
	expect([(await outbox.status("note-1"))?.state, sends(), anna.inbox()]).toEqual(["expired", [], []]);
});

test("a clock that is set back while a queue is worked on leaves none of its texts behind", async () => {
	const store = memoryStore();
	let aheadMs = 0;
	const world: World = createWorld({
		now: () => world.sandbox.clock.now().getTime() + aheadMs,
		store: changed(store, {
			async open(...given) {
				const texts = await store.open(...given);
				// Another loop of the process notices it first.
				if (aheadMs === 0 && texts.length > 0) {
					aheadMs = -10_000;
					setTimeout(() => store.recover(world.sandbox.clock.now().getTime() + aheadMs));
					await new Promise((resolve) => setTimeout(resolve, 5));
				}
				return texts;
			},
		}),
	});
	await world.enqueue("1");
	await world.outbox.runOnce();
	aheadMs = 1;
	world.sandbox.clock.advance({ minutes: 1 });
	await world.outbox.runOnce();
	expect(world.texts()).toEqual(["1"]);
});

test("a clock that is set back by an hour keeps no text waiting", async () => {
	const sandbox = createSandbox();
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Hello");
	let isDown = true;
	const fetch: typeof globalThis.fetch = async (url, init) =>
		isDown ? Response.json({ _tag: "PartnerUnauthorized", message: "No." }, { status: 401 }) : sandbox.fetch(url, init);
	const noted: string[] = [];
	const outbox = createOutbox({
		client: createClient({ ...sandbox.connection, fetch }),
		store: memoryStore(),
		onPaused: ({ error }) => noted.push(error?._tag ?? "none"),
	});
	const stop = new AbortController();
	const working = outbox.work({ signal: stop.signal });
	await outbox.enqueue({ id: "1", agencyId: sandbox.agency().id, to: anna.phoneNumber, body: "Hi" });
	await expect.poll(() => noted).toEqual(["PartnerUnauthorized"]);
	const real = Date.now;
	vi.spyOn(Date, "now").mockImplementation(() => real() - 3_600_000);
	isDown = false;
	await expect.poll(async () => (await outbox.status("1"))?.state).toBe("sent");
	stop.abort();
	await working;
});

test("a service that turns away a third of the requests gets the texts of 30 contacts within ten minutes", async () => {
	vi.spyOn(Math, "random").mockReturnValue(0);
	const sandbox = createSandbox();
	// Not each third one: three requests of a text would then be in step with it, in the order in which a busy machine makes them.
	let seed = 5;
	const fetch: typeof globalThis.fetch = async (url, init) => {
		seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
		return seed % 3 === 0 ? new Response("{}", { status: 429 }) : sandbox.fetch(url, init);
	};
	const client = createClient({ ...sandbox.connection, fetch, retry: false });
	const outbox = createOutbox({ client, store: memoryStore(), now: sandbox.clock.now });
	const people = Array.from({ length: 30 }, (_, at) => sandbox.agency().contact(`+4477009001${10 + at}`));
	for (const { phoneNumber, writes } of people) {
		writes("Hello");
		await outbox.enqueue({ id: phoneNumber, agencyId: sandbox.agency().id, to: phoneNumber, body: "Hi" });
	}
	await tick({ sandbox, outbox }, 600);
	expect(people.map((person) => person.inbox().length)).toEqual(people.map(() => 1));
});

test("a conversation whose answer cannot be read holds up no other contact", async () => {
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	const [anna, bram] = ["+447700900101", "+447700900102"].map((phone) => agency.contact(phone));
	const fetch: typeof globalThis.fetch = async (url, init) => {
		const response = await sandbox.fetch(url, init);
		return String(url).includes("900101") ? new Response("<html>", { headers: response.headers }) : response;
	};
	const client = createClient({ ...sandbox.connection, fetch, retry: false });
	const outbox = createOutbox({ client, store: memoryStore(), now: sandbox.clock.now, concurrency: 1 });
	for (const contact of [anna, bram]) {
		contact?.writes("Hello");
		await outbox.enqueue({
			id: `${contact?.phoneNumber}`,
			agencyId: agency.id,
			to: `${contact?.phoneNumber}`,
			body: "Hi",
		});
	}
	await outbox.runOnce();
	expect((await outbox.status("+447700900101"))?.state).toBe("waiting");
	expect((await outbox.status("+447700900102"))?.state).toBe("sent");
});
