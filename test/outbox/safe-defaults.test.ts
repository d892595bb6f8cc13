// What protects people: declines, replies, old texts, settings of the agency, and the CRM's own rules.
import { createClient, type Message } from "messaging-conversations";
import { createOutbox, type TextToSend } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { describe, expect, test, vi } from "vitest";
import { memoryStore } from "./memory.ts";
import { createWorld } from "./world.ts";

const day = { hours: 25 };
/** The outbox as it is without options. */
const defaults = { onReply: undefined, defaultMaxAgeMs: undefined } as const;
const createClosed = (options: Parameters<typeof createWorld>[0] = {}) => {
	const world = createWorld({ ...defaults, ...options });
	world.sandbox.clock.advance(day);
	return world;
};

describe("a contact who declines", () => {
	test("gets none of the texts that wait for them, and every text that is enqueued later", async () => {
		const { outbox, anna, enqueue, pass, state, sends, texts } = createClosed();
		for (const body of ["1", "2", "3"]) await enqueue(body);
		await pass({ minutes: 1 });
		expect(await state("note-1")).toBe("held");
		anna.declines();
		await pass({ minutes: 10 });
		expect(await outbox.status("note-1")).toMatchObject({ state: "dropped", reason: "declined" });
		for (const id of ["note-2", "note-3"])
			expect(await outbox.status(id)).toMatchObject({ state: "cancelled", reason: "earlier_text_declined" });
		expect([sends().length, texts()]).toEqual([1, []]);
		await enqueue("4");
		await pass({ minutes: 1 });
		expect([await state("note-4"), texts()]).toEqual(["sent", ["4"]]);
	});

	test("gets no text whose time had not come yet, and its status says so at once", async () => {
		const { sandbox, outbox, agency, anna, enqueue, pass, sends } = createClosed();
		const tomorrow = new Date(sandbox.clock.now().getTime() + 86_400_000);
		const text = { agencyId: agency.id, to: anna.phoneNumber, body: "Until tomorrow", notBefore: tomorrow };
		await enqueue("1");
		for (const id of ["a", "b", "c"]) await outbox.enqueue({ ...text, id });
		await pass({ minutes: 1 });
		// Enqueued later, and first in the queue.
		for (let index = 0; index < 25; index++) await outbox.enqueue({ ...text, id: `first-${index}`, priority: 1 });
		await pass({ minutes: 1 });
		anna.declines();
		await pass({ minutes: 20 });
		for (const id of ["a", "b", "c", "first-24"])
			expect(await outbox.status(id)).toMatchObject({ state: "cancelled", reason: "earlier_text_declined" });
		expect(await outbox.purge({ before: sandbox.clock.now() })).toBe(29);
		await pass({ hours: 25 });
		expect(sends()).toHaveLength(1);
	});

	test("who never answers gets none of them either", async () => {
		const { outbox, enqueue, pass, state, templates } = createClosed({ defaultMaxAgeMs: Number.POSITIVE_INFINITY });
		await enqueue("1");
		await enqueue("2");
		await pass({ hours: 50 });
		expect(await outbox.status("note-1")).toMatchObject({ state: "dropped", reason: "no_answer" });
		expect([await state("note-2"), templates()]).toEqual(["cancelled", 1]);
	});

	test.each(["one worker", "two workers"])(
		"is not sent to between the decline and its discovery, with %s",
		async (workers) => {
			for (let round = 0; round < 20; round++) {
				const { outbox, restart, anna, enqueue, pass, sends, sandbox } = createClosed();
				for (const body of ["1", "2", "3"]) await enqueue(body);
				await pass({ minutes: 1 });
				anna.declines();
				sandbox.clock.advance({ ms: round * 7_000 });
				const engine = { start: async () => {}, wake: async () => {}, work: async () => async () => {} };
				const other = restart({ engine });
				await Promise.all([outbox.runOnce(), ...(workers === "two workers" ? [other.runOnce(), other.runOnce()] : [])]);
				await pass({ minutes: 10 });
				expect(sends()).toHaveLength(1);
			}
		},
	);

	test("is not sent to either when the answer that held the text was lost", async () => {
		const { sandbox, outbox, anna, enqueue, pass, sends } = createClosed();
		sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
		await enqueue("1");
		await enqueue("2");
		await outbox.runOnce();
		anna.declines();
		await pass({ hours: 1 });
		expect(await outbox.status("note-1")).toMatchObject({ state: "unknown", reason: "ambiguous" });
		expect(await outbox.status("note-2")).toMatchObject({ state: "cancelled", reason: "earlier_text_declined" });
		expect(sends()).toHaveLength(1);
	});

	test("and to whom staff write before the next read may as well have booked: a person is told to look", async () => {
		const { outbox, agency, anna, enqueue, pass, state } = createClosed();
		await enqueue("1");
		await enqueue("2");
		await pass({ minutes: 1 });
		anna.declines();
		agency.staff.sends({ contact: anna, text: "From a colleague" });
		await pass({ minutes: 10 });
		expect(await outbox.status("note-1")).toMatchObject({ state: "dropped", reason: "displaced" });
		expect((await outbox.status("note-1"))?.description).toMatch(/look at the conversation/);
		expect(await state("note-2")).toBe("sent");
	});
});

describe("a contact who answers in words", () => {
	test("does not get the held text by it: STOP is an answer too", async () => {
		const { anna, enqueue, pass, state, sends, texts } = createClosed();
		await enqueue("The key code is 4711.");
		await pass({ minutes: 1 });
		anna.writes("STOP");
		await pass({ hours: 2 });
		expect([await state("note-1"), sends().length, texts()]).toEqual(["held", 1, []]);
	});

	test.each([
		["send", "sent", false],
		["wait", "held", false],
		["cancel", "held", true],
	] as const)("and a function that says %s", async (verdict, state, cancelRequested) => {
		const replies: (string | null)[][] = [];
		const { outbox, anna, enqueue, pass, sends } = createClosed({
			onReply: async (messages: readonly Message[], { id, attempts }) => {
				replies.push(messages.map(({ body }) => body));
				expect([id, attempts]).toEqual(["note-1", 1]);
				return verdict === "cancel" ? { cancel: "Sold" } : verdict;
			},
		});
		await enqueue("1");
		await pass({ minutes: 1 });
		anna.writes("Who is this?");
		await pass({ minutes: 1 });
		anna.writes("Hello?");
		await pass({ hours: 1 });
		expect(await outbox.status("note-1")).toMatchObject({ state, cancelRequested });
		expect(sends()).toHaveLength(verdict === "send" ? 2 : 1);
		expect(replies[0]).toContain("Who is this?");
	});

	test("a function that throws sends nothing, and is asked again", async () => {
		let isBroken = true;
		const { pauses, anna, enqueue, pass, state, sends } = createClosed({
			onReply: () => {
				if (isBroken) throw new Error(`+447700900101 said STOP`);
				return "send";
			},
		});
		await enqueue("1");
		await pass({ minutes: 1 });
		anna.writes("Yes");
		await pass({ hours: 1 });
		expect([await state("note-1"), sends().length]).toEqual(["held", 1]);
		expect(pauses).toMatchObject([{ reason: "hook_failed", id: "note-1" }]);
		expect(JSON.stringify(pauses)).not.toMatch(/STOP|4477/);
		isBroken = false;
		await pass({ hours: 1 });
		expect(await state("note-1")).toBe("sent");
	});
});

describe("cancelling", () => {
	test("a held text gives false, and the outbox never sends it again", async () => {
		const { outbox, anna, enqueue, pass, state, sends } = createClosed({ onReply: "send" });
		await enqueue("1");
		await pass({ minutes: 1 });
		expect(await outbox.cancel("note-1")).toBe(false);
		anna.writes("Hello?");
		await pass({ hours: 2 });
		expect(await outbox.status("note-1")).toMatchObject({ state: "held", cancelRequested: true });
		expect(sends()).toHaveLength(1);
		anna.accepts();
		await pass({ hours: 1 });
		expect(await state("note-1")).toBe("sent");
	});

	test("a text whose result is not known yet gives false, and it is not requested again", async () => {
		const { sandbox, outbox, enqueue, pass, state, sends } = createWorld(defaults);
		sandbox.faults.add({ operation: "messages.send", phase: "before", effect: { status: 500 }, times: 1 });
		await enqueue("1");
		await outbox.runOnce();
		expect([await state("note-1"), await outbox.cancel("note-1")]).toEqual(["sending", false]);
		await pass({ hours: 1 });
		expect(await outbox.status("note-1")).toMatchObject({ state: "cancelled", reason: "requested" });
		expect(sends()).toHaveLength(1);
	});

	test("all texts of a contact: what waits is cancelled, what is held is marked, and a later text is sent", async () => {
		const { outbox, anna, enqueue, pass, state, texts } = createClosed({ onReply: "send" });
		for (const body of ["1", "2", "3"]) await enqueue(body);
		await pass({ minutes: 1 });
		expect(await outbox.cancelAll({ to: "+44 7700 900101" })).toEqual({
			cancelled: ["note-2", "note-3"],
			tooLate: ["note-1"],
		});
		anna.writes("STOP");
		await pass({ hours: 50 });
		expect([await state("note-1"), await state("note-2"), texts()]).toEqual(["dropped", "cancelled", []]);
		anna.writes("Hello again");
		const { agencyId = "", to } = (await outbox.status("note-1")) ?? {};
		await outbox.enqueue({ id: "4", agencyId, to: to ?? "", body: "4", purpose: "reply" });
		await pass({ minutes: 1 });
		expect(texts()).toEqual(["4"]);
	});

	test("all texts of a contact covers one whose transaction is still open", async () => {
		const { client, store, agency, anna, sandbox, sends } = createWorld(defaults);
		const unseen = { ...store, unfinished: async () => [] };
		const outbox = createOutbox({ client, store: unseen, now: sandbox.clock.now });
		await outbox.enqueue({ id: "a", agencyId: agency.id, to: anna.phoneNumber, body: "1" });
		expect(await outbox.cancelAll({ to: anna.phoneNumber })).toEqual({ cancelled: [], tooLate: [] });
		await outbox.enqueue({ id: "b", agencyId: agency.id, to: anna.phoneNumber, body: "2" });
		await outbox.runOnce();
		expect(await outbox.status("a")).toMatchObject({ state: "cancelled", reason: "requested" });
		expect(sends().map(({ body }) => Object(body).body)).toEqual(["2"]);
	});

	test("a recipient right before the attempt record lets no request begin", async () => {
		const { client, store, agency, anna, sandbox, sends } = createWorld(defaults);
		let isStopped = false;
		const stopping = {
			...store,
			save: async (...args: Parameters<typeof store.save>) => {
				if (args[0].state === "sending" && !isStopped) {
					isStopped = true;
					// Another worker, after this one has read the row.
					await store.stop({ to: anna.phoneNumber }, "cancelAll");
				}
				return store.save(...args);
			},
		};
		const outbox = createOutbox({ client, store: stopping, now: sandbox.clock.now });
		await outbox.enqueue({ id: "a", agencyId: agency.id, to: anna.phoneNumber, body: "1", priority: 1 });
		await outbox.runOnce();
		expect(sends().map(({ body }) => Object(body).body)).toEqual([]);
		expect((await outbox.status("a"))?.state).toBe("cancelled");
	});

	test("all texts of one agency leaves those of the others", async () => {
		const { sandbox, outbox, anna, enqueue } = createWorld(defaults);
		const other = sandbox.link({ name: "Other" });
		await enqueue("1");
		await outbox.enqueue({ id: "other", agencyId: other.id, to: anna.phoneNumber, body: "2" });
		expect(await outbox.cancelAll({ agencyId: other.id, to: anna.phoneNumber })).toEqual({
			cancelled: ["other"],
			tooLate: [],
		});
		expect((await outbox.status("note-1"))?.state).toBe("waiting");
	});

	test("forgetting a contact erases number and text, at once or when a text has ended, and keeps the ids", async () => {
		const { outbox, store, anna, enqueue, pass, agency } = createClosed();
		await enqueue("The secret garden");
		await pass({ minutes: 1 });
		await enqueue("The secret cellar");
		const first = await outbox.erase({ to: anna.phoneNumber, everyAgency: true });
		expect(first).toEqual({ cancelled: ["note-2"], tooLate: ["note-1"] });
		expect(await outbox.status("note-2")).toMatchObject({ state: "cancelled", to: null, operationId: null });
		expect(await outbox.status("note-1")).toMatchObject({ state: "held", to: anna.phoneNumber });
		anna.declines();
		await pass({ hours: 1 });
		expect(await outbox.status("note-1")).toMatchObject({ state: "dropped", to: null });
		expect(JSON.stringify(store.all())).not.toMatch(/secret|447700900101/);
		expect(await outbox.erase({ to: anna.phoneNumber, everyAgency: true })).toEqual({ cancelled: [], tooLate: [] });
		const again = outbox.enqueue({
			id: "note-1",
			agencyId: agency.id,
			to: anna.phoneNumber,
			body: "The secret garden",
		});
		await expect(again).rejects.toMatchObject({ _tag: "PartnerInvalidInput", field: "id" });
		expect(await outbox.purge({ before: Date.now() + 1e12 })).toBe(0);
	});
});

describe("beforeSend", () => {
	test("gets the text and the conversation before each request, but not before an immediate repeat", async () => {
		const asked: unknown[] = [];
		const { sandbox, enqueue, pass, texts } = createWorld({
			...defaults,
			beforeSend: ({ id, body, attempts, priority, createdAt }, { conversation, messages, now }) => {
				asked.push([id, body, attempts, priority, conversation?.summary.contactName, messages[0]?.body]);
				expect([createdAt, now].map((time) => time.toISOString().slice(0, 10))).toEqual(["2026-01-05", "2026-01-05"]);
				return "send";
			},
		});
		sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset", times: 2 });
		await enqueue("1");
		await pass({ minutes: 1 });
		expect([asked, texts()]).toEqual([[["note-1", "1", 0, 0, "Anna", "Is the flat still free?"]], ["1"]]);
	});

	test("gets null for a contact who is new", async () => {
		const beforeSend = vi.fn(() => "send" as const);
		const { enqueue, pass } = createWorld({ ...defaults, beforeSend });
		await enqueue("1", { to: "+447700900199" });
		await pass({ minutes: 1 });
		expect(beforeSend).toHaveBeenCalledWith(
			expect.anything(),
			expect.objectContaining({ conversation: null, messages: [] }),
		);
	});

	test("cancels a text, and the next one has its turn", async () => {
		const { outbox, enqueue, pass, texts } = createWorld({
			...defaults,
			beforeSend: ({ body }) => (body === "1" ? { cancel: "The flat is sold" } : "send"),
		});
		for (const body of ["1", "2"]) await enqueue(body);
		await pass({ minutes: 1 });
		expect(await outbox.status("note-1")).toMatchObject({ state: "cancelled", reason: "before_send", attempts: 0 });
		expect(texts()).toEqual(["2"]);
	});

	test("puts a text off, which blocks no other one until then", async () => {
		const { sandbox, outbox, enqueue, pass, texts } = createWorld({
			...defaults,
			beforeSend: ({ body }, { now }) => {
				const waitUntil = new Date("2026-01-05T20:00:00Z");
				return body === "1" && now < waitUntil ? { waitUntil, because: "Later" } : "send";
			},
		});
		expect(sandbox.clock.now() < new Date("2026-01-05T19:00:00Z")).toBe(true);
		for (const body of ["1", "2"]) await enqueue(body);
		await pass({ minutes: 1 });
		expect([await outbox.status("note-1"), texts()]).toMatchObject([
			{ state: "waiting", reason: "before_send" },
			["2"],
		]);
		await pass({ hours: 20 });
		expect(texts()).toEqual(["2", "1"]);
	});

	test("that puts a text off beyond its time lets it expire in time", async () => {
		const { sandbox, outbox, enqueue, pass, sends } = createWorld({
			...defaults,
			beforeSend: () => ({ waitUntil: new Date("2030-01-01T00:00:00Z"), because: "Later" }),
		});
		await enqueue("1");
		await outbox.runOnce();
		sandbox.clock.advance({ hours: 48 });
		await pass({ minutes: 1 });
		expect(await outbox.status("note-1")).toMatchObject({ state: "expired", reason: "too_old" });
		expect(sends()).toEqual([]);
	});

	test("chooses the language of the request for consent", async () => {
		const { sandbox, agency, enqueue, pass, state } = createClosed({ beforeSend: () => ({ consentLanguage: "fr" }) });
		agency.consent.set({ languages: ["nl", "fr"] });
		await enqueue("1");
		await pass({ minutes: 1 });
		expect(await state("note-1")).toBe("held");
		const [send] = sandbox.requests().filter(({ operation }) => operation === "messages.send");
		expect(send?.body).toMatchObject({ consentLanguage: "fr" });
	});

	test.each<[string, () => unknown]>([
		["throws", () => Promise.reject(new Error("+447700900101"))],
		[
			"throws at once",
			() => {
				throw new TypeError("secret");
			},
		],
		["returns nothing", () => undefined],
		["returns true", () => true],
		["returns a time that is none", () => ({ waitUntil: new Date("never") })],
		["returns no time beside a language", () => ({ waitUntil: undefined, consentLanguage: "en" })],
		["returns null for a time beside a language", () => ({ waitUntil: null, consentLanguage: "en" })],
		["returns a time that is none beside a language", () => ({ waitUntil: new Date("never"), consentLanguage: "en" })],
		["returns a number for a time", () => ({ waitUntil: 4_102_444_800_000 })],
		["returns the text of a time", () => ({ waitUntil: "2100-01-01T00:00:00Z" })],
		["returns what only looks like a time", () => ({ waitUntil: { getTime: () => "soon", valueOf: () => 1 } })],
		["returns a blank language", () => ({ consentLanguage: " " })],
		["returns a language that cannot be stored", () => ({ consentLanguage: "e\0" })],
		["returns half an emoji for a language", () => ({ consentLanguage: "\ud83d" })],
		["returns null", () => null],
		["returns a list", () => ["send"]],
		["returns an empty object", () => ({})],
		[
			"returns an object whose field throws",
			() => ({
				get waitUntil() {
					throw new TypeError("+447700900101");
				},
			}),
		],
	])("sends nothing when it %s, calls onPaused once, and is asked again", async (_how, fail) => {
		let isBroken = true;
		const beforeSend = (_text: TextToSend) => (isBroken ? (fail() as Promise<never>) : ("send" as const));
		const hook: typeof beforeSend = (text) => (text.body === "1" ? beforeSend(text) : "send");
		const { agency, outbox, pauses, enqueue, pass, sends, texts } = createWorld({ ...defaults, beforeSend: hook });
		const bert = agency.contact("+447700900102");
		bert.writes("Hello");
		await enqueue("1");
		await enqueue("2", { to: bert.phoneNumber });
		await pass({ hours: 1 });
		// Another contact does not wait for it.
		expect(sends()).toMatchObject([{ body: { body: "2" } }]);
		expect(await outbox.status("note-1")).toMatchObject({ state: "waiting", reason: "hook_failed" });
		expect(pauses).toMatchObject([{ reason: "hook_failed", id: "note-1", error: { field: "beforeSend" } }]);
		expect(JSON.stringify(pauses)).not.toMatch(/4477|secret/);
		isBroken = false;
		await pass({ hours: 1 });
		expect(texts()).toEqual(["1"]);
	});

	test("sends nothing when it takes more than 5 seconds", async () => {
		vi.useFakeTimers();
		try {
			const { outbox, pauses, enqueue, sends } = createWorld({ ...defaults, beforeSend: () => new Promise(() => {}) });
			await enqueue("1");
			const draining = outbox.runOnce();
			await vi.advanceTimersByTimeAsync(6_000);
			await draining;
			expect([sends(), pauses]).toMatchObject([[], [{ reason: "hook_failed" }]]);
		} finally {
			vi.useRealTimers();
		}
	});
});

describe("a cancel while the request is under way", () => {
	const cancelling = (by: "cancel" | "cancelAll" | "erase", options: Parameters<typeof createWorld>[0] = {}) => {
		const world = createWorld({ ...defaults, ...options });
		const { sandbox, outbox, agency, anna } = world;
		let answer: Promise<unknown> = Promise.resolve();
		sandbox.during({ operation: "messages.send" }, () => {
			answer = by === "cancel" ? outbox.cancel("note-1") : outbox[by]({ to: anna.phoneNumber, agencyId: agency.id });
		});
		return { ...world, answer: () => answer };
	};

	test.each(["cancel", "cancelAll", "erase"] as const)("leaves its answer to the text: %s", async (by) => {
		const { outbox, enqueue, texts, answer } = cancelling(by);
		await enqueue("1");
		await outbox.runOnce();
		expect(await answer()).toEqual(by === "cancel" ? false : { cancelled: [], tooLate: ["note-1"] });
		expect(await outbox.status("note-1")).toMatchObject({
			state: "sent",
			to: by === "erase" ? null : "+447700900101",
		});
		expect(texts()).toEqual(["1"]);
	});

	test("marks a text that is held then, and its decline is one", async () => {
		const { sandbox, outbox, anna, enqueue, pass } = cancelling("cancel");
		sandbox.clock.advance(day);
		await enqueue("1");
		await outbox.runOnce();
		expect(await outbox.status("note-1")).toMatchObject({ state: "held", cancelRequested: true });
		sandbox.clock.advance({ ms: 20_000 });
		anna.declines();
		await pass({ hours: 1 });
		expect(await outbox.status("note-1")).toMatchObject({ state: "dropped", reason: "declined" });
	});

	test.each([400, 403, 409] as const)(
		"ends a text that is rejected with %d, without another request",
		async (status) => {
			const { sandbox, outbox, restart, enqueue, sends } = createWorld(defaults);
			let answer: unknown;
			const fetch: typeof globalThis.fetch = async (url, init) => {
				if (init?.method !== "POST") return sandbox.fetch(url, init);
				answer = await outbox.cancel("note-1");
				const _tag = { 400: "PartnerBadRequest", 403: "PartnerForbidden", 409: "PartnerConflict" }[status];
				return new Response(JSON.stringify({ _tag, message: "no" }), { status });
			};
			await enqueue("1");
			await restart({ client: createClient({ ...sandbox.connection, fetch, retry: false }) }).runOnce();
			expect([answer, sends()]).toEqual([false, []]);
			expect(await outbox.status("note-1")).toMatchObject(
				status === 400 ? { state: "refused" } : { state: "cancelled", reason: "requested", attempts: 1 },
			);
		},
	);
});

describe("the agency's settings", () => {
	test("a second language keeps the texts of the closed windows waiting, and refuses none", async () => {
		const { outbox, pauses, agency, enqueue, pass, state, sends } = createClosed();
		for (let index = 0; index < 10; index++) await enqueue(`Text ${index}`, { to: `+4477009001${index + 10}` });
		agency.consent.set({ languages: ["nl", "fr"], defaultLanguage: null });
		await pass({ minutes: 30 });
		expect(sends()).toEqual([]);
		expect(await outbox.status("note-1")).toMatchObject({ state: "waiting", reason: "language_required" });
		expect(pauses.map(({ reason }) => reason)).toContain("language_required");
		agency.consent.set({ languages: ["nl", "fr"], defaultLanguage: "nl" });
		await pass({ hours: 1 });
		for (let index = 1; index <= 10; index++) expect(await state(`note-${index}`)).toBe("held");
	});

	test("the same text has the same operationId after a restore, although the default language has changed", async () => {
		const { sandbox, agency, enqueue, pass, texts, sends, restart, anna } = createWorld(defaults);
		agency.consent.set({ languages: ["nl", "fr"], defaultLanguage: "nl" });
		await enqueue("1");
		await pass({ ms: 1 });
		agency.consent.set({ defaultLanguage: "fr" });
		// A database from before the text was sent.
		const restored = restart({ store: memoryStore(), client: createClient({ ...sandbox.connection, retry: false }) });
		await restored.enqueue({ id: "note-1", agencyId: agency.id, to: anna.phoneNumber, body: "1" });
		await restored.runOnce();
		const ids = sends().map(({ body }) => Object(body).operationId);
		expect([ids.length, new Set(ids).size, texts()]).toEqual([2, 1, ["1"]]);
	});

	test("a template that is not approved pauses the agency, once, until it is", async () => {
		const { outbox, pauses, agency, enqueue, pass, state, sends } = createClosed();
		agency.consent.set({ missingTemplates: ["consent"] });
		await enqueue("1");
		await enqueue("2", { to: "+447700900155" });
		await pass({ hours: 2 });
		expect(sends()).toEqual([]);
		expect(await outbox.status("note-1")).toMatchObject({ state: "waiting", reason: "consent_unavailable" });
		expect(pauses).toMatchObject([{ reason: "consent_unavailable", agencyId: agency.id }]);
		agency.consent.set({ missingTemplates: [] });
		await pass({ minutes: 30 });
		expect([await state("note-1"), await state("note-2")]).toEqual(["held", "held"]);
	});

	test("do not matter while the window is open", async () => {
		const { agency, enqueue, pass, texts } = createWorld(defaults);
		agency.consent.set({ missingTemplates: ["consent"] });
		await enqueue("1");
		await pass({ minutes: 1 });
		expect(texts()).toEqual(["1"]);
	});

	test("a language that the agency does not have keeps its text waiting, and beforeSend may choose another", async () => {
		const { restart, outbox, pauses, agency, enqueue, pass, sends, state } = createClosed();
		agency.consent.set({ languages: ["nl", "fr"] });
		await enqueue("1", { consentLanguage: "xx" });
		await pass({ minutes: 30 });
		expect([sends(), await outbox.status("note-1")]).toMatchObject([[], { reason: "language_unavailable" }]);
		expect(pauses).toMatchObject([{ reason: "language_unavailable", id: "note-1" }]);
		const other = restart({ beforeSend: () => ({ consentLanguage: "fr" }) });
		await other.observe({ agencyId: agency.id, conversation: null, messages: [] });
		await pass({ minutes: 20 });
		await other.runOnce();
		await pass({ minutes: 20 });
		await other.runOnce();
		expect(["waiting", "held"]).toContain(await state("note-1"));
	});

	test("that changed in the moment of the send keep the text waiting, with an id of its own for the next request", async () => {
		const { sandbox, store, agency, anna, pass } = createClosed();
		let isChanged = false;
		const fetch: typeof globalThis.fetch = async (url, init) => {
			if (init?.method === "POST" && !isChanged) {
				isChanged = true;
				agency.consent.set({ languages: ["nl", "fr"], defaultLanguage: null });
			}
			return sandbox.fetch(url, init);
		};
		const outbox = createOutbox({
			client: createClient({ ...sandbox.connection, fetch }),
			store,
			now: sandbox.clock.now,
		});
		await outbox.enqueue({ id: "a", agencyId: agency.id, to: anna.phoneNumber, body: "1" });
		await outbox.runOnce();
		const first = await outbox.status("a");
		expect(first).toMatchObject({
			state: "waiting",
			reason: "consent_unavailable",
			error: { tag: "PartnerBadRequest" },
		});
		agency.consent.set({ defaultLanguage: "nl" });
		sandbox.clock.advance({ hours: 1 });
		await outbox.runOnce();
		await pass({ ms: 0 });
		expect((await outbox.status("a"))?.state).toBe("held");
		const ids = sandbox
			.requests()
			.flatMap(({ operation, body }) => (operation === "messages.send" ? [Object(body).operationId] : []));
		expect([ids.length, new Set(ids).size]).toEqual([2, 2]);
	});

	test("that cannot be read, for a new contact of a new agency, turn a 400 into a pause", async () => {
		const sandbox = createSandbox();
		const agency = sandbox.agency();
		agency.consent.set({ missingTemplates: ["consent"] });
		const outbox = createOutbox({
			client: createClient({ ...sandbox.connection }),
			store: memoryStore(),
			now: sandbox.clock.now,
		});
		await outbox.enqueue({ id: "a", agencyId: agency.id, to: "+447700900101", body: "1" });
		await outbox.runOnce();
		expect(await outbox.status("a")).toMatchObject({ state: "waiting", reason: "consent_unavailable" });
		agency.consent.set({ missingTemplates: [] });
		sandbox.clock.advance({ minutes: 30 });
		await outbox.runOnce();
		expect((await outbox.status("a"))?.state).toBe("held");
	});
});

describe("old texts", () => {
	test("expire after 48 hours, with the reason", async () => {
		const { sandbox, outbox, enqueue, pass, sends } = createWorld(defaults);
		sandbox.keys.setScopes(sandbox.keys.list()[0]?.id ?? "", []);
		await enqueue("The visit is today at 14:00.");
		await outbox.runOnce();
		sandbox.clock.advance({ hours: 49 });
		await pass({ minutes: 10 });
		expect(await outbox.status("note-1")).toMatchObject({ state: "expired", reason: "too_old" });
		sandbox.keys.setScopes(sandbox.keys.list()[0]?.id ?? "", ["conversations:read", "messages:write"]);
		await pass({ hours: 1 });
		expect(sends().filter(({ status }) => status === 200)).toEqual([]);
	});

	test.each([
		["an earlier notAfter", { hours: 1 }, {}, "expired"],
		["a later notAfter", { hours: 100 }, {}, "sent"],
		["defaultMaxAgeMs", undefined, { defaultMaxAgeMs: 3_600_000 }, "expired"],
		["defaultMaxAgeMs Infinity", undefined, { defaultMaxAgeMs: Number.POSITIVE_INFINITY }, "sent"],
	] as const)("are limited by %s", async (_name, notAfter, options, expected) => {
		const hours = expected === "sent" ? 72 : 2;
		const { sandbox, outbox, agency, anna, pass, state } = createWorld({ ...defaults, ...options });
		const keyId = sandbox.keys.list()[0]?.id ?? "";
		sandbox.keys.setScopes(keyId, []);
		const limit = notAfter && { notAfter: sandbox.clock.now().getTime() + notAfter.hours * 3_600_000 };
		await outbox.enqueue({ id: "note-1", agencyId: agency.id, to: anna.phoneNumber, body: "1", ...limit });
		await outbox.runOnce();
		sandbox.clock.advance({ hours });
		sandbox.keys.setScopes(keyId, ["conversations:read", "messages:write"]);
		anna.writes("Hello");
		await pass({ minutes: 10 });
		expect(await state("note-1")).toBe(expected);
	});

	test("count from notBefore", async () => {
		const { sandbox, outbox, agency, anna, pass, texts } = createWorld({ ...defaults, defaultMaxAgeMs: 3_600_000 });
		const notBefore = new Date(sandbox.clock.now().getTime() + 10 * 3_600_000);
		await outbox.enqueue({ id: "later", agencyId: agency.id, to: anna.phoneNumber, body: "Later", notBefore });
		await outbox.enqueue({ id: "now", agencyId: agency.id, to: anna.phoneNumber, body: "Now" });
		await pass({ hours: 9 });
		expect(texts()).toEqual(["Now"]);
		await pass({ hours: 2 });
		expect(texts()).toEqual(["Now", "Later"]);
	});
});

test("a reply goes first and marketing last, among all contacts and to one of them", async () => {
	const { outbox, agency, anna, enqueue, sends, pass, sandbox } = createWorld({ ...defaults, concurrency: 1 });
	for (let index = 0; index < 20; index++) {
		const to = `+4477009003${index + 10}`;
		agency.contact(to).writes("Hello");
		await enqueue(`Campaign ${index}`, { to });
	}
	await enqueue("Campaign, Anna");
	const to = anna.phoneNumber;
	await outbox.enqueue({ id: "offer", agencyId: agency.id, to, body: "Least", purpose: "marketing", priority: 10 });
	await outbox.enqueue({ id: "urgent", agencyId: agency.id, to, body: "Urgent", purpose: "reply" });
	await pass({ minutes: 1 });
	const bodies = sends().map(({ body }) => Object(body).body);
	expect([bodies[0], bodies.at(-1), bodies.length]).toEqual(["Urgent", "Least", 23]);
	expect(sandbox.requests().length).toBeGreaterThan(23);
});

describe("settled changes", () => {
	test("are not purged before they are acknowledged, once settled was called by any process", async () => {
		const { sandbox, outbox, enqueue, pass, restart } = createWorld(defaults);
		const purge = async () => {
			await pass({ ms: 1 });
			return restart().purge({ before: sandbox.clock.now() });
		};
		await enqueue("1", { notAfter: new Date("2020-01-01T00:00:00Z") });
		expect([await purge(), await outbox.settled()]).toEqual([1, []]);
		await enqueue("2", { notAfter: new Date("2020-01-01T00:00:00Z") });
		expect(await purge()).toBe(0);
		const changes = await outbox.settled();
		expect(changes).toMatchObject([{ id: "note-2", state: "expired" }]);
		await outbox.acknowledge(changes);
		expect([await purge(), await outbox.status("note-2")]).toEqual([1, undefined]);
	});

	test("are listed until they are acknowledged, and a newer change of the text stays", async () => {
		const { sandbox, outbox, enqueue, pass } = createWorld(defaults);
		await enqueue("1");
		await enqueue("2");
		await outbox.cancel("note-2");
		await pass({ ms: 0 });
		const changes = await outbox.settled();
		expect(changes).toMatchObject(
			[
				{ id: "note-1", state: "sent" },
				{ id: "note-2", state: "cancelled", reason: "requested" },
			].sort((a, b) => (changes[0]?.id === "note-2" ? b.id.localeCompare(a.id) : 0)),
		);
		expect(await outbox.settled({ limit: 1 })).toHaveLength(1);
		sandbox.message(changes.find(({ id }) => id === "note-1")?.messageId ?? "").delivered();
		await pass({ minutes: 1 });
		await outbox.acknowledge(changes);
		expect(await outbox.settled()).toMatchObject([{ id: "note-1", state: "delivered" }]);
		await outbox.acknowledge(await outbox.settled());
		expect(await outbox.settled()).toEqual([]);
	});

	test.each([
		[{ limit: 0 }, "limit"],
		[{ limit: 1.5 }, "limit"],
	])("refuse %j", async (options, field) => {
		const { outbox } = createWorld(defaults);
		await expect(outbox.settled(options)).rejects.toMatchObject({ _tag: "PartnerInvalidInput", field });
	});

	test.each([[42], ["note-1"], [[{ id: "note-1" }]], [[null]], [undefined]])(
		"acknowledge refuses %j",
		async (changes) => {
			const { outbox } = createWorld(defaults);
			await expect(outbox.acknowledge(changes as never)).rejects.toMatchObject({ _tag: "PartnerInvalidInput" });
		},
	);
});

describe("faults of the machine and of the service", () => {
	test("a worker that is stopped between the attempt record and the request sends nothing any more", async () => {
		const { sandbox, client, store, agency, anna, sends } = createClosed();
		let isStopped = true;
		const stopping = {
			...store,
			save: async (...args: Parameters<typeof store.save>) => {
				const saved = await store.save(...args);
				// SIGSTOP, while another worker takes over and the contact declines.
				if (isStopped && args[0].state === "sending") {
					isStopped = false;
					sandbox.clock.advance({ minutes: 2 });
				}
				return saved;
			},
		};
		const outbox = createOutbox({ client, store: stopping, now: sandbox.clock.now });
		await outbox.enqueue({ id: "a", agencyId: agency.id, to: anna.phoneNumber, body: "1" });
		await outbox.runOnce();
		expect(sends()).toEqual([]);
	});

	test("a worker that was stopped while its clock stood still sends nothing any more", async () => {
		vi.useFakeTimers({ toFake: ["performance"] });
		try {
			const { sandbox, client, store, agency, anna, sends } = createWorld();
			let isStopped = true;
			const stopping = {
				...store,
				save: async (...args: Parameters<typeof store.save>) => {
					const saved = await store.save(...args);
					if (isStopped && args[0].state === "sending") {
						isStopped = false;
						vi.advanceTimersByTime(61_000);
					}
					return saved;
				},
			};
			const outbox = createOutbox({ client, store: stopping, now: sandbox.clock.now });
			await outbox.enqueue({ id: "a", agencyId: agency.id, to: anna.phoneNumber, body: "1" });
			await outbox.runOnce();
			expect(sends()).toEqual([]);
			expect(await outbox.status("a")).toMatchObject({ state: "waiting", attempts: 0 });
		} finally {
			vi.useRealTimers();
		}
	});

	test("in a window that is about to close the conversation is read before the same id is sent again", async () => {
		const { sandbox, enqueue, pass, sends, state, outbox } = createWorld(defaults);
		sandbox.clock.advance({ hours: 23, minutes: 50 });
		sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
		await enqueue("1");
		await outbox.runOnce();
		await pass({ minutes: 2 });
		expect([await state("note-1"), sends().length]).toEqual(["sent", 1]);
	});

	test("a clock that was ahead when the text was held does not make it sent again without a read", async () => {
		const { sandbox, client, store, agency, anna, sends, texts } = createClosed();
		let aheadMs = 3_600_000;
		const now = () => sandbox.clock.now().getTime() + aheadMs;
		const outbox = createOutbox({ client, store, now, defaultMaxAgeMs: Number.POSITIVE_INFINITY });
		sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
		await outbox.enqueue({ id: "a", agencyId: agency.id, to: anna.phoneNumber, body: "1" });
		await outbox.runOnce();
		aheadMs = 0;
		anna.declines();
		for (let minute = 0; minute < 120; minute++) {
			sandbox.clock.advance({ minutes: 1 });
			await store.recover(now());
			await outbox.runOnce();
		}
		expect([sends().length, texts()]).toEqual([1, []]);
	});

	test.each(["4102444800000", "Fri, 31 Dec 9999 23:59:59 GMT", "31536000"])(
		"a Retry-After of %s counts as an hour, for one agency as for all",
		async (retryAfter) => {
			const { sandbox, store, agency, anna } = createWorld();
			let isLimited = true;
			const fetch: typeof globalThis.fetch = async (url, init) => {
				if (init?.method !== "POST" || !isLimited) return sandbox.fetch(url, init);
				return new Response("{}", { status: 429, headers: { "retry-after": retryAfter } });
			};
			const client = createClient({ ...sandbox.connection, fetch });
			const reported: Date[] = [];
			const onPaused = ({ retryAt }: { retryAt: Date }) => reported.push(retryAt);
			const outbox = createOutbox({ client, store, now: sandbox.clock.now, onPaused });
			await outbox.enqueue({ id: "a", agencyId: agency.id, to: anna.phoneNumber, body: "1" });
			await outbox.runOnce();
			isLimited = false;
			const waitMs = (reported[0]?.getTime() ?? Number.NaN) - sandbox.clock.now().getTime();
			expect(waitMs).toBeLessThanOrEqual(3_600_000);
			sandbox.clock.advance({ minutes: 61 });
			await outbox.runOnce();
			expect((await outbox.status("a"))?.state).toBe("sent");
		},
	);

	test.each(["SM\0\0", "SM".repeat(5_000), "SM\ud800", `${"S".repeat(199)}😀`])(
		"an unusable message id is one text's affair: %j",
		async (messageId) => {
			const { sandbox, store, agency, anna } = createWorld();
			const fetch: typeof globalThis.fetch = async (url, init) => {
				const response = await sandbox.fetch(url, init);
				if (init?.method !== "POST") return response;
				return new Response(JSON.stringify({ ...(await response.json()), messageId }), response);
			};
			const outbox = createOutbox({
				client: createClient({ ...sandbox.connection, fetch }),
				store,
				now: sandbox.clock.now,
			});
			for (const id of ["a", "b"]) await outbox.enqueue({ id, agencyId: agency.id, to: anna.phoneNumber, body: id });
			await outbox.runOnce();
			for (const id of ["a", "b"]) {
				const status = await outbox.status(id);
				expect(status?.state).toBe("sent");
				expect(status?.messageId).not.toMatch(/\0|\p{Surrogate}/u);
				expect(String(status?.messageId).length).toBeLessThan(300);
			}
		},
	);

	test("a long text in place of a time is refused at once", async () => {
		const { outbox, agency, anna } = createWorld();
		const notAfter = ":".repeat(80_000);
		const text = { id: "a", agencyId: agency.id, to: anna.phoneNumber, body: "1", notAfter };
		await expect(outbox.enqueue(text)).rejects.toMatchObject({ _tag: "PartnerInvalidInput", field: "notAfter" });
	});

	test("an abort during a read begins no request", async () => {
		const sandbox = createSandbox({ now: new Date() });
		const anna = sandbox.agency().contact("+447700900101");
		anna.writes("Hello");
		const stop = new AbortController();
		const fetch: typeof globalThis.fetch = async (url, init) => {
			if (init?.method === "GET") stop.abort();
			return sandbox.fetch(url, init);
		};
		const outbox = createOutbox({ client: createClient({ ...sandbox.connection, fetch }), store: memoryStore() });
		await outbox.enqueue({ id: "a", agencyId: sandbox.agency().id, to: anna.phoneNumber, body: "1" });
		await outbox.work({ signal: stop.signal });
		expect(sandbox.requests().filter(({ operation }) => operation === "messages.send")).toEqual([]);
		expect(await outbox.status("a")).toMatchObject({ state: "waiting", attempts: 0, error: null });
	});

	test.each([
		["there is no conversation", false],
		["the conversation is there", true],
	])("a 400 that comes after an abort begins no read: %s", async (_, isThere) => {
		const sandbox = createSandbox({ now: new Date() });
		const anna = sandbox.agency().contact("+447700900101");
		if (isThere) anna.writes("Hello");
		sandbox.clock.advance({ hours: 25 });
		const stop = new AbortController();
		const late: string[] = [];
		const fetch: typeof globalThis.fetch = async (url, init) => {
			if (stop.signal.aborted) late.push(`${init?.method}`);
			if (init?.method !== "POST" || !String(url).endsWith("/messages")) return sandbox.fetch(url, init);
			stop.abort();
			return new Response(JSON.stringify({ _tag: "PartnerBadRequest", message: "no" }), { status: 400 });
		};
		const client = createClient({ ...sandbox.connection, fetch });
		const told: unknown[] = [];
		const onPaused = (pause: unknown) => told.push(pause);
		const outbox = createOutbox({ client, store: memoryStore(), now: sandbox.clock.now, onPaused });
		await outbox.enqueue({ id: "a", agencyId: sandbox.agency().id, to: anna.phoneNumber, body: "1" });
		await outbox.work({ signal: stop.signal });
		expect([late, told]).toEqual([[], []]);
		expect(await outbox.status("a")).toMatchObject({ state: "waiting", attempts: 1 });
	});

	test("a revoked key is one pause, for reads and for sends", async () => {
		const { sandbox, pauses, enqueue, outbox, pass } = createWorld();
		let isRevoked = false;
		sandbox.faults.add({ operation: "messages.send", phase: "before", effect: { status: 401 }, times: 1 });
		await enqueue("1");
		await outbox.runOnce();
		isRevoked = true;
		sandbox.keys.revoke(sandbox.keys.list()[0]?.id ?? "");
		await pass({ minutes: 30 });
		expect([isRevoked, pauses.map(({ reason }) => reason)]).toEqual([true, ["key"]]);
	});
});
