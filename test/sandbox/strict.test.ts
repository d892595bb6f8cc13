import { expect, test } from "vitest";
import { createSandbox } from "../../src/sandbox/index.ts";
import { handlers } from "../../src/sandbox/msw.ts";
import { serve } from "../../src/sandbox/server.ts";
import { ANNA, BRAM, list, me, NOW, send, throughEachEntryPoint } from "./entry-points.ts";

const sandbox = createSandbox({ now: NOW });
const agency = sandbox.agency();
const anna = agency.contact(ANNA);
anna.writes("Hello");
const conversation = agency.conversation(ANNA);
const message = sandbox.message(1);
const flow = agency.startFlow(anna);
const fault = { phase: "before", effect: "reset" };
const status503 = { effect: { status: 503 } };
const reply = { body: "Hi", direction: "inbound", createdAt: "Monday", templateName: null, hasMedia: false };

/** A control, what it must not take, and what the refusal names. Types forbid all of it; JavaScript does not. */
const mistakes: readonly (readonly [string, (...given: never[]) => unknown, readonly unknown[], RegExp])[] = [
	[
		"clock.advance",
		sandbox.clock.advance,
		[{ weeks: 1 }],
		/clock\.advance takes days, hours, minutes, ms\. .* take: weeks/,
	],
	["clock.advance", sandbox.clock.advance, [{ hour: 25 }], /does not take: hour/],
	["clock.advance", sandbox.clock.advance, [{ hours: "1" }], /hours must be a finite number/],
	["clock.advance", sandbox.clock.advance, [{ hours: Number.NaN }], /hours/],
	["clock.advance", sandbox.clock.advance, [], /clock\.advance must be an object of days/],
	["clock.advanceTo", sandbox.clock.advanceTo, [4e12], /instant/],
	["consent.set", agency.consent.set, [{ answerWithinHours: 1e9 }], /answerWithinHours must be above 0, at most 87600/],
	["clock.advanceTo", sandbox.clock.advanceTo, ["2031-01-05T09:00:00"], /zone/],
	["faults.add", sandbox.faults.add, [{ op: "me.get", ...fault }], /faults\.add takes .* does not take: op/],
	["faults.add", sandbox.faults.add, [{ ...fault, operation: "me" }], /operation must be "me\.get" or/],
	["faults.add", sandbox.faults.add, [{ ...fault, phase: "during" }], /phase must be "before" or "after"/],
	["faults.add", sandbox.faults.add, [{ ...fault, times: 0 }], /times must be a whole number, at least 1/],
	["faults.add", sandbox.faults.add, [{ ...fault, skip: "1" }], /skip must be a whole number, at least 0/],
	[
		"faults.add",
		sandbox.faults.add,
		[{ effect: "explode" }],
		/effect must be "reset" or .*, or an object: \{ status: 503 \}/,
	],
	["faults.add", sandbox.faults.add, [{ effect: {} }], /effect/],
	["faults.add", sandbox.faults.add, [{}], /effect/],
	["faults.add", sandbox.faults.add, [{ effect: { status: 99 } }], /effect\.status must be from 200 to 599/],
	["faults.add", sandbox.faults.add, [{ effect: { status: 503, retryafter: 1 } }], /does not take: retryafter/],
	["faults.add", sandbox.faults.add, [{ effect: { latencyMs: -1 } }], /effect\.latencyMs/],
	["link", sandbox.link, [{}], /link: name must be a string, or null/],
	["link", sandbox.link, [], /link must be an object of name, consent/],
	["link", sandbox.link, [{ name: "B", title: "C" }], /does not take: title/],
	["link", sandbox.link, [{ name: "B", consent: { language: ["nl"] } }], /does not take: language/],
	["link", sandbox.link, [{ name: "B", senders: ["no uuid"] }], /senders\.set: ids\[0\] must be a UUID/],
	["integrations.add", sandbox.integrations.add, [{}], /name must be a string/],
	["keys.create", sandbox.keys.create, [{ scope: ["conversations:read"] }], /does not take: scope/],
	["keys.create", sandbox.keys.create, [{ scopes: ["read"] }], /scopes\[0\] must be "conversations:read" or/],
	["keys.setScopes", sandbox.keys.setScopes, [sandbox.connection.apiKey, "messages:write"], /scopes must be an array/],
	["keys.revoke", sandbox.keys.revoke, [1], /must be a string/],
	["agency.contact", agency.contact, [ANNA, { nmae: "Anna" }], /does not take: nmae/],
	["agency.contact", agency.contact, [ANNA, { name: 1 }], /name must be a string, or null/],
	["agency.rename", agency.rename, [], /name must be a string, or null/],
	["agency.storesMedia", agency.storesMedia, ["yes"], /on must be true or false/],
	["consent.set", agency.consent.set, [{ constructor: 1 }], /does not take: constructor/],
	["consent.set", agency.consent.set, [{ configured: "no" }], /configured must be true or false/],
	["consent.set", agency.consent.set, [{ languages: "nl" }], /languages must be an array/],
	["consent.set", agency.consent.set, [{ languages: ["nl", "nl"] }], /languages must be a list of each language once/],
	["consent.set", agency.consent.set, [{ unapprovedTemplates: [{ code: "x" }] }], /unapprovedTemplates\[0\] takes/],
	["consent.set", agency.consent.set, [{ answerWithinHours: 0 }], /answerWithinHours must be above 0/],
	["senders.set", agency.senders.set, ["11111111-1111-4111-8111-111111111111"], /ids must be an array/],
	["staff.setAi", agency.staff.setAi, [{ contact: anna, on: "off" }], /on must be true or false/],
	["staff.sends", agency.staff.sends, [{ contact: anna }], /text must be a string/],
	["ai.replies", agency.ai.replies, [{ contact: anna, words: "Hello" }], /does not take: words/],
	["contact.writes", anna.writes, [{ text: "Hello" }], /writes takes .* does not take: text/],
	["contact.writes", anna.writes, [1], /writes/],
	["contact.writes", anna.writes, [{ media: [{ url: "https://files.invalid/1", type: "x" }] }], /media\[0\] takes/],
	["contact.writes", anna.writes, [{ body: "Hello", replyTo: { body: "Hi" } }], /replyTo\.direction must be a string/],
	["contact.writes", anna.writes, [{ body: "Hello", replyTo: reply }], /replyTo\.createdAt must be an instant/],
	["contact.taps", anna.taps, [], /code must be a string/],
	["contact.taps", anna.taps, ["consent_acept"], /code must be "consent_accept", "consent_decline", or/],
	["contact.writes", anna.writes, [""], /body must be a string that is not empty/],
	["contact.writes", anna.writes, [" \n"], /body must be a string that is not empty/],
	["contact.setReachable", anna.setReachable, ["no"], /on must be true or false/],
	["staff.sends", agency.staff.sends, [{ contact: anna, text: "" }], /text must be a string that is not empty/],
	["ai.replies", agency.ai.replies, [{ contact: anna, text: " " }], /text must be a string that is not empty/],
	["agency.contact", agency.contact, ["abc"], /^contact must be a phone number, with \+ and the country code/],
	["faults.add", sandbox.faults.add, [{ effect: "status" }], /effect must say which status: \{ status: 503 \}/],
	["faults.add", sandbox.faults.add, [{ effect: 503 }], /effect must be a word or an object: \{ status: 503 \}/],
	["faults.add", sandbox.faults.add, [{}], /effect must be a word or an object, such as \{ status: 503 \}/],
	[
		"faults.add",
		sandbox.faults.add,
		[{ phase: "before", effect: { kind: "missing-field", field: "agencies" } }],
		/phase must be "after" with a field/,
	],
	["clock.advance", sandbox.clock.advance, [{}], /must have days, hours, minutes or ms/],
	[
		"faults.add",
		sandbox.faults.add,
		[{ effect: { retryAfter: "1\r\nx: y" } }],
		/retryAfter must be text that a header/,
	],
	[
		"faults.add",
		sandbox.faults.add,
		[{ effect: { status: 503, location: "\n" } }],
		/location must be text that a header/,
	],
	["during", sandbox.during, [{ operation: "me" }, () => {}], /operation must be "me\.get" or/],
	["during", sandbox.during, [{}], /act must be a function/],
	["events", sandbox.events, [{ after: "1" }], /after must be a whole number/],
	["subscribe", sandbox.subscribe, [], /listener must be a function/],
	["shareWith", conversation.shareWith, [], /agency must be a string/],
	["shareWith", conversation.shareWith, [agency.id, { reason: "any" }], /reason must be "focus" or/],
	["conversation.takeOver", conversation.takeOver, [{ time: 2 }], /does not take: time/],
	["conversation.takeOver", conversation.takeOver, [{ times: 0.5 }], /times must be a whole number/],
	["conversation.visibleAs", conversation.visibleAs, ["any"], /reason must be "focus" or/],
	["conversation.share", conversation.share, ["no"], /on must be true or false/],
	["contact", agency.contact, [undefined], /contact must be a phone number or a contact/],
	["staff.sends", agency.staff.sends, [{ text: "Hi" }], /contact must be a phone number or a contact/],
	["staff.sends", agency.staff.sends, [{ contact: { phone: ANNA }, text: "Hi" }], /contact must be a phone number or/],
	["staff.sends", agency.staff.sends, [{ contact: ANNA, text: "" }], /staff\.sends: text must be/],
	["staff.sends", agency.staff.sends, [ANNA, "Hi"], /staff\.sends must be an object of contact, text/],
	["staff.sends", agency.staff.sends, [anna, "Hi"], /staff\.sends takes contact, text\. .* does not take: phoneNumber/],
	["staff.setAi", agency.staff.setAi, [{ contact: null, on: true }], /contact must be/],
	["staff.setAi", agency.staff.setAi, [{ contact: ANNA, on: "yes" }], /staff\.setAi: on must be/],
	["staff.setAi", agency.staff.setAi, [ANNA, true], /staff\.setAi must be an object of contact, on/],
	["ai.replies", agency.ai.replies, [{ contact: 7, text: "Hi" }], /contact must be/],
	["ai.replies", agency.ai.replies, [{ contact: ANNA, text: "" }], /ai\.replies: text must be/],
	["ai.replies", agency.ai.replies, [ANNA, "Hi"], /ai\.replies must be an object of contact, text/],
	["ai.replies", agency.ai.replies, [{ contact: ANNA, text: "Hi", body: "Hi" }], /does not take: body/],
	["ai.replies", agency.ai.replies, [{ contact: ANNA }], /text must be a string/],
	["faults.add", sandbox.faults.add, [{ agencyId: 7, effect: "reset" }], /agencyId must be a string/],
	["faults.add", sandbox.faults.add, [{ contact: "Anna", effect: "reset" }], /contact must be a phone number, with/],
	["startFlow", agency.startFlow, [[ANNA]], /contact must be/],
	["conversation.hide", agency.conversation(JSON.parse("null")).hide, [], /contact must be/],
	["clock.advanceTo", sandbox.clock.advanceTo, ["2027-02-29T09:00:00Z"], /at must be an instant/],
	["faults.add", sandbox.faults.add, [{ effect: { kind: "html", field: "agencies" } }], /field is for missing-field/],
	["faults.add", sandbox.faults.add, [{ effect: { kind: "latency", status: 503 } }], /status is not for latency/],
	["faults.add", sandbox.faults.add, [{ effect: { kind: "reset", status: 503 } }], /status is not for reset/],
	["message.failed", message.failed, [{ code: 1 }], /does not take: code/],
	["message.set", message.set, [], /status must be a string/],
	["flow.set", flow.set, [1], /status must be a string/],
	["restore", sandbox.restore, [{ world: sandbox.snapshot().world }], /restore: journal must be an object/],
	["clock.advanceTo", sandbox.clock.advanceTo, [new Date(Number.NaN)], /a valid Date/],
	["handlers", handlers, [], /handlers: sandbox must be what createSandbox\(\) returns/],
	["handlers", handlers, [{}], /handlers: sandbox must be what createSandbox\(\) returns/],
];

test.each(mistakes)(
	"a mistake in %s is a TypeError that names it and changes nothing: %#",
	(_name, control, given, named) => {
		const before = JSON.stringify(sandbox.snapshot().world);
		const mistake = () => Reflect.apply(control, undefined, given);
		expect(mistake).toThrow(TypeError);
		expect(mistake).toThrow(named);
		expect(JSON.stringify(sandbox.snapshot().world)).toBe(before);
	},
);

test.each([
	[{ policy: { shortSearch: "nope" } }, /policy: shortSearch must be "empty" or "unfiltered"/],
	[{ policy: { shortsearch: "empty" } }, /policy takes shortSearch, .* take: shortsearch\./],
	[{ policy: { operationIdTtlHours: -1 } }, /operationIdTtlHours must be a number of hours above 0, or null/],
	[{ policy: { operationIdTtlHours: "24" } }, /operationIdTtlHours must be a number of hours above 0, or null/],
	[{ policy: { templateOnReplace: "false" } }, /templateOnReplace must be true or false/],
	[{ policy: "strict" }, /policy must be an object/],
	[{ policies: {} }, /createSandbox takes .* does not take: policies/],
	[{ variation: true }, /variation must be a number or a string/],
	[{ now: "2026-01-05T09:00:00" }, /zone/],
	[{ now: 0 }, /instant/],
])("createSandbox refuses %j", (options, named) => {
	const mistake = () => Reflect.apply(createSandbox, undefined, [options]);
	expect(mistake).toThrow(TypeError);
	expect(mistake).toThrow(named);
});

test.each([[undefined], [{}], ["a sandbox"], [{ connection: sandbox.connection }]])(
	"serve refuses %s, which is no sandbox",
	async (given) => {
		const serving = Reflect.apply(serve, undefined, [given]);
		await expect(serving).rejects.toThrow(new TypeError("serve: sandbox must be what createSandbox() returns."));
	},
);

test("serve refuses readOnly for a sandbox that shows no bug file, and what is neither true nor false", async () => {
	const opened = createSandbox({ from: createSandbox().bug() });
	opened.reset();
	const imported = createSandbox();
	imported.import(createSandbox().bug());
	imported.reset();
	for (const given of [createSandbox(), imported, createSandbox({ scenario: "held" })])
		await expect(serve(given, { readOnly: true })).rejects.toThrow(
			new TypeError("serve: readOnly is for a bug file. Make the sandbox with createSandbox({ from })."),
		);
	const serving = Reflect.apply(serve, undefined, [opened, { readOnly: "yes" }]);
	await expect(serving).rejects.toThrow(/^serve: readOnly must be true or false/);
	const server = await serve(opened, { readOnly: true });
	await server.close();
});

test.each([{ hours: 1e12 }, { ms: Number.MAX_VALUE }, { minutes: 5e9 }])(
	"the clock says that %j leads out of the years that it has",
	(by) => {
		const { clock } = createSandbox({ now: NOW });
		const mistake = () => clock.advance(by);
		expect(mistake).toThrow(RangeError);
		expect(mistake).toThrow("the time after it must be an instant from the year 1000 to the year 9989");
		expect(clock.now().toISOString()).toBe(NOW);
	},
);

test("a day is its midnight in UTC", () => {
	const { clock } = createSandbox({ now: "2026-01-31" });
	expect(clock.now().toISOString()).toBe("2026-01-31T00:00:00.000Z");
	clock.advanceTo("2026-02-01");
	expect(clock.now().toISOString()).toBe("2026-02-01T00:00:00.000Z");
});

/** A world as a bug file has it. */
function withoutSecrets(world: unknown): unknown {
	const { keys, ...rest } = Object(world);
	return { ...rest, keys: keys.map(({ secret: _, ...key }: { secret: string }) => key) };
}

throughEachEntryPoint((open) => {
	test("a fault that is taken back hits no more and says so; its hits stay", async () => {
		const box = await open();
		const taken = box.sandbox.faults.add({ ...status503, times: 3 });
		expect((await me(box, { check: "broken" })).status).toBe(503);
		expect([taken.hits, taken.remaining]).toEqual([1, 2]);
		const snapshot = box.sandbox.snapshot();
		taken.remove();
		expect([taken.hits, taken.remaining]).toEqual([1, 0]);
		(await me(box)).ok();
		const endless = box.sandbox.faults.add({ ...status503, times: Number.POSITIVE_INFINITY });
		expect(endless.remaining).toBe(Number.POSITIVE_INFINITY);
		box.sandbox.faults.clear();
		expect(endless.remaining).toBe(0);
		box.sandbox.restore(snapshot);
		expect([taken.hits, taken.remaining, endless.remaining]).toEqual([1, 2, 0]);
	});

	test("a bug file and a snapshot that are refused leave everything as it was", async () => {
		const box = await open();
		box.agency.contact(ANNA).writes("Hello");
		(await send(box, { to: BRAM, body: "Held", operationId: "a" })).ok();
		box.sandbox.faults.add({ ...status503, skip: 100 });
		const before = JSON.stringify(box.sandbox.snapshot().world);
		const spoiled = (spoil: (copy: Record<string, unknown[]>) => void): unknown => {
			const copy = JSON.parse(before);
			spoil(copy);
			return copy;
		};
		const thread = JSON.parse(before).agencies[0].threads[0];
		const withThread = (change: object) => ({ ...JSON.parse(before).agencies[0], threads: [{ ...thread, ...change }] });
		const [whole] = JSON.parse(before).faults;
		const withEffect = { ...whole, effect: { ...whole.effect, kind: "explode" } };
		const refusals: readonly (readonly [unknown, RegExp])[] = [
			[spoiled((copy) => (copy.agencies = [{}])), /world: agencies\[0\]\.id must be a string/],
			[spoiled((copy) => (copy.agencies = [null])), /agencies\[0\] must be an object/],
			[spoiled((copy) => (copy.agencies = [withThread({ messages: null })])), /threads\[0\]\.messages must be an arr/],
			[spoiled((copy) => (copy.agencies = [withThread({ phone: "0470" })])), /threads\[0\]\.phone must be E\.164/],
			[spoiled((copy) => (copy.agencies = [withThread({ rank: {} })])), /threads\[0\] takes .* does not take: rank/],
			[spoiled((copy) => (copy.keys = [{ id: 1 }])), /keys\[0\]\.id/],
			[spoiled((copy) => (copy.operations = [["a"]])), /operations\[0\]/],
			[spoiled((copy) => (copy.faults = [{}])), /faults\[0\]\.id/],
			[
				spoiled((copy) => (copy.faults = [{ ...whole, agencyId: undefined }])),
				/faults\[0\]\.agencyId must be a string/,
			],
			[spoiled((copy) => (copy.faults = [withEffect])), /faults\[0\]\.effect\.kind must be "status" or/],
			[spoiled((copy) => (copy.agencies = [withThread({ agencyId: "agy_0" })])), /does not take: agencyId/],
			[spoiled((copy) => (copy.counters = [["message", "1"]])), /counters\[0\]\[1\]/],
			[spoiled((copy) => (copy.extra = [])), /does not take: extra/],
		];
		const bug = box.sandbox.bug({ keepContent: true });
		const { journal } = box.sandbox.snapshot();
		for (const [world, named] of refusals)
			for (const refused of [
				() => Reflect.apply(box.sandbox.import, undefined, [{ ...bug, world: withoutSecrets(world) }]),
				() => Reflect.apply(box.sandbox.restore, undefined, [{ journal, world }]),
			]) {
				expect(refused, JSON.stringify(world)).toThrow(TypeError);
				expect(refused).toThrow(named);
				expect(JSON.stringify(box.sandbox.snapshot().world)).toBe(before);
			}
		expect((await me(box)).ok().agencies).toHaveLength(1);
		expect((await list(box)).ok().conversations).toHaveLength(2);
		box.sandbox.clock.advance({ hours: 48 });
		expect((await list(box)).ok().conversations.map((row) => row.queuedMessages)).toEqual([0, 0]);
	});
});
