/* Contacts that the caller wants nothing of, and loops that are left while something hangs. */
import { createClient, PartnerConfigurationError } from "messaging-conversations";
import { type Change, changes, fingerprintOf, type Reconciled, reconcile, watch } from "messaging-conversations/sync";
import { expect, onTestFinished, test, vi } from "vitest";
import { messagesOf, minutes, type Opened, openModel } from "./service.ts";

function open(count = 3): Opened {
	const opened = openModel({}, count);
	for (let index = 0; index < count; index++) {
		opened.model.write(opened.contact(index));
		opened.model.advance(1_000);
	}
	return opened;
}

/** The reads of a contact's conversation. */
const readsOf = ({ model, contact }: Opened, index: number): number =>
	model.requests.filter((request) => request.includes(contact(index).phoneNumber)).length;

test.each([
	["a boolean", (isSo: boolean) => isSo],
	["a promise", async (isSo: boolean) => isSo],
])("a contact who is skipped is not read, and does not come: skip returns %s", async (_name, answer) => {
	const opened = open();
	const erased = opened.contact(1).phoneNumber;
	const asked: string[] = [];
	const skip = (phoneNumber: string) => {
		if (phoneNumber === erased) asked.push(phoneNumber);
		return answer(phoneNumber === erased);
	};
	const first = await opened.poll({ skip });
	expect([first.error, messagesOf(opened, first)]).toEqual([
		undefined,
		[
			[0, ["0"]],
			[2, ["2"]],
		],
	]);
	expect(asked).toHaveLength(1);
	expect(readsOf(opened, 1)).toBe(0);
	// What was skipped is not asked about again before it changes.
	expect((await opened.poll({ skip })).requests).toEqual(["GET /conversations"]);
	expect(asked).toHaveLength(1);
	opened.model.write(opened.contact(1));
	expect((await opened.poll({ skip })).requests).toEqual(["GET /conversations"]);
	expect(asked).toHaveLength(2);
});

test("a contact who is skipped does not end that the statuses of others are followed", async () => {
	const opened = open(2);
	const { model, contact } = opened;
	model.write(contact(0), { direction: "outbound" });
	vi.useFakeTimers({ now: model.now, toFake: ["Date"] });
	onTestFinished(() => void vi.useRealTimers());
	const options = { statuses: true, skip: (phoneNumber: string) => phoneNumber === contact(1).phoneNumber } as const;
	await opened.poll(options);
	model.write(contact(1));
	expect((await opened.poll(options)).changes).toEqual([]);
	const [sent] = contact(0).messages.slice(-1);
	if (sent) sent.status = "delivered";
	model.advance(minutes(2));
	vi.setSystemTime(model.now);
	expect(messagesOf(opened, await opened.poll(options))).toEqual([[0, ["2"]]]);
});

test.each([0, 1, 10])(
	"what was skipped counts as delivered: only later messages come, %d minutes later",
	async (count) => {
		const opened = open();
		opened.model.advance(minutes(count));
		await opened.poll({ skip: (phoneNumber) => phoneNumber === opened.contact(1).phoneNumber });
		opened.model.advance(minutes(count));
		opened.model.write(opened.contact(1));
		expect(messagesOf(opened, await opened.poll())).toEqual([[1, ["3"]]]);
		expect((await opened.poll()).changes).toEqual([]);
	},
);

test.each([4_000, 30_000])(
	"a message with the time of one that was skipped comes, and the skipped one does not: %d ms",
	async (precisionMs) => {
		const opened = openModel({ precisionMs }, 2);
		const { model, contact } = opened;
		model.advance(minutes(1));
		for (const index of [0, 1, 1]) model.write(contact(index));
		const skip = (phoneNumber: string) => phoneNumber === contact(1).phoneNumber;
		expect(messagesOf(opened, await opened.poll({ skip }))).toEqual([[0, ["0"]]]);
		model.write(contact(1));
		// Skipped again, and read at last after a read that failed.
		expect((await opened.poll({ skip })).changes).toEqual([]);
		for (const _message of "ab") model.write(contact(1));
		contact(1).unreadableUntil = model.now + minutes(1);
		expect((await opened.poll()).changes).toEqual([]);
		model.advance(minutes(1));
		expect(messagesOf(opened, await opened.poll())).toEqual([[1, ["4", "5"]]]);
		expect((await opened.poll()).changes).toEqual([]);
	},
);

test("a conversation that could not be read is not retried once it is skipped", async () => {
	const opened = open();
	opened.contact(1).unreadableUntil = opened.model.now + minutes(60);
	await opened.poll();
	const before = readsOf(opened, 1);
	const skip = (phoneNumber: string) => phoneNumber === opened.contact(1).phoneNumber;
	const { error, feed } = await opened.poll({ skip });
	expect([error, feed.failures, readsOf(opened, 1)]).toEqual([undefined, [], before]);
	opened.model.advance(minutes(61));
	expect((await opened.poll()).changes).toEqual([]);
});

test("a message whose status is followed is not read once its contact is skipped", async () => {
	const opened = open(1);
	vi.useFakeTimers({ now: opened.model.now, toFake: ["Date"] });
	onTestFinished(() => void vi.useRealTimers());
	opened.model.write(opened.contact(0), { direction: "outbound" });
	await opened.poll({ statuses: true });
	const before = readsOf(opened, 0);
	opened.model.advance(minutes(1));
	vi.setSystemTime(opened.model.now);
	const { feed } = await opened.poll({ statuses: true, skip: () => true });
	expect(readsOf(opened, 0)).toBe(before);
	expect(JSON.parse(feed.checkpoint).followed).toEqual([]);
});

test.each([
	[
		"throws",
		() => {
			throw new Error("+32470000000 is not in the table");
		},
	],
	[
		"rejects",
		async () => {
			throw new Error("+32470000000 is not in the table");
		},
	],
	[
		"throws no Error",
		() => {
			throw "+32470000000";
		},
	],
])("a skip that %s counts as a failed read", async (_name, fail) => {
	const opened = open();
	const skip = (phoneNumber: string) => (phoneNumber === opened.contact(1).phoneNumber ? fail() : false);
	const first = await opened.poll({ skip });
	expect(messagesOf(opened, first).map(([index]) => index)).toEqual([0, 2]);
	expect(first.feed.failures).toMatchObject([{ phoneNumber: opened.contact(1).phoneNumber, leftToReconcile: false }]);
	expect(first.error).toBeInstanceOf(PartnerConfigurationError);
	expect(first.error).toMatchObject({ operation: "changes", field: "skip", retryable: true });
	expect(String(first.error)).not.toContain("+32");
	expect(readsOf(opened, 1)).toBe(0);
	expect(messagesOf(opened, await opened.poll())).toEqual([[1, ["1"]]]);
});

test("a skip whose database is away does not end watch, and loses nothing", async () => {
	const opened = open(30);
	let isAway = true;
	const errors: string[] = [];
	const feed = watch(opened.agency, {
		since: "beginning",
		minMs: 1,
		maxMs: 1,
		skip: () => {
			if (isAway) throw new Error("away");
			return false;
		},
		onError: ({ message }) => {
			errors.push(message);
			isAway = false;
		},
	});
	const delivered: Change[] = [];
	for await (const change of feed) if (delivered.push(change) === 30) break;
	expect(errors[0]).toBe("skip: its function failed");
	expect(new Set(messagesOf(opened, { changes: delivered }).map(([index]) => index)).size).toBe(30);
	expect(opened.model.requests.filter((request) => request === "GET /conversations").length).toBeGreaterThan(1);
});

test("an aborted feed asks skip about no further contact's changes", async () => {
	const opened = open(6);
	const stop = new AbortController();
	const feed = changes(opened.agency, { since: "beginning", concurrency: 1, signal: stop.signal, skip: () => true });
	stop.abort();
	await expect(feed[Symbol.asyncIterator]().next()).rejects.toMatchObject({ _tag: "PartnerAbortError" });
});

/** What ends a loop whose callback never answers. */
const leaving = {
	"the signal": (stop: AbortController) => stop.abort(),
	return: (_stop: AbortController, iterator: AsyncIterator<unknown>) => iterator.return?.(),
};

test.each([
	["changes", "the signal"],
	["changes", "return"],
	["watch", "the signal"],
	["watch", "return"],
	["reconcile", "the signal"],
	["reconcile", "return"],
] as const)("a skip that never answers does not outlast %s: %s", async (kind, how) => {
	const opened = open();
	let resolve = (): void => {};
	const asked = new Promise<void>((done) => {
		resolve = done;
	});
	const stop = new AbortController();
	const options = {
		signal: stop.signal,
		skip() {
			resolve();
			return new Promise<never>(() => {});
		},
	};
	const loops = {
		changes: () => changes(opened.agency, { since: "beginning", ...options }),
		watch: () => watch(opened.agency, { since: "beginning", ...options }),
		reconcile: () => reconcile(opened.agency, { stored: [], ...options }),
	};
	const iterator: AsyncIterator<unknown> = loops[kind]()[Symbol.asyncIterator]();
	const next = iterator.next();
	await asked;
	const left = leaving[how](stop, iterator);
	if (how === "return" || kind === "watch") expect(await next).toEqual({ done: true, value: undefined });
	else await expect(next).rejects.toMatchObject({ _tag: "PartnerAbortError" });
	await left;
});

test.each(["changes", "watch", "reconcile"] as const)("return ends %s during a request", async (kind) => {
	const opened = open();
	let begun = (): void => {};
	const isBegun = new Promise<void>((resolve) => {
		begun = resolve;
	});
	let isAborted = false;
	const fetch: typeof globalThis.fetch = (_url, init) =>
		new Promise((_resolve, reject) => {
			init?.signal?.addEventListener("abort", () => {
				isAborted = true;
				reject(init.signal?.reason);
			});
			begun();
		});
	const agency = createClient({ baseUrl: "https://model.invalid/api/v1", apiKey: "model_live.a.b", fetch }).agency(
		opened.agency.id,
	);
	const loops = {
		changes: () => changes(agency, { since: "beginning" }),
		watch: () => watch(agency, { since: "beginning" }),
		reconcile: () => reconcile(agency, { stored: [] }),
	};
	const iterator: AsyncIterator<unknown> = loops[kind]()[Symbol.asyncIterator]();
	const next = iterator.next();
	await isBegun;
	const returned = iterator.return?.();
	expect(isAborted).toBe(true);
	const over = { done: true, value: undefined };
	expect(await Promise.all([next, returned])).toEqual([over, over]);
});

test("any number of contacts wait for skip with one listener of a signal", async () => {
	const opened = open(40);
	const warnings: unknown[] = [];
	const note = (warning: Error): unknown => warnings.push(warning);
	process.on("warning", note);
	onTestFinished(() => void process.off("warning", note));
	const skip = async () => {
		await new Promise((resolve) => setTimeout(resolve, 1));
		return false;
	};
	expect((await opened.poll({ skip, concurrency: 40 })).changes).toHaveLength(40);
	expect(warnings).toEqual([]);
});

test.each(["the signal", "return"] as const)("a stored that never answers does not outlast %s", async (how) => {
	const opened = open();
	const stop = new AbortController();
	let isClosed = false;
	let resolve = (): void => {};
	const asked = new Promise<void>((done) => {
		resolve = done;
	});
	const stored: AsyncIterable<never> = {
		[Symbol.asyncIterator]: () => ({
			next() {
				resolve();
				return new Promise<never>(() => {});
			},
			async return() {
				isClosed = true;
				throw new Error("The cursor is gone.");
			},
		}),
	};
	const iterator = reconcile(opened.agency, { stored, signal: stop.signal })[Symbol.asyncIterator]();
	const next = iterator.next();
	await asked;
	const left = leaving[how](stop, iterator);
	if (how === "return") expect(await next).toEqual({ done: true, value: undefined });
	else await expect(next).rejects.toMatchObject({ _tag: "PartnerAbortError" });
	await left;
	expect([isClosed, opened.model.requests]).toEqual([true, []]);
});

test("what stored throws ends reconcile, and a loop that is left closes it", async () => {
	const opened = open();
	async function* failing() {
		yield { phoneNumber: opened.contact(0).phoneNumber };
		throw new Error("The database is away.");
	}
	await expect(reconciled(opened, { stored: failing() })).rejects.toThrow("The database is away.");
	expect(opened.model.requests).toEqual([]);
});

async function reconciled(opened: Opened, options: Partial<Parameters<typeof reconcile>[1]>): Promise<Reconciled[]> {
	const all: Reconciled[] = [];
	for await (const each of reconcile(opened.agency, { stored: [], ...options })) all.push(each);
	return all;
}

test("an erased contact does not come back by reconcile, listed or not", async () => {
	const opened = open();
	const [first, second, third] = [0, 1, 2].map((index) => opened.contact(index).phoneNumber);
	const skip = async (phoneNumber: string) => phoneNumber !== third;
	opened.contact(1).hiddenUntil = opened.model.now + minutes(60);
	const stored = [first, second].map((phoneNumber) => ({ phoneNumber: `${phoneNumber}`, fingerprint: "1-x" }));
	const all = await reconciled(opened, { stored, skip });
	expect(all.map(({ phoneNumber }) => phoneNumber)).toEqual([third]);
	expect(opened.model.requests.filter((request) => request.includes(`${first}`))).toEqual([]);
	// Not even the question about what is stored and not listed names the number.
	expect(opened.model.requests.some((request) => request.includes("lookup"))).toBe(false);
	expect((await reconciled(opened, { stored })).map(({ phoneNumber }) => phoneNumber)).toEqual([first, third, second]);
});

test("a skip of reconcile that throws counts as a failed read", async () => {
	const opened = open();
	opened.contact(2).hiddenUntil = opened.model.now + minutes(60);
	const stored = [0, 1, 2].map((index) => ({ phoneNumber: opened.contact(index).phoneNumber, fingerprint: "1-x" }));
	const skip = (phoneNumber: string): boolean => {
		if (phoneNumber !== opened.contact(0).phoneNumber) throw new Error("away");
		return false;
	};
	const all: string[] = [];
	const run = async (): Promise<void> => {
		for await (const { phoneNumber, conversation } of reconcile(opened.agency, { stored, skip })) {
			all.push(phoneNumber);
			expect(conversation && fingerprintOf(conversation)).toBeTruthy();
		}
	};
	await expect(run()).rejects.toMatchObject({ field: "skip", operation: "reconcile" });
	expect(all).toEqual([opened.contact(0).phoneNumber]);
});
