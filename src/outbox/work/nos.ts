/*
 * What this process has stored of a No. A database that has lost its last seconds has lost that too, and a text that was cancelled in
 * them waits again. So it is stored again then, as far as this process knows of it.
 */
import type { OutboxStore, StoredSuspension } from "../store.ts";
import type { ContactFacts, FactSource, OutboxText, Recipient } from "../text.ts";

/** A store that remembers. */
export interface Nos {
	store: OutboxStore;
	/** Stores again what is known. It changes nothing that is there still. */
	sayAgain: () => Promise<void>;
}

interface Stopped {
	recipient: Partial<Recipient>;
	/** Texts that were enqueued later are meant by none. */
	at: number;
}

/** Those before were stored long ago. */
const mostKept = 5_000;

/** Adds what is new at the end, and forgets what is old. */
function keep<Value>(all: Map<string, Value>, name: string, value: Value): void {
	all.delete(name);
	all.set(name, value);
	const [oldest] = all.keys();
	if (all.size > mostKept && oldest !== undefined) all.delete(oldest);
}

const nameOf = ({ agencyId = "", to = "" }: Partial<Recipient>): string => `${agencyId} ${to}`;

/** @param cancel cancels an unfinished text */
export function createNos(
	store: OutboxStore,
	now: () => number,
	cancel: (id: string, marks: { superseded?: true }) => Promise<unknown>,
): Nos {
	const cancelled = new Map<string, { superseded?: true }>();
	const stopped = new Map<string, Stopped>();
	const noted = new Map<
		string,
		{ recipient: Partial<Recipient>; facts: ContactFacts; source: FactSource; by: string | undefined }
	>();
	const suspended = new Map<string, StoredSuspension>();
	let count = 0;

	function remember({ id, state, reason, progress }: OutboxText): void {
		const isEnded = state === "cancelled" && (reason === "requested" || reason === "superseded");
		if (!isEnded && !progress.cancelRequested) return;
		const isSuperseded = reason === "superseded" || progress.superseded;
		keep(cancelled, id, isSuperseded ? { superseded: true } : {});
	}

	const remembering: Pick<OutboxStore, "save" | "stop" | "note" | "suspend" | "endSuspension"> = {
		async save(text, options) {
			const isSaved = await store.save(text, options);
			if (isSaved) remember(text);
			return isSaved;
		},
		async stop(recipient, source) {
			const at = now();
			await store.stop(recipient, source);
			keep(stopped, nameOf(recipient), { recipient, at });
		},
		async note(recipient, facts, source, by) {
			await store.note(recipient, facts, source, by);
			// Of each fact the latest time counts, so that it may be stored any number of times.
			keep(noted, `${count++}`, { recipient, facts, source, by });
		},
		async suspend(suspension) {
			await store.suspend(suspension);
			keep(suspended, suspension.agencyId, suspension);
		},
		async endSuspension(agencyId, at, told) {
			const isEnded = await store.endSuspension(agencyId, at, told);
			suspended.delete(agencyId);
			return isEnded;
		},
	};
	return {
		store: new Proxy(store, { get: (target, name) => Reflect.get(remembering, name) ?? Reflect.get(target, name) }),
		async sayAgain() {
			// What stops most comes first.
			const since = (await store.restoration())?.from ?? 0;
			for (const suspension of [...suspended.values()]) if (suspension.since >= since) await store.suspend(suspension);
			for (const { recipient, facts, source, by } of [...noted.values()])
				await store.note(recipient, facts, source, by);
			for (const { recipient, at } of [...stopped.values()])
				for (const { id, createdAt } of await store.unfinished(recipient)) if (createdAt <= at) await cancel(id, {});
			for (const [id, marks] of [...cancelled]) await cancel(id, marks);
		},
	};
}
