const { createClient } = require("messaging-conversations");
const { checkDelivery } = require("messaging-conversations/outbox");
const { createSandbox } = require("messaging-conversations/sandbox");
const { remind } = require("./reminder.cjs");

const visit = { id: 7, phone: "+447700900101", time: "14:00" };
let sandbox, agency, anna;

beforeEach(() => {
	// Nothing is shared between tests
	sandbox = createSandbox({ now: "2026-01-05T09:00:00Z" });
	agency = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
	anna = sandbox.agency().contact(visit.phone, { name: "Anna" });
	anna.writes("See you tomorrow");
	sandbox.clock.advance({ hours: 30 }); // her window is closed
});
afterEach(() => {
	jest.useRealTimers();
	sandbox.check(); // fails the test if the code broke a rule of the API
});

/** What Anna got. */
const texts = () =>
	anna.inbox().flatMap(({ kind, body }) => (kind === "text" ? [body] : []));
const statusOf = async (sent) => (await checkDelivery(agency, sent)).status;

test("a declined consent: the reminder never arrives", async () => {
	const sent = await remind(agency, visit);
	expect(sent.queued).toBe(true);
	expect(await statusOf(sent)).toBe("held");
	anna.declines();
	// Within 65 seconds of the last activity the status is "unknown"
	sandbox.clock.advance({ minutes: 2 });
	expect(await statusOf(sent)).toBe("dropped");
	expect(texts()).toEqual([]);
});

test("an accepted one arrives, and no second one replaced it", async () => {
	await remind(agency, visit);
	await expect(remind(agency, { ...visit, id: 8 })).rejects.toMatchObject({
		_tag: "PartnerHeldText",
	});
	anna.accepts();
	expect(texts()).toEqual(["Your visit is at 14:00."]);
});

test("no answer within 48 hours", async () => {
	const sent = await remind(agency, visit);
	sandbox.clock.advance({ hours: 49 });
	expect(await statusOf(sent)).toBe("dropped");
});

test("an answer in words is no permission", async () => {
	const sent = await remind(agency, visit);
	anna.writes("Who is this?");
	expect(await statusOf(sent)).toBe("held");
	expect(texts()).toEqual([]);
});

test("an unreachable phone, and a response that was lost", async () => {
	anna.writes("Which flat was it?");
	anna.setReachable(false);
	sandbox.faults.add({
		operation: "messages.send",
		phase: "after",
		effect: { status: 500 },
	});
	expect(await statusOf(await remind(agency, visit))).toBe("failed");
});

test("the client's waits pass with fake timers", async () => {
	anna.writes("Which flat was it?");
	sandbox.faults.add({
		operation: "messages.send",
		phase: "before",
		effect: { status: 429, retryAfter: 5 },
	});
	jest.useFakeTimers();
	const reminded = remind(agency, visit);
	await jest.advanceTimersByTimeAsync(10_000);
	expect(await reminded).toMatchObject({ queued: false });
});
