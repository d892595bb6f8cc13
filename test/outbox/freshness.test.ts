// No text goes out on a reading that is older than ten seconds, wherever the process is stopped and whatever is slow.
import { createHook } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import http from "node:http";
import { Socket } from "node:net";
import { createClient } from "messaging-conversations";
import { createOutbox, type OutboxOptions, type Pause } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type Adapter, adapters, over } from "../adapters.ts";
import { listening } from "../client/listening.ts";
import { eventually } from "../eventually.ts";
import { isLong } from "../length.ts";
import { memoryStore } from "./memory.ts";

afterEach(() => void vi.restoreAllMocks());

const stops = {
	"is stopped": [11_000, 11_000],
	sleeps: [11_000, 0],
	"is stopped while its clock is set back": [-3_600_000, 11_000],
} as const;

/** Lets time pass by the system clock and by the other one. No timer fires for it, as in a process that is stopped. */
function createClocks() {
	const date = Date.now.bind(Date);
	const steady = performance.now.bind(performance);
	let [dateMs, steadyMs] = [0, 0];
	vi.spyOn(Date, "now").mockImplementation(() => date() + dateMs);
	vi.spyOn(performance, "now").mockImplementation(() => steady() + steadyMs);
	return (byDate: number, bySteady = byDate): void => {
		dateMs += byDate;
		steadyMs += bySteady;
	};
}

interface Setting extends Partial<OutboxOptions> {
	adapter: Adapter;
	apiKey?: (key: string) => () => Promise<string>;
	maxSockets?: number;
	/** Whether each request gets a new connection. */
	closes?: boolean;
}

/** An outbox on its own clock, whose requests go over a network to a sandbox. */
async function open({ adapter, apiKey, maxSockets, closes = false, ...options }: Setting) {
	const pass = createClocks();
	const sandbox = createSandbox({ now: new Date() });
	const agency = sandbox.agency();
	const hooks = { answered: (_method: string) => {}, beforeAnswer: async (_method: string) => {} };
	// nodeHttp hands a request to its socket once that is connected. undici announces that it does, and then reads the body.
	let posts = 0;
	const begins = (message: unknown) => {
		if (Object(message).request.method === "POST") posts++;
	};
	subscribe("undici:client:sendHeaders", begins);
	onTestFinished(() => void unsubscribe("undici:client:sendHeaders", begins));
	const write = Socket.prototype.write;
	vi.spyOn(Socket.prototype, "write").mockImplementation(function (this: Socket, ...given) {
		if (adapter === "nodeHttp" && String(given[0]).startsWith("POST ")) posts++;
		return Reflect.apply(write, this, given);
	});
	const server = http.createServer(async (request, response) => {
		const { method = "", url = "", headers } = request;
		let body = "";
		for await (const chunk of request) body += chunk;
		const isPost = method === "POST";
		const { authorization = "" } = headers;
		const given = { method, headers: { authorization, "content-type": "application/json" }, ...(isPost && { body }) };
		const answer = await sandbox.fetch(`${sandbox.connection.baseUrl}${url}`, given);
		const text = await answer.text();
		await hooks.beforeAnswer(method);
		hooks.answered(method);
		if (closes) response.setHeader("connection", "close");
		response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
	});
	const { url } = await listening(server);
	const key = sandbox.connection.apiKey;
	const nodeOptions = maxSockets === undefined ? {} : { maxSockets };
	const client = createClient({
		baseUrl: url,
		apiKey: apiKey ? apiKey(key) : key,
		timeoutMs: 60_000,
		...over(adapter, nodeOptions),
	});
	const pauses: Pause[] = [];
	const outbox = createOutbox({ client, store: memoryStore(), onPaused: (pause) => pauses.push(pause), ...options });
	const contact = (at: number) => {
		const someone = agency.contact(`+44770090010${at}`);
		someone.writes("Hello");
		// Marketing waits for the AI.
		agency.staff.setAi({ contact: someone, on: false });
		return someone;
	};
	const anna = contact(1);
	const offer = (id: string, to: string, rest: { notAfter?: Date } = {}) =>
		outbox.enqueue({ id, agencyId: agency.id, to, body: `Offer ${id}`, purpose: "marketing", ...rest });
	/** Works until a text has ended. Waits between tries pass at once. */
	const until = (id: string, state: string) =>
		eventually(async () => {
			await outbox.runOnce();
			if ((await outbox.status(id))?.state !== state) pass(2_000);
			expect((await outbox.status(id))?.state).toBe(state);
		});
	const texts = (someone = anna) => someone.inbox().flatMap(({ kind, body }) => (kind === "text" ? [body] : []));
	return { sandbox, agency, anna, contact, outbox, offer, until, texts, pass, hooks, pauses, posts: () => posts };
}

/** Calls something before a certain step of the event loop: before the code behind an `await`, and before each callback. */
function atStep(wanted: number, happen: () => void) {
	let isCounting = false;
	let step = 0;
	const hook = createHook({
		before() {
			if (!isCounting || ++step !== wanted) return;
			isCounting = false;
			happen();
		},
	});
	hook.enable();
	return { count: () => (isCounting = true), end: () => void hook.disable() };
}

describe.each(adapters)("over %s", (adapter) => {
	const everywhere = Object.entries(stops).flatMap(([what, times]) =>
		[false, true].map((closes) => [what, closes ? "a new connection" : "a kept connection", times, closes] as const),
	);

	test.each(everywhere)(
		"a machine that %s at any step between a reading and the request sends nothing to a contact who wrote STOP, on %s",
		async (what, _connection, [byDate, bySteady], closes) => {
			// The step is the same for every kind of stop, so that a short run takes every third one for the others.
			const stride = isLong || what === "is stopped" ? 1 : 3;
			let afterwards = 0;
			for (let step = 1; afterwards < 3; step += stride) {
				const { anna, outbox, offer, until, texts, pass, hooks, pauses, posts } = await open({ adapter, closes });
				let postsBefore: number | undefined;
				const steps = atStep(step, () => {
					postsBefore = posts();
					pass(byDate, bySteady);
					anna.writes("STOP");
				});
				let isFirst = true;
				hooks.answered = (method) => {
					if (method === "GET" && isFirst) steps.count();
					isFirst = false;
				};
				await offer("a", anna.phoneNumber);
				await outbox.runOnce();
				steps.end();
				const isBefore = postsBefore === 0;
				expect({ step, texts: texts(), isBefore }).toEqual({ step, texts: isBefore ? [] : ["Offer a"], isBefore });
				if (isBefore) {
					await until("a", "cancelled");
					expect(await outbox.status("a")).toMatchObject({ reason: "opted_out" });
					expect([texts(), pauses]).toEqual([[], []]);
				} else afterwards++;
				expect(step).toBeLessThan(2_000);
				vi.restoreAllMocks();
			}
		},
	);

	test.each([
		["20 seconds at the second call", [0, 20_000, 0]],
		["12 seconds always", [12_000]],
		["nothing and 12 seconds in turn", [0, 12_000]],
		["20 seconds always", [20_000]],
	])("a key function that takes %s lets no text go out after STOP", async (_, waits) => {
		let calls = 0;
		let textsBefore: number | undefined;
		const apiKey = (key: string) => async () => {
			const waitMs = waits[calls++ % waits.length] ?? 0;
			world.pass(waitMs);
			if (waitMs > 0 && textsBefore === undefined) {
				textsBefore = world.texts().length;
				world.anna.writes("STOP");
			}
			return key;
		};
		const world = await open({ adapter, apiKey });
		const ids = ["a", "b", "c"];
		for (const id of ids) await world.offer(id, world.anna.phoneNumber);
		await world.until("c", "cancelled");
		expect(world.texts()).toHaveLength(textsBefore ?? Number.NaN);
		expect(world.pauses).toEqual([]);
	});

	test.each([
		["12 seconds always", [12_000]],
		["nothing and 12 seconds in turn", [0, 12_000]],
	])("a key function that takes %s keeps no text back, and is asked once for each", async (_, waits) => {
		let calls = 0;
		const apiKey = (key: string) => async () => {
			world.pass(waits[calls++ % waits.length] ?? 0);
			return key;
		};
		const world = await open({ adapter, apiKey, followMs: [] });
		for (const id of ["a", "b", "c"]) await world.offer(id, world.anna.phoneNumber);
		await world.outbox.runOnce();
		expect(world.texts()).toEqual(["Offer a", "Offer b", "Offer c"]);
		expect([calls, world.pauses]).toEqual([3, []]);
	});

	test("a contact who is not known is texted too, although the settings are read with a slow key", async () => {
		const apiKey = (key: string) => async () => {
			world.pass(12_000);
			return key;
		};
		const world = await open({ adapter, apiKey });
		await world.outbox.enqueue({ id: "new", agencyId: world.agency.id, to: "+447700900177", body: "Welcome" });
		await world.outbox.runOnce();
		expect(await world.outbox.status("new")).toMatchObject({ state: "held" });
	});

	test("a read that the service answers slowly is no old one", async () => {
		const { anna, outbox, offer, texts, pass, hooks } = await open({ adapter });
		hooks.beforeAnswer = async (method) => {
			if (method !== "GET") return;
			// Twelve seconds in which this process runs: its timers do too.
			for (let part = 0; part < 3; part++) {
				pass(4_000);
				await new Promise((resolve) => setTimeout(resolve, 1_100));
			}
		};
		await offer("a", anna.phoneNumber);
		await outbox.runOnce();
		expect(texts()).toEqual(["Offer a"]);
	});

	test("a text whose time passes while it is on its way to the network is not sent", async () => {
		for (let step = 1, isSent = false; !isSent; step += 5) {
			const { anna, outbox, offer, texts, pass, hooks, posts } = await open({ adapter, closes: true });
			let postsBefore: number | undefined;
			const steps = atStep(step, () => {
				postsBefore = posts();
				pass(6_000);
			});
			hooks.answered = () => steps.count();
			await offer("a", anna.phoneNumber, { notAfter: new Date(Date.now() + 5_000) });
			await outbox.runOnce();
			steps.end();
			isSent = postsBefore !== 0;
			expect({ step, texts: texts() }).toEqual({ step, texts: isSent ? ["Offer a"] : [] });
			vi.restoreAllMocks();
		}
	});

	test("a text that begins before the quiet hours does not go out in them", async () => {
		const quietHours = { from: "20:00", to: "08:00", timeZone: "UTC" };
		for (let step = 1, isSent = false; !isSent; step += 5) {
			const { anna, outbox, offer, texts, pass, hooks, posts } = await open({ adapter, closes: true, quietHours });
			const today = new Date(Date.now());
			// Five seconds before they begin, of a day on which the window is open.
			pass(today.setUTCHours(20, 0, 0, 0) - 5_000 - Date.now(), 0);
			anna.writes("Hello again");
			let postsBefore: number | undefined;
			const steps = atStep(step, () => {
				postsBefore = posts();
				pass(6_000);
			});
			hooks.answered = () => steps.count();
			await offer("a", anna.phoneNumber);
			await outbox.runOnce();
			steps.end();
			isSent = postsBefore !== 0;
			expect({ step, texts: texts() }).toEqual({ step, texts: isSent ? ["Offer a"] : [] });
			vi.restoreAllMocks();
		}
	});
});

test("texts that wait for the only connection go out on fresh readings, and are no reason for a pause", async () => {
	const world = await open({ adapter: "nodeHttp", maxSockets: 1, followMs: [] });
	const { contact, offer, texts, pass, hooks, pauses } = world;
	const people = [1, 2, 3, 4, 5, 6].map(contact);
	const stopped = new Map<(typeof people)[number], number>();
	hooks.beforeAnswer = async (method) => {
		if (method !== "POST") return;
		// Each send takes eight seconds. At the second one all who have no text yet write STOP.
		pass(8_000);
		if (stopped.size > 0 || world.posts() < 2) return;
		for (const person of people)
			if (texts(person).length === 0) {
				stopped.set(person, 0);
				person.writes("STOP");
			}
	};
	for (const [at, { phoneNumber }] of people.entries()) await offer(`${at}`, phoneNumber);
	await eventually(async () => {
		await world.outbox.runOnce();
		pass(2_000);
		for (const at of people.keys()) expect((await world.outbox.status(`${at}`))?.state).toMatch(/^(sent|cancelled)$/);
	});
	// The third send would have begun on a reading of sixteen seconds.
	expect(stopped.size).toBeGreaterThan(2);
	expect([...stopped.keys()].flatMap((person) => texts(person))).toEqual([]);
	expect(pauses).toEqual([]);
});
