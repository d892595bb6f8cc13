// The gate itself, with tables of its own, and what every rule of the table owes.
import { readFileSync } from "node:fs";
import { createClient } from "messaging-conversations";
import type { Pause } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { describe, expect, test } from "vitest";
import { pauses, reasons } from "../../scripts/generate/meanings.ts";
import { gate, type Rule, type ToldRule } from "../../src/outbox/gate/gate.ts";
import { held } from "../../src/outbox/gate/held.ts";
import { sending } from "../../src/outbox/gate/sending.ts";
import type { Situation } from "../../src/outbox/gate/situation.ts";
import { waiting } from "../../src/outbox/gate/waiting.ts";
import { beside } from "../../src/outbox/waits-for.ts";
import { codeWithout } from "./model/code.ts";
import { add, createWorld } from "./world.ts";

const now = Date.parse("2026-01-05T12:00:00Z");
/** The gate looks at the time and at what is known. Everything else is for the rules. */
const situation = (more: Partial<Situation> = {}) => ({ now, known: {}, readingAgeMs: 0, ...more }) as Situation;
const rule = (name: string, more: Partial<ToldRule<string>> = {}): ToldRule<string> => ({
	name,
	when: `A rule of this test: ${name}`,
	says: () => `It is kept back by ${name}.`,
	concerns: () => true,
	judge: () => undefined,
	...more,
});

describe("the gate", () => {
	test("the first rule with something against the text answers, and says its name", () => {
		const table = [
			rule("silent"),
			rule("of_others", { concerns: () => false, judge: () => ({ do: "send", language: null }) }),
			rule("waits", { judge: () => ({ do: "wait", until: now + 5_000 }) }),
			rule("sends", { judge: () => ({ do: "send", language: null }) }),
		];
		expect(gate(situation(), table)).toEqual({ do: "wait", until: now + 5_000, because: "waits" });
		expect(gate(situation(), table.slice(0, 2))).toBeUndefined();
	});

	test.each([now, now - 1, 0])(
		"a wait until %s, which does not lie ahead, is one of a second: no table can loop",
		(until) => {
			const looping = rule("looping", { judge: () => ({ do: "wait", until }) });
			expect(gate(situation(), [looping])).toEqual({ do: "wait", until: now + 1_000, because: "looping" });
		},
	);

	test("a rule that lacks a fact asks for it, and a rule before it answers without", () => {
		const needs = rule("needs", { needs: "reading", judge: () => ({ do: "send", language: null }) });
		expect(gate(situation(), [needs])).toEqual({ do: "need", fact: "reading", because: "needs" });
		const ends = rule("ends", { judge: () => ({ do: "become", change: { state: "expired" } }) });
		expect(gate(situation(), [ends, needs])).toMatchObject({ do: "become", because: "ends" });
	});

	test("a reading that is older than ten seconds is asked for again, and other facts are not", () => {
		const send = { do: "send", language: null } as const;
		const table = [rule("hours", { needs: "hours" }), rule("reading", { needs: "reading", judge: () => send })];
		const known = { hours: null, reading: { match: null, at: now } };
		expect(gate(situation({ known, readingAgeMs: 10_000 }), table)).toMatchObject(send);
		expect(gate(situation({ known, readingAgeMs: 10_001 }), table)).toMatchObject({ do: "need", fact: "reading" });
	});
});

test("a rule that is wrong keeps no worker busy for ever: other contacts get their texts, and the queue rests", async () => {
	const rule = "(s.text.nextAt ?? 0) > s.now && !wasRead(s) && !isWoken(s)";
	const { createOutbox, memoryStore } = await codeWithout([["src/outbox/gate/waiting.ts", rule, "false"]]);
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	const [anna, ben] = [agency.contact("+447700900101"), agency.contact("+447700900102")];
	const client = createClient({ ...sandbox.connection });
	let asked = 0;
	const beforeSend = ({ to }: { to: string }) => {
		if (to === ben.phoneNumber) return "send" as const;
		asked++;
		throw new Error("a check that fails");
	};
	const told: unknown[] = [];
	const onPaused = ({ reason, id }: Pause) => told.push([reason, id]);
	const outbox = createOutbox({ client, store: memoryStore(), beforeSend, onPaused, now: sandbox.clock.now });
	for (const [id, { phoneNumber: to }] of Object.entries({ anna, ben }))
		await outbox.enqueue({ id, agencyId: agency.id, to, body: id });
	await outbox.runOnce();
	expect([(await outbox.status("anna"))?.state, (await outbox.status("ben"))?.state]).toEqual(["waiting", "held"]);
	expect(asked).toBeGreaterThan(1);
	expect(asked).toBeLessThan(200);
	expect(told).toContainEqual(["fault", "anna"]);
});

test("sixty texts of a contact that a check puts off one after the other are no fault", async () => {
	const waitUntil = new Date("2026-01-06T09:00:00Z");
	const world = createWorld({
		beforeSend: (_, { now: at }) => (at < waitUntil ? { waitUntil, because: "Later" } : "send"),
	});
	for (let count = 0; count < 60; count++) await add(world, `note ${count}`);
	await world.pass({ minutes: 5 });
	expect(world.store.all().filter(({ readyAt }) => readyAt === waitUntil.getTime()).length).toBe(60);
	expect(world.pauses).toEqual([]);
});

test("two rules that ask for each other's fact again and again keep no worker busy for ever", async () => {
	const rule = "concerns: (s) => s.failed !== undefined || isTooSlow(s)";
	const { createOutbox, memoryStore } = await codeWithout([
		["src/outbox/gate/shared.ts", rule, "concerns: () => false"],
	]);
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	const [anna, ben] = [agency.contact("+447700900101"), agency.contact("+447700900102")];
	const client = createClient({ ...sandbox.connection });
	anna.writes("Fails");
	const optOut = ({ body }: { body: string | null }) => {
		if (body === "Fails") throw new Error("a check that fails");
		return false;
	};
	const told: unknown[] = [];
	const onPaused = ({ reason, id }: Pause) => told.push([reason, id]);
	const outbox = createOutbox({ client, store: memoryStore(), optOut, onPaused, now: sandbox.clock.now });
	for (const [id, { phoneNumber: to }] of Object.entries({ anna, ben }))
		await outbox.enqueue({ id, agencyId: agency.id, to, body: id });
	await outbox.runOnce();
	expect([(await outbox.status("anna"))?.state, (await outbox.status("ben"))?.state]).toEqual(["waiting", "held"]);
	expect(told).toEqual([["fault", "anna"]]);
});

describe.each<[what: string, table: readonly Rule[], files: readonly string[]]>([
	["waits", waiting, ["rules", "clocks"]],
	["is being sent", sending, ["rules-requested"]],
	["the service holds", held, ["rules-requested"]],
])("the table of a text that %s", (what, table, files) => {
	const names: string[] = table.map(({ name }) => name);

	test("each rule has a name of its own, and says in a sentence when it holds", () => {
		expect(new Set(names).size).toBe(names.length);
		for (const { name, when } of table) expect([name, when.length > 20 || name === "send"]).toEqual([name, true]);
	});

	test("each rule that keeps a text back has a test that begins with its name", () => {
		const code = files.map((file) => readFileSync(new URL(`./${file}.test.ts`, import.meta.url), "utf8")).join();
		const part = code.split(/^describe\(/m).find((each) => each.startsWith(`"a text that ${what}"`));
		const titles = what === "waits" ? code : (part ?? "");
		expect(names.filter((name) => !titles.includes(`"${name}: `))).toEqual(what === "waits" ? ["send"] : []);
	});

	test("what ends a text comes before what makes it wait, and the last rule sends it", () => {
		const end = { waits: "expires_tonight", "is being sent": "result", "the service holds": "gone" }[what] ?? "";
		expect(names.indexOf(end)).toBeGreaterThanOrEqual(0);
		expect(names.indexOf(end)).toBeLessThan(names.indexOf("suspended"));
		expect(names.at(-1)).toBe("send");
	});
});

test("each name that waitsFor may have is a rule of a text that waits, and each such rule is one of the names", () => {
	const api = readFileSync(new URL("../api/outbox.api.md", import.meta.url), "utf8");
	const [, kinds = ""] = /^type WaitsForKind = (.*);$/m.exec(api) ?? [];
	const names = waiting.map(({ name }) => name).filter((name) => name !== "send" && name !== "put_off");
	expect(kinds.replaceAll('"', "").split(" | ")).toEqual([...names, ...Object.keys(beside)]);
});

test("there is one list of names: a reason or a pause that is no rule is the end of a text or of a call", () => {
	const rules = [...waiting, ...sending, ...held].map(({ name }) => name);
	const known = new Set<string>([...rules, ...Object.keys(beside)]);
	const others = (names: Readonly<Record<string, unknown>>) => Object.keys(names).filter((name) => !known.has(name));
	expect(others(reasons).sort()).toMatchInlineSnapshot(`
		[
		  "ambiguous",
		  "answered_in_words",
		  "bad_request",
		  "blocked",
		  "declined",
		  "displaced",
		  "invalid_input",
		  "no_answer",
		  "not_allowed",
		  "resolved",
		  "unreadable",
		]
	`);
	expect(others(pauses).sort()).toMatchInlineSnapshot(`
		[
		  "data_lost",
		  "database",
		  "fault",
		  "follow_failed",
		  "forbidden",
		  "gateway",
		  "key",
		  "rate_limited",
		  "unreachable",
		]
	`);
	for (const { says } of waiting) expect(says).toBeTypeOf("function");
});
