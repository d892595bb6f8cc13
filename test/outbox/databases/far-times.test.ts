// Times of the future in the tables, from a clock that was wrong or by a hand that slipped. Nothing waits for them.
import { expect, test } from "vitest";
import { newText } from "../store-suite.ts";
import { createWorld, onEachDatabase } from "./healing.ts";

const hour = 3_600_000;
const year = 8_760 * hour;

onEachDatabase(import.meta.url, (open) => {
	async function openWorld() {
		const world = createWorld(await open());
		await world.outbox.migrate();
		return world;
	}

	test.each([
		["a year", year],
		["two hours", 2 * hour],
	])("a queue whose lease ends in %s goes to the next worker, and one that was leased now does not", async (_, ms) => {
		const { enqueue, bodies, passMinute, run, store } = await openWorld();
		const claim = { now: Date.now(), limit: 9, each: 9, leaseMs: 30_000, isReading: false };
		await store.insert({ ...newText, id: "a", agencyId: "agy_a" }, undefined);
		expect(await store.claim(claim)).toHaveLength(1);
		expect(await store.claim(claim)).toEqual([]);
		await enqueue(0, "0");
		await enqueue(1, "1");
		await store.claim({ ...claim, limit: 1, leavesNew: false, now: 1 });
		// The clock of the leases is the database's.
		await run(`update outbox_queues set token = 'gone', lease_until = ${Date.now() + ms} where agency_id <> 'agy_a'`);
		await passMinute();
		expect([0, 1].map(bodies)).toEqual([["0"], ["1"]]);
		expect(await store.claim(claim)).toEqual([]);
	});

	test("an agency whose last turn was in the future has its turn, and others have theirs", async () => {
		const { store, run } = await openWorld();
		await store.insertMany(
			Array.from({ length: 30 }, (_, at) => ({
				...newText,
				id: `t${at}`,
				agencyId: `agy_${at % 3}`,
				to: `+4477009${10_000 + at}`,
				createdAt: 1,
			})),
			undefined,
		);
		const claim = { now: Date.now(), limit: 1, each: 1, leaseMs: 30_000, isReading: false };
		await store.claim(claim);
		await run(`update outbox_agencies set served_at = ${Date.now() + year} where agency_id = 'agy_1'`);
		const served: string[] = [];
		for (let at = 0; at < 9; at++) {
			served.push(...(await store.claim(claim)).map(({ agencyId }) => agencyId));
			await new Promise((resolve) => setTimeout(resolve, 3));
		}
		expect(served.sort()).toEqual(["agy_0", "agy_1", "agy_2"].flatMap((id) => [id, id, id]));
	});

	test.each([
		["an agency", "conversations.get", 403],
		["everybody", "conversations.get", 401],
		["all sends", "messages.send", 403],
	] as const)("a pause of %s until next year ends within a minute", async (_, operation, status) => {
		const { sandbox, outbox, enqueue, bodies, passMinute, run, inHours, open } = await openWorld();
		sandbox.faults.add({ operation, effect: { status }, times: 20 });
		for (const at of [0, 1]) await enqueue(at, `${at}`);
		await outbox.runOnce();
		sandbox.faults.clear();
		const until = inHours(8_760).getTime();
		await run(`update outbox_agencies set paused_until = ${until}, since = ${until} where failures > 0`);
		// Another process knows nothing of the one before.
		const other = open();
		const isPaused = (await other.health()).pauses.length;
		for (let at = 0; at < 3; at++) await passMinute(other);
		expect([0, 1].map(bodies)).toEqual([["0"], ["1"]]);
		expect((await other.health()).pauses).toEqual([]);
		expect(isPaused).toBeGreaterThan(0);
		expect(sandbox.violations()).toEqual([]);
	});

	test("a text that was put off until next year goes out within a minute, unless a person or a hook means that time", async () => {
		const world = await openWorld();
		const { enqueue, bodies, passMinute, run, inHours, sandbox } = world;
		const waitUntil = inHours(40);
		let isAsked = 0;
		const asking = world.open(undefined, undefined, {
			beforeSend: ({ id }) => {
				if (id !== "hook" || sandbox.clock.now() >= waitUntil) return "send";
				isAsked++;
				return { waitUntil, because: "On Monday" };
			},
		});
		sandbox.faults.add({ operation: "messages.send", effect: { status: 500 }, times: 1 });
		await enqueue(0, "failed");
		await asking.runOnce();
		await enqueue(1, "hook");
		await enqueue(2, "later", { notBefore: inHours(40) });
		await enqueue(3, "waits", { notBefore: inHours(0.01) });
		await asking.runOnce();
		sandbox.clock.advance({ hours: 0.02 });
		const far = inHours(8_760).getTime();
		await run(`update outbox_texts set next_at = ${far} where id in ('failed', 'waits')`);
		await run(`update outbox_queues set due_at = ${far}`);
		for (let at = 0; at < 3; at++) await passMinute(asking);
		expect([0, 1, 2, 3].map(bodies)).toEqual([["failed"], [], [], ["waits"]]);
		expect(isAsked).toBe(1);
		sandbox.clock.advance({ hours: 40 });
		for (const contact of world.contacts) contact.writes("Hello again");
		for (let at = 0; at < 2; at++) await passMinute(asking);
		expect([0, 1, 2, 3].map(bodies)).toEqual([["failed"], ["hook"], ["later"], ["waits"]]);
	});

	test("each text goes out once after a worker whose clock was 40 hours ahead", async () => {
		const world = await openWorld();
		const { enqueue, bodies, passMinute, run, sandbox, outbox, agency } = world;
		const ahead = world.open(undefined, undefined, { now: () => sandbox.clock.now().getTime() + 40 * hour });
		for (const [at, phase] of (["after", "before"] as const).entries()) {
			sandbox.faults.add({ operation: "messages.send", phase, effect: "reset" });
			await enqueue(at, `lost ${phase}`);
			await ahead.runOnce();
		}
		sandbox.faults.add({ operation: "messages.send", effect: { status: 500 }, times: 1 });
		await enqueue(2, "failed");
		await ahead.runOnce();
		const asked = agency.contact("+447700900399");
		await outbox.enqueue({ id: "held", agencyId: agency.id, to: asked.phoneNumber, body: "held" });
		await ahead.runOnce();
		expect((await outbox.status("held"))?.state).toBe("held");
		await enqueue(3, "3");
		for (let at = 0; at < 10; at++) await passMinute();
		expect([0, 1, 2, 3].map(bodies)).toEqual([["lost after"], ["lost before"], ["failed"], ["3"]]);
		asked.accepts();
		for (let at = 0; at < 20; at++) await passMinute();
		expect((await outbox.status("held"))?.state).toMatch(/sent|delivered|read/);
		expect(sandbox.requests().filter(({ operation }) => operation === "messages.send")).toHaveLength(7);
		const inDay = sandbox.clock.now().getTime() + 26 * hour;
		expect(
			await run(`select id from outbox_texts where next_at > ${inDay} and state in ('waiting', 'sending', 'held')`),
		).toEqual([]);
		expect(sandbox.violations()).toEqual([]);
	});
});
