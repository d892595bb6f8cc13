import { afterEach, expect, test, vi } from "vitest";
import { createSandbox } from "../../src/sandbox/index.ts";
import {
	ANNA,
	after,
	type Box,
	BRAM,
	get,
	me,
	NOW,
	present,
	send,
	summaryOf,
	throughEachEntryPoint,
} from "./entry-points.ts";

afterEach(() => {
	vi.useRealTimers();
});

const held = async (box: Box, phone: string) => (await summaryOf(box, phone)).queuedMessages;

throughEachEntryPoint((open) => {
	test("the clock does not move by itself", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		await new Promise((resolve) => setTimeout(resolve, 5));
		await send(box, { to: ANNA, body: "Hi" });
		expect(box.sandbox.clock.now().toISOString()).toBe(NOW);
		expect((await summaryOf(box, ANNA)).lastMessageAt).toBe(NOW);
	});

	test("the Date of an answer is the sandbox's time, of a refusal and a fault too", async () => {
		const box = await open();
		const dates = async () => [(await get(box, ANNA)).headers.get("date"), (await me(box)).headers.get("date")];
		box.sandbox.faults.add({ operation: "me.get", effect: { status: 500 } });
		expect(await dates()).toEqual([new Date(NOW).toUTCString(), new Date(NOW).toUTCString()]);
		box.sandbox.clock.advance({ hours: 25 });
		expect(await dates()).toEqual([new Date(after(25)).toUTCString(), new Date(after(25)).toUTCString()]);
	});

	test("the clock goes forward by days, and they add up with hours", async () => {
		const { clock } = (await open()).sandbox;
		clock.advance({ days: 2, hours: 1 });
		expect(clock.now().toISOString()).toBe(after(49));
		clock.advance({ days: 0.5 });
		expect(clock.now().toISOString()).toBe(after(61));
	});

	test("the clock goes forward by hours, minutes and milliseconds, or to an instant", async () => {
		const { clock } = (await open()).sandbox;
		clock.advance({ hours: 1, minutes: 2, ms: 3 });
		expect(clock.now().toISOString()).toBe(after(1, 120_003));
		clock.advanceTo(after(30));
		expect(clock.now().toISOString()).toBe(after(30));
		clock.advance({ ms: 0 });
		clock.advanceTo(after(30));
		expect(clock.now().toISOString()).toBe(after(30));
	});

	test("the clock never goes back", async () => {
		const { clock } = (await open()).sandbox;
		clock.advance({ hours: 1 });
		for (const step of [
			{ hours: -1 },
			{ ms: -1 },
			{ hours: 1, minutes: -61 },
			{ hours: Number.NaN },
			{ ms: Infinity },
		]) {
			expect(() => clock.advance(step), JSON.stringify(step)).toThrow();
		}
		for (const instant of [NOW, after(1, -1), "yesterday", ""])
			expect(() => clock.advanceTo(instant), instant).toThrow();
		expect(clock.now().toISOString()).toBe(after(1));
	});

	test("the clock hands out dates that do not move it", async () => {
		const { clock } = (await open()).sandbox;
		clock.now().setFullYear(1999);
		expect(clock.now().toISOString()).toBe(NOW);
	});

	test("what falls due happens at its own instant, in order, and before advance returns", async () => {
		const box = await open();
		const slow = box.sandbox.link({ name: "Slow" });
		slow.consent.set({ answerWithinHours: 60 });
		await send(box, { to: ANNA, body: "Due at 48" });
		await send(box, { to: BRAM, body: "Due at 60" }, { agencyId: slow.id });
		box.sandbox.clock.advance({ hours: 1 });
		await send(box, { to: BRAM, body: "Due at 49" });
		box.sandbox.clock.advanceTo(after(48));
		expect([await held(box, ANNA), await held(box, BRAM)]).toEqual([0, 1]);
		box.sandbox.clock.advanceTo(after(72));
		expect([await held(box, ANNA), await held(box, BRAM)]).toEqual([0, 0]);
		expect((await summaryOf(box, BRAM, { agencyId: slow.id })).queuedMessages).toBe(0);
		expect(box.agency.contact(ANNA).accepts()).toEqual({ hadHeldText: false });
	});

	test("one jump and many small steps come to the same world", async () => {
		const reported = async (moves: number[]) => {
			const box = await open();
			box.agency.consent.set({ answerWithinHours: 30 });
			box.agency.contact(ANNA).writes("Hello");
			await send(box, { to: BRAM, body: "Held" });
			for (const hours of moves) box.sandbox.clock.advance({ hours });
			const state = JSON.stringify(box.sandbox.snapshot().world);
			await box.close();
			return state;
		};
		expect(await reported(Array(72).fill(1))).toBe(await reported([72]));
	});
});

test("the clock starts at the instant it is given, and refuses what is not an instant", () => {
	expect(createSandbox({ now: "2030-02-03T04:05:06.789Z" }).clock.now().toISOString()).toBe("2030-02-03T04:05:06.789Z");
	expect(() => createSandbox({ now: "soon" })).toThrow();
	expect(Number.isNaN(createSandbox().clock.now().getTime())).toBe(false);
});

test("the clock uses no timers: with all of them frozen a held text is dropped in time", async () => {
	vi.useFakeTimers();
	const sandbox = createSandbox({ now: NOW });
	const { baseUrl, apiKey } = sandbox.connection;
	const agency = sandbox.agency();
	const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
	const body = JSON.stringify({ to: ANNA, body: "Held" });
	await sandbox.fetch(new Request(`${baseUrl}/agencies/${agency.id}/messages`, { method: "POST", headers, body }));
	expect(vi.getTimerCount()).toBe(0);
	const read = async () => {
		const path = `/agencies/${agency.id}/conversations/${encodeURIComponent(ANNA)}`;
		const response = await sandbox.fetch(new Request(baseUrl + path, { headers }));
		return (await response.json()).conversation.summary.queuedMessages;
	};
	expect(await read()).toBe(1);
	vi.advanceTimersByTime(100 * 3_600_000);
	expect(await read()).toBe(1);
	sandbox.clock.advance({ hours: 48 });
	expect(await read()).toBe(0);
	expect(present(sandbox.clock.now()).toISOString()).toBe(after(48));
});

test("the body of an answer ends when fake timers hold queueMicrotask too", async () => {
	vi.useFakeTimers({ toFake: ["setTimeout", "queueMicrotask"] });
	const { connection } = createSandbox({ now: NOW });
	const headers = { authorization: `Bearer ${connection.apiKey}` };
	const { body } = await connection.fetch(`${connection.baseUrl}/me`, { headers });
	const reader = body?.getReader();
	expect((await reader?.read())?.done).toBe(false);
	expect((await reader?.read())?.done).toBe(true);
});
