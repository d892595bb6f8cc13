// A model checker: every interleaving of workers that run the outbox itself and its statements in memory, with processes that are
// stopped and killed, requests and answers that are lost, and clocks. No text may arrive twice at a service that knows no
// operationId, none may displace another one, and each must have ended when all is quiet again.
import { describe, expect, test } from "vitest";
import { isLong } from "../../length.ts";
import { type Change, codeWithout, realCode } from "./code.ts";
import { explore } from "./explore.ts";
import type { Bounds, Choice } from "./world.ts";

const one: Bounds = { workers: 2, window: "open", ticks: 2, interrupts: 1, kills: 0, losses: 0 };
const two: Bounds = { ...one, priority: 5, ticks: 1 };

const worlds: [name: string, bounds: Bounds][] = [
	["a kill and a loss", { ...one, kills: 1, losses: 1 }],
	["two texts in an open window", two],
	["two texts in a closed window", { ...two, window: "closed" }],
	["texts that are cancelled", { ...two, cancels: "contact", ticks: 0 }],
	["texts that are cancelled with all of their agency", { ...two, cancels: "agency", ticks: 0 }],
	["queues that are deleted", { ...one, forgets: true }],
	["a clock that is set", { ...one, clockStepMs: 3_600_000 }],
];
const longWorlds: typeof worlds = [
	["workers that are stopped twice", { ...one, interrupts: 2 }],
	["a kill and a loss, for longer", { ...one, ticks: 4, kills: 1, losses: 1 }],
	["two texts, a kill and a loss, stopped twice", { ...two, interrupts: 2, kills: 1, losses: 1 }],
	["the same in a closed window", { ...two, window: "closed", interrupts: 2, kills: 1, losses: 1 }],
	["stopped at each read of the store, three times", { ...one, isFine: true, interrupts: 3 }],
	["queues that are deleted, a kill and a loss", { ...one, forgets: true, interrupts: 2, kills: 1, losses: 1 }],
	["two texts whose queues are deleted", { ...two, forgets: true, interrupts: 2 }],
	["three workers", { ...two, workers: 3, interrupts: 2 }],
];
if (isLong) worlds.push(...longWorlds);

test.each(worlds)("nothing goes wrong: %s", async (name, bounds) => {
	const found = await explore(bounds, realCode);
	if (isLong) console.info(name, found);
	expect(found.wrong).toBeUndefined();
	expect(found.states).toBeGreaterThan(200);
});

const memory = "test/outbox/memory.ts";
const send = "src/outbox/work/send.ts";
const noVersion: Change = [memory, "if (rows.get(text.id)?.version !== text.version) return false;", ""];
const noGuard: Change = [memory, "if (lease && !queue) return false;", ""];
const noLease: Change = [memory, "leasedUntil > clock()", "false"];
const oneToken: Change = [memory, "token: crypto.randomUUID()", 'token: "ours"'];
const noCheck: Change = [send, "leftMs < 1 || beginMs < 1 ||", ""];
const noDeadline: Change = [send, "retry: false, deadline,", "retry: false, deadline: Math.ceil(leftMs),"];

const stopped = { ...two, interrupts: 2 };
/** One worker has read the conversation, and is about to store that its request begins. */
const hasRead: Choice[] = [
	["claims", 0],
	["goes on", 0],
	["goes on", 0],
];
const missing: [rule: string, changes: Change[], bounds: Bounds][] = [
	["the version of a row", [noVersion], { ...stopped, ticks: 2 }],
	["the lease at the attempt record", [noGuard], stopped],
	["the lease at the attempt record, while queues are deleted", [noGuard], { ...stopped, forgets: true, ticks: 0 }],
	["the lease of a queue", [noLease, noGuard], stopped],
	["a token for each claim instead of one for a process", [oneToken], stopped],
	["the time check right before the request, and the deadline", [noCheck, noDeadline], one],
	["an absolute deadline of the call", [noDeadline], one],
];

describe("without a rule something goes wrong", () => {
	test.each(missing)("%s", async (rule, changes, bounds) => {
		const found = await explore(bounds, await codeWithout(changes), { isWhole: false, start: hasRead });
		if (isLong) console.info(rule, found);
		expect(found.wrong).toBeDefined();
	});
});
