import fc from "fast-check";
import { expect, test } from "vitest";
import { isLong } from "../length.ts";
import type { Schemas } from "./contract.ts";
import {
	type AgencyOptions,
	ANNA,
	type Box,
	BRAM,
	CARL,
	get,
	list,
	listAll,
	lookup,
	NOW,
	present,
	send,
	throughEachEntryPoint,
	walkMessages,
} from "./entry-points.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const phones = [ANNA, BRAM, CARL];
const iso = (instant: number | null) => (instant === null ? null : new Date(instant).toISOString());

// ---- The model: spec §1, §3 and §4 in the fewest words. ----

interface Line {
	readonly direction: "inbound" | "outbound";
	/** Null for what the model does not word: templates and taps. */
	readonly body: string | null;
	readonly template: boolean;
	readonly at: number;
}

interface Ai {
	readonly reason: "manual_send" | "user_toggle" | null;
	readonly at: number | null;
}

interface Held {
	readonly body: string;
	readonly createdAt: number;
	readonly updatedAt: number;
	readonly operationId: string | null;
}

interface Person {
	lines: Line[];
	lastInbound: number | null;
	ai: Ai;
	held: Held | null;
	runningFlows: number;
	/** Texts that the phone got, with their operationIds. */
	got: [string, string | null][];
}

interface World {
	now: number;
	readonly people: Map<string, Person>;
	/** What each operationId was first accepted with, and the text it brought out if it did. */
	readonly operations: Map<string, { to: string; body: string; delivered: boolean }>;
}

const newPerson = (): Person => ({
	lines: [],
	lastInbound: null,
	ai: { reason: null, at: null },
	held: null,
	runningFlows: 0,
	got: [],
});

const isOpen = (world: World, person: Person) => person.lastInbound !== null && world.now < person.lastInbound + DAY;

function arrives(world: World, person: Person, body: string | null) {
	person.lines.push({ direction: "inbound", body, template: false, at: world.now });
	person.lastInbound = world.now;
	const { reason, at } = person.ai;
	if (reason === "manual_send" && at !== null && world.now - at > DAY) person.ai = { reason: null, at: null };
}

function turnsAiOff(world: World, person: Person) {
	if (person.ai.reason !== "user_toggle") person.ai = { reason: "manual_send", at: world.now };
	person.runningFlows = 0;
}

function goesOut(world: World, person: Person, body: string, operationId: string | null) {
	person.lines.push({ direction: "outbound", body, template: false, at: world.now });
	person.got.push([body, operationId]);
	turnsAiOff(world, person);
}

type Expected = { readonly status: 500 } | { readonly status: 200; readonly queued: boolean; readonly replay: boolean };

function sends(world: World, to: string, body: string, operationId: string | null): Expected | "unspecified" {
	const person = present(world.people.get(to));
	const known = operationId === null ? undefined : world.operations.get(operationId);
	if (known && (known.to !== to || known.body !== body)) return { status: 500 };
	if (known?.delivered) return { status: 200, queued: false, replay: true };
	const isHeld = person.held !== null && person.held.operationId === operationId;
	// The documents leave open what a retry does to a text that was replaced, or that is held in an open window.
	if (known && isHeld && !isOpen(world, person)) return { status: 200, queued: true, replay: true };
	if (known && (person.held !== null || isOpen(world, person))) return "unspecified";
	if (isOpen(world, person)) {
		if (operationId !== null) world.operations.set(operationId, { to, body, delivered: true });
		person.held = null;
		goesOut(world, person, body, operationId);
		return { status: 200, queued: false, replay: false };
	}
	if (operationId !== null) world.operations.set(operationId, { to, body, delivered: false });
	if (person.held === null) {
		person.lines.push({ direction: "outbound", body: null, template: true, at: world.now });
		person.held = { body, createdAt: world.now, updatedAt: world.now, operationId };
	} else {
		person.held = { ...person.held, body, updatedAt: world.now, operationId };
	}
	turnsAiOff(world, person);
	return { status: 200, queued: true, replay: false };
}

function advances(world: World, ms: number) {
	world.now += ms;
	for (const person of world.people.values()) {
		if (person.held && world.now >= person.held.createdAt + 48 * HOUR) person.held = null;
	}
}

// ---- The acts that fast-check strings together. ----

type Act =
	| {
			readonly kind: "writes" | "taps" | "accepts" | "declines" | "staff sends" | "ai replies" | "flow";
			readonly who: number;
	  }
	| { readonly kind: "staff sets ai"; readonly who: number; readonly on: boolean }
	| {
			readonly kind: "sends";
			readonly who: number;
			readonly text: number;
			readonly id: number | null;
			readonly fault: string | null;
	  }
	| { readonly kind: "advances"; readonly ms: number };

const who = fc.nat({ max: phones.length - 1 });
const kinds = ["writes", "taps", "accepts", "declines", "staff sends", "ai replies", "flow"] as const;
const moves = [1, HOUR, 12 * HOUR, DAY - 1, DAY, DAY + 1, 47 * HOUR, 48 * HOUR, 100 * HOUR];

const act = (faults: readonly string[]): fc.Arbitrary<Act> =>
	fc.oneof(
		{ weight: 3, arbitrary: fc.record({ kind: fc.constantFrom(...kinds), who }) },
		{ weight: 1, arbitrary: fc.record({ kind: fc.constant("staff sets ai" as const), who, on: fc.boolean() }) },
		{
			weight: 4,
			arbitrary: fc.record({
				kind: fc.constant("sends" as const),
				who,
				text: fc.nat({ max: 2 }),
				id: fc.option(fc.nat({ max: 3 })),
				fault: fc.option(fc.constantFrom(...faults), { freq: 4 }),
			}),
		},
		{ weight: 3, arbitrary: fc.record({ kind: fc.constant("advances" as const), ms: fc.constantFrom(...moves) }) },
	);

/** Does the act in the sandbox and in the model; acts whose outcome the documents leave open are left out. */
async function does(box: Box, world: World, step: Act): Promise<void> {
	if (step.kind === "advances") {
		box.sandbox.clock.advance({ ms: step.ms });
		return advances(world, step.ms);
	}
	const phone = present(phones[step.who]);
	const person = present(world.people.get(phone));
	const contact = box.agency.contact(phone);
	switch (step.kind) {
		case "writes":
			contact.writes("Text of the contact");
			return arrives(world, person, "Text of the contact");
		case "taps":
			contact.taps("a_button");
			return arrives(world, person, null);
		case "accepts": {
			const { held } = person;
			expect(contact.accepts()).toEqual({ hadHeldText: held !== null });
			arrives(world, person, null);
			if (held) {
				person.held = null;
				goesOut(world, person, held.body, held.operationId);
				const known = held.operationId === null ? undefined : world.operations.get(held.operationId);
				if (known) known.delivered = true;
			}
			return;
		}
		case "declines":
			expect(contact.declines()).toEqual({ hadHeldText: person.held !== null });
			person.held = null;
			return arrives(world, person, null);
		case "staff sends":
			if (!isOpen(world, person) || person.held) return;
			box.agency.staff.sends({ contact, text: "Text of the staff" });
			return goesOut(world, person, "Text of the staff", null);
		case "ai replies":
			if (person.ai.reason !== null) {
				expect(() => box.agency.ai.replies({ contact, text: "Text of the AI" })).toThrow();
			} else if (isOpen(world, person)) {
				box.agency.ai.replies({ contact, text: "Text of the AI" });
				person.lines.push({ direction: "outbound", body: "Text of the AI", template: false, at: world.now });
				person.got.push(["Text of the AI", null]);
			}
			return;
		case "flow":
			if (person.lines.length === 0) return;
			box.agency.startFlow(contact);
			person.runningFlows += 1;
			return;
		case "staff sets ai":
			if (person.lines.length === 0) return;
			if (!step.on && person.ai.reason === "user_toggle") return;
			box.agency.staff.setAi({ contact, on: step.on });
			person.ai = step.on ? { reason: null, at: null } : { reason: "user_toggle", at: world.now };
			return;
		case "sends": {
			const body = `Text ${step.text}`;
			const operationId = step.id === null ? null : `operation ${step.id}`;
			const before = { ...person };
			const windowOpen = isOpen(world, person);
			const expected = sends(world, phone, body, operationId);
			if (expected === "unspecified") return;
			const answer = await send(box, { to: phone, body, ...(operationId === null ? {} : { operationId }) });
			expect(answer.status, answer.text).toBe(expected.status);
			if (expected.status === 500) return;
			const result = answer.ok();
			expect(result.queued).toBe(expected.queued);
			expect(result.status === null).toBe(expected.queued || expected.replay);
			if (!expected.replay) {
				expect(result.windowOpen).toBe(windowOpen);
				expect(result.windowExpiresAt).toBe(iso(before.lastInbound === null ? null : before.lastInbound + DAY));
			}
		}
	}
}

async function agrees(box: Box, world: World): Promise<void> {
	for (const [phone, person] of world.people) {
		const answer = await get(box, phone, { pageSize: 100 });
		if (person.lines.length === 0) {
			answer.refused(404);
			continue;
		}
		const { conversation, messagePage } = answer.ok();
		const lines = [...person.lines].reverse();
		const last = present(lines[0]);
		expect(conversation.summary).toMatchObject({
			phoneNumber: phone,
			totalMessages: lines.length,
			failedMessages: 0,
			activeFlows: person.runningFlows,
			lastMessageAt: iso(last.at),
			lastMessageDirection: last.direction,
			lastInboundAt: iso(person.lastInbound),
			windowExpiresAt: iso(person.lastInbound === null ? null : person.lastInbound + DAY),
			aiEnabled: person.ai.reason === null,
			queuedMessages: person.held ? 1 : 0,
		});
		expect(conversation.aiSettings).toMatchObject({
			enabled: person.ai.reason === null,
			disabledReason: person.ai.reason,
			...(person.ai.reason === "user_toggle" ? {} : { disabledAt: iso(person.ai.at) }),
		});
		expect(conversation.queuedMessages.map(({ body, createdAt }) => [body, createdAt])).toEqual(
			person.held ? [[person.held.body, iso(person.held.createdAt)]] : [],
		);
		const seen = messagePage.messages.map((message) => [
			message.direction,
			message.createdAt,
			message.templateName !== null,
		]);
		expect(seen).toEqual(lines.map((line) => [line.direction, iso(line.at), line.template]));
		for (const [index, line] of lines.entries()) {
			if (line.body !== null) expect(messagePage.messages[index]?.body).toBe(line.body);
		}
		const got = box.agency
			.contact(phone)
			.inbox()
			.filter((each) => each.kind === "text");
		expect(got.map((each) => [each.body, each.operationId ?? null])).toEqual(person.got);
	}
}

/** What must hold whatever happened, by the answers alone. */
async function isSound(box: Box, options?: AgencyOptions): Promise<void> {
	const page = (await list(box, { pageSize: 100 }, options)).ok().conversations;
	const paged = await listAll(box, { pageSize: 1 }, options);
	expect(paged).toEqual(page);
	const times = page.map((row) =>
		row.lastMessageAt === null ? Number.NEGATIVE_INFINITY : Date.parse(row.lastMessageAt),
	);
	expect(times).toEqual([...times].sort((a, b) => b - a));
	const looked = (await lookup(box, phones, options)).ok().results;
	const texts: (string | null)[] = [];
	for (const [index, phone] of phones.entries()) {
		const row: Schemas["ConversationSummary"] | undefined = page.find((each) => each.phoneNumber === phone);
		expect(looked[index]?.conversation ?? undefined).toEqual(row && { ...row, cursor: null });
		const inbox = box.agency.contact(phone).inbox();
		texts.push(...inbox.flatMap((each) => (each.kind === "text" ? [each.operationId ?? null] : [])));
		if (!row) continue;
		const { conversation } = (await get(box, phone, {}, options)).ok();
		expect(conversation.summary).toEqual({ ...row, cursor: null });
		expect(conversation.queuedMessages.length).toBeLessThanOrEqual(1);
		expect(conversation.summary.queuedMessages).toBe(conversation.queuedMessages.length);
		const all = await walkMessages(box, phone, { pageSize: 3 });
		expect(all).toHaveLength(row.totalMessages);
		const ids = all.map((message) => message.id);
		expect(ids).toEqual([...new Set(ids)].sort((a, b) => b - a));
		const inbound = all.find((message) => message.direction === "inbound");
		expect(row.lastInboundAt).toBe(inbound?.createdAt ?? null);
		expect(row.windowExpiresAt).toBe(inbound ? iso(Date.parse(present(inbound.createdAt)) + DAY) : null);
		expect(row.lastMessageAt).toBe(all[0]?.createdAt ?? null);
		expect(row.lastMessageDirection).toBe(all[0]?.direction ?? null);
		const outbound = all.filter((message) => message.direction === "outbound");
		expect(inbox.map((each) => each.body).sort()).toEqual(outbound.map((message) => message.body).sort());
	}
	const named = texts.filter((operationId) => operationId !== null);
	expect(new Set(named).size, "an operationId delivered twice").toBe(named.length);
}

throughEachEntryPoint((open, entryPoint) => {
	const [short, long] = entryPoint.name === "in process" ? [25, 1_000] : [3, 30];
	const numRuns = isLong ? long : short;

	test("whatever is done, the sandbox agrees with a model of the specification", { timeout: 600_000 }, async () => {
		const property = fc.asyncProperty(fc.array(act(["none"]), { minLength: 5, maxLength: 30 }), async (steps) => {
			const box = await open();
			const world: World = {
				now: Date.parse(NOW),
				people: new Map(phones.map((phone) => [phone, newPerson()])),
				operations: new Map(),
			};
			for (const step of steps) {
				await does(box, world, step);
				await agrees(box, world);
			}
			await isSound(box);
			await box.close();
		});
		await fc.assert(property, { numRuns, seed: 20260105 });
	});

	test("whatever is done and whatever answers are lost, the invariants hold", { timeout: 600_000 }, async () => {
		const faults = ["before", "after"] as const;
		const property = fc.asyncProperty(fc.array(act(faults), { minLength: 5, maxLength: 25 }), async (steps) => {
			const box = await open();
			for (const step of steps) {
				await happens(box, step);
				await isSound(box);
			}
			await box.close();
		});
		await fc.assert(property, { numRuns, seed: 20260106 });
	});
});

/** Free text goes out in an open window alone, whether staff, the AI or a client writes it (§1). */
async function mayWrite(box: Box, phone: string): Promise<boolean> {
	const answer = await get(box, phone);
	if (answer.status === 404) return false;
	const { windowExpiresAt } = answer.ok().conversation.summary;
	return windowExpiresAt !== null && Date.parse(windowExpiresAt) > box.sandbox.clock.now().getTime();
}

/** Does the act in the sandbox alone: a send goes out up to three times, as a client retries it. */
async function happens(box: Box, step: Act): Promise<void> {
	if (step.kind === "advances") return void box.sandbox.clock.advance({ ms: step.ms });
	const phone = present(phones[step.who]);
	const contact = box.agency.contact(phone);
	switch (step.kind) {
		case "writes":
			return void contact.writes("Text of the contact");
		case "taps":
			return void contact.taps("a_button");
		case "accepts":
			return void contact.accepts();
		case "declines":
			return void contact.declines();
		case "staff sets ai":
			return void box.agency.staff.setAi({ contact, on: step.on });
		case "staff sends":
			if (await mayWrite(box, phone)) box.agency.staff.sends({ contact, text: "Text of the staff" });
			return;
		case "flow":
			return void box.agency.startFlow(contact);
		case "ai replies":
			if (!(await mayWrite(box, phone))) return;
			if ((await get(box, phone)).ok().conversation.aiSettings.enabled)
				box.agency.ai.replies({ contact, text: "Text of the AI" });
			return;
		case "sends": {
			const phase = step.fault === "before" || step.fault === "after" ? step.fault : null;
			if (phase) box.sandbox.faults.add({ operation: "messages.send", times: 2, phase, effect: { status: 500 } });
			const operationId = step.id === null ? {} : { operationId: `operation ${step.id}` };
			const request = { to: phone, body: `Text ${step.text}`, ...operationId };
			for (let attempt = 0; attempt < 3; attempt += 1) {
				const { status } = await send(box, request);
				expect([200, 500]).toContain(status);
				if (status === 200 && phase === null) break;
			}
		}
	}
}
