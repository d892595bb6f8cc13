import { expect, test } from "vitest";
import { createSandbox } from "../../src/sandbox/index.ts";
import { insideOf } from "../../src/sandbox/inside.ts";
import { ANNA, BRAM, NOW } from "./entry-points.ts";

/** A world with something of everything, and its bug file, as their JSON gives them: free to be spoiled. */
// biome-ignore lint/suspicious/noExplicitAny: the tests below write what the types forbid
function stored(): any {
	const { world, bug } = made();
	return JSON.parse(JSON.stringify({ world, bug }));
}

function made() {
	const sandbox = createSandbox({ now: NOW });
	const agency = sandbox.agency();
	agency.contact(ANNA, { name: "Anna" }).writes("Hello");
	agency.startFlow(ANNA);
	agency.staff.sends({ contact: BRAM, text: "Held" });
	sandbox.faults.add({ effect: { status: 503, retryAfter: 1 } });
	return { world: insideOf(sandbox).world(), bug: sandbox.bug({ keepContent: true }) };
}

// biome-ignore lint/suspicious/noExplicitAny: see above
const extra = (extras: object) => (archive: any) => (archive.agencies[0].threads[0].messages[0].extras = extras);

// biome-ignore lint/suspicious/noExplicitAny: see above
const operation = (fate: object) => (archive: any) =>
	(archive.operations = [["an operationId", { payload: `["${ANNA}","Hi",null,null]`, at: archive.now, fate }]]);

// biome-ignore lint/suspicious/noExplicitAny: see above
type Spoilt = readonly [string, (archive: any) => unknown, RegExp];

/** An object that becomes neither a text nor a number. */
const noText = { toString: 1, valueOf: 1 };

const spoilt: readonly Spoilt[] = [
	["an agency of no integration", (a) => (a.agencies[0].integrationId = "gone"), /agencies\[0\]\.integrationId/],
	["a key of no integration", (a) => (a.keys[0].integrationId = "gone"), /keys\[0\]\.integrationId/],
	["no agency", (a) => (a.agencies = []), /agencies must have the default one, agy_/],
	[
		"another agency in the place of the default one",
		(a) => {
			a.agencies[0].id = "other";
			for (const { views } of a.agencies[0].threads) views[0].agencyId = "other";
		},
		/agencies must have the default one, agy_/,
	],
	[
		"another integration in the place of the default one",
		(a) => {
			a.integrations[0].id = "other";
			a.keys[0].integrationId = "other";
			for (const agency of a.agencies) agency.integrationId = "other";
		},
		/integrations must have the default one, [0-9a-f-]{36}/,
	],
	...["x", "{}", "[]", '["a","b",1,null]', '[null,"b",null,null]'].map(
		(payload): Spoilt => [
			`an operation with the payload ${payload}`,
			(a) => (a.operations = [["an id", { payload, at: a.now, fate: { state: "taken" } }]]),
			/operations\[0\]\[1\]\.payload must be the payload of a send/,
		],
	),
	[
		"a counter of queue entries that is missing",
		(a) => (a.counters = a.counters.filter(([kind]: [string]) => kind !== "queue")),
		/"queue"/,
	],
	["a language that is none", (a) => (a.agencies[0].consent.defaultLanguage = "zz"), /defaultLanguage must be one of/],
	["a sender that is no UUID", (a) => (a.agencies[0].senders = ["x"]), /senders\[0\] must be a UUID/],
	[
		"a derived rank",
		(a) => (a.agencies[0].threads[0].rank = { at: 1, messageId: 1, serial: 1 }),
		/does not take: rank/,
	],
	["a derived flag", (a) => (a.agencies[0].threads[0].listed = false), /does not take: listed/],
	["a derived count", (a) => (a.agencies[0].threads[0].failed = 7), /does not take: failed/],
	["now null", (a) => (a.now = null), /now must be an instant/],
	["now as text", (a) => (a.now = "5"), /now must be an instant/],
	["now as a list", (a) => (a.now = [5]), /now must be an instant/],
	["now at the end of all time", (a) => (a.now = 8.64e15), /now must be an instant/],
	[
		"an instant of 9e99",
		(a) => (a.agencies[0].threads[0].messages[0].at = 9e99),
		/messages\[0\]\.at must be an instant/,
	],
	[
		"a held text of 9e99",
		(a) => (a.agencies[0].threads[1].held.expiresAt = 9e99),
		/held\.expiresAt must be an instant/,
	],
	["a fault with status 42", (a) => (a.faults[0].effect.status = 42), /effect\.status must be from 200 to 599/],
	["a fault with a line break", (a) => (a.faults[0].effect.retryAfter = "1\r\nx: y"), /retryAfter must be text/],
	["a file without a URL", extra({ media: [{}] }), /extras\.media\[0\]\.url must be a string/],
	["a copy of a file without a size", extra({ mediaStored: [{ size: "1" }] }), /mediaStored\[0\]\.size must be/],
	["buttons that are none", extra({ interactiveContent: { quickReplies: 5 } }), /quickReplies must be an array/],
	["a list without items", extra({ interactiveContent: { listPicker: {} } }), /listPicker\.items must be an array/],
	[
		"a link without a title",
		extra({ interactiveContent: { ctaButtons: [{ type: "URL" }] } }),
		/ctaButtons\[0\]\.title/,
	],
	["a reply to half a message", extra({ replyTo: { body: "Hi" } }), /replyTo\.direction must be a string, or null/],
	[
		"an answer time without a text",
		(a) => (a.agencies[0].consent.answerWithinHours = noText),
		/answerWithinHours must be/,
	],
	["a fate without a text", operation({ state: noText }), /operations\[0\]\[1\]\.fate\.state must be "sent"/],
	["a fate of no name", operation({ state: "lost" }), /operations\[0\]\[1\]\.fate\.state must be "sent" or "held" or/],
	["a fate without its message", operation({ state: "sent" }), /operations\[0\]\[1\]\.fate\.messageId must be a whole/],
	["two threads of one number", (a) => (a.agencies[0].threads[1].phone = ANNA), /phone numbers/],
	["two agencies of one id", (a) => a.agencies.push(a.agencies[0]), /agencies must differ/],
	["a message id twice", (a) => (a.agencies[0].threads[1].messages[0].id = 1), /ids of messages must differ/],
	[
		"messages out of order",
		(a) => a.agencies[0].threads[0].messages.push({ ...a.agencies[0].threads[0].messages[0] }),
		/rising ids/,
	],
	[
		"fewer ids than there are",
		(a) => (a.counters = a.counters.filter(([kind]: [string]) => kind !== "message")),
		/"message"/,
	],
	[
		"a view of no agency",
		(a) => a.agencies[0].threads[0].views.push({ agencyId: "agy_0", reason: "tagged", hidden: false }),
		/views names no agency/,
	],
	["an AI that is on and off", (a) => (a.agencies[0].threads[0].ai.reason = "manual_send"), /ai must have a reason/],
	["a window of no message", (a) => (a.agencies[0].threads[1].windowFrom = a.now), /windowFrom/],
];

test.each(spoilt)(
	"a world with %s is refused, in a bug file and in a snapshot, and changes nothing",
	(_name, spoil, named) => {
		const { world, bug } = stored();
		spoil(world);
		spoil(bug.world);
		const sandbox = createSandbox({ scenario: "held" });
		const { journal } = sandbox.snapshot();
		const before = JSON.stringify(sandbox.snapshot().world);
		for (const given of [bug, JSON.stringify(bug)]) {
			expect(() => sandbox.import(given)).toThrow(named);
			expect(() => createSandbox({ from: given })).toThrow(named);
		}
		expect(() => sandbox.restore({ world, journal })).toThrow(named);
		expect(JSON.stringify(sandbox.snapshot().world)).toBe(before);
	},
);

test.each(["bug file", "snapshot"])(
	"a %s without counters gives no id twice: of agencies, keys and integrations",
	(kind) => {
		const { world, bug } = stored();
		const derived = ["agency", "key", "integration"];
		for (const each of [world, bug.world])
			each.counters = each.counters.filter(([name]: [string]) => !derived.includes(name));
		const sandbox = createSandbox();
		if (kind === "bug file") sandbox.import(bug);
		else sandbox.restore({ ...sandbox.snapshot(), world });
		const before = [sandbox.agencies().length, sandbox.keys.list().length, sandbox.integrations.list().length];
		sandbox.link({ name: "Second" });
		sandbox.keys.create();
		sandbox.integrations.add({ name: "Third" });
		const after = [sandbox.agencies().length, sandbox.keys.list().length, sandbox.integrations.list().length];
		expect(after).toEqual(before.map((count) => count + 1));
		sandbox.restore(JSON.parse(JSON.stringify(sandbox.snapshot())));
		sandbox.import(JSON.stringify(sandbox.bug()));
	},
);

test.each(["bug file", "snapshot"])(
	"a %s holds nothing that can be derived, and what is derived comes back",
	(kind) => {
		const { world, bug } = made();
		const sandbox = createSandbox();
		if (kind === "bug file") sandbox.import(bug);
		else sandbox.restore({ ...sandbox.snapshot(), world });
		for (const each of [world, JSON.parse(JSON.stringify(bug.world))])
			expect(Object.keys(each.agencies[0].threads[0])).not.toContain("rank");
		const opened = sandbox.events({ limit: 1 })[0];
		expect(opened?.type).toBe(kind === "bug file" ? "sandbox.opened" : "sandbox.restored");
		expect(
			sandbox
				.agency()
				.conversations()
				.map(({ phoneNumber }) => phoneNumber),
		).toEqual([BRAM, ANNA]);
		sandbox.clock.advance({ hours: 50 });
		expect(sandbox.events({ after: opened?.id ?? 0 }).map(({ type }) => type)).toEqual([
			"window.closed",
			"text.dropped",
			"clock.moved",
		]);
	},
);
