// Which worker has which queue, whose turn it is, and who is paused.
import type { ClaimOptions, Lease, OutboxStore, OutboxText } from "../port.ts";
import { equal, like } from "./assert.ts";
import { type Check, change, noon, otherAgency, otherNumber, recipient, rowOf, textOf } from "./check.ts";

/** A number for films and books. */
const numberAt = (end: number): string => `+447700900${end}`;

/** Long enough for the slowest database. */
const leaseMs = 600_000;

function claim(store: OutboxStore, options: Partial<ClaimOptions> = {}): Promise<Lease[]> {
	return store.claim({ now: noon, limit: 100, each: 100, leaseMs, isReading: false, ...options });
}

/** The numbers of the queues that are leased. */
const numbers = (leases: readonly Lease[]): string[] => leases.map(({ to }) => to).sort();

async function one(store: OutboxStore, options: Partial<ClaimOptions> = {}): Promise<Lease> {
	const [lease] = await claim(store, options);
	if (!lease) throw new Error("claim: expected a lease, got none");
	return lease;
}

const who = ({ agencyId, to }: Lease) => ({ agencyId, to });

/** Waits until the lease has expired by the clock of the database. */
async function expired(store: OutboxStore): Promise<Lease> {
	for (const end = Date.now() + 60_000; Date.now() < end; ) {
		const [lease] = await claim(store);
		if (lease) return lease;
		await new Promise((resolve) => setTimeout(resolve, 10));
	}
	throw new Error("claim: a lease of 1 millisecond has not expired within a minute");
}

function begin(store: OutboxStore, text: OutboxText, lease: Lease): Promise<boolean> {
	return store.save({ ...text, state: "sending" }, { unlessStopped: true, lease, leaseMs });
}

export const claimChecks: Check[] = [
	{
		title: "of two claims at the same moment each takes the turn of another agency",
		async run(given) {
			const agencies = ["agy_1", "agy_2"];
			const texts = agencies.flatMap((agencyId) =>
				["+447700900101", "+447700900102", "+447700900103", "+447700900104"].map((to) =>
					textOf(`${agencyId} ${to}`, { agencyId, to }),
				),
			);
			const store = await given(...texts);
			const options = { now: noon, limit: 1, each: 1, leaseMs: 1_000, isReading: false };
			for (let round = 0; round < 3; round++) {
				const leases = (await Promise.all([store.claim(options), store.claim(options)])).flat();
				equal("the agencies of two claims", leases.map(({ agencyId }) => agencyId).sort(), agencies);
			}
		},
	},
	{
		title: "heal finds nothing missing while each text is in its queue, or is to be put into it",
		async run(given) {
			const later = noon + 3_600_000;
			const store = await given(textOf("a"), textOf("b", { ...otherNumber, notBefore: later }));
			equal("heal of texts that are new", await store.heal(noon), 0);
			const lease = await one(store);
			equal("heal while a queue is leased", await store.heal(noon + 60_000), 0);
			await store.release(lease, { at: noon, band: 1 });
			await store.insert(textOf("c", otherAgency), undefined);
			equal("heal of texts that wait for their time", await store.heal(noon + 120_000), 0);
		},
	},
	{
		title: "claim leases each queue that is due once, whatever the number of its texts",
		async run(given) {
			const store = await given(
				...Array.from({ length: 230 }, (_, at) => textOf(`a${at}`)),
				textOf("b", otherNumber),
				textOf("x", otherAgency),
				textOf("late", { to: "+447700900103", createdAt: noon + 1 }),
			);
			equal("claim before all texts", await claim(store, { now: noon - 1 }), []);
			const leases = await claim(store);
			equal("the numbers of claim", numbers(leases), [recipient.to, otherAgency.to, otherNumber.to].sort());
			equal("a second claim", await claim(store), []);
			equal("a later claim", numbers(await claim(store, { now: noon + 1 })), ["+447700900103"]);
		},
	},
	{
		title: "claims at the same moment never lease a queue twice",
		async run(given) {
			const texts = Array.from({ length: 40 }, (_, at) => textOf(`a${at}`, { to: numberAt(110 + at) }));
			const store = await given(...texts);
			const found: Lease[] = [];
			for (let round = 0; round < 40 && found.length < texts.length; round++) {
				const some = await Promise.all([1, 2, 3, 4].map(() => claim(store, { limit: 4, each: 4 })));
				found.push(...some.flat());
			}
			equal("the numbers of all claims", numbers(found), texts.map(({ to }) => to).sort());
		},
	},
	{
		title: "rest ends a lease if its queue is empty, or if what is due first is to be read later",
		async run(given) {
			const store = await given(textOf("a"), textOf("b", otherNumber));
			const [lease, other] = await claim(store);
			if (!lease || !other) throw new Error("claim: expected two leases");
			const [first, second] = lease.to === recipient.to ? [lease, other] : [other, lease];
			equal("isFollowing of a new text's queue", first.isFollowing, false);
			equal("rest while a text is due", await store.rest(first, noon), false);
			await change(store, "a", { nextAt: noon + 100 });
			equal("rest while a text waits", await store.rest(first, noon), false);
			const sent = { state: "sent", messageId: "SM1", nextAt: noon + 100 } as const;
			await change(store, "a", sent);
			equal("rest at the time of a read", await store.rest(first, noon + 100), false);
			equal("rest before a read", await store.rest(first, noon), true);
			equal("rest without the lease", await store.rest(first, noon), false);
			equal("claim before the read", await claim(store, { now: noon + 99, isReading: true }), []);
			const [read] = await claim(store, { now: noon + 100, isReading: true });
			like("the lease of the read", read, { to: first.to, band: 3, isFollowing: true });
			await change(store, "b", { state: "cancelled", nextAt: null });
			await store.insert(textOf("c", otherNumber), undefined);
			equal("claim of what is leased", await claim(store), []);
			equal("rest after a new text", await store.rest(second, noon), false);
			await store.release(second, { at: noon, band: 1 });
			const again = await one(store);
			await change(store, "c", { state: "cancelled", nextAt: null });
			equal("rest of an empty queue", await store.rest(again, noon), true);
			equal("claim of an empty queue", await claim(store, { now: noon + 1_000_000 }), []);
		},
	},
	{
		title: "release makes a queue due again at its time, or removes it",
		async run(given) {
			const store = await given(textOf("a"));
			await store.release(await one(store), { at: noon + 10, band: 1 });
			equal("claim before that time", await claim(store, { now: noon + 9 }), []);
			await store.release(await one(store, { now: noon + 10 }));
			equal("claim of a queue without texts", await claim(store, { now: noon + 10_000 }), []);
			await store.insert(textOf("b"), undefined);
			like("claim after a new text", (await claim(store)).map(who), [recipient]);
		},
	},
	{
		title: "a text that is inserted while its queue is leased makes it due again after release",
		async run(given) {
			const store = await given(textOf("a"));
			for (const next of [undefined, { at: noon + 9_000, band: 1 as const }]) {
				const lease = await one(store);
				await store.insert(textOf(`b${next?.at}`), undefined);
				equal("claim while it is leased", await claim(store), []);
				await store.release(lease, next);
				const again = await one(store);
				like("claim after release", who(again), recipient);
				await store.release(again, { at: noon, band: 1 });
			}
		},
	},
	{
		title: "wake makes a queue due that is leased, in one agency or in all",
		async run(given) {
			const store = await given(textOf("a"), textOf("x", otherAgency));
			const later = { at: noon + 9_000, band: 3 as const };
			for (const lease of await claim(store)) await store.release(lease, later);
			await store.wake(recipient, noon);
			const lease = await one(store);
			like("claim after wake", who(lease), recipient);
			await store.wake({ to: recipient.to }, noon);
			like("claim after wake of the number", (await claim(store)).map(who), [otherAgency]);
			await store.release(lease, later);
			like("claim after release", (await claim(store)).map(who), [recipient]);
		},
	},
	{
		title: "a lease expires, and then its worker can neither begin a request nor release the queue",
		async run(given) {
			const store = await given(textOf("a"));
			const old = await one(store, { leaseMs: 1 });
			const lease = await expired(store);
			const row = await rowOf(store, "a");
			equal("save with the old lease", await begin(store, row, old), false);
			equal("the row after it", await store.find("a"), row);
			await store.release(old);
			await store.renew([old.token], leaseMs);
			equal("claim after release of the old lease", await claim(store), []);
			equal("save with the new lease", await begin(store, row, lease), true);
			equal("save of an older row", await begin(store, row, lease), false);
		},
	},
	{
		title: "a lease that ends later than any worker takes one is none",
		async run(given) {
			const store = await given(textOf("a"));
			const old = await one(store, { leaseMs: 3_600_000 });
			const lease = await one(store, { leaseMs });
			const row = await rowOf(store, "a");
			equal("save with the lease that was too long", await begin(store, row, old), false);
			equal("claim after it", await claim(store), []);
			equal("save with the new lease", await begin(store, row, lease), true);
		},
	},
	{
		title: "save and renew prolong a lease",
		async run(given) {
			const store = await given(textOf("a"), textOf("b", otherNumber));
			// They have expired, and no other worker has taken them over.
			const leases = await claim(store, { leaseMs: -1_000 });
			const [first, second] = leases;
			if (!first || !second) throw new Error("claim: expected two leases");
			const id = first.to === recipient.to ? "a" : "b";
			equal("save with a lease", await begin(store, await rowOf(store, id), first), true);
			await store.renew([second.token], leaseMs);
			equal("claim after both", await claim(store), []);
		},
	},
	{
		title: "claim takes replies first, then agencies in turn, and few of each",
		async run(given) {
			const of = (agency: number, at: number, rest: object = {}) =>
				textOf(`${agency}-${at}`, { agencyId: `agy_${agency}`, to: numberAt(100 * agency + at), ...rest });
			const store = await given(
				...Array.from({ length: 30 }, (_, at) => of(1, at)),
				of(2, 0, { createdAt: noon - 1 }),
				of(3, 0),
				of(3, 1, { purpose: "reply", priority: -1 }),
				of(3, 2, { purpose: "marketing", priority: 1 }),
			);
			const first = await claim(store, { limit: 1, each: 2 });
			equal("the first queue", numbers(first), [of(3, 1).to]);
			const rest = await claim(store, { each: 2, without: ["agy_1"] });
			equal("claim without agency 1", numbers(rest), [of(2, 0), of(3, 0), of(3, 2)].map(({ to }) => to).sort());
			for (const lease of rest) await store.release(lease, { at: noon, band: lease.band });
			// A worker that is busy takes one at a time.
			const single: Lease[] = [];
			for (let at = 0; at < 3; at++) {
				await new Promise((resolve) => setTimeout(resolve, 5));
				single.push(...(await claim(store, { limit: 1, each: 2 })));
			}
			const turns = single.map(({ agencyId }) => agencyId).sort();
			equal("the agencies of three claims of one queue", turns, ["agy_1", "agy_2", "agy_3"]);
			for (const lease of single) await store.release(lease, { at: noon, band: lease.band });
			// With each claim the agencies have their turn, whatever the number of their queues.
			const served = new Set<string>();
			for (let round = 0; round < 3; round++) {
				const some = await claim(store, { limit: 2, each: 1 });
				equal(
					"the number of agencies in a claim of one of each",
					new Set(some.map(({ agencyId }) => agencyId)).size,
					2,
				);
				for (const { agencyId } of some) served.add(agencyId);
			}
			equal("the agencies that had their turn", [...served].sort(), ["agy_1", "agy_2", "agy_3"]);
		},
	},
	{
		title: "reads are claimed apart, behind everything else",
		async run(given) {
			const store = await given(textOf("a"), textOf("b", otherNumber));
			for (const lease of await claim(store))
				await store.release(lease, { at: noon, band: lease.to === recipient.to ? 3 : 1 });
			const { agencyId, to } = recipient;
			equal("watched", await store.watched(agencyId, noon, 10), [to, otherNumber.to]);
			equal("watched with limit 1", await store.watched(agencyId, noon, 1), [to]);
			equal("watched too early", await store.watched(agencyId, noon - 1, 10), []);
			equal("watched of another agency", await store.watched(otherAgency.agencyId, noon, 10), []);
			like("claim", (await claim(store)).map(who), [otherNumber]);
			like("claim of reads", (await claim(store, { isReading: true })).map(who), [recipient]);
		},
	},
	{
		title: "a pause leaves out an agency, or everybody, until one worker tries it and resume ends it",
		async run(given) {
			const store = await given(textOf("a"), textOf("x", otherAgency));
			const { agencyId } = recipient;
			const why = { reason: "send", cause: "forbidden" };
			equal("paused of a new store", await store.paused(), []);
			await store.pause({ agencyId, until: noon + 10, failures: 1, since: noon, ...why });
			await store.pause({ agencyId, until: noon + 5, failures: 1, since: noon + 5, ...why });
			const first = { agencyId, until: noon + 10, failures: 1, since: noon, ...why };
			equal("paused", await store.paused(), [first]);
			like("claim of the others", (await claim(store, { now: noon + 99 })).map(who), [otherAgency]);
			equal("probe of another time", await store.probe(agencyId, noon + 9, noon + 99), false);
			const tries = await Promise.all([1, 2, 3].map(() => store.probe(agencyId, noon + 10, noon + 99)));
			equal("probes at the same moment", tries.filter(Boolean).length, 1);
			const lease = await one(store, { probing: agencyId });
			like("claim that probes", who(lease), recipient);
			await store.release(lease, { at: noon, band: 1 });
			await store.pause({ agencyId, until: noon + 20, failures: 2, since: noon + 10, ...why });
			equal("paused after a longer pause", await store.paused(), [{ ...first, until: noon + 20, failures: 2 }]);
			await store.resume(agencyId, noon);
			equal("paused after resume", await store.paused(), []);
			await store.pause({ agencyId: "", until: noon + 10, failures: 3, reason: "key", cause: "key", since: noon + 20 });
			like("since of a new pause", await store.paused(), [{ since: noon + 20 }]);
			equal("claim while everybody is paused", await claim(store), []);
			like("claim that probes for everybody", who(await one(store, { probing: "", limit: 1 })), recipient);
			await store.recover(noon);
			like("paused after recover", await store.paused(), [{ agencyId: "", until: noon, failures: 3 }]);
		},
	},
	{
		title: "a claim that probes for everybody leaves out agencies whose own pause has not ended",
		async run(given) {
			const store = await given(textOf("a"), textOf("x", otherAgency));
			const why = { reason: "read", cause: "forbidden", since: noon };
			for (const lease of await claim(store)) await store.release(lease, { at: noon, band: 1 });
			await store.pause({ agencyId: "", until: noon, failures: 1, ...why });
			await store.pause({ agencyId: recipient.agencyId, until: noon + 10, failures: 1, ...why });
			like("claim", (await claim(store, { probing: "" })).map(who), [otherAgency]);
			equal("claim of what is left", await claim(store, { probing: "", now: noon + 9 }), []);
			like("claim once its pause has ended", (await claim(store, { probing: "", now: noon + 10 })).map(who), [
				recipient,
			]);
		},
	},
	{
		title: "recover makes every queue due",
		async run(given) {
			const store = await given(textOf("a"));
			await change(store, "a", { state: "sending", nextAt: noon + 65_000 });
			await store.release(await one(store, { now: noon + 65_000 }), { at: noon + 65_000, band: 1 });
			await store.recover(noon);
			like("claim after recover", (await claim(store)).map(who), [recipient]);
			like("the text", await store.find("a"), { nextAt: noon });
		},
	},
	{
		title: "erase removes the queues of a number in which nothing is left",
		async run(given) {
			const store = await given(textOf("a"), textOf("x", otherAgency));
			for (const lease of await claim(store)) await store.release(lease, { at: noon, band: 1 });
			await change(store, "a", { state: "cancelled", nextAt: null });
			await store.erase({ to: recipient.to });
			like("claim after erase", (await claim(store)).map(who), [otherAgency]);
		},
	},
];
