// Each send says what decided it when it came: window, consent, AI, held text, and the rule.
import { expect, test } from "vitest";
import { createSandbox, type Sandbox, type SandboxOptions } from "../../src/sandbox/index.ts";
import { rules } from "../../src/sandbox/world/rules.ts";

const anna = "+447700900101";

interface Text {
	readonly body?: string;
	readonly operationId?: string;
	readonly subaccountId?: string;
	readonly consentLanguage?: string;
}

function play(options: SandboxOptions = {}) {
	const sandbox = createSandbox(options);
	const agency = sandbox.agency();
	const contact = agency.contact(anna, { name: "Anna" });
	const send = async ({ body = "Kerkstraat 12?", ...rest }: Text = {}) => {
		const path = `/agencies/${agency.id}/messages`;
		await sandbox.request({ method: "POST", path, body: { to: anna, body, ...rest } });
		return decisionOf(sandbox);
	};
	return { sandbox, agency, contact, send };
}

function decisionOf(sandbox: Sandbox) {
	const decision = sandbox.requests().at(-1)?.decision;
	if (!decision) throw new Error("The request has no decision.");
	return decision;
}

const now = "2026-01-05T09:00:00.000Z";
const tomorrow = "2026-01-06T09:00:00.000Z";

test("a text in the open window says until when it was open, by what, and what became of the AI", async () => {
	const { contact, send } = play();
	contact.writes("Hello");
	expect(await send()).toEqual({
		outcome: "sent",
		rule: "R112",
		reason:
			"The window was open until 2026-01-06 09:00 UTC: the contact had written. So it was sent at once. The AI was on, and is off now.",
		window: { open: true, expiresAt: tomorrow, openedBy: "message" },
		consent: { canBeAsked: true, last: null },
		ai: { enabled: true, disabledReason: null },
		held: null,
		before: null,
	});
	const second = await send();
	expect(second.ai).toEqual({ enabled: false, disabledReason: "manual_send" });
	expect(second.reason).toContain("The AI was off after a manual send.");
	for (const code of ["visit_confirm", "constructor"]) {
		contact.taps(code);
		expect((await send()).window.openedBy).toBe("button");
	}
});

test("a text outside the window says that it is held, and another one whose place it took", async () => {
	const { contact, send, sandbox } = play();
	const first = await send();
	expect(first).toMatchObject({ outcome: "held", rule: "R113", window: { open: false, expiresAt: null }, held: null });
	expect(first.reason).toContain("the contact had never written. So it was held, and consent was asked.");
	sandbox.clock.advance({ hours: 1 });
	const second = await send({ body: "Friday?" });
	expect(second).toMatchObject({
		outcome: "held",
		rule: "R119",
		consent: { last: "asked" },
		held: { since: now, became: "replaced" },
	});
	expect(second.reason).toContain("So it took the place of the text held since 2026-01-05 09:00 UTC.");
	contact.accepts();
	sandbox.clock.advance({ hours: 25 });
	expect(await send()).toMatchObject({
		window: { open: false, expiresAt: "2026-01-06T10:00:00.000Z", openedBy: "accepted" },
		consent: { last: "accepted" },
	});
});

test("a text after a decline says that the No opened the window, under that policy alone", async () => {
	const { contact, send } = play();
	await send();
	contact.declines();
	const after = await send({ body: "But then?" });
	expect(after).toMatchObject({
		outcome: "sent",
		rule: "R112",
		window: { open: true, expiresAt: tomorrow, openedBy: "declined" },
		consent: { last: "declined" },
	});
	expect(after.reason).toContain("the contact had declined, and a “No” opens the window like any other message");
	const other = play({ policy: { declineOpensWindow: false } });
	other.contact.writes("Hello");
	other.sandbox.clock.advance({ hours: 30 });
	await other.send();
	other.contact.declines();
	expect(await other.send()).toMatchObject({
		outcome: "held",
		window: { open: false, openedBy: "message" },
		consent: { last: "declined" },
	});
});

test("a text to an open window says what became of the held one", async () => {
	const { contact, send } = play();
	await send();
	contact.writes("Who is this?");
	const clears = await send({ body: "It is the agency." });
	expect(clears).toMatchObject({ outcome: "sent", rule: "R128", held: { since: now, became: "replaced" } });
	expect(clears.reason).toContain("It replaced the text held since");
	const kept = play({ policy: { openSendWhileHeld: "keep" } });
	await kept.send();
	kept.contact.writes("Who is this?");
	const keeps = await kept.send({ body: "It is the agency." });
	expect(keeps).toMatchObject({ rule: "R128", held: { became: "kept" } });
	expect(keeps.reason).toContain("still waits.");
});

test("a repeat says that it is one, and of what", async () => {
	const { contact, send, sandbox } = play();
	const held = { operationId: "note-1" };
	await send(held);
	const waits = await send(held);
	expect(waits).toMatchObject({ outcome: "repeat", rule: "R133", before: "held" });
	expect(waits.reason).toBe("A repeat of an earlier send, whose text is held: nothing was held again.");
	contact.writes("Hello");
	expect(await send(held)).toMatchObject({ outcome: "sent", rule: "R133", held: { became: "sent" }, before: "held" });
	const sent = await send(held);
	expect(sent).toMatchObject({ outcome: "repeat", rule: "R131", before: "sent" });
	expect(sent.reason).toBe("A repeat of an earlier send, whose text went out: nothing was sent again.");
	sandbox.clock.advance({ hours: 30 });
	expect(await send(held)).toMatchObject({ outcome: "repeat", rule: "R141" });
	await send({ operationId: "note-2" });
	contact.accepts();
	expect(await send({ operationId: "note-2" })).toMatchObject({ outcome: "repeat", rule: "R142" });
});

test.each(["resend", "replay"] as const)("the retry of a dropped text under %s says so", async (retryAfterDrop) => {
	const { contact, send } = play({ policy: { retryAfterDrop } });
	await send({ operationId: "note-1" });
	contact.declines();
	const again = await send({ operationId: "note-1" });
	expect(again).toMatchObject({
		rule: "R185",
		before: "dropped",
		outcome: retryAfterDrop === "resend" ? "sent" : "repeat",
	});
	expect(again.reason).toContain("dropped");
});

test.each(["resend", "replay"] as const)("the retry of a replaced text under %s says so", async (retryAfterReplace) => {
	const { send } = play({ policy: { retryAfterReplace } });
	await send({ operationId: "note-1" });
	await send({ operationId: "note-2", body: "Friday?" });
	const again = await send({ operationId: "note-1" });
	const outcome = retryAfterReplace === "resend" ? "held" : "repeat";
	expect(again).toMatchObject({ rule: "R186", before: "replaced", outcome });
	expect(again.reason).toContain("replaced");
});

test("a refused send says by which rule, and with what it met", async () => {
	const { sandbox, agency, contact, send } = play({ scenario: "twoLanguages" });
	const refused = (rule: string) => ({ outcome: "refused", rule });
	expect(await send()).toMatchObject(refused("R100"));
	expect(await send({ consentLanguage: "xx" })).toMatchObject(refused("R101"));
	expect(await send({ subaccountId: "00000000-0000-4000-8000-000000000000" })).toMatchObject(refused("R98"));
	agency.consent.set({ missingTemplates: ["window_reopen_consent"] });
	const ineligible = await send();
	expect(ineligible).toMatchObject({ ...refused("R104"), consent: { canBeAsked: false }, ai: { enabled: true } });
	expect(ineligible.reason).toContain("The agency could not ask for consent. The AI was on.");
	contact.writes("Hello");
	await send({ operationId: "note-1" });
	expect(await send({ operationId: "note-1", body: "Another" })).toMatchObject(refused("R134"));
	agency.conversation(anna).takeOver();
	expect(await send()).toMatchObject(refused("R116"));
	expect(sandbox.violations()).toMatchObject([{ rule: "R134" }]);
});

test("what nobody looked at has no decision: reads, a bad field, a fault before the operation, a refused key", async () => {
	const { sandbox, agency, contact } = play();
	contact.writes("Hello");
	const path = `/agencies/${agency.id}/messages`;
	await sandbox.request({ method: "GET", path: "/me" });
	await sandbox.request({ method: "POST", path, body: { to: anna } });
	await sandbox.request({ method: "POST", path, body: { to: anna, body: "Hi" }, apiKey: null });
	sandbox.faults.add({ operation: "messages.send", effect: { status: 503 } });
	await sandbox.request({ method: "POST", path, body: { to: anna, body: "Hi" } });
	expect(sandbox.requests().map(({ decision }) => decision)).toEqual([null, null, null, null]);
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
	await sandbox.request({ method: "POST", path, body: { to: anna, body: "Hi" } });
	expect(decisionOf(sandbox)).toMatchObject({ outcome: "sent", rule: "R112" });
});

test("the event of a request has its decision, a bug file keeps it without anybody's text, and each rule has words", async () => {
	const { sandbox, send, contact } = play();
	await send({ operationId: "note-1" });
	await send({ operationId: "note-1" });
	contact.declines();
	await send();
	const decisions = (each: Sandbox) => each.requests().map(({ decision }) => decision);
	const opened = createSandbox({ from: JSON.stringify(sandbox.bug()) });
	expect(decisions(opened)).toEqual(decisions(sandbox));
	for (const decision of decisions(sandbox)) {
		expect(Object.keys(rules)).toContain(decision?.rule);
		expect(JSON.stringify(decision)).not.toMatch(/Kerkstraat|Anna|4477|note-1/);
	}
	const events = sandbox.events().flatMap((event) => (event.type === "request" ? [event.decision] : []));
	expect(events).toEqual(decisions(sandbox));
	// The sentence of a file that somebody wrote is not believed.
	const forged = JSON.stringify(sandbox.bug({ keepContent: true })).replaceAll("A repeat of", "Kerkstraat of");
	expect(JSON.stringify(createSandbox({ from: forged }).bug())).not.toContain("Kerkstraat");
});
