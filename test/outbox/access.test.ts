// What a 403 means, and that one cause is reported once, whatever the number of agencies.
import { createClient } from "messaging-conversations";
import { createOutbox, type OutboxOptions, type Pause } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { describe, expect, test } from "vitest";
import { memoryStore } from "./memory.ts";

const count = 12;

function createWorld() {
	const sandbox = createSandbox();
	const agencies = [
		sandbox.agency(),
		...Array.from({ length: count - 1 }, (_, at) => sandbox.link({ name: `Agency ${at}` })),
	];
	const contacts = agencies.map((agency, at) => agency.contact(`+4477009001${10 + at}`));
	for (const contact of contacts) contact.writes("Hello");
	const asked: string[] = [];
	const world = { key: sandbox.integration.apiKey, isMeAway: false };
	const fetch: typeof globalThis.fetch = async (url, init) => {
		const isMe = String(url).endsWith("/me");
		asked.push(isMe ? "me" : `${init?.method}`);
		return isMe && world.isMeAway ? new Response("{}", { status: 503 }) : sandbox.fetch(url, init);
	};
	const client = createClient({ ...sandbox.connection, apiKey: async () => world.key, fetch, retry: false });
	const store = memoryStore();
	const told: string[] = [];
	const outbox = createOutbox({
		client,
		store,
		now: sandbox.clock.now,
		onPaused: ({ reason, agencyId, agencies: met }) => {
			const whose = agencyId ?? (met === undefined ? undefined : `${met} agencies`);
			told.push(whose === undefined ? reason : `${reason} ${whose}`);
		},
	});
	const enqueue = (round: string) =>
		Promise.all(
			agencies.map(({ id: agencyId }, at) =>
				outbox.enqueue({ id: `${round}-${at}`, agencyId, to: `${contacts[at]?.phoneNumber}`, body: `Text ${round}` }),
			),
		);
	const pass = async (minutes: number): Promise<void> => {
		for (let second = 0; second < minutes * 60; second++) {
			await outbox.runOnce();
			sandbox.clock.advance({ ms: 1_000 });
		}
		await outbox.runOnce();
	};
	const sent = async (round: string) =>
		(await Promise.all(agencies.map((_, at) => outbox.status(`${round}-${at}`)))).filter(
			(status) => status?.state !== "waiting",
		).length;
	return { ...world, world, sandbox, agencies, contacts, asked, told, outbox, store, enqueue, pass, sent };
}

type World = ReturnType<typeof createWorld>;

interface Cause {
	title: string;
	begin: (given: World) => void;
	end: (given: World) => void;
	told: (given: World) => string[];
	/** Texts that are sent all the same. */
	sent?: number;
	sentence: RegExp;
}

const causes: Cause[] = [
	{
		title: "a key without messages:write",
		begin: ({ sandbox, key }) => sandbox.keys.setScopes(key, ["conversations:read"]),
		end: ({ sandbox, key }) => sandbox.keys.setScopes(key, ["conversations:read", "messages:write"]),
		told: () => ["forbidden"],
		sentence: /All texts are paused.*lacks the scope messages:write/,
	},
	{
		title: "a key without conversations:read",
		begin: ({ sandbox, key }) => sandbox.keys.setScopes(key, ["messages:write"]),
		end: ({ sandbox, key }) => sandbox.keys.setScopes(key, ["conversations:read", "messages:write"]),
		told: () => ["forbidden"],
		sentence: /All texts are paused.*conversations:read/,
	},
	{
		title: "a key without any scope",
		begin: ({ sandbox, key }) => sandbox.keys.setScopes(key, []),
		end: ({ sandbox, key }) => sandbox.keys.setScopes(key, ["conversations:read", "messages:write"]),
		told: () => ["forbidden"],
		sentence: /All texts are paused/,
	},
	{
		title: "a key of another integration, which has an agency of its own",
		begin: ({ sandbox, world }) => {
			const other = sandbox.integrations.add({ name: "Other" });
			other.link({ name: "Theirs" });
			world.key = other.apiKey;
		},
		end: ({ sandbox, world }) => {
			world.key = sandbox.integration.apiKey;
		},
		told: () => ["forbidden"],
		sentence: /All texts are paused.*another integration/,
	},
	{
		title: "a key that was revoked",
		begin: ({ sandbox, key }) => sandbox.keys.revoke(key),
		end: ({ sandbox, world }) => {
			world.key = sandbox.keys.create().apiKey;
		},
		told: () => ["key"],
		sentence: /All texts are paused.*refuses the API key/,
	},
	{
		title: "an integration that is gone",
		begin: ({ sandbox }) => sandbox.integration.hide(),
		end: ({ sandbox }) => sandbox.integration.restore(),
		told: () => ["forbidden"],
		sentence: /All texts are paused.*integration is gone/,
	},
	{
		title: "one agency that is not linked any more",
		begin: ({ agencies }) => agencies[0]?.unlink(),
		end: ({ agencies }) => agencies[0]?.link(),
		told: ({ agencies }) => [`forbidden ${agencies[0]?.id}`],
		sent: count - 1,
		sentence: /The agency's texts are paused.*not linked/,
	},
	{
		title: "all agencies but one that are not linked any more",
		begin: ({ agencies }) => {
			for (const agency of agencies.slice(1)) agency.unlink();
		},
		end: ({ agencies }) => {
			for (const agency of agencies.slice(1)) agency.link();
		},
		told: ({ agencies }) => agencies.slice(1).map(({ id }) => `forbidden ${id}`),
		sent: 1,
		sentence: /Sent|Delivered/,
	},
];

describe("one cause is one report and at most one question a minute", () => {
	test.each(causes)("$title", async (cause) => {
		const given = createWorld();
		const { asked, told, outbox, enqueue, pass, sent } = given;
		cause.begin(given);
		await enqueue("first");
		await pass(10);
		expect([...told].sort()).toEqual([...cause.told(given)].sort());
		expect(await sent("first")).toBe(cause.sent ?? 0);
		expect((await outbox.status("first-0"))?.description).toMatch(cause.sentence);
		expect(asked.filter((what) => what === "me").length).toBeLessThanOrEqual(11);
		// A read and a send for each that goes out, later readings of it, and the first refusal of each agency at most.
		expect(asked.length).toBeLessThanOrEqual(11 + 2 * count + 7 * (cause.sent ?? 0) + (told[0] === "key" ? 12 : 0));
		cause.end(given);
		await pass(2);
		expect(await sent("first")).toBe(count);
		expect(told.length).toBe(cause.told(given).length);
		expect((await outbox.health()).pauses).toEqual([]);
	});

	test("a cause that comes back is reported again", async () => {
		const given = createWorld();
		const { sandbox, key, told, enqueue, pass, sent } = given;
		for (const round of ["first", "second"]) {
			sandbox.keys.setScopes(key, ["conversations:read"]);
			await enqueue(round);
			await pass(3);
			sandbox.keys.setScopes(key, ["conversations:read", "messages:write"]);
			await pass(3);
			expect(await sent(round)).toBe(count);
		}
		expect(told).toEqual(["forbidden", "forbidden"]);
	});

	test("an agency that loses its link, and a key that loses its scope in the same minute, are two reports", async () => {
		const { sandbox, key, agencies, told, enqueue, pass, sent } = createWorld();
		agencies[0]?.unlink();
		await enqueue("first");
		await pass(0.1);
		sandbox.keys.setScopes(key, ["conversations:read"]);
		await enqueue("second");
		await pass(5);
		expect([await sent("first"), await sent("second")]).toEqual([count - 1, 0]);
		expect(told.sort()).toEqual(["forbidden", `forbidden ${agencies[0]?.id}`]);
	});

	test("while me.get cannot be had, the number of agencies is reported once, and each waits for itself", async () => {
		const { sandbox, key, world, told, enqueue, pass, sent } = createWorld();
		world.isMeAway = true;
		sandbox.keys.setScopes(key, ["conversations:read"]);
		await enqueue("first");
		await pass(5);
		expect(told).toEqual([`forbidden ${count} agencies`]);
		world.isMeAway = false;
		await pass(3);
		expect(told.filter((each) => each === "forbidden")).toHaveLength(1);
		sandbox.keys.setScopes(key, ["conversations:read", "messages:write"]);
		await pass(3);
		expect(await sent("first")).toBe(count);
	});
});

test("without messages:write what was sent is followed, and a STOP is heard", async () => {
	const { sandbox, key, agencies, contacts, outbox, enqueue, pass } = createWorld();
	await enqueue("first");
	await outbox.runOnce();
	sandbox.keys.setScopes(key, ["conversations:read"]);
	await enqueue("second");
	await outbox.runOnce();
	contacts[3]?.writes("STOP");
	sandbox.clock.advance({ ms: 11_000 });
	await pass(5);
	const status = await outbox.status("second-3");
	expect([status?.state, status?.reason]).toEqual(["cancelled", "opted_out"]);
	expect((await outbox.status("second-2"))?.waitsFor).toMatchObject({ kind: "pause" });
	const { due, pauses } = await outbox.health();
	expect([due, pauses]).toEqual([count - 1, [expect.objectContaining({ agencyId: null, reason: "forbidden" })]]);
	// A person's own suspension stays beside it.
	await outbox.suspend({ agencyId: `${agencies[2]?.id}`, reason: "Wrong price" });
	sandbox.keys.setScopes(key, ["conversations:read", "messages:write"]);
	await pass(2);
	expect((await outbox.status("second-2"))?.waitsFor?.kind).toBe("suspended");
	expect((await outbox.status("second-4"))?.state).not.toBe("waiting");
});

test("a text expires while the key may not send", async () => {
	const { sandbox, key, agencies, contacts, outbox, pass, enqueue } = createWorld();
	sandbox.keys.setScopes(key, ["conversations:read"]);
	await enqueue("first");
	await pass(1);
	const notAfter = new Date(sandbox.clock.now().getTime() + 5 * 60_000);
	const text = { id: "late", agencyId: `${agencies[0]?.id}`, to: `${contacts[0]?.phoneNumber}`, body: "At five" };
	await outbox.enqueue({ ...text, notAfter });
	await pass(6);
	expect((await outbox.status("late"))?.state).toBe("expired");
});

describe("what keeps many texts back is told once", () => {
	const inbox = (at: number) => `+447700900${200 + at}`;
	function many(options: Partial<OutboxOptions>) {
		const sandbox = createSandbox();
		const agency = sandbox.agency();
		const told: string[] = [];
		const now = sandbox.clock.now;
		const client = createClient({ ...sandbox.connection });
		const onPaused = ({ reason }: Pause) => told.push(reason);
		const outbox = createOutbox({ client, store: memoryStore(), now, onPaused, ...options });
		const enqueue = async (from: number, to: number) => {
			for (let at = from; at < to; at++) {
				await outbox.enqueue({ id: `t-${at}`, agencyId: agency.id, to: inbox(at), body: "Hi" });
				await outbox.runOnce();
			}
		};
		return { sandbox, agency, outbox, told, enqueue };
	}

	test("an agency with two languages and no default one", async () => {
		const { sandbox, agency, outbox, told, enqueue } = many({});
		agency.consent.set({ languages: ["en", "fr"], defaultLanguage: null });
		agency.contact("+447700900199").writes("Hello");
		await enqueue(0, 12);
		expect(told).toEqual(["language_required"]);
		agency.consent.set({ defaultLanguage: "en" });
		sandbox.clock.advance({ minutes: 11 });
		await outbox.runOnce();
		expect((await outbox.status("t-11"))?.state).toBe("held");
		agency.consent.set({ defaultLanguage: null });
		sandbox.clock.advance({ minutes: 2 });
		await enqueue(12, 14);
		expect(told).toEqual(["language_required", "language_required"]);
	});

	test("a hook that fails for everybody is told for the first text and the tenth, and again once it has worked", async () => {
		let isBroken = true;
		const { sandbox, agency, outbox, told, enqueue } = many({
			beforeSend: () => {
				if (isBroken) throw new Error("no");
				return "send" as const;
			},
		});
		for (let at = 0; at < 20; at++) agency.contact(inbox(at)).writes("Hello");
		await enqueue(0, 12);
		expect(told).toEqual(["hook_failed", "hook_failed"]);
		isBroken = false;
		sandbox.clock.advance({ minutes: 11 });
		await outbox.runOnce();
		isBroken = true;
		await enqueue(12, 14);
		expect(told).toEqual(["hook_failed", "hook_failed", "hook_failed"]);
	});
});

test("a request whose answer was lost is not said to be under way", async () => {
	const { sandbox, contacts, agencies, outbox } = createWorld();
	sandbox.faults.add({ operation: "messages.send", times: 1, effect: "reset" });
	const text = { id: "lost", agencyId: `${agencies[0]?.id}`, to: `${contacts[0]?.phoneNumber}`, body: "Hi" };
	await outbox.enqueue({ ...text, whenClosed: "skip" });
	await outbox.runOnce();
	const status = await outbox.status("lost");
	expect([status?.state, status?.description]).toEqual(["sending", expect.stringMatching(/^A request was made/)]);
});
