// What people ask of a store, and tell it: suspensions, workers, and what is not finished.
import type { ClaimOptions, Lease, OutboxStore } from "../port.ts";
import { equal, like } from "./assert.ts";
import { type Check, change, idsOf, noon, otherAgency, otherNumber, recipient, rowOf, textOf } from "./check.ts";

/** Long enough for the slowest database. */
const leaseMs = 600_000;

function claim(store: OutboxStore, options: Partial<ClaimOptions> = {}): Promise<Lease[]> {
	return store.claim({ now: noon, limit: 100, each: 100, leaseMs, isReading: false, ...options });
}

const who = ({ agencyId, to, isSuspended }: Lease) => ({ agencyId, to, isSuspended });
const free = { isSuspended: false };
const stopped = { isSuspended: true };

function begin(store: OutboxStore, id: string, lease: Lease): Promise<boolean> {
	return rowOf(store, id).then((row) =>
		store.save({ ...row, state: "sending" }, { unlessStopped: true, lease, leaseMs }),
	);
}

async function releaseAll(store: OutboxStore, leases: readonly Lease[], at = noon): Promise<void> {
	for (const lease of leases) await store.release(lease, { at, band: lease.band });
}

export const operationChecks: Check[] = [
	{
		title: "texts are counted by purpose, state, reason and the day for which they are planned",
		async run(given) {
			const dayMs = 86_400_000;
			const store = await given(
				textOf("a"),
				textOf("b", { purpose: "marketing", notBefore: noon + dayMs }),
				textOf("c", { createdAt: noon - 1 }),
				textOf("d", { notBefore: noon - dayMs }),
				textOf("e", { createdAt: noon + 2 * dayMs }),
				textOf("f", otherAgency),
			);
			await change(store, "a", { state: "cancelled", reason: "requested" });
			const { agencyId } = recipient;
			const counted = await store.countDays(agencyId, [noon, noon + dayMs, noon + 2 * dayMs]);
			const order = ({ day, state }: { day: number; state: string }) => `${day} ${state}`;
			equal(
				"countDays",
				counted.sort((one, other) => (order(one) < order(other) ? -1 : 1)),
				[
					{ day: 0, purpose: "notice", state: "cancelled", reason: "requested", count: 1 },
					{ day: 0, purpose: "notice", state: "waiting", reason: null, count: 1 },
					{ day: 1, purpose: "marketing", state: "waiting", reason: null, count: 1 },
				],
			);
			const agencies = [agencyId, otherAgency.agencyId].sort();
			const found: (string | undefined)[] = [await store.nextAgency("")];
			found.push(await store.nextAgency(found[0] ?? ""));
			found.push(await store.nextAgency(found[1] ?? ""));
			equal("nextAgency", found, [...agencies, undefined]);
		},
	},
	{
		title: "the id of the outbox stays, also if it is migrated again",
		async run(given) {
			const store = await given(textOf("a"));
			const id = await store.outboxId();
			await store.migrate();
			equal("outboxId after a second migrate", await store.outboxId(), id);
		},
	},
	{
		title: "what is known of an agency's requests for consent is replaced by the worker that knew the latest",
		async run(given) {
			const store = await given(textOf("a"));
			const { agencyId } = recipient;
			equal("consent of a new store", await store.consent(agencyId), { consent: null, revision: 0, isKnown: false });
			equal("the first one", await store.keepConsent(agencyId, '{"templates":["Zö’ "]}', 0), true);
			equal("one who knew less", await store.keepConsent(agencyId, "{}", 0), false);
			equal("consent", await store.consent(agencyId), {
				consent: '{"templates":["Zö’ "]}',
				revision: 1,
				isKnown: true,
			});
			equal("the next one", await store.keepConsent(agencyId, "{}", 1), true);
			equal("consent afterwards", await store.consent(agencyId), { consent: "{}", revision: 2, isKnown: true });
			const other = otherAgency.agencyId;
			equal("consent of another agency", await store.consent(other), { consent: null, revision: 0, isKnown: false });
		},
	},
	{
		title: "awaken makes the texts due that asleep finds, and no others",
		async run(given) {
			const until = noon + 60_000;
			const store = await given(textOf("a"), textOf("b", otherNumber), textOf("c"), textOf("x", otherAgency));
			equal("asleep of a new store", await store.asleep(), []);
			for (const [id, nextAt] of [
				["a", until],
				["b", until],
				["c", until + 1],
				["x", until],
			] as const)
				await change(store, id, { reason: "quiet_hours", nextAt });
			await releaseAll(store, await claim(store), until);
			const { agencyId } = recipient;
			const found = (await store.asleep()).sort(
				(one, other) => one.agencyId.localeCompare(other.agencyId) || one.until - other.until,
			);
			const others = { agencyId: otherAgency.agencyId, until };
			equal("asleep", found, [{ agencyId, until }, { agencyId, until: until + 1 }, others]);
			await store.awaken({ agencyId, until }, noon);
			const times = await Promise.all(["a", "b", "c", "x"].map(async (id) => (await rowOf(store, id)).nextAt));
			equal("times after awaken", times, [noon, noon, until + 1, until]);
			like(
				"claim after awaken",
				(await claim(store)).map(who).map((each) => each.agencyId),
				[agencyId, agencyId],
			);
		},
	},
	{
		title: "a pause of everybody's sends leaves everything to be read, and resume makes it due",
		async run(given) {
			const store = await given(textOf("a"), textOf("x", otherAgency));
			const [lease, ...others] = await claim(store);
			if (!lease) throw new Error("claim: expected a lease");
			await releaseAll(store, others);
			equal("agencies", (await store.agencies()).sort(), [recipient.agencyId, otherAgency.agencyId].sort());
			const why = { reason: "send", cause: "forbidden", since: noon };
			await store.pause({ agencyId: "*", until: noon, failures: 1, ...why });
			equal("agencies with such a pause", (await store.agencies()).length, 2);
			const id = lease.agencyId === recipient.agencyId ? "a" : "x";
			equal("save with a lease", await begin(store, id, lease), false);
			await store.release(lease, { at: noon, band: 1 });
			equal("claim", await claim(store), []);
			const reads = await claim(store, { isReading: true });
			equal("leases of a claim of reads", [reads.length, reads.every(({ isSuspended }) => isSuspended)], [2, true]);
			await releaseAll(store, reads, noon + 3_600_000);
			equal("texts that are due", (await store.counts(noon, 10)).due, 2);
			await store.resume("*", noon);
			equal("leases of a claim after resume", (await claim(store)).length, 2);
		},
	},
	{
		title: "a suspended agency is claimed for reads alone, until endSuspension makes its queues due",
		async run(given) {
			const store = await given(textOf("a"), textOf("x", otherAgency));
			const { agencyId } = recipient;
			equal("suspended of a new store", await store.suspended(), []);
			await store.suspend({ agencyId, reason: "Één 'price' 👋", by: null, since: noon });
			await store.suspend({ agencyId, reason: "The same", by: "Ann", since: noon + 5 });
			equal("suspended", await store.suspended(), [{ agencyId, reason: "The same", by: "Ann", since: noon }]);
			const others = await claim(store);
			equal("claim while an agency is suspended", others.map(who), [{ ...otherAgency, ...free }]);
			const reads = await claim(store, { isReading: true });
			equal("claim of reads while it is suspended", reads.map(who), [{ ...recipient, ...stopped }]);
			equal("claim that probes it", await claim(store, { probing: agencyId }), []);
			await releaseAll(store, reads, noon + 9_000);
			equal("claim of reads after release", await claim(store, { isReading: true }), []);
			equal("endSuspension of another agency", await store.endSuspension(otherAgency.agencyId, noon), false);
			equal("endSuspension", await store.endSuspension(agencyId, noon), true);
			equal("a second endSuspension", await store.endSuspension(agencyId, noon), false);
			equal("suspended after endSuspension", await store.suspended(), []);
			equal("claim after endSuspension", (await claim(store)).map(who), [{ ...recipient, ...free }]);
		},
	},
	{
		title: "an agency of a suspension of everybody is claimed for reads alone",
		async run(given) {
			const store = await given(textOf("a"), textOf("x", otherAgency));
			// Its queue is there before.
			await releaseAll(store, await claim(store));
			await store.suspend({ agencyId: "", reason: "All", by: "Ann", since: noon });
			await store.suspend({ agencyId: recipient.agencyId, reason: "One", by: "Ann", since: noon });
			equal("claim while everybody is suspended", await claim(store), []);
			equal("claim that probes while everybody is suspended", await claim(store, { probing: "" }), []);
			const reads = await claim(store, { isReading: true });
			equal("claim of reads while everybody is suspended", reads.map(({ agencyId }) => agencyId).sort(), [
				"agy_1",
				"agy_2",
			]);
			await releaseAll(store, reads, noon + 9_000);
			equal("endSuspension of everybody", await store.endSuspension("", noon), true);
			equal("claim after it", (await claim(store)).map(who), [{ ...otherAgency, ...free }]);
		},
	},
	{
		title: "save with a lease begins nothing while the agency or everybody is suspended",
		async run(given) {
			const store = await given(textOf("a"), textOf("x", otherAgency));
			const leases = await claim(store);
			const [mine, other] = ["agy_1", "agy_2"].map((id) => leases.find(({ agencyId }) => agencyId === id));
			if (!mine || !other) throw new Error("claim: expected two leases");
			const row = await rowOf(store, "a");
			await store.suspend({ agencyId: recipient.agencyId, reason: "One", by: null, since: noon });
			equal("save with a lease while it is suspended", await begin(store, "a", mine), false);
			equal("the row after it", await store.find("a"), row);
			equal("save without a lease", await store.save({ ...row, nextAt: noon + 1 }), true);
			equal("save with a lease of another agency", await begin(store, "x", other), true);
			await store.suspend({ agencyId: "", reason: "All", by: null, since: noon });
			await store.endSuspension(recipient.agencyId, noon);
			equal("save with a lease while everybody is suspended", await begin(store, "a", mine), false);
			await store.endSuspension("", noon);
			equal("save with a lease after both", await begin(store, "a", mine), true);
		},
	},
	{
		title:
			"a queue that was claimed while its agency was suspended is due again after endSuspension, whatever its release says",
		async run(given) {
			const store = await given(textOf("a"));
			const { agencyId } = recipient;
			await releaseAll(store, await claim(store));
			await store.suspend({ agencyId, reason: "One", by: null, since: noon });
			const reads = await claim(store, { isReading: true });
			await store.endSuspension(agencyId, noon);
			await releaseAll(store, reads, noon + 9_000);
			equal("claim after it", (await claim(store)).map(who), [{ ...recipient, ...free }]);
		},
	},
	{
		title: "a suspension and a pause of one agency end apart",
		async run(given) {
			const store = await given(textOf("a"));
			const { agencyId } = recipient;
			await store.pause({ agencyId, until: noon, failures: 1, reason: "send", cause: "forbidden", since: noon });
			await store.suspend({ agencyId, reason: "One", by: null, since: noon });
			equal("claim of reads while it is paused too", await claim(store, { isReading: true }), []);
			await store.resume(agencyId, noon);
			equal("claim after the pause", await claim(store), []);
			like("suspended after the pause", await store.suspended(), [{ agencyId }]);
			await store.pause({ agencyId, until: noon, failures: 1, reason: "send", cause: "forbidden", since: noon });
			await store.recover(noon);
			await store.endSuspension(agencyId, noon);
			like("paused after the suspension", await store.paused(), [
				{ agencyId, failures: 1, cause: "forbidden", since: noon },
			]);
			equal("claim after the suspension", await claim(store), []);
		},
	},
	{
		title: "search finds the texts of a number, an agency, a state and a time, the newest first",
		async run(given) {
			const old = { createdAt: noon - 9 };
			const others = Array.from({ length: 520 }, (_, at) => textOf(`o${at}`, { to: "+447700900109" }));
			const store = await given(textOf("a", old), textOf("b"), textOf("x", otherAgency));
			await store.insertMany(others, undefined);
			await store.insertMany([textOf("c"), textOf("d")], undefined);
			await change(store, "b", { state: "sent", nextAt: null });
			await change(store, "d", { state: "unknown", nextAt: null });
			const found = async (...filter: Parameters<OutboxStore["search"]>) => idsOf(await store.search(...filter));
			const { to, agencyId } = recipient;
			const [b, c] = [await rowOf(store, "b"), await rowOf(store, "c")];
			equal("all of a number", await found({ to }, 10), ["d", "c", "x", "b", "a"]);
			equal("of one agency", await found({ to, agencyId }, 10), ["d", "c", "b", "a"]);
			equal("the first two", await found({ to }, 2), ["d", "c"]);
			equal("those after them", await found({ to, before: c.seq }, 2), ["x", "b"]);
			equal("of a state", await found({ to, state: "waiting" }, 10), ["c", "x", "a"]);
			equal("since a time", await found({ to, since: noon }, 10), ["d", "c", "x", "b"]);
			equal("of all", await found({}, 3), ["d", "c", "o519"]);
			equal("of all, before one", await found({ before: b.seq }, 10), ["a"]);
			equal("one behind many that do not fit", await found({ state: "sent" }, 10), ["b"]);
			equal("of an agency", await found({ agencyId: otherAgency.agencyId }, 10), ["x"]);
			equal("as many as there are", (await found({}, 1_000)).length, 525);
			equal("none", await found({ to: "+447700900108" }, 10), []);
			like("a row", (await store.search({ to }, 10))[3], b);
			await store.erase({ to });
			equal("after erase", await found({ to }, 10), ["c", "x", "a"]);
		},
	},
	{
		title: "workers lists who has given a sign of life, until they leave",
		async run(given) {
			const store = await given();
			equal("workers of a new store", await store.workers(), []);
			await store.beat({ id: "a", version: "1.2.3", runsOnce: false, at: 0 });
			await store.beat({ id: "b", version: "1.2.3", runsOnce: true, at: 0 });
			await new Promise((resolve) => setTimeout(resolve, 20));
			await store.beat({ id: "a", version: "1.2.3", runsOnce: false, at: 0 });
			const found = await store.workers();
			const [a, b] = ["a", "b"].map((id) => found.find((worker) => worker.id === id));
			like("the worker a", a, { id: "a", version: "1.2.3", runsOnce: false });
			like("the worker b", b, { id: "b", version: "1.2.3", runsOnce: true });
			equal("whether a is older than its last sign", Number(a?.ageMs) > Number(a?.silentMs), true);
			equal("whether b has been silent for longer", Number(b?.silentMs) > Number(a?.silentMs), true);
			await store.leave("a");
			equal(
				"workers after leave",
				(await store.workers()).map(({ id }) => id),
				["b"],
			);
		},
	},
	{
		title: "counts and list find unfinished and unknown texts",
		async run(given) {
			const store = await given();
			const none = { waiting: 0, sending: 0, held: 0, unknown: 0 };
			equal("counts of a new store", await store.counts(noon, 10), {
				states: none,
				due: 0,
				oldestDueAt: null,
				keptBack: [],
			});
			for (const [at, id] of ["a", "b", "c", "d", "e"].entries())
				await store.insert(textOf(id, { notBefore: noon + at }), undefined);
			await store.insert(textOf("x", otherAgency), undefined);
			await store.insert(textOf("y", otherNumber), undefined);
			await change(store, "b", { state: "held", nextAt: noon - 1 });
			await change(store, "c", { state: "unknown", nextAt: null });
			await change(store, "x", { state: "unknown", nextAt: null });
			await change(store, "y", { state: "sent", nextAt: null });
			equal("counts", await store.counts(noon + 3, 10), {
				states: { waiting: 3, sending: 0, held: 1, unknown: 2 },
				due: 2,
				oldestDueAt: noon,
				keptBack: [],
			});
			const { progress } = await rowOf(store, "d");
			await change(store, "d", { nextAt: noon + 60_000, progress: { ...progress, failures: 1 } });
			await change(store, "a", { nextAt: noon + 60_000, reason: "consent_unavailable" });
			equal("counts of texts that are tried again", (await store.counts(noon + 3, 10)).due, 2);
			const trying = await store.counts(noon + 120_000, 10);
			equal("counts at the moment of a try", [trying.due, trying.oldestDueAt], [3, noon]);
			await change(store, "e", { state: "sending", since: noon - 1, progress: { ...progress, attempts: 1 } });
			equal("counts of a text that is being sent", (await store.counts(noon + 60_000, 10)).due, 2);
			const stuck = await store.counts(noon + 180_000, 10);
			equal("counts of one whose result is long unknown", [stuck.due, stuck.oldestDueAt], [3, noon - 1]);
			await change(store, "e", { progress: { ...progress, attempts: 2 } });
			equal("counts of one that is sent again", (await store.counts(noon + 60_000, 10)).due, 3);
			await change(store, "e", { state: "waiting", since: noon, progress });
			await store.suspend({ agencyId: textOf("a").agencyId, reason: "wrong price", by: null, since: noon });
			equal("counts while the agency is suspended", (await store.counts(noon + 3, 10)).due, 0);
			await store.endSuspension(textOf("a").agencyId, noon);
			await change(store, "d", { nextAt: noon + 3, progress });
			await change(store, "a", { nextAt: noon, reason: null });
			equal("counts before all", (await store.counts(noon - 1, 10)).due, 0);
			equal("counts of at most 1", (await store.counts(noon + 3, 1)).states, {
				waiting: 1,
				sending: 0,
				held: 1,
				unknown: 1,
			});
			equal("list of waiting texts", idsOf(await store.list("waiting", 10)), ["a", "d", "e"]);
			equal("list with limit 1", idsOf(await store.list("waiting", 1)), ["a"]);
			equal("list of unknown texts", idsOf(await store.list("unknown", 10)).sort(), ["c", "x"]);
			equal("list of an agency", idsOf(await store.list("unknown", 10, otherAgency.agencyId)), ["x"]);
			like("a row of list", (await store.list("held", 10))[0], await rowOf(store, "b"));
		},
	},
	{
		title: "counts leaves out what waits behind a text whose time has not come",
		async run(given) {
			const store = await given(textOf("a"), textOf("b"));
			await releaseAll(store, await claim(store), noon + 60_000);
			equal("counts before the time of the queue", (await store.counts(noon + 59_999, 10)).due, 0);
			const { due, oldestDueAt } = await store.counts(noon + 70_000, 10);
			equal("counts after its time, which is since when both are late", [due, oldestDueAt], [2, noon + 60_000]);
			await store.insert(textOf("c"), undefined);
			equal("counts of a text that no worker has seen", (await store.counts(noon, 10)).due, 1);
			const { progress } = await rowOf(store, "a");
			await change(store, "a", { progress: { ...progress, failures: 1 } });
			equal("counts of a text whose try has failed", (await store.counts(noon + 59_999, 10)).due, 2);
		},
	},
	{
		title: "counts says which agencies their settings or a hook keep back",
		async run(given) {
			const store = await given(textOf("a"), textOf("b"), textOf("x", otherAgency), textOf("y", otherAgency));
			const reason = "consent_unavailable";
			await change(store, "a", { nextAt: noon + 60_000, reason });
			await change(store, "b", { nextAt: noon + 30_000, reason });
			await change(store, "x", { nextAt: noon - 1, reason: "hook_failed" });
			await change(store, "y", { nextAt: noon, reason: "quiet_hours" });
			await store.insert(textOf("z", otherNumber), undefined);
			await change(store, "z", { nextAt: noon + 20_000, reason: "wrong_number" });
			const { keptBack } = await store.counts(noon, 10);
			equal(
				"what is kept back",
				[...keptBack].sort((one, other) => other.until - one.until),
				[
					{ agencyId: recipient.agencyId, reason, until: noon + 30_000 },
					{ agencyId: otherNumber.agencyId, reason: "wrong_number", until: noon + 20_000 },
					{ agencyId: otherAgency.agencyId, reason: "hook_failed", until: noon - 1 },
				],
			);
			for (const id of ["a", "b", "x", "z"]) await change(store, id, { state: "sent", nextAt: null, reason: null });
			equal("what is kept back once they are sent", (await store.counts(noon, 10)).keptBack, []);
		},
	},
	{
		title: "erase removes the journal of a text",
		async run(given) {
			const store = await given(textOf("a"));
			const { progress } = await rowOf(store, "a");
			const journal = [{ at: noon, state: "sent", request: 1 }];
			const saved = await change(store, "a", { state: "sent", nextAt: null, progress: { ...progress, journal } });
			equal("the journal", (await rowOf(store, "a")).progress.journal, saved.progress.journal);
			await store.erase(recipient);
			equal("the journal after erase", (await rowOf(store, "a")).progress.journal, undefined);
		},
	},
];
