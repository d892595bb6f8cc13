// `insert`, `insertMany`, `supersede`, `cancelIn` and `acknowledge` take part in the caller's transaction.

import type { Superseding } from "../port.ts";
import { equal, like } from "./assert.ts";
import {
	attempted,
	type Check,
	change,
	idsOf,
	noon,
	otherAgency,
	otherNumber,
	recipient,
	rowOf,
	stored,
	textOf,
} from "./check.ts";

/** Runs `act` in a transaction of the store's database. See `StoreChecksOptions`. */
export type RunTransaction = (act: (tx: unknown) => Promise<void>) => Promise<void>;

export function transactionChecks(transaction: RunTransaction): Check[] {
	/** Runs `act` in a transaction that is rolled back. */
	async function rollBack(act: (tx: unknown) => Promise<void>): Promise<void> {
		const reason = new Error("The check rolls its transaction back.");
		const outcome = await transaction(async (tx) => {
			await act(tx);
			throw reason;
		}).then(
			() => "resolved",
			(error: unknown) => (error === reason ? "rejected with the error" : Promise.reject(error)),
		);
		equal("a transaction whose function throws", outcome, "rejected with the error");
	}
	return [
		{
			title: "insert is committed with the caller's transaction, once, or rolled back with it",
			async run(given) {
				const store = await given();
				await rollBack(async (tx) => void (await store.insert(textOf("a"), tx)));
				equal("the rows after a rollback", await stored(store, "a"), []);
				await transaction(async (tx) => void (await store.insert(textOf("a"), tx)));
				equal("the rows after a commit", await stored(store, "a"), ["a"]);
				await transaction(async (tx) => {
					const row = await store.insert(textOf("a", { body: "Another" }), tx);
					equal("insert of an existing id in a transaction", row.body, "Text a");
				});
				await rollBack(async (tx) => void (await store.insert(textOf("a"), tx)));
				equal("the rows after the rollback of a second insert", await stored(store, "a"), ["a"]);
			},
		},
		{
			title: "insertMany is committed with the caller's transaction, or rolled back with it",
			async run(given) {
				const store = await given();
				const texts = ["a", "b"].map((id) => textOf(id));
				await rollBack(async (tx) => void (await store.insertMany(texts, tx)));
				equal("the rows after a rollback of insertMany", await stored(store, "a", "b"), []);
				await transaction(async (tx) => void (await store.insertMany(texts, tx)));
				equal("the rows after a commit of insertMany", await stored(store, "a", "b"), ["a", "b"]);
			},
		},
		{
			title: "cancelIn ends a text that was never requested, and marks any other one that is unfinished",
			async run(given) {
				const store = await given(...["a", "b", "c", "d"].map((id) => textOf(id)));
				await change(store, "b", { ...attempted, nextAt: noon + 99 });
				await change(store, "c", { state: "held" });
				await change(store, "d", { state: "sent" });
				const all = async (tx: unknown): Promise<unknown> => {
					const states = [];
					for (const id of ["a", "b", "c", "d", "e"])
						states.push((await store.cancelIn(id, noon + 7, tx, "Ann"))?.state);
					return states;
				};
				await rollBack(async (tx) => void (await all(tx)));
				like("the row after a rollback of cancelIn", await store.find("a"), { state: "waiting", version: 0 });
				await transaction(async (tx) =>
					equal("cancelIn", await all(tx), ["cancelled", "waiting", "held", "sent", undefined]),
				);
				const ended = {
					state: "cancelled",
					reason: "requested",
					since: noon + 7,
					endedAt: noon + 7,
					nextAt: null,
					unacknowledged: 1,
				};
				like("a cancelled row", await store.find("a"), ended);
				like("a row between two tries", await store.find("b"), { state: "waiting", endedAt: null, nextAt: noon + 7 });
				for (const id of ["b", "c"]) equal(`${id} is marked`, (await rowOf(store, id)).progress.cancelRequested, true);
				for (const id of ["a", "b", "c"])
					like(`who cancelled ${id}`, (await rowOf(store, id)).progress, { cancelledBy: "Ann", cancelledAt: noon + 7 });
				await transaction(async (tx) => void (await store.cancelIn("b", noon + 8, tx)));
				like("who cancelled it first", (await rowOf(store, "b")).progress, {
					cancelledBy: "Ann",
					cancelledAt: noon + 7,
				});
				await store.erase(recipient);
				equal("who cancelled an erased text", (await rowOf(store, "a")).progress.cancelledBy, undefined);
				like("a held row", await store.find("c"), { state: "held", unacknowledged: 2 });
				equal("a sent row", (await rowOf(store, "d")).progress.cancelRequested, undefined);
			},
		},
		{
			title: "supersede ends the earlier text in the same transaction, and does nothing if the text is there",
			async run(given) {
				const store = await given(...["a", "b", "h"].map((id) => textOf(id)));
				const after = async (id: string, old: string, tx: unknown): Promise<Superseding> =>
					store.supersede(textOf(id), { id: old, agencyId: recipient.agencyId }, tx);
				await rollBack(async (tx) => void (await after("c", "a", tx)));
				equal("the rows after a rollback of supersede", await stored(store, "a", "c"), ["a"]);
				like("the earlier text after a rollback", await store.find("a"), { state: "waiting" });
				await transaction(async (tx) => {
					const { text, old } = await after("c", "a", tx);
					equal("supersede", [text?.state, old?.state, old?.reason], ["waiting", "cancelled", "superseded"]);
				});
				like("the earlier text", await store.find("a"), { state: "cancelled", reason: "superseded" });
				like("the new text", await store.find("c"), { state: "waiting" });
				await change(store, "h", { state: "held" });
				await transaction(async (tx) => {
					const { text, old } = await after("c", "b", tx);
					equal("supersede with an id that is there", [text?.version, old?.state], [0, "waiting"]);
					const none = await after("d", "none", tx);
					equal("supersede of a text that is not there", [none.text?.state, none.old], ["waiting", undefined]);
					equal("supersede of a held text", (await after("e", "h", tx)).text?.state, "waiting");
				});
				like("the text that was named with an id that is there", await store.find("b"), { state: "waiting" });
				like("a held text", await store.find("h"), { state: "held", unacknowledged: 2 });
				equal("it is marked", (await rowOf(store, "h")).progress.cancelRequested, true);
			},
		},
		{
			title:
				"supersede takes the place of a text to another number, but not of one of another agency unless it is named",
			async run(given) {
				const store = await given(textOf("a", otherNumber), textOf("b", otherAgency), textOf("s"));
				await change(store, "s", { state: "sending" });
				const after = async (id: string, old: string, agencyId: string, tx: unknown): Promise<Superseding> =>
					store.supersede(textOf(id), { id: old, agencyId }, tx);
				const { agencyId } = recipient;
				await rollBack(async (tx) => void (await after("c", "a", agencyId, tx)));
				like("the text to another number after a rollback", await store.find("a"), { state: "waiting" });
				await transaction(async (tx) => {
					equal("supersede at another number", (await after("c", "a", agencyId, tx)).old?.state, "cancelled");
					const other = await after("d", "b", agencyId, tx);
					equal("supersede at another agency", [other.text, other.old?.state], [undefined, "waiting"]);
					const { text, old } = await after("e", "s", agencyId, tx);
					like("a text that supersedes one that is being sent", text, { state: "waiting" });
					like("supersede of a text that is being sent", old, { state: "sending", unacknowledged: null });
					like("its mark", old?.progress, { cancelRequested: true, superseded: true });
					const named = await after("d", "b", otherAgency.agencyId, tx);
					equal(
						"supersede at an agency that is named",
						[named.text?.state, named.old?.state],
						["waiting", "cancelled"],
					);
				});
				equal("the rows that were stored", await stored(store, "c", "d", "e"), ["c", "d", "e"]);
			},
		},
		{
			title: "confirmLease says in the caller's transaction whose a lease is, and gives it to nobody",
			async run(given) {
				const store = await given();
				const lease = { topic: "agencies", name: "agy_1", owner: "one" };
				await store.takeLease(lease);
				await transaction(async (tx) => {
					equal("confirmLease", await store.confirmLease(lease, tx), true);
					equal("confirmLease of another owner", await store.confirmLease({ ...lease, owner: "two" }, tx), false);
					equal("confirmLease of none", await store.confirmLease({ ...lease, name: "agy_2" }, tx), false);
				});
				equal("takeLease of another owner", await store.takeLease({ ...lease, owner: "two" }), false);
			},
		},
		{
			title: "acknowledge is committed with the caller's transaction, or rolled back with it",
			async run(given) {
				const store = await given(textOf("a"));
				await change(store, "a", { state: "sent", unacknowledged: 1 });
				const changes = [{ id: "a", revision: 1 }];
				await rollBack((tx) => store.acknowledge(changes, tx));
				equal("unacknowledged after a rollback", idsOf(await store.unacknowledged(10)), ["a"]);
				await transaction((tx) => store.acknowledge(changes, tx));
				equal("unacknowledged after a commit", idsOf(await store.unacknowledged(10)), []);
			},
		},
	];
}
