import { type EventLog, isTick as isTickOf, type NewEvent } from "./event-log.ts";
import type { Fault } from "./fault.ts";
import type { Agency, AgencyRecord, Integration, Key, Operation, StoredMessage, Thread } from "./records.ts";

/*
 * The world as it was after each step. What a step changed is kept as a version beside the earlier ones, and everything else
 * is shared with them. The state at a step is the newest version of each part until then.
 */

/** Everything that existed after a step. Parts are shared between steps: copy what you change. */
export interface PastWorld {
	readonly now: number;
	readonly counters: readonly (readonly [string, number])[];
	readonly integrations: readonly Integration[];
	readonly keys: readonly Key[];
	readonly agencies: readonly AgencyRecord[];
	readonly threads: readonly Thread[];
	readonly operations: readonly (readonly [string, Operation])[];
	readonly faults: readonly Fault[];
}

/** What a step changed, as data that JSON can carry. The first one of a list has everything. */
export interface HistoryStep {
	/** The number of the event after which it was so. */
	readonly event: number;
	/** The sandbox's time, in milliseconds. */
	readonly now: number;
	/** The last number that was given out of each kind of id. */
	readonly counters: readonly (readonly [string, number])[];
	/** Everything but conversations and operations, if any of it changed. */
	readonly rest: HistoryRest | null;
	/** The conversations that changed. */
	readonly threads: readonly HistoryThread[];
	/** The operationIds with another record, or with none. */
	readonly operations: readonly (readonly [string, Operation | null])[];
}

/** A step while its changes are put together. */
interface DumpedStep extends HistoryStep {
	readonly threads: HistoryThread[];
	readonly operations: [string, Operation | null][];
}

/** Everything but conversations and operations. */
export type HistoryRest = Pick<PastWorld, "integrations" | "keys" | "agencies" | "faults">;

/** A conversation that changed. */
export interface HistoryThread {
	/** The agency that owns it. */
	readonly agencyId: string;
	/** The contact's number, E.164. */
	readonly phone: string;
	/** How many of its first messages are as they were at the step before. */
	readonly keep: number;
	/** Null if it is gone. Its messages are those after the first `keep`. */
	readonly thread: Thread | null;
}

export interface History {
	/** Begins to note what happens, if it has not. */
	record(): void;
	/** The event after which the oldest state is known; null while nothing is noted. */
	readonly first: number | null;
	/** Everything as it was right after this event. Throws for one before the first. */
	at(eventId: number): PastWorld;
	/**
	 * The newest steps, but for the present: at most 2,000 and some 16 MiB. Empty while nothing is noted. They are those of this
	 * moment, however long it takes to go through what is returned, and are not to be changed.
	 */
	dump(): Generator<void, HistoryStep[]>;
	/**
	 * Replaces everything that is noted by the steps of a valid file and the present, which is that after the event `present`.
	 * Without steps, by the present if it was on.
	 */
	load(steps: readonly HistoryStep[], present: number): void;
	/** The newest event whose state came from a file; 0 if none did. */
	readonly loadedUntil: number;
	/** An event is about to be added: notes what it says to be changed. */
	changed(event: NewEvent): void;
	/** No event says that this conversation changed. */
	touched(thread: Thread): void;
	/** The operationId with this key has another record, or none. */
	operated(key: string): void;
	/** All that belongs together has happened. `eventId` is the newest event. */
	stepped(eventId: number): void;
}

const mostSteps = 20_000;
const mostWeight = 64 * 2 ** 20;
const mostDumped = 2_000;
const mostWeightDumped = 16 * 2 ** 20;
const weightOfMessage = 8;
const weightOfCopy = 400;

/** What one part was from a step on. */
interface Version<Value> {
	readonly step: number;
	readonly value: Value;
	readonly weight: number;
}

/** The versions of one part, the oldest first. Others are only added to the list: without some of them it is another list. */
interface Part<Value> {
	versions: Version<Value>[];
}

/** The place of the newest version at a step; -1 if all are later. */
function placeAt(versions: readonly Version<unknown>[], step: number): number {
	let [low, high] = [0, versions.length];
	while (low < high) {
		const middle = (low + high) >>> 1;
		if ((versions[middle]?.step ?? step) <= step) low = middle + 1;
		else high = middle;
	}
	return low - 1;
}

interface Clock {
	readonly now: number;
	readonly counters: readonly (readonly [string, number])[];
}

const part = <Value>(): Part<Value> => ({ versions: [] });

/** What is noted of a world. */
interface Noted {
	readonly now: number;
	readonly counters: ReadonlyMap<string, number>;
	readonly integrations: ReadonlyMap<string, Integration>;
	readonly keys: ReadonlyMap<string, Key>;
	readonly agencies: ReadonlyMap<string, Agency>;
	readonly operations: ReadonlyMap<string, Operation>;
	readonly faults: readonly Fault[];
	readonly events: Pick<EventLog, "newest">;
}

export function createHistory(world: () => Noted): History {
	let isOn = false;
	const clock = part<Clock>();
	const rest = part<HistoryRest>();
	const threads = new Map<string, Part<ThreadCopy | undefined>>();
	const operations = new Map<string, Part<Operation | undefined>>();
	/** The steps that are known, with the parts that each changed. */
	let steps: { readonly id: number; readonly parts: readonly Part<unknown>[]; readonly isTick: boolean }[] = [];
	let weight = 0;
	let loadedUntil = 0;

	let isAllDirty = false;
	let isRestDirty = false;
	let hasTicked = false;
	const dirtyThreads = new Map<string, Thread | undefined>();
	/** Those whose messages changed, beside those that were added. */
	const rewritten = new Set<string>();
	const dirtyOperations = new Set<string>();

	const nameOf = ({ views, phone }: Thread): string => `${views[0].agencyId} ${phone}`;

	const partOf = <Value>(parts: Map<string, Part<Value>>, name: string): Part<Value> => {
		const known = parts.get(name);
		if (known) return known;
		const added = part<Value>();
		parts.set(name, added);
		return added;
	};

	/** Notes everything that exists, and what existed before and does no more. */
	const markAll = (): void => {
		for (const name of threads.keys()) {
			dirtyThreads.set(name, undefined);
			rewritten.add(name);
		}
		for (const { id, threads: own } of world().agencies.values())
			for (const thread of own.values()) if (thread.views[0].agencyId === id) dirtyThreads.set(nameOf(thread), thread);
		for (const key of [...operations.keys(), ...world().operations.keys()]) dirtyOperations.add(key);
		isRestDirty = true;
		isAllDirty = false;
	};

	const note = (step: number): void => {
		if (isAllDirty) markAll();
		const { now, counters, integrations, keys, agencies, faults } = world();
		const changed: Part<unknown>[] = [];
		const put = <Value>(of: Part<Value>, value: Value, size: number): void => {
			of.versions.push({ step, value, weight: size });
			weight += size;
			changed.push(of as Part<unknown>);
		};
		const isTick = hasTicked && !isRestDirty && dirtyThreads.size === 0 && dirtyOperations.size === 0;
		hasTicked = false;
		// The log keeps such steps of the clock in a row as one.
		if (isTick && steps.at(-1)?.isTick) {
			weight -= clock.versions.at(-1)?.weight ?? 0;
			clock.versions = clock.versions.slice(0, -1);
			steps.pop();
		}
		put(clock, { now, counters: [...counters] }, weightOfCopy);
		if (isRestDirty) {
			const records = [...agencies.values()].map(
				({ threads: _, list: __, rows: ___, ...record }): AgencyRecord => ({ ...record }),
			);
			put(
				rest,
				structuredClone({
					integrations: [...integrations.values()],
					keys: [...keys.values()],
					agencies: records,
					faults: [...faults],
				}),
				(integrations.size + keys.size + agencies.size + faults.length) * weightOfCopy,
			);
		}
		for (const [name, thread] of dirtyThreads) {
			const of = partOf(threads, name);
			const before = of.versions.at(-1)?.value;
			const copy = thread && copyOf(thread, before, rewritten.has(name));
			put(of, copy, weightOfCopy + (copy?.weight ?? 0));
		}
		for (const key of dirtyOperations) put(partOf(operations, key), world().operations.get(key), weightOfCopy);
		dirtyThreads.clear();
		rewritten.clear();
		dirtyOperations.clear();
		isRestDirty = false;
		steps.push({ id: step, parts: changed, isTick });
		while (steps.length > 1 && (steps.length > mostSteps || weight > mostWeight)) forgetOldest();
	};

	/** The second step becomes the first: of the parts that it changed, no older version is needed any more. */
	const forgetOldest = (): void => {
		steps.shift();
		const [first] = steps;
		for (const of of first?.parts ?? []) {
			const place = Math.max(0, placeAt(of.versions, first?.id ?? 0));
			for (const older of of.versions.slice(0, place)) weight -= older.weight;
			of.versions = of.versions.slice(place);
		}
	};

	/** The newest version of a part at a step. */
	const newestAt = <Value>({ versions }: Part<Value>, step: number) => versions[placeAt(versions, step)];

	/** The first step that a dump has room for. */
	const dumpedFrom = (known: typeof steps): number => {
		let left = mostWeightDumped;
		let from = known.length;
		while (from > 0 && known.length - from < mostDumped && left > 0) {
			const { id, parts } = known[from - 1] as (typeof steps)[number];
			for (const of of parts) left -= newestAt(of, id)?.weight ?? 0;
			from--;
		}
		return from;
	};

	const loadStep = ({ event: step, now, counters, rest: all, ...changes }: HistoryStep): void => {
		const changed: Part<unknown>[] = [];
		const put = <Value>(of: Part<Value>, value: Value, size: number): void => {
			of.versions.push({ step, value, weight: size });
			weight += size;
			changed.push(of as Part<unknown>);
		};
		put(clock, { now, counters }, weightOfCopy);
		if (all) put(rest, all, weightOfCopy * (1 + all.agencies.length + all.keys.length));
		for (const { agencyId, phone, keep, thread } of changes.threads) {
			const of = partOf(threads, `${agencyId} ${phone}`);
			const copy = thread ? joined(thread, keep, of.versions.at(-1)?.value) : undefined;
			put(of, copy, weightOfCopy + (copy?.weight ?? 0));
		}
		for (const [key, operation] of changes.operations)
			put(partOf(operations, key), operation ?? undefined, weightOfCopy);
		steps.push({ id: step, parts: changed, isTick: false });
	};

	const value = <Value>(of: Part<Value>, step: number): Value | undefined => newestAt(of, step)?.value;

	return {
		record() {
			if (isOn) return;
			isOn = true;
			isAllDirty = true;
			note(world().events.newest());
		},
		get first() {
			return steps[0]?.id ?? null;
		},
		at(eventId) {
			const first = steps[0]?.id;
			if (first === undefined || eventId < first)
				throw new RangeError(
					first === undefined
						? "history: nothing was recorded. Call history.record() first."
						: `history: the oldest state that is known is that after event ${first}.`,
				);
			const existing = <Value>(parts: Map<string, Part<Value | undefined>>): [string, Value][] =>
				[...parts].flatMap(([name, each]): [string, Value][] => {
					const found = value(each, eventId);
					return found === undefined ? [] : [[name, found]];
				});
			return {
				...(value(clock, eventId) as Clock),
				...(value(rest, eventId) as HistoryRest),
				threads: existing(threads).map(([, { thread, messages, count }]) => ({
					...thread,
					messages: messages.slice(0, count),
				})),
				operations: existing(operations),
			};
		},
		dump() {
			const newest = world().events.newest();
			const known = steps.filter(({ id }) => id < newest);
			const dumped = known.slice(dumpedFrom(known)).map(({ id }) => id);
			const versionsOf = <Value>({ versions }: Part<Value>) => versions;
			return stepsOf(dumped, newest, {
				clock: clock.versions,
				rest: rest.versions,
				threads: [...threads.values()].map(versionsOf),
				operations: [...operations.values()].map(versionsOf),
				operationKeys: [...operations.keys()],
			});
		},
		load(given, present) {
			const wasOn = isOn;
			clock.versions = [];
			rest.versions = [];
			threads.clear();
			operations.clear();
			[steps, weight, loadedUntil, isOn] = [[], 0, 0, false];
			dirtyThreads.clear();
			rewritten.clear();
			dirtyOperations.clear();
			for (const step of structuredClone(given)) loadStep(step);
			loadedUntil = given.at(-1)?.event ?? 0;
			if (!wasOn && given.length === 0) return;
			isOn = true;
			isAllDirty = true;
			note(present);
		},
		get loadedUntil() {
			return loadedUntil;
		},
		changed(event) {
			if (!isOn) return;
			hasTicked = event.type === "clock.moved" && isTickOf(event);
			if (/^(sandbox|scenario)\./.test(event.type)) isAllDirty = true;
			else if (/^(agency|access|fault)\./.test(event.type)) isRestDirty = true;
			else if ("contact" in event && event.type !== "request") {
				const thread = world()
					.agencies.get(event.agencyId)
					?.threads.get(event.contact as Thread["phone"]);
				if (!thread) return;
				dirtyThreads.set(nameOf(thread), thread);
				if (event.type === "message.status") rewritten.add(nameOf(thread));
			}
		},
		touched(thread) {
			if (isOn) dirtyThreads.set(nameOf(thread), thread);
		},
		operated(key) {
			if (isOn) dirtyOperations.add(key);
		},
		stepped(eventId) {
			if (!isOn || eventId === steps.at(-1)?.id) return;
			const isMoved = world().now !== clock.versions.at(-1)?.value.now;
			if (isMoved || isAllDirty || isRestDirty || dirtyThreads.size > 0 || dirtyOperations.size > 0) note(eventId);
		},
	};
}

/** The versions of each part. */
interface Versions {
	readonly clock: readonly Version<Clock>[];
	readonly rest: readonly Version<HistoryRest>[];
	readonly threads: readonly (readonly Version<ThreadCopy | undefined>[])[];
	readonly operations: readonly (readonly Version<Operation | undefined>[])[];
	readonly operationKeys: readonly string[];
}

/** The changes of each step, without the step `newest` and later ones. Pauses after each part. */
function* stepsOf(
	ids: readonly number[],
	newest: number,
	{ clock, rest, threads, operations, operationKeys }: Versions,
): Generator<void, DumpedStep[]> {
	const all = new Map<number, DumpedStep>();
	const [first = newest] = ids;
	/** What a part was at the first step, and became. What it was before counts as of that step. */
	const within = <Value>(versions: readonly Version<Value>[]) =>
		versions.slice(Math.max(0, placeAt(versions, first)), placeAt(versions, newest - 1) + 1);
	const stepAt = (id: number) => all.get(Math.max(id, first));
	for (const id of ids) all.set(id, { event: id, now: 0, counters: [], rest: null, threads: [], operations: [] });
	for (const { step, value } of within(clock)) Object.assign(stepAt(step) ?? {}, value);
	for (const { step, value } of within(rest)) Object.assign(stepAt(step) ?? {}, { rest: value });
	for (const versions of threads) {
		let before: ThreadCopy | undefined;
		for (const { step, value } of within(versions)) {
			const change = value ? changeOf(value, before) : before && goneOf(before);
			if (change) stepAt(step)?.threads.push(change);
			before = value;
		}
		yield;
	}
	for (const [at, versions] of operations.entries()) {
		const key = operationKeys[at] ?? "";
		let isThere = false;
		for (const { step, value } of within(versions)) {
			if (value || isThere) stepAt(step)?.operations.push([key, value ?? null]);
			isThere = value !== undefined;
		}
		yield;
	}
	return [...all.values()];
}

/** A conversation as it was. Versions share a list to which messages were only added: each has the first `count`. */
interface ThreadCopy {
	readonly thread: Thread;
	readonly messages: StoredMessage[];
	readonly count: number;
	/** What this version holds alone. */
	readonly weight: number;
}

/** A copy of a conversation that nothing changes any more, with other messages. */
export function copyOfThread(thread: Thread, messages: StoredMessage[]): Thread {
	const { views, flows, held, ai } = thread;
	const [owner, ...others] = views;
	return {
		...thread,
		messages,
		ai: { ...ai },
		held: held && { ...held },
		flows: flows.map((flow) => ({ ...flow })),
		views: [{ ...owner }, ...others.map((view) => ({ ...view }))],
	};
}

function copyOf(thread: Thread, before: ThreadCopy | undefined, isRewritten: boolean): ThreadCopy {
	const { messages } = thread;
	const isLonger = before !== undefined && !isRewritten && messages.length >= before.count;
	const list = isLonger ? before.messages : copiesOf(messages, before);
	for (const message of messages.slice(list.length)) list.push({ ...message });
	return {
		thread: copyOfThread(thread, []),
		messages: list,
		count: messages.length,
		weight: isLonger
			? (messages.length - before.count) * weightOfCopy
			: messages.length * (before ? weightOfMessage : weightOfCopy),
	};
}

/** A conversation as a change of what it was. */
function changeOf({ thread, messages, count }: ThreadCopy, before: ThreadCopy | undefined): HistoryThread {
	let keep = 0;
	const most = Math.min(count, before?.count ?? 0);
	const isKept = (at: number): boolean => {
		const [a, b] = [messages[at], before?.messages[at]];
		return a === b || (a !== undefined && b !== undefined && isSame(a, b));
	};
	if (messages === before?.messages) keep = most;
	while (keep < most && isKept(keep)) keep++;
	const { phone, views } = thread;
	return {
		agencyId: views[0].agencyId,
		phone,
		keep,
		thread: { ...thread, messages: messages.slice(keep, count) },
	};
}

const goneOf = ({ thread: { phone, views } }: ThreadCopy): HistoryThread => ({
	agencyId: views[0].agencyId,
	phone,
	keep: 0,
	thread: null,
});

/** The copy that a change leads to. The list of messages is shared, if they were only added. */
function joined(thread: Thread, keep: number, before: ThreadCopy | undefined): ThreadCopy {
	const isLonger = before !== undefined && keep === before.count && keep === before.messages.length;
	const list = isLonger ? before.messages : (before?.messages.slice(0, keep) ?? []);
	for (const message of thread.messages) list.push(message);
	return {
		thread: { ...thread, messages: [] },
		messages: list,
		count: list.length,
		weight: thread.messages.length * weightOfCopy + (isLonger ? 0 : keep * weightOfMessage),
	};
}

/** Copies of messages. One that has not changed is the copy of before. */
const copiesOf = (messages: readonly StoredMessage[], before: ThreadCopy | undefined): StoredMessage[] =>
	messages.map((message, at) => {
		const known = before?.messages[at];
		return known && isSame(known, message) ? known : { ...message };
	});

const isSame = (a: StoredMessage, b: StoredMessage): boolean =>
	a.id === b.id &&
	a.body === b.body &&
	a.status === b.status &&
	a.deliveredAt === b.deliveredAt &&
	a.readAt === b.readAt &&
	a.errorCode === b.errorCode;
