// What a store must do. It runs over each store of the package, and over yours: call it with a function that opens an empty one.
import type { NewText, OutboxStore, OutboxText, Progress, Recipient, TextError } from "messaging-conversations/outbox";
import { expect, test } from "vitest";

const queue: Recipient = { agencyId: "agy_1", to: "+447700900101" };
const other: Recipient = { agencyId: "agy_2", to: "+447700900101" };
const noon = Date.parse("2026-01-05T12:00:00Z");

/** Of a text that was not sent yet. */
const progress: Progress = {
	attempts: 0,
	requests: [],
	generation: 0,
	baseline: null,
	replacedBy: null,
	emptyAt: null,
	reads: 0,
	failures: 0,
	hidden: 0,
	error: null,
};

/** A text as it is enqueued, without its id. */
export const newText: Omit<NewText, "id"> = {
	...queue,
	body: "Hi",
	subaccountId: null,
	consentLanguage: null,
	notBefore: null,
	notAfter: null,
	priority: 0,
	createdAt: noon,
	progress,
};

const textOf = (id: string, rest: Partial<NewText> = {}): NewText => ({ ...newText, id, body: `Text ${id}`, ...rest });

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
			notBefore: noon - 1,
			notAfter: noon + 1,
			priority: -3,
		});
		const store = await opened();
		const stored = await store.insert(given, undefined);
		expect(stored).toEqual({
			...given,
			seq: expect.any(Number),
			state: "waiting",
			reason: null,
			since: noon,
			nextAt: noon,
			readyAt: noon - 1,
			version: 0,
			messageId: null,
			queueId: null,
			unacknowledged: null,
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
				reason: "declined",
				since: noon + 5,
				nextAt: null,
				readyAt: noon + 6,
				messageId: "SM1",
				queueId: "q1",
				unacknowledged: 1,
				progress,
			}),
		).toBe(true);
		expect(await store.save({ ...row, state: "refused" })).toBe(false);
		expect(await store.find("a")).toEqual({
			...row,
			state: "sent",
			reason: "declined",
			since: noon + 5,
			nextAt: null,
			readyAt: noon + 6,
			messageId: "SM1",
			queueId: "q1",
			unacknowledged: 1,
			progress,
			version: 1,
		});
		expect(await store.byMessage("SM1")).toMatchObject({ id: "a" });
		expect(await store.byMessage("SM2")).toBeUndefined();
		expect(await store.claimed(queue)).toEqual(["SM1"]);
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

	test("of a queue comes first what is sending, then what is held, then the oldest; nothing of another queue", async () => {
		const store = await opened(...["a", "b", "c", "d", "e"].map((id) => textOf(id)), textOf("x", other));
		for (const [id, state] of [
			["c", "sending"],
			["b", "held"],
			["d", "sent"],
		] as const) {
			const row = await store.find(id);
			if (row) await store.save({ ...row, state });
		}
		expect(await ids(store.open(queue, 10, noon))).toEqual(["c", "b", "a", "e"]);
		expect(await ids(store.open(queue, 2, noon))).toEqual(["c", "b"]);
		expect(await ids(store.followed(queue, noon))).toEqual(["d"]);
		expect(await ids(store.followed(queue, noon - 1))).toEqual([]);
	});

	test("due are the queues with a text whose time has come", async () => {
		const store = await opened(textOf("a"), textOf("b"), textOf("x", { ...other, createdAt: noon + 10 }));
		expect(await store.due(noon - 1, 10)).toEqual([]);
		expect(await store.due(noon, 10)).toMatchObject([queue]);
		expect(await store.due(noon + 10, 10)).toMatchObject([queue, other]);
		expect(await store.nextDue()).toBe(noon);
		await store.postpone(queue, noon + 50, noon + 50);
		expect(await store.due(noon + 10, 10)).toMatchObject([other]);
		await store.postpone(queue, noon + 20, noon + 50);
		expect([await store.due(noon + 49, 10), await store.due(noon + 50, 10)]).toMatchObject([[other], [other, queue]]);
	});

	test("a queue with many texts that are due is one queue, and takes no other's place", async () => {
		const many = Array.from({ length: 250 }, (_, index) => textOf(`a${index}`));
		const store = await opened(...many, textOf("x", { ...other, createdAt: noon + 10 }));
		expect(await store.due(noon + 10, 2)).toMatchObject([queue, other]);
		expect(await store.due(noon + 10, 1)).toMatchObject([queue]);
		expect([await store.nextDue(noon - 1), await store.nextDue(noon), await store.nextDue(noon + 10)]).toEqual([
			noon,
			noon + 10,
			undefined,
		]);
	});

	test("waking makes a queue due, of one agency or of all, and recovering makes all due that is unfinished", async () => {
		const store = await opened(textOf("a"), textOf("x", other));
		for (const one of [queue, other]) await store.postpone(one, noon + 1_000, noon + 50);
		await store.wake(queue, noon);
		expect(await store.due(noon, 10)).toMatchObject([queue]);
		await store.wake({ to: queue.to }, noon);
		expect(await store.due(noon, 10)).toHaveLength(2);
		const row = await store.find("a");
		if (row) await store.save({ ...row, state: "sending", nextAt: noon + 65_000 });
		const sent = await store.find("x");
		if (sent) await store.save({ ...sent, state: "sent", nextAt: noon + 65_000 });
		// Looks at a sent text have their own times, and a request that is under way is not disturbed.
		await store.wake({ to: queue.to }, noon);
		expect(await store.due(noon, 10)).toEqual([]);
		await store.recover(noon);
		expect(await store.due(noon, 10)).toMatchObject([queue]);
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

	/** Changes a row as the outbox does, and expects it to be stored. */
	const saved = async (
		store: OutboxStore,
		id: string,
		change: Partial<OutboxText>,
		options?: { stops?: boolean },
	): Promise<OutboxText> => {
		const row = await store.find(id);
		if (!row) throw new Error("no row");
		expect(await store.save({ ...row, ...change }, options)).toBe(true);
		return { ...row, ...change, version: row.version + 1 };
	};
	const attempted: Partial<OutboxText> = { progress: { ...progress, attempts: 1 } };
	const stopsOf = async (store: OutboxStore, recipient: Recipient) =>
		Object.fromEntries((await store.open(recipient, 10, noon)).map(({ id, stoppedBy }) => [id, stoppedBy]));

	test("a stop covers the texts of a queue that are there, and none that comes later", async () => {
		const store = await opened(textOf("a"), textOf("b"), textOf("x", other));
		const before = await store.find("a");
		await store.stop(queue);
		await store.insert(textOf("c"), undefined);
		expect(await stopsOf(store, queue)).toEqual({ a: "cancel", b: "cancel", c: null });
		expect(await stopsOf(store, other)).toEqual({ x: null });
		const [later, foreign] = [await store.find("c"), await store.find("x")];
		if (!before || !later || !foreign) throw new Error("no row");
		expect(await store.save({ ...before, state: "sending" }, { unlessStopped: true })).toBe(false);
		expect(await store.find("a")).toEqual(before);
		expect(await store.save({ ...later, state: "sending" }, { unlessStopped: true })).toBe(true);
		expect(await store.save({ ...foreign, state: "sending" }, { unlessStopped: true })).toBe(true);
		// What ends a text is stored all the same.
		expect(await store.save({ ...before, state: "cancelled", nextAt: null })).toBe(true);
		// A second stop covers what came after the first.
		await store.stop(queue);
		expect(await stopsOf(store, queue)).toMatchObject({ b: "cancel", c: "cancel" });
	});

	test("a stop without an agency covers the number in all agencies", async () => {
		const store = await opened(textOf("a"), textOf("x", other), textOf("z", { to: "+447700900102" }));
		await store.stop({ to: queue.to });
		await store.insert(textOf("y", other), undefined);
		expect(await stopsOf(store, queue)).toEqual({ a: "cancel" });
		expect(await stopsOf(store, other)).toEqual({ x: "cancel", y: null });
		expect(await stopsOf(store, { ...queue, to: "+447700900102" })).toEqual({ z: null });
		const row = await store.find("x");
		expect(row && (await store.save({ ...row, state: "sending" }, { unlessStopped: true }))).toBe(false);
	});

	test("the change that ends a lost text stops its queue", async () => {
		const store = await opened(textOf("a"), textOf("b"), textOf("x", other));
		await saved(store, "a", { state: "dropped", nextAt: null }, { stops: true });
		await store.insert(textOf("c"), undefined);
		expect(await stopsOf(store, queue)).toEqual({ b: "drop", c: null });
		expect(await stopsOf(store, other)).toEqual({ x: null });
		const row = await store.find("b");
		expect(row && (await store.save({ ...row, state: "sending" }, { unlessStopped: true }))).toBe(false);
		await store.stop(queue);
		expect(await stopsOf(store, queue)).toEqual({ b: "cancel", c: "cancel" });
	});

	test("a change that is not stored stops nothing", async () => {
		const store = await opened(textOf("a"), textOf("b"));
		const row = await store.find("a");
		if (!row) throw new Error("no row");
		await saved(store, "a", { state: "held" });
		expect(await store.save({ ...row, state: "dropped" }, { stops: true })).toBe(false);
		expect(await stopsOf(store, queue)).toEqual({ a: null, b: null });
	});

	test("a higher priority comes first, except before a text that was attempted", async () => {
		const store = await opened(
			...[0, 5, -1, 5].map((priority, at) => textOf(`t${at}`, { priority })),
			textOf("x", { ...other, priority: 1, createdAt: noon + 10 }),
		);
		expect(await ids(store.open(queue, 10, noon))).toEqual(["t1", "t3", "t0", "t2"]);
		await saved(store, "t2", attempted);
		expect(await ids(store.open(queue, 10, noon))).toEqual(["t2", "t1", "t3", "t0"]);
		await saved(store, "t0", { state: "held", ...attempted });
		expect(await ids(store.open(queue, 3, noon))).toEqual(["t0", "t2", "t1"]);
	});

	test("of the queues that are due, those with a text of a higher priority come first", async () => {
		const store = await opened(
			textOf("a", { createdAt: noon - 20 }),
			textOf("b", { to: "+447700900102", priority: 1, createdAt: noon - 10 }),
			textOf("x", { ...other, priority: 1 }),
			textOf("late", { to: "+447700900103", priority: 9, createdAt: noon + 1 }),
			textOf("low", { to: "+447700900104", priority: -1 }),
		);
		const numbers = async (limit: number) => (await store.due(noon, limit)).map(({ agencyId, to }) => [agencyId, to]);
		const all = [
			["agy_1", "+447700900102"],
			["agy_2", "+447700900101"],
			["agy_1", "+447700900101"],
			["agy_1", "+447700900104"],
		];
		expect(await numbers(10)).toEqual(all);
		expect(await numbers(2)).toEqual(all.slice(0, 2));
		const [first] = await store.due(noon, 1);
		expect(first?.seq).toBe((await store.find("b"))?.seq);
	});

	test.each([3, 205])("behind a long queue, each of %i other queues is found once", async (count) => {
		const others = Array.from({ length: count }, (_, at) => ({ to: `+4477008${String(at).padStart(5, "0")}` }));
		const store = await opened(
			...Array.from({ length: 230 }, (_, at) => textOf(`a${at}`)),
			...others.map((recipient, at) => textOf(`x${at}`, { ...recipient, createdAt: noon + 1 + at })),
			textOf("y", { ...other, createdAt: noon + 900 }),
			textOf("late", { to: "+447700900999", createdAt: noon + 9_000 }),
			textOf("low", { to: "+447700900998", priority: -1 }),
		);
		const numbers = async (limit: number) => (await store.due(noon + 1_000, limit)).map(({ to }) => to);
		const all = [queue.to, ...others.map(({ to }) => to), other.to, "+447700900998"];
		expect(await numbers(1_000)).toEqual(all);
		expect(await numbers(2)).toEqual(all.slice(0, 2));
	});

	test("a text whose time has not come keeps nothing back", async () => {
		const store = await opened(textOf("later", { notBefore: noon + 100 }), textOf("now"));
		expect(await store.find("later")).toMatchObject({ nextAt: noon + 100, readyAt: noon + 100 });
		expect(await ids(store.open(queue, 10, noon))).toEqual(["now"]);
		expect(await ids(store.open(queue, 10, noon + 100))).toEqual(["later", "now"]);
		// It is not put off with the others, and nothing wakes it before its time.
		await store.postpone(queue, noon + 500, noon);
		expect([await store.find("later"), await store.find("now")]).toMatchObject([
			{ nextAt: noon + 100 },
			{ nextAt: noon + 500 },
		]);
		await store.putOff(queue, noon + 700);
		await store.wake(queue, noon);
		expect([await store.find("later"), await store.find("now")]).toMatchObject([
			{ nextAt: noon + 100 },
			{ nextAt: noon },
		]);
		await store.putOff(queue, noon + 700);
		await store.recover(noon);
		expect([await store.find("later"), await store.find("now")]).toMatchObject([
			{ nextAt: noon + 100 },
			{ nextAt: noon },
		]);
		// One that was attempted has its turn at once.
		await saved(store, "later", attempted);
		expect(await ids(store.open(queue, 10, noon))).toEqual(["later", "now"]);
		await store.wake(queue, noon);
		expect(await store.find("later")).toMatchObject({ nextAt: noon });
	});

	test("unfinished are the waiting, sending and held texts of a number, of one agency or of all", async () => {
		const store = await opened(...["a", "b", "c", "d"].map((id) => textOf(id)), textOf("x", other));
		await saved(store, "a", { state: "held" });
		await saved(store, "b", { state: "sending" });
		await saved(store, "c", { state: "sent" });
		await saved(store, "d", { nextAt: noon + 9_000, readyAt: noon + 9_000 });
		expect(await ids(store.unfinished(queue))).toEqual(["a", "b", "d"]);
		expect(await ids(store.unfinished({ to: queue.to }))).toEqual(["a", "b", "d", "x"]);
		expect(await store.unfinished({ to: "+447700900102" })).toEqual([]);
	});

	test("all texts of a queue can be put off, and its next time is known", async () => {
		const store = await opened(textOf("a"), textOf("b"), textOf("c"), textOf("x", other));
		await saved(store, "a", { state: "sent" });
		await saved(store, "b", { state: "sent", nextAt: null });
		await saved(store, "c", { nextAt: noon + 50 });
		expect(await store.nextOf(queue)).toBe(noon);
		await store.putOff(queue, noon + 20);
		expect(await store.nextOf(queue)).toBe(noon + 20);
		await store.putOff(queue, noon + 70);
		expect([await store.find("a"), await store.find("b"), await store.find("c")]).toMatchObject([
			{ nextAt: noon + 70 },
			{ nextAt: null },
			{ nextAt: noon + 70 },
		]);
		expect([await store.nextOf(other), await store.nextOf({ ...queue, to: "+447700900102" })]).toEqual([
			noon,
			undefined,
		]);
	});

	test("a job finds the queue of a text by its order of arrival", async () => {
		const store = await opened(textOf("a"), textOf("x", other));
		const [a, x] = [await store.find("a"), await store.find("x")];
		expect([await store.recipientOf(a?.seq ?? 0), await store.recipientOf(x?.seq ?? 0)]).toEqual([queue, other]);
		expect(await store.recipientOf(4_711)).toBeUndefined();
	});

	test("what has ended is listed until it is acknowledged, and again when it has changed since", async () => {
		const store = await opened(...["a", "b", "c"].map((id) => textOf(id)));
		expect(await store.unacknowledged(10)).toEqual([]);
		await saved(store, "b", { state: "sent", since: noon + 1, unacknowledged: 1 });
		await saved(store, "a", { state: "cancelled", since: noon + 2, nextAt: null, unacknowledged: 1 });
		expect(await ids(store.unacknowledged(10))).toEqual(["b", "a"]);
		expect(await ids(store.unacknowledged(1))).toEqual(["b"]);
		await saved(store, "b", { state: "delivered", since: noon + 3, unacknowledged: 2 });
		await store.acknowledge(
			[
				{ id: "a", revision: 1 },
				{ id: "b", revision: 1 },
				{ id: "nobody", revision: 1 },
			],
			undefined,
		);
		expect(await store.unacknowledged(10)).toMatchObject([{ id: "b", state: "delivered", unacknowledged: 2 }]);
		await store.acknowledge([{ id: "b", revision: 2 }], undefined);
		expect(await store.unacknowledged(10)).toEqual([]);
		const many = Array.from({ length: 2_001 }, (_, at) => ({ id: `t${at}`, revision: at }));
		await store.acknowledge(many, undefined);
	});

	test("what is erased leaves its id, and neither number nor text", async () => {
		const store = await opened(
			...["a", "b", "c", "d"].map((id) => textOf(id, { subaccountId: "s", consentLanguage: "nl" })),
			textOf("x", other),
		);
		const ended: Partial<OutboxText> = { state: "sent", since: noon - 9, messageId: "SM1", queueId: "q1" };
		for (const id of ["a", "b"]) await saved(store, id, { ...ended, ...attempted });
		await saved(store, "c", { state: "held" });
		await saved(store, "x", { ...ended, messageId: "SM2", nextAt: null });
		await store.erase(queue);
		for (const id of ["a", "b"]) {
			const row = await store.find(id);
			expect(row).toMatchObject({ id, state: "sent", to: "", body: "", messageId: null, queueId: null, nextAt: null });
			expect(row).toMatchObject({ subaccountId: null, consentLanguage: null, version: 2 });
			expect(row?.progress).toMatchObject({ attempts: 0, requests: [], baseline: null, error: null });
			expect(await store.recipientOf(row?.seq ?? 0)).toBeUndefined();
			expect(await store.insert(textOf(id), undefined)).toEqual(row);
		}
		expect(await store.byMessage("SM1")).toBeUndefined();
		expect(await store.claimed(queue)).toEqual([]);
		// What has not ended stays, and so does another agency's.
		expect([await store.find("c"), await store.find("d"), await store.find("x")]).toMatchObject([queue, queue, other]);
		await store.erase({ id: "c" });
		expect(await store.find("c")).toMatchObject(queue);
		await saved(store, "c", { state: "dropped", nextAt: null, since: noon - 9 });
		await store.erase({ id: "c" });
		expect(await store.find("c")).toMatchObject({ to: "", state: "dropped" });
		await store.erase({ to: other.to });
		expect(await store.find("x")).toMatchObject({ to: "", state: "sent" });
		// They outlive the other rows, because the service may know their ids for ever.
		await saved(store, "d", { state: "sent", nextAt: null, since: noon - 9 });
		expect(await store.purge(noon)).toBe(1);
		expect(
			await ids(Promise.all(["a", "b", "c", "x"].map(async (id) => ({ id: (await store.find(id))?.id ?? "" })))),
		).toEqual(["a", "b", "c", "x"]);
		expect(await store.find("d")).toBeUndefined();
	});

	test("one process works: the next takes over from the one that it saw, and only that one leaves", async () => {
		const store = await opened();
		const [one, two] = ["one", "two"].map((token) => ({
			token,
			host: "here",
			pid: 4711,
			startedAt: noon - 1,
			beatAt: noon,
		}));
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
