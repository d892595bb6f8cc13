// What follows from the texts may be deleted, restored or be missing at any time: the queues, and the rows of the agencies.
import { expect, test } from "vitest";
import { newText } from "../store-suite.ts";
import { createWorld, forget, onEachDatabase, people } from "./healing.ts";

onEachDatabase(import.meta.url, (open) => {
	test("each text goes out once, and none after a No, although all queues are deleted again and again", async () => {
		const world = createWorld(await open());
		const { outbox, contacts, sandbox, sending, enqueue, bodies } = world;
		await outbox.migrate();
		for (let at = 0; at < people; at++) for (const part of ["1", "2"]) await enqueue(at, `${at} ${part}`);
		await outbox.optOut({ to: contacts[0]?.phoneNumber ?? "", agencyId: world.agency.id });
		const stop = new AbortController();
		sending.ms = 15;
		const working = Promise.all([world.open(), world.open()].map((each) => each.work({ signal: stop.signal })));
		const isDone = async () => (await outbox.health()).texts.waiting + (await outbox.health()).texts.sending === 0;
		for (let round = 0, end = Date.now() + 180_000; !(await isDone()) && Date.now() < end; round++) {
			if (round < 8) await forget(world);
			await new Promise((resolve) => setTimeout(resolve, 40));
			sandbox.clock.advance({ ms: 5_000 });
		}
		stop.abort();
		await working;
		expect(contacts.map((_, at) => bodies(at))).toEqual(
			contacts.map((_, at) => (at === 0 ? [] : [`${at} 1`, `${at} 2`])),
		);
		expect(sandbox.violations()).toEqual([]);
	});

	test.each(["GET", "POST"] as const)(
		"a worker in the middle of its %s doubles nothing if its lease is deleted",
		async (method) => {
			const world = createWorld(await open());
			const { sandbox, enqueue, bodies, passMinute, sending } = world;
			const { outbox, goOn, isThere } = world.stoppedAt(method);
			await outbox.migrate();
			for (const id of ["1", "2"]) await enqueue(0, id);
			const working = outbox.runOnce();
			await expect.poll(isThere, { timeout: 60_000 }).toBe(true);
			await forget(world);
			// Less than the time after which another worker looks what became of the request.
			await passMinute();
			expect(bodies(0)).toEqual(method === "GET" ? ["1", "2"] : []);
			goOn();
			await working;
			for (let at = 0; at < 3; at++) await passMinute();
			expect(bodies(0)).toEqual(["1", "2"]);
			expect(sending.count).toBe(2);
			expect(sandbox.violations()).toEqual([]);
		},
	);

	test("a text whose queue is missing, or due in a year, goes out within a minute after its time", async () => {
		const world = createWorld(await open());
		const { outbox, enqueue, bodies, passMinute, inHours, run } = world;
		await outbox.migrate();
		for (let at = 0; at < 3; at++) await enqueue(at, `${at}`, { notBefore: inHours(1) });
		await enqueue(2, "2 later", { notBefore: inHours(48) });
		await outbox.runOnce();
		const [first, second, other] = world.contacts.map(({ phoneNumber }) => phoneNumber);
		await run(`delete from outbox_queues where recipient = '${first}'`);
		const inYear = `due_at = ${inHours(8_760).getTime()}`;
		await run(`update outbox_queues set ${inYear} where recipient = '${second}'`);
		await run(`update outbox_queues set due_at = ${inHours(24).getTime()} where recipient = '${other}'`);
		await passMinute();
		expect([0, 1, 2].map(bodies)).toEqual([[], [], []]);
		world.sandbox.clock.advance({ hours: 1 });
		// Those were due too late before their time had come, and this one after.
		await enqueue(3, "3");
		await outbox.runOnce();
		await enqueue(4, "4", { notBefore: inHours(0.1) });
		await outbox.runOnce();
		world.sandbox.clock.advance({ hours: 0.2 });
		await run(`update outbox_queues set ${inYear}`);
		await passMinute();
		expect([0, 1, 2, 3, 4].map(bodies)).toEqual([["0"], ["1"], ["2"], ["3"], ["4"]]);
		const third = "recipient = '+447700900212'";
		const [{ at: dueAt } = {}] = await run(`select due_at as at from outbox_queues where ${third}`);
		const [{ at: nextAt } = {}] = await run(`select min(next_at) as at from outbox_texts where ${third}`);
		expect(Number(dueAt)).toBe(Number(nextAt));
	});

	test("an agency's texts that were copied from another database go out, and its own are left alone", async () => {
		const world = createWorld(await open());
		const { outbox, enqueue, bodies, passMinute, inHours, run, sandbox } = world;
		await outbox.migrate();
		const other = sandbox.link({ name: "Moved" });
		for (const contact of world.contacts) other.contact(contact.phoneNumber).writes("Hello");
		await enqueue(0, "0 before", {}, other.id);
		await enqueue(1, "1 later", { notBefore: inHours(1) }, other.id);
		await outbox.runOnce();
		const sent = await run("select count(*) as n from outbox_texts where message_id is not null");
		expect(Number(sent[0]?.n)).toBe(1);
		// As after a copy of the rows of the texts alone.
		await forget(world);
		await passMinute();
		sandbox.clock.advance({ hours: 1 });
		await passMinute();
		const { inbox } = other.contact(world.contacts[1]?.phoneNumber ?? "");
		expect(inbox().map(({ body }) => body)).toEqual(["1 later"]);
		expect(bodies(1)).toEqual([]);
		expect((await run("select agency_id from outbox_agencies")).map(({ agency_id }) => agency_id)).toContain(other.id);
	});

	test("a text behind a held one waits until that one is read, and its queue is not looked at before", async () => {
		const world = createWorld(await open());
		const { outbox, agency, sandbox, passMinute, run } = world;
		await outbox.migrate();
		const asked = agency.contact("+447700900399");
		for (const id of ["held", "behind"])
			await outbox.enqueue({ id, agencyId: agency.id, to: asked.phoneNumber, body: id });
		await outbox.runOnce();
		expect((await outbox.status("held"))?.state).toBe("held");
		for (let at = 0; at < 30; at++) await passMinute();
		const before = sandbox.requests().length;
		const [queue] = await run("select revision from outbox_queues");
		for (let at = 0; at < 5; at++) await passMinute();
		expect(await run("select revision from outbox_queues")).toEqual([queue]);
		expect(sandbox.requests().length - before).toBeLessThan(5);
	});

	test("of an agency that a person has suspended no queue is looked at again and again", async () => {
		const world = createWorld(await open());
		const { outbox, agency, enqueue, passMinute, run, bodies } = world;
		await outbox.migrate();
		await enqueue(0, "0");
		await enqueue(1, "1");
		await outbox.suspend({ agencyId: agency.id, reason: "Stop", by: "Ann" });
		await passMinute();
		const before = await run("select revision from outbox_queues order by id");
		for (let at = 0; at < 5; at++) await passMinute();
		expect(await run("select revision from outbox_queues order by id")).toEqual(before);
		await forget(world);
		await passMinute();
		expect([0, 1].map(bodies)).toEqual([[], []]);
		await outbox.resume({ agencyId: agency.id });
		await passMinute();
		expect([0, 1].map(bodies)).toEqual([["0"], ["1"]]);
	});

	test("what is missing is found among more texts than one statement looks at", async () => {
		const { store, run } = await open();
		await store.migrate();
		const given = Array.from({ length: 1_300 }, (_, at) => ({
			...newText,
			id: `t${at}`,
			agencyId: `agy_${at % 3}`,
			to: `+4477009${10_000 + Math.floor(at / 3)}`,
			createdAt: 1,
		}));
		await store.insertMany(given, undefined);
		const claim = { now: 10_000_000, limit: 1, each: 1, leaseMs: 1, isReading: false };
		for (let at = 0; at < 20; at++) await store.claim(claim);
		expect(await run("select seq from outbox_texts where arrived = 1")).toEqual([]);
		const queues = async () => Number((await run("select count(*) as n from outbox_queues"))[0]?.n);
		const all = await queues();
		expect(await store.heal(10_000_000)).toBe(0);
		await run("delete from outbox_queues where id % 7 = 0");
		await run("delete from outbox_agencies where agency_id = 'agy_2'");
		expect(await store.heal(10_030_000)).toBe(0);
		expect(await store.heal(10_050_000)).toBeGreaterThan(180);
		expect(await queues()).toBe(all);
		expect(await store.agencies()).toContain("agy_2");
		expect(await store.heal(10_100_000)).toBe(0);
	});
});
