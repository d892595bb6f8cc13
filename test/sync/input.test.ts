import { readFileSync } from "node:fs";
import { createClient, PartnerInvalidInput } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { changes, fingerprintOf, reconcile, watch } from "messaging-conversations/sync";
import { expect, test } from "vitest";

const sandbox = createSandbox();
const agency = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
const good = changes(agency, { since: "beginning" }).checkpoint;
const edited = (change: object): string => JSON.stringify({ ...JSON.parse(good), ...change });
const withKnown = (change: object): string =>
	edited({ known: [["+32470123456", { is: "delivered", fingerprint: "f", at: 1, from: 1, messages: [], ...change }]] });
const withFollowed = (change: object): string =>
	edited({
		followed: [["SM1", { phoneNumber: "+32470123456", state: "sent/sent/0", seenAt: 1, dueAt: 1, ...change }]],
	});

// Callers without types.
const call = (run: unknown, ...args: unknown[]): unknown => Reflect.apply(run as () => unknown, undefined, args);

const refused: [name: string, run: () => unknown, field: string][] = [
	["no checkpoint", () => changes(agency, { since: "yesterday" }), "since"],
	["an empty checkpoint", () => changes(agency, { since: "" }), "since"],
	["no since", () => call(changes, agency, {}), "since"],
	["a checkpoint that is an object", () => call(changes, agency, { since: JSON.parse(good) }), "since"],
	["a checkpoint of something else", () => changes(agency, { since: '{"version":1}' }), "since"],
	["a checkpoint without a number", () => changes(agency, { since: edited({ v: undefined }) }), "since"],
	["a checkpoint with a text for a number", () => changes(agency, { since: edited({ v: "1" }) }), "since"],
	["a checkpoint of another agency", () => changes(agency, { since: edited({ agencyId: "agy_ffff" }) }), "since"],
	["a checkpoint of a later version", () => changes(agency, { since: edited({ v: 2 }) }), "since"],
	["a checkpoint without its position", () => changes(agency, { since: edited({ position: undefined }) }), "since"],
	["a checkpoint whose position is no time", () => changes(agency, { since: edited({ position: "then" }) }), "since"],
	["a checkpoint with a broken conversation", () => changes(agency, { since: edited({ known: [["+32"]] }) }), "since"],
	["a checkpoint with a broken snapshot", () => changes(agency, { since: edited({ snapshot: {} }) }), "since"],
	[
		"a checkpoint with a number in place of a text",
		() => changes(agency, { since: withKnown({ fingerprint: 1 }) }),
		"since",
	],
	[
		"a checkpoint with a text in place of a time",
		() => changes(agency, { since: withKnown({ uncertain: [0, "1"] }) }),
		"since",
	],
	[
		"a checkpoint with a broken list of messages",
		() => changes(agency, { since: withKnown({ messages: [[1]] }) }),
		"since",
	],
	[
		"a checkpoint that follows a message of nobody",
		() => changes(agency, { since: edited({ followed: [["SM1", { state: "", seenAt: 1, dueAt: 1 }]] }) }),
		"since",
	],
	["a checkpoint with an unknown kind of entry", () => changes(agency, { since: withKnown({ is: "lost" }) }), "since"],
	[
		"a checkpoint without a fingerprint of what was delivered",
		() => changes(agency, { since: withKnown({ fingerprint: undefined }) }),
		"since",
	],
	["a checkpoint that fails since nowhere", () => changes(agency, { since: withKnown({ is: "failing" }) }), "since"],
	["a checkpoint with a message of no time", () => changes(agency, { since: withFollowed({ seenAt: null }) }), "since"],
	["a checkpoint with a time beyond all", () => changes(agency, { since: withFollowed({ seenAt: -1e300 }) }), "since"],
	["a checkpoint with a position beyond all", () => changes(agency, { since: edited({ position: 1e300 }) }), "since"],
	[
		"a checkpoint whose messages have numbers for keys",
		() => changes(agency, { since: withKnown({ messages: [[1000, 1]] }) }),
		"since",
	],
	[
		"a checkpoint with a snapshot of no conversations",
		() => changes(agency, { since: edited({ snapshot: { highWatermark: 1, offset: 1 } }) }),
		"since",
	],
	["a checkpoint of number 0", () => changes(agency, { since: edited({ v: 0 }) }), "since"],
	["a checkpoint with broken messages", () => changes(agency, { since: edited({ followed: [[1]] }) }), "since"],
	["a checkpoint that is cut off", () => watch(agency, { since: good.slice(0, -1) }), "since"],
	["no agency", () => call(changes, undefined, { since: "now" }), "agency"],
	["a client for an agency", () => call(watch, createClient({ ...sandbox.connection }), { since: "now" }), "agency"],
	["no options", () => call(changes, agency), "options"],
	["an option that there is not", () => call(changes, agency, { since: "now", lookback: 1 }), "options"],
	["an option of watch", () => call(changes, agency, { since: "now", minMs: 1 }), "options"],
	["a lookback that is no number", () => call(changes, agency, { since: "now", lookbackMs: "1" }), "lookbackMs"],
	["a lookback below 0", () => changes(agency, { since: "now", lookbackMs: -1 }), "lookbackMs"],
	["no read at once", () => changes(agency, { since: "now", concurrency: 0 }), "concurrency"],
	["statuses that there are not", () => call(changes, agency, { since: "now", statuses: "sent" }), "statuses"],
	["a skip that is no function", () => call(changes, agency, { since: "now", skip: ["+32470123456"] }), "skip"],
	["a skip of reconcile that is null", () => call(reconcile, agency, { stored: [], skip: null }), "skip"],
	["raw text", () => call(watch, agency, { since: "now", raw: "yes" }), "raw"],
	["raw of reconcile that is 1", () => call(reconcile, agency, { stored: [], raw: 1 }), "raw"],
	["a signal that is none", () => call(watch, agency, { since: "now", signal: {} }), "signal"],
	["a pause of nothing", () => watch(agency, { since: "now", minMs: 0 }), "minMs"],
	["a longest pause below the shortest", () => watch(agency, { since: "now", minMs: 9, maxMs: 8 }), "maxMs"],
	["a pause that no timer takes", () => watch(agency, { since: "now", maxMs: 2 ** 31 }), "maxMs"],
	["an onError that is none", () => call(watch, agency, { since: "now", onError: {} }), "onError"],
	["an onError that is null", () => call(watch, agency, { since: "now", onError: null }), "onError"],
	["nothing stored", () => call(reconcile, agency, {}), "stored"],
	["stored text", () => call(reconcile, agency, { stored: "+32470123456" }), "stored"],
	...[0, -1, 1.5, 10_001, Number.NaN, "100", undefined].map((size): [string, () => unknown, string] => [
		`batches of ${size}`,
		() => call(changes(agency, { since: "now" }).batches, size),
		"size",
	]),
	["a fingerprint of nothing", () => call(fingerprintOf, null), "conversation"],
	["a fingerprint of a message", () => call(fingerprintOf, { id: 1, body: "Hello" }), "conversation"],
];

test.each(refused)("%s is refused at once, by its field and without its value", (_name, run, field) => {
	const before = sandbox.requests().length;
	let error: unknown;
	try {
		run();
	} catch (thrown) {
		error = thrown;
	}
	expect(error).toBeInstanceOf(PartnerInvalidInput);
	expect(error).toMatchObject({ field, attempts: 0 });
	expect(String(error)).not.toMatch(/yesterday|agy_ffff|\+32/);
	expect(sandbox.requests()).toHaveLength(before);
});

test("a stored row without a number is refused by its place", async () => {
	const stored = [{ phoneNumber: "+32470123456" }, { fingerprint: "x" }] as never;
	const iterator = reconcile(agency, { stored })[Symbol.asyncIterator]();
	await expect(iterator.next()).rejects.toMatchObject({ _tag: "PartnerInvalidInput", field: "stored[1].phoneNumber" });
});

test.each([null, undefined, 5])("a stored row that is %s is refused by its place", async (row) => {
	const iterator = reconcile(agency, { stored: [row] as never })[Symbol.asyncIterator]();
	await expect(iterator.next()).rejects.toMatchObject({ _tag: "PartnerInvalidInput", field: "stored[0].phoneNumber" });
});

const fixture = (name: string): string => readFileSync(new URL(name, import.meta.url), "utf8").trim();
const reopened = (since: string) => changes(createClient({ ...sandbox.connection }).agency("agy_0a1b2c3d"), { since });

test("a checkpoint of number 1 is read for ever, in the middle of a snapshot too", () => {
	expect(reopened(fixture("checkpoint.txt")).checkpoint).toBe(fixture("checkpoint.txt"));
});

const update = /^since: was made by a later version of messaging-conversations\. Update the package/;
const noCheckpoint = /^since: must be "now", "beginning" or a checkpoint$/;
/** What a later version may have changed. */
const later: [name: string, since: string][] = [
	["one part that is not known yet", edited({ v: 2, more: 1 })],
	["its parts in other forms", edited({ v: 3, known: { a: 1 }, followed: "x", snapshot: [], position: [] })],
	["nothing but its number", '{"v":1000000}'],
	["another agency's id", edited({ v: 2, agencyId: "agy_ffff" })],
];

test.each(later)("a checkpoint of a later number with %s says to update the package", (_name, since) => {
	expect(() => changes(agency, { since })).toThrow(update);
	expect(() => watch(agency, { since })).toThrow(update);
});

const garbage = [
	"",
	"null",
	"[2]",
	"2",
	'{"v":"2"}',
	'{"v":1.5}',
	'{"v":1e300}',
	'{"v":-2}',
	'{"v":[2]}',
	'{"v":2',
	edited({ v: 0 }),
	good.slice(0, -1),
];

test.each(garbage)("garbage such as %s is not taken for a checkpoint of a later number", (since) => {
	expect(() => changes(agency, { since })).toThrow(noCheckpoint);
	expect(() => watch(agency, { since })).toThrow(noCheckpoint);
});

test.each([
	["a message that was never due", withFollowed({ dueAt: null })],
	["a message from the beginning of time", withFollowed({ seenAt: -1e19, dueAt: 0 })],
])("%s does not keep a poll from ending", async (_name, since) => {
	const feed = changes(agency, { since, statuses: true });
	for await (const change of feed) expect(change).toBeUndefined();
	expect(JSON.parse(feed.checkpoint).followed).toEqual([]);
});

test("a checkpoint is text that JSON and every database take, and stays good through them", () => {
	expect(changes(agency, { since: JSON.parse(JSON.stringify(good)) }).checkpoint).toBe(good);
});
