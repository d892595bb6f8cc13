// What a store must do. It runs over each store of the package, and over yours: call it with a function that opens an empty one.
import type { NewText, OutboxStore, Progress, Recipient, TextError } from "messaging-conversations/outbox";
import { expect, test } from "vitest";

const lane: Recipient = { agencyId: "agy_1", to: "+447700900101" };
const other: Recipient = { agencyId: "agy_2", to: "+447700900101" };
const noon = Date.parse("2026-01-05T12:00:00Z");

/** Of a text that was not sent yet. */
export const progress: Progress = {
	attempts: 0,
	requests: [],
	generation: 0,
	baseline: null,
	replacedBy: null,
	emptyAt: null,
	looks: 0,
	failures: 0,
	hidden: 0,
	error: null,
};

const textOf = (id: string, rest: Partial<NewText> = {}): NewText => ({
	id,
	...lane,
	body: `Text ${id}`,
	subaccountId: null,
	consentLanguage: null,
	notBefore: null,
	notAfter: null,
	priority: 0,
	createdAt: noon,
	progress,
	...rest,
});

export function storeSuite(open: () => Promise<OutboxStore>): void {
	const opened = async (...texts: NewText[]): Promise<OutboxStore> => {
		const store = await open();
		await store.migrate();
		for (const text of texts) await store.insert(text, undefined);
		return store;
	};
	const ids = async (rows: Promise<{ id: string }[]>) => (await rows).map(({ id }) => id);

	test("migrating twice does nothing", async () => {
		const store = await opened(textOf("a"));
		await store.migrate();
		expect(await store.find("a")).toMatchObject({ id: "a", state: "waiting" });
	});

	test("a text comes back as it went in, to the letter", async () => {
		const given = textOf("a", {
			body: "Één 'quoted' \"text\"; --\n👋 $1 ?",
			subaccountId: "6f9619ff-8b86-4011-b42d-00c04fc964ff",
			consentLanguage: "nl",
			notAfter: noon + 1,
		});
		const store = await opened();
		const stored = await store.insert(given, undefined);
		expect(stored).toMatchObject({
			...given,
			state: "waiting",
			since: noon,
			nextAt: noon,
			version: 0,
			messageId: null,
			queueId: null,
		});
		expect(await store.find("a")).toEqual(stored);
		expect(await store.find("b")).toBeUndefined();
	});

	test("the same id again gives the row that is there, also at the same moment", async () => {
		const store = await opened(textOf("a"));
		expect(await store.insert(textOf("a", { body: "Another" }), undefined)).toMatchObject({ body: "Text a" });
		const both = await Promise.all([store.insert(textOf("b"), undefined), store.insert(textOf("b"), undefined)]);
		expect(new Set(both.map(({ seq }) => seq)).size).toBe(1);
	});

	test("a change is stored once: who read an older row does not overwrite it", async () => {
		const store = await opened(textOf("a"));
		const row = await store.find("a");
		if (!row) throw new Error("no row");
		const error: TextError = { tag: "PartnerConflict", message: "409" };
		const progress = { ...row.progress, attempts: 3, error };
		expect(
			await store.save({
				...row,
				state: "sent",
				since: noon + 5,
				nextAt: null,
				messageId: "SM1",
				queueId: "q1",
				progress,
			}),
		).toBe(true);
		expect(await store.save({ ...row, state: "refused" })).toBe(false);
		expect(await store.find("a")).toEqual({
			...row,
			state: "sent",
			since: noon + 5,
			nextAt: null,
			messageId: "SM1",
			queueId: "q1",
			progress,
			version: 1,
		});
		expect(await store.byMessage("SM1")).toMatchObject({ id: "a" });
		expect(await store.byMessage("SM2")).toBeUndefined();
		expect(await store.claimed(lane)).toEqual(["SM1"]);
		expect(await store.claimed(other)).toEqual([]);
	});

	test("two changes of one row at the same moment: one is stored", async () => {
		const store = await opened(textOf("a"));
		const row = await store.find("a");
		if (!row) throw new Error("no row");
		const saves = await Promise.all([
			store.save({ ...row, state: "sending" }),
			store.save({ ...row, state: "cancelled" }),
		]);
		expect(saves.sort()).toEqual([false, true]);
	});

	test("of a lane comes first what is sending, then what is held, then the oldest; nothing of another lane", async () => {
		const store = await opened(...["a", "b", "c", "d", "e"].map((id) => textOf(id)), textOf("x", other));
		for (const [id, state] of [
			["c", "sending"],
			["b", "held"],
			["d", "sent"],
		] as const) {
			const row = await store.find(id);
			if (row) await store.save({ ...row, state });
		}
		expect(await ids(store.open(lane, 10, noon))).toEqual(["c", "b", "a", "e"]);
		expect(await ids(store.open(lane, 2, noon))).toEqual(["c", "b"]);
		expect(await ids(store.followed(lane, noon))).toEqual(["d"]);
		expect(await ids(store.followed(lane, noon - 1))).toEqual([]);
	});

	test("due are the lanes with a text whose time has come", async () => {
		const store = await opened(textOf("a"), textOf("b"), textOf("x", { ...other, createdAt: noon + 10 }));
		expect(await store.due(noon - 1, 10)).toEqual([]);
		expect(await store.due(noon, 10)).toMatchObject([lane]);
		expect(await store.due(noon + 10, 10)).toMatchObject([lane, other]);
		expect(await store.nextDue()).toBe(noon);
		await store.postpone(lane, noon + 50, noon + 50);
		expect(await store.due(noon + 10, 10)).toMatchObject([other]);
		await store.postpone(lane, noon + 20, noon + 50);
		expect([await store.due(noon + 49, 10), await store.due(noon + 50, 10)]).toMatchObject([[other], [other, lane]]);
	});

	test("a lane with many texts that are due is one lane, and takes no other's place", async () => {
		const many = Array.from({ length: 30 }, (_, index) => textOf(`a${index}`));
		const store = await opened(...many, textOf("x", { ...other, createdAt: noon + 10 }));
		expect(await store.due(noon + 10, 2)).toMatchObject([lane, other]);
		expect(await store.due(noon + 10, 1)).toMatchObject([lane]);
		expect([await store.nextDue(noon - 1), await store.nextDue(noon), await store.nextDue(noon + 10)]).toEqual([
			noon,
			noon + 10,
			undefined,
		]);
	});

	test("waking makes a lane due, of one agency or of all, and recovering makes all due that is unfinished", async () => {
		const store = await opened(textOf("a"), textOf("x", other));
		for (const one of [lane, other]) await store.postpone(one, noon + 1_000, noon + 50);
		await store.wake(lane, noon);
		expect(await store.due(noon, 10)).toMatchObject([lane]);
		await store.wake({ to: lane.to }, noon);
		expect(await store.due(noon, 10)).toHaveLength(2);
		const row = await store.find("a");
		if (row) await store.save({ ...row, state: "sending", nextAt: noon + 65_000 });
		const sent = await store.find("x");
		if (sent) await store.save({ ...sent, state: "sent", nextAt: noon + 65_000 });
		// Looks at a sent text have their own times, and a request that is under way is not disturbed.
		await store.wake({ to: lane.to }, noon);
		expect(await store.due(noon, 10)).toEqual([]);
		await store.recover(noon);
		expect(await store.due(noon, 10)).toMatchObject([lane]);
	});

	test("purging deletes what was finished before, and nothing else", async () => {
		const store = await opened(textOf("a"), textOf("b"), textOf("c"), textOf("d"));
		for (const [id, since, nextAt] of [
			["a", noon - 1, null],
			["b", noon, null],
			["c", noon - 1, noon],
		] as const) {
			const row = await store.find(id);
			if (row) await store.save({ ...row, state: "sent", since, nextAt });
		}
		expect(await store.purge(noon)).toBe(1);
		expect(await store.find("a")).toBeUndefined();
		expect(
			await ids(Promise.all(["b", "c", "d"].map(async (id) => ({ id: (await store.find(id))?.id ?? "gone" })))),
		).toEqual(["b", "c", "d"]);
	});

	test("one process works: the next takes over from the one that it saw, and only that one leaves", async () => {
		const store = await opened();
		const [one, two] = ["one", "two"].map((token) => ({ token, host: "here", pid: 4711, beatAt: noon }));
		if (!one || !two) throw new Error("no workers");
		expect(await store.worker()).toBeUndefined();
		expect(await store.takeOver(one, null)).toBe(true);
		expect(await store.takeOver(two, null)).toBe(false);
		expect(await store.takeOver({ ...one, beatAt: noon + 1 }, "one")).toBe(true);
		expect(await store.worker()).toEqual({ ...one, beatAt: noon + 1 });
		expect(await store.takeOver(two, "one")).toBe(true);
		expect(await store.takeOver(one, "one")).toBe(false);
		await store.leave("one");
		expect(await store.worker()).toEqual(two);
		await store.leave("two");
		expect(await store.worker()).toBeUndefined();
	});
}
