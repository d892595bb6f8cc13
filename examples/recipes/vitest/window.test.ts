import { createClient, isWindowOpen } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { expect, onTestFinished, test, vi } from "vitest";

test("code that asks Date sees the sandbox's time", async () => {
	const sandbox = createSandbox({ now: "2026-01-05T09:00:00Z" });
	const { conversations } = createClient({ ...sandbox.connection }).agency(
		sandbox.agency().id,
	);
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Hello?");

	vi.useFakeTimers({ now: sandbox.clock.now(), toFake: ["Date"] });
	onTestFinished(() => void vi.useRealTimers());
	const isOpen = async () =>
		isWindowOpen((await conversations.get(anna.phoneNumber)).conversation);
	expect(await isOpen()).toBe(true);
	sandbox.clock.advance({ hours: 25 });
	vi.setSystemTime(sandbox.clock.now());
	expect(await isOpen()).toBe(false);
});

test("the client's waits pass with fake timers", async () => {
	const sandbox = createSandbox();
	const client = createClient({ ...sandbox.connection });
	sandbox.faults.add({
		operation: "me.get",
		phase: "before",
		effect: { status: 429, retryAfter: 20 },
	});
	vi.useFakeTimers();
	onTestFinished(() => void vi.useRealTimers());
	const answer = client.me.get();
	await vi.advanceTimersByTimeAsync(25_000);
	expect((await answer).scopes).toContain("messages:write");
});
