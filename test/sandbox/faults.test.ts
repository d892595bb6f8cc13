import { expect, test } from "vitest";
import { insideOf } from "../../src/sandbox/inside.ts";
import { eventually } from "../eventually.ts";
import { faultsOf } from "./contract.ts";
import {
	ANNA,
	type Answer,
	agencyCalls,
	type Box,
	BRAM,
	call,
	get,
	list,
	listed,
	lookup,
	me,
	present,
	send,
	throughEachEntryPoint,
	walkMessages,
} from "./entry-points.ts";

const request = { to: ANNA, body: "The visit is at two.", operationId: "visit-1" };
const broken = { check: "broken" } as const;

type Outcome = { readonly answer: Answer } | { readonly error: unknown };

async function outcomeOf(calling: Promise<Answer>): Promise<Outcome> {
	try {
		return { answer: await calling };
	} catch (error) {
		return { error };
	}
}

function answered(outcome: Outcome): Answer {
	if ("error" in outcome) throw outcome.error;
	return outcome.answer;
}

function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** Node's fetch throws a TypeError whose cause has the code; through msw the code is missing. */
function assertCut(outcome: Outcome, entryPoint: string) {
	if (!("error" in outcome)) throw new Error(`answered ${outcome.answer.status}`);
	expect(outcome.error).toBeInstanceOf(TypeError);
	if (entryPoint === "msw") return;
	const { cause } = present(outcome.error instanceof Error ? outcome.error : null);
	expect(cause).toMatchObject({ code: expect.stringMatching(/^(ECONNRESET|UND_ERR_SOCKET)$/) });
}

const effects = [
	{
		name: "a status",
		effect: { status: 503 },
		shows: (outcome: Outcome) => {
			expect(answered(outcome).status).toBe(503);
			expect(answered(outcome).headers.get("retry-after")).toBeNull();
		},
	},
	{
		name: "a status with retryAfter",
		effect: { status: 429, retryAfter: 7 },
		shows: (outcome: Outcome) => {
			expect(answered(outcome).status).toBe(429);
			expect(answered(outcome).headers.get("retry-after")).toBe("7");
		},
	},
	{ name: "reset", effect: "reset", shows: assertCut },
	{
		name: "html",
		effect: "html",
		shows: (outcome: Outcome) => {
			const { headers, text } = answered(outcome);
			expect(headers.get("content-type")).toMatch(/^text\/html/);
			expect(text).toMatch(/<html/i);
		},
	},
	{
		name: "the answer of something in front of the service",
		effect: { kind: "html", status: 404, body: "default backend - 404", contentType: "text/plain" },
		shows: (outcome: Outcome) => {
			const { status, headers, text } = answered(outcome);
			expect([status, headers.get("content-type"), text]).toEqual([404, "text/plain", "default backend - 404"]);
		},
	},
	{
		name: "empty",
		effect: "empty",
		shows: (outcome: Outcome) => {
			expect(answered(outcome).text).toBe("");
			expect(answered(outcome).status).toBe(200);
			expect(answered(outcome).headers.get("content-type")).toBeNull();
		},
	},
	{
		name: "truncated",
		effect: "truncated",
		shows: (outcome: Outcome) => {
			// Either the transport notices that bytes are missing, or the text that came ends early.
			if ("error" in outcome) return expect(outcome.error).toBeInstanceOf(TypeError);
			expect(outcome.answer.status).toBe(200);
			expect(outcome.answer.text).toMatch(/^\{/);
			expect(parsed(outcome.answer.text)).toBeUndefined();
		},
	},
	{
		name: "not-json",
		effect: "not-json",
		shows: (outcome: Outcome) => {
			const { status, text } = answered(outcome);
			expect(status).toBe(200);
			expect(text).not.toBe("");
			expect(parsed(text)).toBeUndefined();
		},
	},
	{
		name: "redirect",
		effect: "redirect",
		shows: (outcome: Outcome) => {
			const { status, headers } = answered(outcome);
			expect([301, 302, 303, 307, 308]).toContain(status);
			expect(headers.get("location")).toBeTruthy();
		},
	},
	{
		name: "missing-field",
		effect: "missing-field",
		shows: (outcome: Outcome) => {
			const { status, text } = answered(outcome);
			expect(status).toBe(200);
			const faults = faultsOf("SendMessageResult", parsed(text));
			expect(faults.join()).toMatch(/must have required property/);
		},
	},
] as const;

function writing(box: Box) {
	const anna = box.agency.contact(ANNA);
	anna.writes("Hello");
	return anna;
}

throughEachEntryPoint((open, entryPoint) => {
	test("a fault of a contact hits sends to it and reads of it alone, and one of an agency the agency's requests", async () => {
		const box = await open(broken);
		const { sandbox, agency } = box;
		expect(() => sandbox.faults.add({ agencyId: "agy_0", effect: "reset" })).toThrow(/agency/);
		for (const phone of [ANNA, BRAM]) agency.contact(phone).writes("Hello");
		const other = sandbox.link({ name: "Second" });
		other.contact(ANNA).writes("Hello");
		const ofContact = sandbox.faults.add({
			contact: agency.contact(ANNA),
			agencyId: agency.id,
			times: Number.POSITIVE_INFINITY,
			effect: { status: 503 },
		});
		const statuses = async (calls: readonly Promise<Answer>[]) =>
			(await Promise.all(calls)).map(({ status }) => status);
		const hello = { to: ANNA, body: "Hi" };
		expect(
			await statuses([
				send(box, hello),
				get(box, ANNA),
				get(box, BRAM),
				send(box, { ...hello, to: BRAM }),
				list(box),
				me(box),
				send(box, hello, { agencyId: other.id }),
			]),
		).toEqual([503, 503, 200, 200, 200, 200, 200]);
		expect(sandbox.faults.list()).toMatchObject([{ contact: ANNA, agencyId: agency.id, hits: 2 }]);
		ofContact.remove();
		sandbox.faults.add({ agencyId: other.id, times: 2, effect: { status: 503 } });
		expect(
			await statuses([
				list(box),
				me(box),
				list(box, {}, { agencyId: other.id }),
				get(box, ANNA, {}, { agencyId: other.id }),
			]),
		).toEqual([200, 200, 503, 503]);
	});

	for (const { name, effect, shows } of effects) {
		test(`fault ${name} before the handler: nothing ran, the operationId is free`, async () => {
			const box = await open();
			const anna = writing(box);
			const untouched = (await get(box, ANNA)).text;
			const fault = box.sandbox.faults.add({ operation: "messages.send", times: 1, phase: "before", effect });
			shows(await outcomeOf(send(box, request, broken)), entryPoint.name);
			expect(fault.hits).toBe(1);
			expect(anna.inbox()).toEqual([]);
			expect((await get(box, ANNA)).text).toBe(untouched);
			const changed = { ...request, body: "Another body" };
			expect((await send(box, changed)).ok()).toMatchObject({ queued: false, status: expect.any(String) });
			expect(anna.inbox().map((each) => each.body)).toEqual(["Another body"]);
		});

		test(`fault ${name} after the handler: the text went out, the operationId is remembered`, async () => {
			const box = await open();
			const anna = writing(box);
			const fault = box.sandbox.faults.add({ operation: "messages.send", times: 1, phase: "after", effect });
			shows(await outcomeOf(send(box, request, broken)), entryPoint.name);
			expect(fault.hits).toBe(1);
			expect(anna.inbox().map((each) => each.body)).toEqual([request.body]);
			(await send(box, { ...request, body: "Another body" })).refused(500);
			const retry = (await send(box, request)).ok();
			const [newest] = await walkMessages(box, ANNA);
			expect(retry).toMatchObject({ queued: false, status: null, messageId: present(newest).messageSid });
			expect(anna.inbox()).toHaveLength(1);
		});
	}

	for (const phase of ["before", "after"] as const) {
		test(`fault hang ${phase} the handler: no answer ever, ${phase === "before" ? "nothing ran" : "the text went out"}`, async () => {
			const box = await open();
			const anna = writing(box);
			const fault = box.sandbox.faults.add({ operation: "messages.send", times: 1, phase, effect: "hang" });
			const controller = new AbortController();
			let settled = false;
			const hanging = outcomeOf(send(box, request, { ...broken, signal: controller.signal })).finally(() => {
				settled = true;
			});
			await eventually(() => expect(fault.hits).toBe(1));
			expect((await me(box)).status).toBe(200);
			expect(settled).toBe(false);
			controller.abort();
			expect(await hanging).toMatchObject({ error: { name: "AbortError" } });
			expect(anna.inbox()).toHaveLength(phase === "before" ? 0 : 1);
			const retry = (await send(box, request)).ok();
			expect(retry.status === null).toBe(phase === "after");
			expect(anna.inbox()).toHaveLength(1);
		});

		test(`fault latency ${phase} the handler: the answer is right, and later than one asked for after it`, async () => {
			const box = await open();
			const anna = writing(box);
			const fault = box.sandbox.faults.add({ operation: "messages.send", times: 1, phase, effect: { latencyMs: 150 } });
			const order: string[] = [];
			const slow = send(box, request).then((answer) => {
				order.push("slow");
				return answer;
			});
			await eventually(() => expect(fault.hits).toBe(1));
			await me(box).then(() => order.push("quick"));
			expect((await slow).ok()).toMatchObject({ queued: false, status: expect.any(String) });
			expect(order).toEqual(["quick", "slow"]);
			expect((await send(box, request)).ok().status).toBeNull();
			expect(anna.inbox()).toHaveLength(1);
		});
	}

	for (const phase of ["before", "after"] as const) {
		for (const anew of ["reset", "restore", "import"] as const) {
			test(`fault latency ${phase} the handler: a request that waits over ${anew} is lost, and leaves nothing behind`, async () => {
				const box = await open();
				writing(box);
				const [before, file] = [box.sandbox.snapshot(), box.sandbox.bug({ keepContent: true })];
				const fault = box.sandbox.faults.add({ operation: "messages.send", phase, effect: { latencyMs: 50 } });
				const late = expect(send(box, { ...request, to: BRAM })).rejects.toThrow();
				await eventually(() => expect(fault.hits).toBe(1));
				if (anew === "reset") box.sandbox.reset();
				else if (anew === "restore") box.sandbox.restore(before);
				else box.sandbox.import(file);
				const last = box.sandbox.events().at(-1)?.id ?? 0;
				await late;
				expect(box.sandbox.events({ after: last })).toEqual([]);
				expect(insideOf(box.sandbox).world().operations).toEqual([]);
				// A bug file brings a key of its own.
				expect(await listed({ ...box, key: box.sandbox.connection.apiKey })).toEqual(anew === "reset" ? [] : [ANNA]);
			});
		}
	}

	test("fault latency as a bare word delays too", async () => {
		const box = await open();
		const fault = box.sandbox.faults.add({ effect: "latency" });
		(await me(box)).ok();
		expect(fault.hits).toBe(1);
	});

	test("faults hit every operation, or the one they name", async () => {
		const box = await open();
		writing(box);
		const all = { "me.get": () => me(box), ...agencyCalls(box, ANNA) };
		const fault = box.sandbox.faults.add({ times: 6, phase: "before", effect: { status: 500 } });
		for (const run of Object.values(all)) (await run()).refused(500);
		expect([fault.hits, fault.remaining]).toEqual([6, 0]);
		for (const [id, run] of Object.entries(all)) {
			const named = box.sandbox.faults.add({
				operation: "conversations.get",
				times: 1,
				phase: "after",
				effect: { status: 500 },
			});
			expect((await run()).status, id).toBe(id === "conversations.get" ? 500 : 200);
			named.remove();
		}
	});

	test("faults count: skip lets requests pass, times ends them, remove ends them early", async () => {
		const box = await open();
		const fault = box.sandbox.faults.add({
			operation: "me.get",
			times: 2,
			skip: 1,
			phase: "before",
			effect: { status: 500 },
		});
		const statuses = [];
		for (let index = 0; index < 5; index += 1) statuses.push((await me(box)).status);
		expect(statuses).toEqual([200, 500, 500, 200, 200]);
		expect([fault.hits, fault.remaining]).toEqual([2, 0]);
		const removed = box.sandbox.faults.add({ times: 5, phase: "before", effect: { status: 500 } });
		(await me(box)).refused(500);
		expect([removed.hits, removed.remaining]).toEqual([1, 4]);
		removed.remove();
		(await me(box)).ok();
		expect(removed.hits).toBe(1);
	});

	test("faults strike in the order in which they were made", async () => {
		const box = await open();
		for (const status of [500, 502, 503]) box.sandbox.faults.add({ times: 1, phase: "before", effect: { status } });
		const statuses = [];
		for (let index = 0; index < 4; index += 1) statuses.push((await me(box, broken)).status);
		expect(statuses).toEqual([500, 502, 503, 200]);
	});

	test("faults never hide a refused key or a missing scope", async () => {
		const box = await open();
		const { apiKey: blind } = box.sandbox.keys.create({ scopes: [] });
		const fault = box.sandbox.faults.add({ times: 1, phase: "before", effect: { status: 500 } });
		(await me(box, { key: null })).refused(401);
		(await list(box, {}, { key: `${box.key}x` })).refused(401);
		(await list(box, {}, { key: blind })).refused(403);
		expect(fault.hits).toBe(0);
		(await list(box)).refused(500);
		expect(fault.hits).toBe(1);
	});

	test("faults after the handler spoil the answer of a read as well", async () => {
		const box = await open();
		writing(box);
		box.sandbox.faults.add({ operation: "conversations.lookup", phase: "after", effect: "missing-field" });
		const { status, text } = await lookup(box, [ANNA], broken);
		expect(status).toBe(200);
		expect(faultsOf("LookupResponse", parsed(text))).not.toEqual([]);
		box.sandbox.faults.add({ operation: "conversations.list", phase: "after", effect: "empty" });
		expect((await list(box, {}, broken)).text).toBe("");
		(await list(box)).ok();
		(await lookup(box, [ANNA])).ok();
	});

	test("a fault of a status in the contract has the contract's body", async () => {
		const box = await open();
		const tags: Record<number, string> = {
			401: "PartnerUnauthorized",
			403: "PartnerForbidden",
			404: "PartnerNotFound",
		};
		for (const [status, tag] of Object.entries({ ...tags, 500: "PartnerInternalError" })) {
			box.sandbox.faults.add({ operation: "me.get", phase: "before", effect: { status: Number(status) } });
			expect((await me(box)).refused(Number(status))._tag).toBe(tag);
		}
	});

	test("a fault holds the text of a closed window once, however often its answer is lost", async () => {
		const box = await open();
		box.sandbox.faults.add({ operation: "messages.send", times: 3, phase: "after", effect: "reset" });
		for (let index = 0; index < 3; index += 1) assertCut(await outcomeOf(send(box, request, broken)), entryPoint.name);
		expect((await send(box, request)).ok().queued).toBe(true);
		const anna = box.agency.contact(ANNA);
		expect(anna.inbox().map((each) => each.kind)).toEqual(["template"]);
		anna.accepts();
		expect(anna.inbox().map((each) => each.kind)).toEqual(["template", "text"]);
	});

	test("faults that never hit are listed, and can be taken back all at once", async () => {
		const box = await open();
		box.sandbox.faults.add({ operation: "me.get", times: 2, effect: { status: 500 } });
		box.sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
		(await me(box)).refused(500);
		expect(box.sandbox.faults.unused()).toMatchObject([
			{ operation: "me.get", phase: "before", hits: 1, remaining: 1 },
			{ operation: "messages.send", phase: "after", hits: 0, remaining: 1 },
		]);
		(await me(box)).refused(500);
		expect(box.sandbox.faults.unused().map((each) => each.operation)).toEqual(["messages.send"]);
		box.sandbox.faults.clear();
		expect(box.sandbox.faults.unused()).toEqual([]);
		box.agency.contact(ANNA).writes("Hello");
		(await send(box, request)).ok();
	});

	test("faults refuse what they cannot do", async () => {
		const box = await open();
		const add = (options: object) => () => Reflect.apply(box.sandbox.faults.add, box.sandbox.faults, [options]);
		expect(add({ effect: "explode" })).toThrow();
		expect(add({ effect: "reset", operation: "messages.delete" })).toThrow();
		expect(add({ effect: { status: 42 } })).toThrow();
		expect(add({ effect: "reset", times: -1 })).toThrow();
		expect((await call(box, "GET", "/me")).status).toBe(200);
	});

	test("a missing-field fault whose path the answer does not have hits nothing, and waits", async () => {
		const box = await open();
		const wrong = box.sandbox.faults.add({
			operation: "me.get",
			phase: "after",
			effect: { kind: "missing-field", field: "agencies.0.nmae" },
		});
		const right = box.sandbox.faults.add({
			operation: "me.get",
			phase: "after",
			effect: { kind: "missing-field", field: "agencies.0.name" },
		});
		const spoiled = await me(box, { check: "broken" });
		expect(JSON.parse(spoiled.text).agencies).toEqual([{ id: box.agency.id }]);
		expect([wrong.hits, wrong.remaining, right.hits]).toEqual([0, 1, 1]);
		(await me(box)).ok();
		expect(() => box.sandbox.check()).toThrow(/never hit: missing-field/);
	});

	test("a missing-field fault with a field runs after the operation, and never takes the length of a list", async () => {
		const box = await open();
		box.sandbox.faults.add({ operation: "me.get", effect: { kind: "missing-field", field: "integration.name" } });
		const { integration, agencies } = JSON.parse((await me(box, { check: "broken" })).text);
		expect([Object.keys(integration), agencies[0].id]).toEqual([["id"], box.agency.id]);
		box.sandbox.faults.add({ operation: "me.get", effect: { kind: "missing-field", field: "agencies.length" } });
		await me(box);
		expect(() => box.sandbox.check()).toThrow(/never hit: missing-field/);
	});

	test("a fault as it is listed can be added again", async () => {
		const box = await open();
		box.sandbox.faults.add({ effect: { status: 503, retryAfter: 1 } });
		box.sandbox.faults.add({ effect: "reset" });
		const listed = box.sandbox.faults.list();
		box.sandbox.faults.clear();
		for (const { effect, phase } of listed) box.sandbox.faults.add({ effect, phase });
		expect(box.sandbox.faults.list().map(({ effect }) => effect)).toEqual(listed.map(({ effect }) => effect));
		Reflect.set(box.sandbox.faults.list()[0]?.effect ?? {}, "status", 400); // what is listed is a copy
		expect(box.sandbox.faults.list()[0]?.effect.status).toBe(503);
	});

	test("a missing-field fault takes own properties alone, at each step", async () => {
		const box = await open();
		for (const field of ["__proto__.hasOwnProperty", "agencies.__proto__.map", "constructor.prototype.toString"]) {
			const effect = { kind: "missing-field", field } as const;
			const fault = box.sandbox.faults.add({ operation: "me.get", phase: "after", effect });
			(await me(box)).ok();
			box.sandbox.restore(JSON.parse(JSON.stringify(box.sandbox.snapshot())));
			(await me(box)).ok();
			expect([typeof {}.hasOwnProperty, typeof [].map, typeof {}.toString]).toEqual(Array(3).fill("function"));
			fault.remove();
		}
	});
});
