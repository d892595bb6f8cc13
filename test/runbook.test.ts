import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createClient } from "messaging-conversations";
import { createOutbox, type Pause } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { memoryStore } from "./outbox/memory.ts";
import { pageSamples } from "./samples.ts";

/* Runs the programs of docs/runbook.md and docs/observability.md, each with what it is for. */

const folder = mkdtempSync(join(fileURLToPath(new URL(".", import.meta.url)), ".runbook-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The sample that exports a function of this name. */
async function program<Run>(name: string): Promise<Run> {
	vi.stubEnv("MESSAGING_AGENCY_ID", "agy_1"); // what a sample of a guide has at its beginning
	onTestFinished(() => void vi.unstubAllEnvs());
	const sample = pageSamples.find(
		({ name: page, code }) => /^docs\/(runbook|observability)\.md/.test(page) && code.includes(` ${name}(`),
	);
	const file = join(folder, `${name}.ts`);
	writeFileSync(file, sample?.code ?? "");
	return (await import(pathToFileURL(file).href))[name];
}

function createWorld() {
	const sandbox = createSandbox();
	const client = createClient({ ...sandbox.connection });
	const agencyId = sandbox.agency().id;
	const contact = (number: string) => sandbox.agency().contact(number);
	const textsOf = (number: string) =>
		contact(number)
			.inbox()
			.filter(({ kind }) => kind === "text").length;
	return { sandbox, client, agencyId, contact, textsOf };
}

const [anna, bram, cleo, dirk] = ["+447700900101", "+447700900102", "+447700900103", "+447700900104"] as const;

test("after a restore, no text that was sent goes out again, and one that was not sent does", async () => {
	const { sandbox, client, agencyId, contact, textsOf } = createWorld();
	const { now } = sandbox.clock;
	for (const to of [anna, cleo]) contact(to).writes("Is the flat still free?");
	const texts = [anna, bram, cleo, dirk].map((to) => ({ id: `note-${to.slice(-3)}`, agencyId, to, body: "It is." }));
	const createdAt = now().getTime();
	// Anna's text is sent, Bram's is held, and Cleo's and Dirk's are enqueued only. Dirk has never written.
	const before = createOutbox({ client, store: memoryStore(), now });
	for (const text of texts.slice(0, 2)) await before.enqueue(text);
	await before.runOnce();
	sandbox.clock.advance({ hours: 1 });

	// The backup is from before all of that.
	const backupStore = memoryStore();
	const backup = createOutbox({ client, store: backupStore, now: () => createdAt });
	for (const text of texts) await backup.enqueue(text);
	const restored = createOutbox({ client, store: backupStore, now });
	const log = vi.spyOn(console, "log").mockImplementation(() => {});
	const afterRestore = await program<(...given: unknown[]) => Promise<void>>("afterRestore");
	await afterRestore(restored, createdAt);
	expect(log.mock.calls).toEqual([["4 texts are looked for before they go out."]]);
	await restored.runOnce();

	const states = await Promise.all(texts.map(async ({ id }) => (await restored.status(id))?.state));
	// Without a conversation nothing proves that it was not sent.
	expect(states).toEqual(["sent", "held", "sent", "unknown"]);
	expect([anna, bram, cleo, dirk].map(textsOf)).toEqual([1, 0, 1, 0]);
	contact(bram).accepts();
	expect(textsOf(bram)).toBe(1);
});

test("suspend stops new texts without losing them, and a pause raises an alert", async () => {
	const { sandbox, client, agencyId, contact, textsOf } = createWorld();
	vi.useFakeTimers({ now: sandbox.clock.now(), toFake: ["Date"] });
	onTestFinished(() => void vi.useRealTimers());
	contact(anna).writes("Is the flat still free?");
	const openOutbox = await program<(...given: unknown[]) => ReturnType<typeof createOutbox>>("openOutbox");
	const alerts: [string, Partial<Pause>][] = [];
	const alert = (what: string, details: Partial<Pause>) => alerts.push([what, details]);
	const outbox = openOutbox(client, memoryStore(), alert);

	await outbox.suspend({ reason: "Wrong price in the campaign." });
	await outbox.enqueue({ id: "note-1", agencyId, to: anna, body: "It is." });
	await outbox.runOnce();
	expect(await outbox.status("note-1")).toMatchObject({ state: "waiting" });
	expect(textsOf(anna)).toBe(0);
	expect(alerts).toEqual([["paused: suspended", expect.objectContaining({ suspension: expect.anything() })]]);

	await outbox.resume({});
	await outbox.runOnce();
	expect(textsOf(anna)).toBe(1);

	sandbox.keys.revoke(sandbox.connection.apiKey);
	await outbox.enqueue({ id: "note-3", agencyId, to: bram, body: "Hello" });
	await outbox.runOnce({ signal: AbortSignal.timeout(1_000) });
	expect(alerts.slice(1)).toEqual([["paused: key", expect.objectContaining({ retryAt: expect.any(Date) })]]);
	expect(JSON.stringify(alerts)).not.toContain(bram);
});

test("the monitor sees a revoked key with the first text that meets it, and sees that the next key works", async () => {
	const { sandbox, client, agencyId, contact } = createWorld();
	const { now } = sandbox.clock;
	contact(anna).writes("Is the flat still free?");
	const healthEndpoint =
		await program<(outbox: ReturnType<typeof createOutbox>) => Promise<Response>>("healthEndpoint");
	let { apiKey } = sandbox.connection;
	const outbox = createOutbox({ client: client.withOptions({ apiKey: () => apiKey }), store: memoryStore(), now });
	const status = async () => {
		await outbox.runOnce({ signal: AbortSignal.timeout(1_000) });
		return (await healthEndpoint(outbox)).status;
	};
	expect(await status()).toBe(200);

	sandbox.keys.revoke(apiKey);
	await outbox.enqueue({ id: "note-5", agencyId, to: anna, body: "It is." });
	expect(await status()).toBe(503);

	({ apiKey } = sandbox.keys.create());
	sandbox.clock.advance({ minutes: 2 });
	expect(await status()).toBe(200);
	expect(await outbox.status("note-5")).toMatchObject({ state: "sent" });
});
