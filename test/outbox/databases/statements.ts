import type { OutboxStore } from "../port.ts";
import { newText } from "../store-suite.ts";

/** Runs what the outbox does with the texts of a queue, of which there are many. */
export async function runStatements(store: OutboxStore): Promise<void> {
	const queue = { agencyId: "agy_1", to: "+447700900001" };
	const [row] = await store.open(queue, 20, 1);
	if (!row) throw new Error("no row");
	await store.followed(queue, 10_000);
	await store.save({ ...row, state: "sending", nextAt: 70_000 });
	await store.save({ ...row, state: "sent", nextAt: 70_000, messageId: "SM1", version: row.version + 1 });
	await store.claimed(queue);
	const claim = { now: 20_000, limit: 16, each: 4, leaseMs: 30_000, isReading: false };
	const [lease] = await store.claim(claim);
	if (!lease) throw new Error("no lease");
	await store.claim({ ...claim, isReading: true, without: ["agy_2"] });
	await store.renew([lease.token], 30_000);
	await store.heal(100_000);
	await store.release(lease, { at: 20_000, band: 1 });
	await store.wake(queue, 1);
	await store.wake({ to: queue.to }, 1);
	await store.byMessage("SM1");
	await store.find("t1");
	await store.insert({ ...newText, id: "t1", createdAt: 1 }, undefined);
	await store.unfinished(queue);
	await store.unfinished({ to: queue.to });
	await store.nextOf(queue, 1);
	await store.pause({ agencyId: "agy_1", until: 1, failures: 1, reason: "send", cause: "forbidden", since: 1 });
	await store.paused();
	await store.probe("agy_1", 1, 2);
	await store.resume("agy_1", 1);
	await store.agencies();
	await store.asleep();
	await store.awaken({ agencyId: "agy_1", until: 1 }, 1);
	await store.suspend({ agencyId: "agy_1", reason: "Stop", by: null, since: 1 });
	await store.suspended();
	await store.endSuspension("agy_1", 1);
	await store.beat({ id: "a", version: "1.0.0", runsOnce: false });
	await store.workers();
	await store.leave("a");
	await store.counts(20_000, 100);
	await store.list("waiting", 10);
	await store.list("unknown", 10, "agy_1");
	await store.unacknowledged(100);
	await store.acknowledge([{ id: "t1", revision: 1 }], undefined);
	await store.stop(queue, "cancelAll");
	await store.erase({ id: "t1" });
	await store.purge(0);
}
