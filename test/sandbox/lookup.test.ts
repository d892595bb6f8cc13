import { expect, test } from "vitest";
import { ANNA, after, BELGIAN, BRAM, CARL, call, list, lookup, only, throughEachEntryPoint } from "./entry-points.ts";

throughEachEntryPoint((open) => {
	test("R61 takes 1 to 100 strings of 1 to 32 characters and no other field", async () => {
		const box = await open();
		const path = `/agencies/${box.agency.id}/conversations/lookup`;
		for (const body of [
			{},
			{ phoneNumbers: null },
			{ phoneNumbers: ANNA },
			{ phoneNumbers: [ANNA], extra: 1 },
			{ numbers: [ANNA] },
		]) {
			(await call(box, "POST", path, { body })).refused(400);
		}
		const long = `+${"1".repeat(32)}`;
		for (const numbers of [[], Array(101).fill(ANNA), [1], [null], [ANNA, [ANNA]], [""], [ANNA, ""], [long]]) {
			expect((await lookup(box, numbers)).refused(400).message).toMatch(/phoneNumbers/);
		}
		expect((await lookup(box, Array(100).fill(ANNA))).ok().results).toHaveLength(100);
		expect((await lookup(box, [long.slice(0, 32)])).ok().results).toHaveLength(1);
		expect((await lookup(box, ["1"])).ok().results).toHaveLength(1);
	});

	test("R62 answers one result a number, in their order, duplicates too", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		const numbers = [CARL, ANNA, BRAM, ANNA, CARL];
		const { results } = (await lookup(box, numbers)).ok();
		expect(results.map((entry) => entry.phoneNumber)).toEqual(numbers);
		expect(results.map((entry) => entry.conversation?.phoneNumber ?? null)).toEqual([null, ANNA, null, ANNA, null]);
	});

	test("R63 repeats each number exactly as it was sent", async () => {
		const box = await open();
		box.agency.contact(BELGIAN).writes("Hello");
		const numbers = [" 0470 12 34 56", "0032470123456", "+32 (470) 12.34-56", "0470/12 34 56 ", "nonsense"];
		expect((await lookup(box, numbers)).ok().results.map((entry) => entry.phoneNumber)).toEqual(numbers);
	});

	test("R64 answers null for a conversation that does not exist, or that this agency may not see", async () => {
		const box = await open();
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		box.agency.conversation(anna).hide();
		box.sandbox.link({ name: "Elsewhere" }).contact(BRAM).writes("Hello");
		const { results } = (await lookup(box, [ANNA, BRAM, CARL])).ok();
		expect(results.map((entry) => entry.conversation)).toEqual([null, null, null]);
	});

	test("R65 gives the summary of the list, without its cursor", async () => {
		const box = await open();
		box.agency.contact(BELGIAN, { name: "Bea" }).writes("Hello");
		const row = only((await list(box)).ok().conversations);
		const found = only((await lookup(box, ["0470123456"])).ok().results).conversation;
		expect(found).toEqual({ ...row, cursor: null });
		expect(found).toMatchObject({ phoneNumber: BELGIAN, windowExpiresAt: after(24) });
	});

	test("R66 makes no conversation by looking", async () => {
		const box = await open();
		await lookup(box, [ANNA, BRAM]);
		expect((await list(box)).ok().conversations).toEqual([]);
		expect(box.agency.contact(ANNA).inbox()).toEqual([]);
	});

	test("R67 finds one conversation by its local, its 00 and its E.164 form", async () => {
		const box = await open();
		box.agency.contact(BELGIAN).writes("Hello");
		const { results } = (await lookup(box, ["0470123456", "0032470123456", BELGIAN, "0470 12 34 56"])).ok();
		expect(results.map((entry) => entry.conversation?.phoneNumber)).toEqual(Array(4).fill(BELGIAN));
	});

	test("R68 answers null for an item that is not a phone number", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		const { results } = (await lookup(box, ["abc", ANNA, "+", "112"])).ok();
		expect(results.map((entry) => entry.conversation?.phoneNumber ?? null)).toEqual([null, ANNA, null, null]);
	});

	test("R68 refuses an item that is not a phone number under policy.lookupInvalid 400", async () => {
		const box = await open({ policy: { lookupInvalid: "400" } });
		expect((await lookup(box, ["abc", ANNA])).refused(400).message).toMatch(/phoneNumbers/);
		expect(only((await lookup(box, [ANNA])).ok().results).conversation).toBeNull();
	});
});
