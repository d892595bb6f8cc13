import type { EnqueuedText, Outbox, Transaction } from "messaging-conversations/outbox";
import { expect } from "vitest";
import type { OutboxStore } from "../port.ts";

/** A text in a database, and how its library runs a transaction. */
interface Opened {
	outbox: Outbox;
	store: OutboxStore;
	note: EnqueuedText;
	transaction: (act: (tx: Transaction) => Promise<void>) => Promise<unknown>;
}

const thought = new Error("thought better of it");

/** Cancels, replaces and stores many texts in transactions, each of which ends both ways. */
export async function movesAVisit({ outbox, store, note, transaction }: Opened): Promise<void> {
	const add = (id: string, rest: Partial<EnqueuedText> = {}) => outbox.enqueue({ ...note, id, ...rest });
	const states = async (...ids: string[]) => {
		const rows = await Promise.all(ids.map((id) => store.find(id)));
		return rows.map((row) => row && (row.reason ?? row.state));
	};
	const change = async (id: string, state: "sending" | "held" | "sent") => {
		const row = await store.find(id);
		if (row) await store.save({ ...row, state, ...(state === "sent" && { nextAt: null }) });
	};
	/** Runs it in a transaction that is rolled back, and then in one that is committed. */
	async function both(act: (tx: Transaction) => Promise<unknown>, between: () => Promise<void>): Promise<void> {
		const failing = transaction(async (tx) => {
			await act(tx);
			throw thought;
		});
		await expect(failing).rejects.toThrow(thought.message);
		await between();
		await transaction(async (tx) => void (await act(tx)));
	}

	await add("one");
	await both(
		async (tx) => expect(await outbox.cancel("one", { tx })).toBe(true),
		async () => expect(await states("one")).toEqual(["waiting"]),
	);
	expect(await states("one")).toEqual(["requested"]);
	expect(await store.unacknowledged(1)).toMatchObject([{ id: "one" }]);

	await both(
		(tx) => outbox.enqueue({ ...note, id: "at three", supersedes: "at two" }, { tx }),
		async () => expect(await states("at three")).toEqual([undefined]),
	);
	await both(
		async (tx) => {
			const moved = { ...note, id: "at four", body: "At four.", supersedes: "at three" };
			expect(await outbox.enqueue(moved, { tx })).toMatchObject({ state: "waiting" });
			// A repeat finds the row.
			expect(await outbox.enqueue(moved, { tx })).toMatchObject({ state: "waiting" });
		},
		async () => expect(await states("at three", "at four")).toEqual(["waiting", undefined]),
	);
	expect(await states("at three", "at four")).toEqual(["superseded", "waiting"]);

	await change("at four", "sent");
	await transaction(
		async (tx) => void (await outbox.enqueue({ ...note, id: "at six", supersedes: "at four" }, { tx })),
	);
	expect(await states("at four", "at six")).toEqual(["sent", "waiting"]);
	// What is being sent or held is only marked.
	for (const state of ["sending", "held"] as const) {
		const moved = `moved while ${state}`;
		await add(state);
		await change(state, state);
		await both(
			(tx) => outbox.enqueue({ ...note, id: moved, supersedes: state }, { tx }),
			async () => {
				expect(await states(state, moved)).toEqual([state, undefined]);
				expect((await store.find(state))?.progress.cancelRequested).toBeUndefined();
			},
		);
		expect(await states(state, moved)).toEqual([state, "waiting"]);
		expect((await store.find(state))?.progress).toMatchObject({ cancelRequested: true, superseded: true });
	}

	// The contact's number is corrected, and changed back.
	const corrected = { ...note, to: "+447700900102" };
	await both(
		(tx) => outbox.enqueue({ ...corrected, id: "at seven", supersedes: "at six" }, { tx }),
		async () => expect(await states("at six", "at seven")).toEqual(["waiting", undefined]),
	);
	expect(await states("at six", "at seven")).toEqual(["superseded", "waiting"]);
	await change("at seven", "held");
	await transaction(async (tx) => {
		const { description } = await outbox.enqueue({ ...note, id: "at eight", supersedes: "at seven" }, { tx });
		expect(description).toMatch(/may still arrive at the other number/);
	});
	expect(await states("at seven", "at eight")).toEqual(["held", "waiting"]);
	expect((await store.find("at seven"))?.progress.cancelRequested).toBe(true);

	// An id that has ended is not enqueued again, and what it names stays. The transaction goes on.
	await transaction(async (tx) => {
		const back = async () => outbox.enqueue({ ...note, id: "at six", supersedes: "at eight" }, { tx });
		await expect(back).rejects.toMatchObject({ field: "id", rule: expect.stringMatching(/each occasion/) });
		const again = { ...note, id: "at six", supersedes: "none", priority: 3 };
		expect(await outbox.enqueue(again, { tx })).toMatchObject({
			reason: "superseded",
			ignored: ["priority", "supersedes"],
		});
	});
	expect(await states("at eight", "at six")).toEqual(["waiting", "superseded"]);

	// A text of another agency is not meant unless it is named.
	await add("of another", { agencyId: "agy_other" });
	await transaction(async (tx) => {
		const moved = { ...note, id: "at nine", supersedes: "of another" };
		await expect(async () => outbox.enqueue(moved, { tx })).rejects.toMatchObject({
			field: "supersedes",
			rule: expect.stringMatching(/another agency/),
		});
	});
	expect(await states("of another", "at nine")).toEqual(["waiting", undefined]);
	await transaction(async (tx) => {
		const supersedes = { id: "of another", agencyId: "agy_other" };
		await outbox.enqueue({ ...note, id: "at nine", supersedes }, { tx });
		// The first of these names one that is not there yet.
		await outbox.enqueue({ ...note, id: "at 11", supersedes: "at 10" }, { tx });
		await outbox.enqueue({ ...note, id: "at 10", supersedes: "at 11" }, { tx });
	});
	expect(await states("of another", "at nine", "at 11", "at 10")).toEqual([
		"superseded",
		"waiting",
		"superseded",
		"waiting",
	]);

	const many = Array.from({ length: 450 }, (_, at) => ({ ...note, id: `many ${at}`, body: `Text ${at} 👋` }));
	await both(
		async (tx) => {
			const statuses = await outbox.enqueueMany([...many, { ...note, id: "at nine" }], { tx });
			expect(statuses.map(({ id }) => id)).toEqual([...many.map(({ id }) => id), "at nine"]);
			expect(new Set(statuses.map(({ state }) => state))).toEqual(new Set(["waiting"]));
			expect(statuses.flatMap(({ ignored }) => ignored)).toEqual(["supersedes"]);
		},
		async () => expect(await states("many 0", "many 449")).toEqual([undefined, undefined]),
	);
	const found = await Promise.all(many.map(({ id }) => store.find(id)));
	expect(found.map((row) => row?.body)).toEqual(many.map(({ body }) => body));
	expect(found.every((row) => row?.state === "waiting" && row.nextAt === row.createdAt)).toBe(true);
	await transaction(async (tx) => {
		const other = async () => outbox.enqueueMany([{ ...note, id: "many 3" }], { tx });
		await expect(other).rejects.toMatchObject({ field: "texts[0].id", operation: "enqueueMany" });
	});
	expect((await outbox.enqueueMany(many)).every(({ state }) => state === "waiting")).toBe(true);
}
