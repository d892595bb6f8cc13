import { expect, test } from "vitest";
import { createSandbox } from "../../src/sandbox/index.ts";
import { insideOf } from "../../src/sandbox/inside.ts";
import { eventually } from "../eventually.ts";
import { ANNA, call, get, list, me, send, throughEachEntryPoint } from "./entry-points.ts";

throughEachEntryPoint((open) => {
	test("a contact's reply races a send: before it runs, and after it ran", async () => {
		for (const [phase, queued] of [
			["before", false],
			["after", true],
		] as const) {
			const box = await open();
			const anna = box.agency.contact(ANNA);
			const act = box.sandbox.during({ operation: "messages.send", phase }, () => anna.writes("I am here"));
			await me(box);
			expect(act.remaining).toBe(1);
			expect((await send(box, { to: ANNA, body: "Hi" })).ok().queued, phase).toBe(queued);
			expect(act.remaining).toBe(0);
			expect((await get(box, ANNA)).ok().conversation.queuedMessages).toHaveLength(queued ? 1 : 0);
			await send(box, { to: ANNA, body: "Again" });
			expect(anna.state().messages.filter(({ author }) => author === "contact")).toHaveLength(1);
			await box.close();
		}
	});

	test("an act that was removed does not happen, and one without an operation happens during any", async () => {
		const box = await open();
		const done: string[] = [];
		box.sandbox.during({}, () => done.push("removed")).remove();
		box.sandbox.during({ times: 2 }, () => done.push("any"));
		for (let index = 0; index < 3; index += 1) await me(box);
		expect(done).toEqual(["any", "any"]);
		box.sandbox.check();
	});

	test("a refused key, and an agency out of reach, do not trigger `during`", async () => {
		const box = await open();
		const act = box.sandbox.during({}, () => {});
		await me(box, { key: null });
		expect(act.remaining).toBe(1);
	});

	test("an act that resets or restores the sandbox loses the request that it interrupts, as a restart of the service would", async () => {
		const box = await open();
		const beginning = box.sandbox.snapshot();
		for (const goBack of [box.sandbox.reset, () => box.sandbox.restore(beginning)]) {
			box.agency.contact(ANNA).writes("Is it free?");
			box.sandbox.during({ operation: "messages.send" }, goBack);
			await expect(send(box, { to: ANNA, body: "It is!" })).rejects.toThrow();
			expect(insideOf(box.sandbox).world().operations).toEqual([]);
			expect((await list(box)).ok().conversations).toEqual([]);
		}
	});

	test("what an act throws is an unhandled rejection, and the request continues: a failed assertion fails the test run", async () => {
		const box = await open();
		const heard: unknown[] = [];
		const listeners = process.listeners("unhandledRejection");
		process.removeAllListeners("unhandledRejection").on("unhandledRejection", (reason) => heard.push(reason));
		try {
			box.sandbox.during({ operation: "me.get" }, () => expect(1).toBe(2));
			expect((await me(box)).status).toBe(200);
			box.sandbox.during({ operation: "me.get" }, async () => {});
			expect((await me(box)).status).toBe(200);
			await eventually(() => expect(heard).toHaveLength(2));
		} finally {
			process.removeAllListeners("unhandledRejection");
			for (const listener of listeners) process.on("unhandledRejection", listener);
		}
		expect(heard.map(String)).toEqual([
			expect.stringContaining("expected 1 to be 2"),
			expect.stringContaining("act must not be asynchronous"),
		]);
	});

	test("check throws for violations, for faults that never hit and for acts that never happened, and names no number", async () => {
		const box = await open();
		box.sandbox.check();
		const fault = box.sandbox.faults.add({ operation: "messages.send", effect: { status: 503 } });
		expect(() => box.sandbox.check()).toThrow(/A fault never hit: status 503, before messages\.send/);
		fault.remove();
		box.sandbox.check();
		box.sandbox.faults.add({ operation: "me.get", times: Number.POSITIVE_INFINITY, effect: { status: 503 } });
		await me(box, { check: "broken" });
		box.sandbox.check();
		const act = box.sandbox.during({ operation: "me.get", times: 3 }, () => {});
		expect(() => box.sandbox.check()).toThrow(/An act never happened: before me\.get/);
		act.remove();
		box.agency.contact(ANNA).writes("Hello");
		await call(box, "GET", `/agencies/${box.agency.id}/conversations/${ANNA}`);
		await call(box, "GET", "/nowhere");
		expect(() => box.sandbox.check()).toThrow(/R69: .*\(GET .*\{phone\}\)\n- R12: .*\(GET \/nowhere\)/);
		expect(() => box.sandbox.check()).not.toThrow(/447700/);
	});
});

test("using checks the sandbox at the end of the block", async () => {
	const block = async (path: string) => {
		using sandbox = createSandbox();
		await sandbox.fetch(`${sandbox.connection.baseUrl}${path}`);
	};
	await block("/me");
	await expect(block("/nowhere")).rejects.toThrow(/R12/);
});
