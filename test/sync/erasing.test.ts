/* An erased contact is in nothing that is stored: neither in the mirror, nor in the outbox, nor in a checkpoint. */
import { createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { type Change, changes, watchAgencies } from "messaging-conversations/sync";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { memoryStore } from "../outbox/memory.ts";

const [anna, bert] = ["+447700900101", "+447700900102"];
const secret = "My knee hurts";

beforeEach(() => {
	vi.useFakeTimers({ now: new Date("2026-01-05T09:00:00Z") });
});
afterEach(() => {
	vi.useRealTimers();
});

test.each(["waits", "was sent", "is held"])(
	"nothing that is stored has the number or a text of an erased contact, whose text %s",
	async (state) => {
		const sandbox = createSandbox();
		const client = createClient({ ...sandbox.connection, retry: false });
		const agencies = [sandbox.agency(), sandbox.link({ name: "Second" })];
		const store = memoryStore();
		const outbox = createOutbox({ client, store, now: sandbox.clock.now });
		const checkpoints = new Map<string, string>();
		const mirror = new Map<string, string>();
		const erased = new Set<string>();
		const stop = new AbortController();
		const feed = watchAgencies(client, {
			load: (agencyId) => checkpoints.get(agencyId),
			save: (agencyId, checkpoint) => void checkpoints.set(agencyId, checkpoint),
			skip: (phoneNumber) => erased.has(phoneNumber),
			statuses: "read",
			signal: stop.signal,
		});
		const run = (async () => {
			for await (const { agencyId, phoneNumber, messages, save } of feed) {
				for (const { messageSid, body } of messages)
					mirror.set(messageSid, JSON.stringify({ agencyId, phoneNumber, body }));
				await save();
			}
		})();
		const pass = async (seconds: number) => {
			for (let passed = 0; passed < seconds; passed += 10) {
				sandbox.clock.advance({ ms: 10_000 });
				await vi.advanceTimersByTimeAsync(10_000);
				if (state !== "waits") await outbox.runOnce();
			}
		};
		const grep = (): string => JSON.stringify([...checkpoints, ...mirror, ...store.all()]);

		for (const agency of agencies) {
			for (const phone of [anna, bert]) if (state !== "is held") agency.contact(phone).writes(secret);
			for (const phone of [anna, bert])
				await outbox.enqueue({
					id: `${agency.id} ${phone === anna ? "a" : "b"}`,
					agencyId: agency.id,
					to: phone,
					body: `${secret}?`,
				});
		}
		await pass(120);
		expect(grep()).toContain(anna.slice(1));
		expect(grep()).toContain(secret);

		erased.add(anna);
		await outbox.erase({ to: anna, everyAgency: true });
		await feed.erase(anna);
		for (const [sid, row] of mirror) if (row.includes(anna)) mirror.delete(sid);
		if (state === "is held") for (const agency of agencies) agency.contact(anna).declines();
		const left = (): string => grep().replaceAll(/\{[^{}]*447700900102[^{}]*\}/g, "");
		// An agency that was being polled is saved when its poll ends.
		if (state !== "is held") {
			await pass(20);
			expect(grep()).not.toContain(anna.slice(1));
		}
		// Neither a later message nor a status brings the contact back.
		for (const agency of agencies) agency.contact(anna).writes(`${secret} still`);
		await pass(state === "is held" ? 3_600 : 300);
		expect(grep()).not.toContain(anna.slice(1));
		expect(left()).not.toContain(`${secret} still`);
		expect(grep()).toContain(bert.slice(1));
		stop.abort();
		await pass(10);
		await run;
	},
);

test("a checkpoint that nobody polls is cleaned without a request", async () => {
	const sandbox = createSandbox();
	let requests = 0;
	const client = createClient({ ...sandbox.connection, onAttempt: () => requests++ });
	const agency = client.agency(sandbox.agency().id);
	for (const phone of [anna, bert]) sandbox.agency().contact(phone).writes("Hello?");
	const found: Change[] = [];
	const first = changes(agency, { since: "beginning", statuses: "read" });
	for await (const change of first) found.push(change);
	const before = requests;
	const feed = changes(agency, { since: first.checkpoint });
	feed.erase(anna);
	expect([feed.checkpoint.includes(anna.slice(1)), feed.checkpoint.includes(bert), requests]).toEqual([
		false,
		true,
		before,
	]);
	// What was there counts as delivered, and what comes later is delivered.
	sandbox.agency().contact(anna).writes("Again");
	const later: (string | null)[] = [];
	for await (const { messages } of changes(agency, { since: feed.checkpoint }))
		later.push(...messages.map(({ body }) => body));
	expect(later).toEqual(["Again"]);
	expect(() => feed.erase("07700 900101")).toThrow(expect.objectContaining({ field: "phoneNumber" }));
});

test.each(["in the body", "and the loop is left"])(
	"a contact that is forgotten %s, while their change is the current one, is not stored",
	async (how) => {
		const sandbox = createSandbox();
		const agency = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
		for (const phone of [anna, bert]) sandbox.agency().contact(phone).writes("Hello?");
		const feed = changes(agency, { since: "beginning" });
		const forgotten: string[] = [];
		for await (const { phoneNumber } of feed) {
			feed.erase(phoneNumber);
			forgotten.push(phoneNumber.slice(1));
			expect(feed.checkpoint).not.toContain(phoneNumber.slice(1));
			if (how === "and the loop is left") break;
		}
		expect(forgotten.length).toBe(how === "and the loop is left" ? 1 : 2);
		for (const number of forgotten) expect(feed.checkpoint).not.toContain(number);
	},
);

test("a contact who is erased while another erasure is being stored leaves the checkpoint too", async () => {
	vi.useRealTimers();
	const sandbox = createSandbox({ now: new Date() });
	for (const phone of [anna, bert]) sandbox.agency().contact(phone).writes("Hello?");
	let stored: string | undefined;
	let isSlow = false;
	const saving: (() => void)[] = [];
	const stop = new AbortController();
	const feed = watchAgencies(createClient(sandbox.connection), {
		load: () => stored,
		async save(_, checkpoint) {
			if (isSlow) await new Promise<void>((resolve) => saving.push(resolve));
			stored = checkpoint;
		},
		// A number is in a checkpoint as long as a message can become visible late.
		lookbackMs: 3_600_000,
		minMs: 3_600_000,
		maxMs: 3_600_000,
		signal: stop.signal,
	});
	const run = (async () => {
		for await (const _ of feed);
	})().catch(() => {});
	await expect.poll(() => [anna, bert].every((phone) => stored?.includes(phone.slice(1)))).toBe(true);
	isSlow = true;
	const first = feed.erase(anna);
	await expect.poll(() => saving.length).toBe(1);
	const second = feed.erase(bert);
	saving[0]?.();
	await first;
	await expect.poll(() => saving.length).toBe(2);
	saving[1]?.();
	await second;
	expect([anna, bert].filter((phone) => stored?.includes(phone.slice(1)))).toEqual([]);
	stop.abort();
	await run;
});
