// Which process follows what.
import { equal } from "./assert.ts";
import type { Check } from "./check.ts";

const lease = { topic: "agencies", name: "agy_1", owner: "one" };
const theirs = { ...lease, owner: "two" };

export const leaseChecks: Check[] = [
	{
		title: "a lease is taken by one owner, who can take it again, until that one ends it",
		async run(given) {
			const store = await given();
			equal("takeLease", await store.takeLease(lease), true);
			equal("takeLease of another owner", await store.takeLease(theirs), false);
			equal("takeLease again", await store.takeLease(lease), true);
			await store.endLease(theirs);
			equal("takeLease after another owner has ended it", await store.takeLease(theirs), false);
			await store.endLease(lease);
			equal("takeLease after its owner has ended it", await store.takeLease(theirs), true);
		},
	},
	{
		title: "of owners who take a lease at the same time one gets it",
		async run(given) {
			const store = await given();
			const owners = Array.from({ length: 8 }, (_, at) => `owner ${at}`);
			const taken = await Promise.all(owners.map((owner) => store.takeLease({ ...lease, owner })));
			equal("the owners", taken.filter(Boolean).length, 1);
		},
	},
	{
		title: "leases are prolonged for their owner alone, and counted by topic",
		async run(given) {
			const store = await given();
			const names = Array.from({ length: 250 }, (_, at) => `agy_${at}`);
			for (const name of names.slice(0, 3)) await store.takeLease({ ...lease, name });
			await store.takeLease({ ...theirs, name: "agy_3" });
			await store.takeLease({ ...lease, topic: "other" });
			equal("prolongLeases", await store.prolongLeases("agencies", "one", names), ["agy_0", "agy_1", "agy_2"]);
			equal("prolongLeases of nothing", await store.prolongLeases("agencies", "one", []), []);
			equal("countLeases", await store.countLeases("agencies"), 4);
			equal("countLeases of another topic", await store.countLeases("none"), 0);
			equal("takeLease of another owner", await store.takeLease({ ...theirs, name: "agy_0" }), false);
			equal("takeLease of agy_3", await store.takeLease({ ...lease, name: "agy_3" }), false);
		},
	},
];
