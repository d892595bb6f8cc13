// onPaused is for alerts: one for each fact, however many agencies, workers and processes meet it.
import { createClient } from "messaging-conversations";
import { createOutbox, type Pause } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { describe, expect, test } from "vitest";
import { memoryStore } from "./memory.ts";

const count = 30;

type Call = "me" | "read" | "lookup" | "send";
type Answer = (call: Call, real: () => Promise<Response>) => Response | Promise<Response>;

const service = (status: number, _tag: string): Response => Response.json({ _tag, message: "No." }, { status });
const page = (status: number): Response =>
	new Response("<h1>No</h1>", { status, headers: { server: "gate", "content-type": "text/html" } });
const lost = (): never => {
	const cause = Object.assign(new Error("connect"), { code: "ECONNREFUSED", syscall: "connect" });
	throw Object.assign(new TypeError("fetch failed"), { cause });
};
const of =
	(...calls: Call[]) =>
	(answer: () => Response): Answer =>
	(call, real) =>
		calls.includes(call) ? answer() : real();

/** The conversation as it was before its last message. A lookup shows that it is old. */
const copies: Answer = async (call, real) => {
	const response = await real();
	if (call !== "read") return response;
	const { conversation, ...rest } = await response.json();
	const summary = { ...conversation.summary, totalMessages: conversation.summary.totalMessages - 1 };
	const headers = { age: "600", "x-correlation-id": `${response.headers.get("x-correlation-id")}` };
	return Response.json({ conversation: { ...conversation, summary }, ...rest }, { headers });
};

const states: [what: string, answer: () => Answer, told: string][] = [
	["reads that answer 500", () => of("read")(() => service(500, "PartnerInternalError")), `failing ${count}`],
	["reads that answer 502", () => of("read")(() => page(502)), `failing ${count}`],
	["sends that answer 500", () => of("send")(() => service(500, "PartnerInternalError")), `failing ${count}`],
	["reads that break the contract", () => of("read")(() => Response.json({ conversation: null })), `failing ${count}`],
	["old copies in place of reads", () => copies, `failing ${count}`],
	["a firewall's page for reads", () => of("read")(() => page(403)), `failing ${count}`],
	["a firewall's page for sends", () => of("send")(() => page(403)), "gateway"],
	["a firewall's page for everything", () => () => page(403), "gateway"],
	[
		"a 403 of reads that me.get does not explain",
		() => of("read")(() => service(403, "PartnerForbidden")),
		`forbidden ${count}`,
	],
	[
		"a 403 of sends that me.get does not explain",
		() => of("send")(() => service(403, "PartnerForbidden")),
		`forbidden ${count}`,
	],
	["a 429", () => of("read")(() => page(429)), "rate_limited"],
	["a key that is refused", () => () => service(401, "PartnerUnauthorized"), "key"],
	["a service that is not reached", () => lost, "unreachable"],
];

function createWorld(agenciesAtFirst = count) {
	const sandbox = createSandbox();
	let statements = 0;
	const store = new Proxy(memoryStore(), {
		get(of, name) {
			const method: unknown = Reflect.get(of, name);
			if (typeof method === "function") statements++;
			return method;
		},
	});
	const told: string[] = [];
	const asked: Record<Call, number> = { me: 0, read: 0, lookup: 0, send: 0 };
	const network: { answer: Answer | undefined } = { answer: undefined };
	const fetch: typeof globalThis.fetch = async (url, init) => {
		const path = String(url);
		const isPost = init?.method === "POST";
		const call = path.endsWith("/me") ? "me" : path.endsWith("/lookup") ? "lookup" : isPost ? "send" : "read";
		asked[call]++;
		const real = () => sandbox.fetch(url, init);
		return network.answer ? network.answer(call, real) : real();
	};
	const onPaused = ({ reason, agencies, agencyId }: Pause) => {
		told.push([reason, agencies ?? agencyId].filter(Boolean).join(" "));
	};
	const create = () =>
		createOutbox({
			client: createClient({ ...sandbox.connection, fetch, retry: false }),
			store,
			now: sandbox.clock.now,
			onPaused,
		});
	const agencies = [sandbox.agency()];
	const ids: string[] = [];
	/** A text of each agency to somebody who has just written. */
	async function enqueue(from = 0, to = agenciesAtFirst): Promise<void> {
		for (let at = agencies.length; at < to; at++) agencies.push(sandbox.link({ name: `Agency ${at}` }));
		for (const agency of agencies.slice(from, to)) {
			const contact = agency.contact(`+4477009${String(10_000 + ids.length)}`);
			contact.writes("Hello");
			const id = `text-${ids.length}`;
			ids.push(id);
			await outbox.enqueue({ id, agencyId: agency.id, to: contact.phoneNumber, body: "Hi" });
		}
	}
	let outbox = create();
	async function pass(minutes: number, { everyMs = 1_000, isCron = false } = {}): Promise<void> {
		for (let ms = 0; ms < minutes * 60_000; ms += everyMs) {
			if (isCron) outbox = create();
			await outbox.runOnce();
			sandbox.clock.advance({ ms: everyMs });
		}
	}
	const cron = (minutes: number) => pass(minutes, { everyMs: 60_000, isCron: true });
	const sent = async () =>
		(await Promise.all(ids.map((id) => outbox.status(id)))).filter((status) => status?.state === "sent").length;
	const made = () => statements;
	return { sandbox, store, told, asked, network, agencies, create, enqueue, pass, cron, sent, made, now: () => outbox };
}

describe.each(states)("%s", (_, answer, expected) => {
	test("is one alert for 30 agencies, at most one me.get a minute, and no loop", async () => {
		const { told, asked, network, enqueue, pass, sent, made } = createWorld();
		network.answer = answer();
		await enqueue();
		await pass(10);
		expect(told).toEqual([expected]);
		expect(asked.me).toBeLessThanOrEqual(11);
		// Of each agency about one try a minute in the end, of some 25 statements.
		expect(made()).toBeLessThan(600 * count);
		network.answer = undefined;
		await pass(25, { everyMs: 10_000 });
		expect([await sent(), told.length]).toEqual([count, 1]);
	});

	test("is one alert if a new process does what is due each minute", async () => {
		const { told, network, enqueue, cron, sent } = createWorld();
		network.answer = answer();
		await enqueue();
		await cron(60);
		expect(told).toEqual([expected]);
		network.answer = undefined;
		await cron(40);
		expect([await sent(), told.length]).toEqual([count, 1]);
	});
});

test("an outage that has ended and comes back is told again, by one process and by a new one each minute", async () => {
	for (const isCron of [false, true]) {
		const { told, network, enqueue, pass, cron, sent } = createWorld();
		const go = (minutes: number) => (isCron ? cron(minutes) : pass(minutes, { everyMs: 5_000 }));
		for (const round of [1, 2]) {
			network.answer = of("read")(() => service(500, "PartnerInternalError"));
			await enqueue();
			await go(5);
			network.answer = undefined;
			await go(25);
			// What goes on well shows that it has ended.
			await enqueue();
			await go(2);
			expect(told).toHaveLength(round);
		}
		expect(told).toEqual([`failing ${count}`, `failing ${count}`]);
		expect(await sent()).toBe(4 * count);
	}
});

test("an outage that lasts is told again after six hours", async () => {
	const { told, network, enqueue, cron } = createWorld();
	network.answer = () => service(401, "PartnerUnauthorized");
	await enqueue();
	await cron(5 * 60);
	expect(told).toEqual(["key"]);
	await cron(2 * 60);
	expect(told).toEqual(["key", "key"]);
});

test("agencies that join an outage are told of once they are ten times as many", async () => {
	const { told, network, enqueue, pass } = createWorld(1);
	network.answer = of("read")(() => page(502));
	await enqueue(0, 1);
	await pass(1);
	await enqueue(1, 30);
	await pass(3);
	await enqueue(30, 60);
	await pass(3);
	expect(told).toEqual([expect.stringMatching(/^failing agy_/), "failing 30"]);
});

test("agencies 31 to 60 that join an outage are not told of", async () => {
	const { told, network, enqueue, pass } = createWorld();
	network.answer = of("read")(() => page(502));
	await enqueue();
	await pass(2);
	await enqueue(30, 60);
	await pass(5);
	expect(told).toEqual([`failing ${count}`]);
});

test("an outage that becomes a firewall's page, and an outage again, is two alerts", async () => {
	const { told, network, enqueue, pass } = createWorld();
	await enqueue();
	for (const answer of [
		() => service(500, "PartnerInternalError"),
		() => page(403),
		() => service(500, "PartnerInternalError"),
	]) {
		network.answer = answer;
		await pass(5);
	}
	expect(told).toEqual([`failing ${count}`, "gateway"]);
});

test("an agency that is not linked is told of beside an outage of all", async () => {
	const { told, network, agencies, enqueue, pass } = createWorld();
	await enqueue();
	agencies[3]?.unlink();
	network.answer = async (call, real) => {
		const response = call === "read" ? await real() : undefined;
		return response && response.status !== 403 ? service(500, "PartnerInternalError") : (response ?? real());
	};
	await pass(10);
	expect(told.sort()).toEqual([`failing ${count - 1}`, `forbidden ${agencies[3]?.id}`].sort());
});

test("of two workers that meet an outage one tells of it, and so does none that starts later", async () => {
	const { sandbox, told, network, create, enqueue } = createWorld();
	network.answer = of("read")(() => service(500, "PartnerInternalError"));
	await enqueue();
	const workers = [create(), create()];
	for (let second = 0; second < 300; second++) {
		if (second === 100) workers.push(create());
		await Promise.all(workers.map((worker) => worker.runOnce()));
		sandbox.clock.advance({ ms: 1_000 });
	}
	const all = told.filter((each) => each.startsWith("failing"));
	expect(all).toHaveLength(1);
});

test("a suspension and an agency that cannot ask for consent are told of once by a new process each minute", async () => {
	const { sandbox, told, agencies, enqueue, cron, now } = createWorld(2);
	await enqueue();
	agencies[1]?.consent.set({ unapprovedTemplates: [{ templateCode: "consent_en", status: "pending" }] });
	sandbox.clock.advance({ hours: 30 });
	await now().suspend({ agencyId: `${agencies[0]?.id}`, reason: "Stop" });
	await cron(14);
	expect(told.sort()).toEqual([`consent_unavailable ${agencies[1]?.id}`, `suspended ${agencies[0]?.id}`]);
	await cron(14);
	expect(told.filter((each) => each.startsWith("suspended"))).toHaveLength(2);
});

test("what people were told of is no pause of health", async () => {
	const { network, enqueue, pass, now } = createWorld();
	network.answer = of("read")(() => service(500, "PartnerInternalError"));
	await enqueue();
	await pass(1);
	expect((await now().health()).pauses).toEqual([]);
	const status = await now().status("text-0");
	expect(status?.waitsFor?.kind).toBe("failing");
});
