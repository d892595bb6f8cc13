// The outbox with its own clock and timers, shortened, on a sandbox whose clock stands still in another year.
import { createClient } from "messaging-conversations";
import { createOutbox, type OutboxOptions } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { afterAll, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { memoryStore } from "./memory.ts";

const ending: (() => Promise<unknown>)[] = [];
afterAll(async () => {
	for (const end of ending.splice(0)) await end();
});

function start(options: Partial<OutboxOptions> = {}) {
	const sandbox = createSandbox();
	const anna = sandbox.agency().contact("+447700900101");
	const client = createClient({ ...sandbox.connection, retry: { attempts: 2, baseDelayMs: 1 } });
	const outbox = createOutbox({ client, store: memoryStore(), settleMs: 1_500, followMs: [30], ...options });
	const stop = new AbortController();
	const working = outbox.work({ signal: stop.signal });
	ending.push(async () => {
		stop.abort();
		await working;
	});
	const enqueue = (id: string) =>
		outbox.enqueue({ id, agencyId: sandbox.agency().id, to: anna.phoneNumber, body: `Text ${id}` });
	const reaches = (id: string, state: string) =>
		eventually(async () => expect((await outbox.status(id))?.state).toBe(state));
	const kinds = () => anna.inbox().map(({ kind }) => kind);
	return { sandbox, anna, outbox, enqueue, reaches, kinds };
}

test.concurrent.each(["before", "after"] as const)(
	"a lost answer is settled, whether the fault was %s the send",
	async (phase) => {
		const { sandbox, anna, enqueue, reaches, kinds } = start();
		anna.writes("Hello");
		sandbox.faults.add({ operation: "messages.send", phase, effect: { status: 500 } });
		await enqueue("1");
		await reaches("1", "sent");
		expect(kinds()).toEqual(["text"]);
	},
);

test.concurrent("held, answered in words, and delivered by the same id", async () => {
	const { anna, enqueue, reaches, kinds } = start({ onReply: "send" });
	await enqueue("1");
	await enqueue("2");
	await reaches("1", "held");
	anna.writes("Who is it?");
	await reaches("2", "sent");
	expect(kinds()).toEqual(["template", "text", "text"]);
});

test.concurrent("held and declined is dropped, what waited is cancelled, and what is enqueued later is sent", async () => {
	const { sandbox, anna, enqueue, reaches } = start();
	await enqueue("1");
	await enqueue("2");
	await reaches("1", "held");
	anna.declines();
	await reaches("1", "dropped");
	await reaches("2", "cancelled");
	// Time has to pass for the service too: within the difference of the clocks nobody can tell which came first, and the No counts.
	await enqueue("at the same time");
	await reaches("at the same time", "cancelled");
	sandbox.clock.advance({ minutes: 2 });
	await enqueue("3");
	await reaches("3", "sent");
});

test.concurrent("what is enqueued two minutes after a decline is sent, although the clock of the sandbox stands in between", async () => {
	const { sandbox, anna, enqueue, reaches } = start();
	sandbox.clock.advance({ ms: 973 });
	for (const round of [1, 2, 3]) {
		await enqueue(`${round} declined`);
		await reaches(`${round} declined`, "held");
		anna.declines();
		await reaches(`${round} declined`, "dropped");
		sandbox.clock.advance({ minutes: 2 });
		await enqueue(`${round} afterwards`);
		await reaches(`${round} afterwards`, "sent");
		sandbox.clock.advance({ hours: 25 });
	}
});

test.concurrent("what is enqueued right after a decline was noticed is sent, although the service's clock is days ahead", async () => {
	const { sandbox, anna, enqueue, reaches } = start();
	sandbox.clock.advance({ days: Math.ceil((Date.now() - sandbox.clock.now().getTime()) / 86_400_000) + 2 });
	await enqueue("1");
	await enqueue("2");
	await reaches("1", "held");
	anna.declines();
	await reaches("1", "dropped");
	await reaches("2", "cancelled");
	await enqueue("3");
	await reaches("3", "sent");
});

test.concurrent("an id that the service forgot while the window closed does not make a second text", async () => {
	const sandboxOptions = {
		policy: { operationIdTtlHours: 1, retryAfterDelivery: "resend", templateOnReplace: true },
	} as const;
	const sandbox = createSandbox(sandboxOptions);
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Hello");
	const fetch: typeof globalThis.fetch = async (url, init) => {
		const answer = await sandbox.fetch(url, init);
		if (init?.method !== "POST") return answer;
		sandbox.clock.advance({ hours: 25 });
		throw Object.assign(new TypeError("fetch failed"), {
			cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }),
		});
	};
	const client = createClient({ ...sandbox.connection, fetch });
	const { outbox, reaches } = start({ client });
	await outbox.enqueue({ id: "1", agencyId: sandbox.agency().id, to: anna.phoneNumber, body: "Hi" });
	await reaches("1", "sent");
	expect(anna.inbox().map(({ kind }) => kind)).toEqual(["text"]);
});

test.concurrent("a message is followed until it is read", async () => {
	const { sandbox, anna, outbox, enqueue, reaches } = start({
		followMs: [30, 60, 120, 240, 480, 960, 2_000, 4_000, 8_000],
	});
	anna.writes("Hello");
	await enqueue("1");
	await reaches("1", "sent");
	const { messageId } = (await outbox.status("1")) ?? {};
	sandbox.message(messageId ?? "").delivered();
	await reaches("1", "delivered");
	sandbox.message(messageId ?? "").read();
	await reaches("1", "read");
});

test.concurrent("a revoked key loses no text, and the next key sends it", async () => {
	const sandbox = createSandbox();
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Hello");
	let apiKey = sandbox.connection.apiKey;
	const client = createClient({ ...sandbox.connection, apiKey: () => apiKey });
	const reported: string[] = [];
	const { outbox, reaches } = start({ client, onPaused: ({ error }) => reported.push(error?._tag ?? "none") });
	sandbox.keys.revoke(sandbox.keys.list()[0]?.id ?? "");
	await outbox.enqueue({ id: "1", agencyId: sandbox.agency().id, to: anna.phoneNumber, body: "Hi" });
	await eventually(() => expect(reported).toEqual(["PartnerUnauthorized"]));
	apiKey = sandbox.keys.create({ scopes: ["conversations:read", "messages:write"] }).apiKey;
	await reaches("1", "sent");
	expect(reported).toEqual(["PartnerUnauthorized"]);
});
