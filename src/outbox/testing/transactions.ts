// `insert` and `acknowledge` take part in the caller's transaction.
import { equal } from "./assert.ts";
import { type Check, change, idsOf, stored, textOf } from "./check.ts";

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
