import { type AgencyClient, createClient, type Sent } from "messaging-conversations";
import { type CheckDeliveryOptions, checkDelivery } from "messaging-conversations/outbox";
import { createSandbox, type SandboxOptions } from "messaging-conversations/sandbox";
import { afterEach, expect, test, vi } from "vitest";

const body = "Are you there?";

afterEach(() => {
	vi.unstubAllEnvs();
	vi.restoreAllMocks();
});

/** Anna read the same words the day before; then the window closed. */
async function open(
	policy: SandboxOptions["policy"] & {} = {},
	change = async (answer: Response): Promise<Response> => answer,
) {
	const sandbox = createSandbox({ policy });
	const fetch: typeof globalThis.fetch = async (url, init) => change(await sandbox.fetch(url, init));
	const agency = createClient({ ...sandbox.connection, fetch }).agency(sandbox.agency().id);
	const anna = sandbox.agency().contact("+32470123456");
	anna.writes("Hello");
	await agency.messages.send({ to: anna.phoneNumber, body });
	sandbox.clock.advance({ hours: 25 });
	const since = sandbox.clock.now();
	const send = () => agency.messages.send({ to: anna.phoneNumber, body });
	const fate = (rest: object = {}, options: CheckDeliveryOptions = {}) =>
		checkDelivery(agency, { to: anna.phoneNumber, body, since, ...rest }, { now: sandbox.clock.now, ...options });
	return { sandbox, agency, anna, since, send, fate };
}

test("held, and whether the contact has answered in words; then sent, delivered, read, by one request each", async () => {
	const { sandbox, anna, send, fate } = await open();
	const sent = await send();
	expect(await fate(sent)).toEqual({ status: "held", queueId: sent.queueId, windowOpen: false, consentFailed: false });
	anna.writes("Yes?");
	expect(await fate()).toMatchObject({ status: "held", windowOpen: true });
	anna.accepts();
	const { message } = (await fate()) as { message: { id: number } };
	expect(await fate()).toMatchObject({ status: "sent", message: { body } });
	sandbox.message(message.id).delivered();
	expect(await fate()).toMatchObject({ status: "delivered" });
	sandbox.message(message.id).read();
	const before = sandbox.requests().length;
	expect(await fate()).toMatchObject({ status: "read" });
	expect(sandbox.requests().length - before).toBe(1);
});

test("a button reply alone is not an answer in words, and neither are words right after a tap", async () => {
	const { sandbox, anna, send, fate } = await open();
	await send();
	anna.taps("visit_later");
	expect(await fate()).toMatchObject({ status: "held", windowOpen: false });
	anna.writes("Sorry");
	expect(await fate()).toMatchObject({ status: "held", windowOpen: false });
	sandbox.clock.advance({ ms: 65_000 });
	expect(await fate()).toMatchObject({ status: "held", windowOpen: true });
});

test("words after a tap that has no time are no answer either, until the settling time has passed", async () => {
	const { sandbox, anna, send, fate } = await open({}, async (answer) => {
		const read = await answer.json();
		for (const message of read.messagePage?.messages ?? [])
			if (message.direction === "inbound") message.createdAt = null;
		return Response.json(read, { status: answer.status, headers: answer.headers });
	});
	await send();
	anna.taps("visit_later");
	anna.writes("Sorry");
	expect(await fate()).toMatchObject({ status: "held", windowOpen: false });
	sandbox.clock.advance({ ms: 65_000 });
	expect(await fate()).toMatchObject({ status: "held", windowOpen: true });
});

test("a text that failed at the phone is failed and not sent", async () => {
	const { sandbox, anna, send, fate } = await open();
	await send();
	anna.accepts();
	const found = await fate();
	if (!("message" in found)) throw new Error(found.status);
	sandbox.message(found.message.id).failed({ errorCode: 63016 });
	expect(await fate()).toMatchObject({ status: "failed", message: { status: "failed" } });
	sandbox.message(found.message.id).undelivered();
	expect(await fate()).toMatchObject({ status: "failed" });
});

test("declined or never answered is dropped, and the same words of the day before are another text", async () => {
	for (const end of ["declines", "silence"]) {
		const { sandbox, anna, send, fate } = await open();
		const sent = await send();
		if (end === "declines") anna.declines();
		expect(await fate(sent)).toMatchObject({ status: end === "declines" ? "unknown" : "held" });
		sandbox.clock.advance({ hours: 48 });
		expect(await fate(sent)).toEqual({ status: "dropped" });
		// The template may be that of a flow, and the text may never have been taken.
		expect(await fate()).toEqual({ status: "unknown" });
	}
});

test("a text whose place another took is replaced", async () => {
	const { sandbox, anna, send, fate } = await open();
	const sent = await send();
	sandbox.agency().staff.sends({ contact: anna, text: "Forget it." });
	expect(await fate(sent)).toEqual({ status: "replaced" });
	// Without its entry the text may never have been taken.
	sandbox.clock.advance({ minutes: 2 });
	expect(await fate()).toEqual({ status: "unknown" });
});

test("a text whose message is listed some seconds after the consent is unknown until then, not dropped", async () => {
	let isLate = false;
	const { sandbox, anna, send, fate } = await open({}, async (answer) => {
		const page = isLate ? await answer.json() : undefined;
		page?.messagePage.messages.shift();
		return page ? Response.json(page, { headers: answer.headers }) : answer;
	});
	const sent = await send();
	sandbox.clock.advance({ hours: 1 });
	anna.accepts();
	isLate = true;
	sandbox.clock.advance({ ms: 4_000 });
	expect(await fate(sent)).toEqual({ status: "unknown" });
	isLate = false;
	expect(await fate(sent)).toMatchObject({ status: "sent" });
});

test("a text of staff's that waited before the send proves nothing: the send left no trace", async () => {
	const { sandbox, agency, anna, fate } = await open();
	sandbox.agency().staff.sends({ contact: anna, text: "Please call us." });
	sandbox.clock.advance({ minutes: 1 });
	const since = sandbox.clock.now();
	sandbox.faults.add({ operation: "messages.send", phase: "before", effect: { status: 500 } });
	await agency.messages.send({ to: anna.phoneNumber, body }, { retry: false }).result();
	sandbox.clock.advance({ minutes: 2 });
	expect(await fate({ since })).toEqual({ status: "not_found" });
});

test("a text that took over a queue entry and was declined, while its answer was lost, is unknown and not not_found", async () => {
	const { sandbox, agency, anna, fate } = await open();
	sandbox.agency().staff.sends({ contact: anna, text: "Please call us." });
	sandbox.clock.advance({ minutes: 1 });
	const since = sandbox.clock.now();
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
	await agency.messages.send({ to: anna.phoneNumber, body }, { retry: false }).result();
	anna.declines();
	sandbox.clock.advance({ minutes: 2 });
	expect(await fate({ since })).toEqual({ status: "unknown" });
});

test("a text that was a message and is not shown is unknown, whatever waits in the queue", async () => {
	const { sandbox, anna, fate } = await open();
	sandbox.clock.advance({ minutes: 1 });
	for (const text of ["Please call us.", body]) {
		sandbox.agency().staff.sends({ contact: anna, text });
		sandbox.clock.advance({ minutes: 2 });
		expect(await fate({ messageId: "SM0" })).toEqual({ status: "unknown" });
	}
});

test("a text that had left the queue before another one came is dropped", async () => {
	const { sandbox, anna, send, fate } = await open({ declineOpensWindow: false });
	const sent = await send();
	anna.declines();
	sandbox.agency().staff.sends({ contact: anna, text: "Forget it." });
	expect(await fate(sent)).toEqual({ status: "unknown" });
	sandbox.clock.advance({ minutes: 2 });
	expect(await fate(sent)).toEqual({ status: "dropped" });
});

test("a send that left no trace is unknown at first, and not_found after the settling time", async () => {
	const { sandbox, fate } = await open();
	expect(await fate()).toEqual({ status: "unknown" });
	sandbox.clock.advance({ ms: 64_999 });
	expect(await fate()).toEqual({ status: "unknown" });
	sandbox.clock.advance({ ms: 1 });
	expect(await fate()).toEqual({ status: "not_found" });
	expect(await fate({}, { settleMs: 120_000 })).toEqual({ status: "unknown" });
});

test.each([
	["4 seconds", 4_000, "sent"],
	["6 seconds", 6_000, "unknown"],
	["10 minutes", 600_000, "unknown"],
	["59 minutes", 59 * 60_000, "unknown"],
])("a text that a clock %s ahead sent is never called not_found", async (_, aheadMs, status) => {
	const { sandbox, agency, anna, fate } = await open();
	anna.writes("Hello?");
	sandbox.clock.advance({ minutes: 1 });
	const now = () => sandbox.clock.now().getTime() + aheadMs;
	const since = now();
	await agency.messages.send({ to: anna.phoneNumber, body });
	// More than a page of messages follows.
	for (let count = 0; count < 60; count++) anna.writes(`And ${count}`);
	sandbox.clock.advance({ hours: 2 });
	expect(await fate({ since }, { now })).toMatchObject({ status });
	// The clock was set right meanwhile.
	if (aheadMs < 65_000) expect(await fate({ since })).toMatchObject({ status });
});

test("a text that a clock ahead sent, and that was declined within seconds, is not called not_found", async () => {
	const { sandbox, anna, send, fate } = await open();
	const now = () => sandbox.clock.now().getTime() + 60_000;
	const since = now();
	await send();
	anna.declines();
	sandbox.clock.advance({ minutes: 5 });
	expect(await fate({ since }, { now })).toEqual({ status: "unknown" });
});

test("the same words of another text from shortly before do not count once its id is claimed", async () => {
	const { sandbox, agency, anna, fate } = await open();
	anna.writes("Hello?");
	const { messageId } = await agency.messages.send({ to: anna.phoneNumber, body });
	sandbox.clock.advance({ ms: 30_000 });
	const since = sandbox.clock.now();
	sandbox.clock.advance({ minutes: 2 });
	expect(await fate({ since })).toEqual({ status: "unknown" });
	expect(await fate({ since }, { claimed: [String(messageId)] })).toEqual({ status: "not_found" });
});

test("a hidden conversation and two of the same text are unknown; ids of other texts distinguish them", async () => {
	const { sandbox, agency, anna, fate } = await open();
	anna.writes("Hello?");
	const first = await agency.messages.send({ to: anna.phoneNumber, body });
	const second = await agency.messages.send({ to: anna.phoneNumber, body });
	expect(await fate()).toEqual({ status: "unknown" });
	expect(await fate({}, { claimed: [String(first.messageId)] })).toMatchObject({
		status: "sent",
		message: { messageSid: second.messageId },
	});
	expect(await fate({ messageId: first.messageId })).toMatchObject({
		status: "sent",
		message: { messageSid: first.messageId },
	});
	sandbox.agency().conversation(anna).hide();
	expect(await fate()).toEqual({ status: "unknown" });
});

test("however much was said since, a text is found, and no page older than the send is asked for", async () => {
	const { sandbox, anna, send, fate } = await open();
	await send();
	anna.accepts();
	for (let count = 0; count < 120; count++) anna.writes(`And ${count}`);
	const before = sandbox.requests().length;
	expect(await fate()).toMatchObject({ status: "sent" });
	expect(sandbox.requests().length - before).toBe(3);
});

test("checkDelivery refuses a time that is none", async () => {
	const { fate } = await open();
	await expect(fate({ since: "yesterday" })).rejects.toMatchObject({
		_tag: "PartnerInvalidInput",
		operation: "checkDelivery",
		field: "since",
	});
});

test("checkDelivery refuses a client in place of an agency", async () => {
	const { connection } = createSandbox();
	const client: unknown = createClient(connection);
	await expect(
		checkDelivery(client as AgencyClient, { to: "+32470123456", body, since: new Date() }),
	).rejects.toMatchObject({
		_tag: "PartnerInvalidInput",
		operation: "checkDelivery",
		field: "agency",
	});
});

test.for([
	"2026-01-05 09:00:00",
	"2026-01-05T09:00:00",
	"2026-01-05",
	"01-05-2026",
	["2026-01-05T09:00:00Z"],
	null,
	true,
])("checkDelivery refuses a time without a zone, which each machine reads in its own: %j", async (since) => {
	const { fate } = await open();
	await expect(fate({ since: since as string })).rejects.toMatchObject({ field: "since" });
});

test.for(["2026-01-06T10:00:00Z", "2026-01-06T11:00:00.000+01:00", "2026-01-06 10:00:00+00"])(
	"a time with a zone is the same on each machine: %s",
	async (given) => {
		const { sandbox, anna, since, send, fate } = await open();
		expect(new Date(given)).toEqual(since);
		await send();
		anna.accepts();
		sandbox.clock.advance({ hours: 9 });
		for (const zone of ["America/New_York", "Asia/Kolkata"]) {
			vi.stubEnv("TZ", zone);
			expect(await fate({ since: given })).toMatchObject({ status: "sent" });
		}
	},
);

test("a read that takes longer than its deadline fails, a signal aborts it, and an unknown option is refused", async () => {
	const { sandbox, send, fate } = await open();
	const sent = await send();
	sandbox.faults.add({ operation: "conversations.get", times: Number.POSITIVE_INFINITY, effect: "hang" });
	await expect(fate(sent, { deadline: 20 })).rejects.toMatchObject({ _tag: "PartnerTimeoutError" });
	await expect(fate(sent, { signal: AbortSignal.abort() })).rejects.toMatchObject({ _tag: "PartnerAbortError" });
	const misspelt = { deadlineMS: 20 } as CheckDeliveryOptions;
	await expect(fate(sent, misspelt)).rejects.toMatchObject({ _tag: "PartnerInvalidInput", field: "options" });
});

/** The result of a send as another process reads it from a database. */
const stored = (sent: Sent): Sent => JSON.parse(JSON.stringify(sent));

test("the result of a send is all that is needed to find out what became of it, also after it was stored as JSON", async () => {
	const { sandbox, agency, anna } = await open();
	const held = stored(await agency.messages.send({ to: "0470 12 34 56", body }));
	expect(held).toMatchObject({ to: anna.phoneNumber, body, queued: true });
	expect(await checkDelivery(agency, held)).toMatchObject({ status: "held", queueId: held.queueId });
	anna.declines();
	expect(await checkDelivery(agency, held)).toEqual({ status: "unknown" });
	sandbox.clock.advance({ minutes: 2 });
	expect(await checkDelivery(agency, held)).toEqual({ status: "dropped" });
	const sent = stored(await agency.messages.send({ to: anna.phoneNumber, body }));
	expect(sent.queued).toBe(false);
	sandbox.message(sent.messageId ?? "").failed();
	expect(await checkDelivery(agency, sent)).toMatchObject({
		status: "failed",
		message: { messageSid: sent.messageId },
	});
	sandbox.clock.advance({ hours: 25 });
	const replaced = await agency.messages.send({ to: anna.phoneNumber, body: "First" });
	const second = await agency.messages.send({ to: anna.phoneNumber, body: "Second" });
	expect(await checkDelivery(agency, stored(replaced))).toEqual({ status: "replaced" });
	anna.accepts();
	expect(await checkDelivery(agency, stored(second))).toMatchObject({ status: "sent", message: { body: "Second" } });
});

test.each([
	["right", 0, true],
	["20 minutes ahead", 20, true],
	["20 minutes behind", -20, true],
	["right, and no answer has a Date", 0, false],
])(
	"a send remembers when it began, whatever the clocks say: that of this machine is %s",
	async (_, minutes, hasDate) => {
		const { sandbox, agency, anna } = await open({}, async (answer) => {
			if (!hasDate) answer.headers.delete("date");
			return answer;
		});
		vi.spyOn(Date, "now").mockImplementation(() => sandbox.clock.now().getTime() + minutes * 60_000);
		const sent = stored(await agency.messages.send({ to: anna.phoneNumber, body }));
		expect(Date.parse(sent.since)).toBeLessThanOrEqual(sandbox.clock.now().getTime());
		expect(await checkDelivery(agency, sent)).toMatchObject({ status: "held" });
		anna.accepts();
		expect(await checkDelivery(agency, sent)).toMatchObject({ status: "sent" });
	},
);

test("a send whose first answer was lost remembers when it began, and not when it was repeated", async () => {
	let passedMs = 0;
	let losesNext = false;
	const now = performance.now.bind(performance);
	vi.spyOn(performance, "now").mockImplementation(() => now() + passedMs);
	const { sandbox, agency, anna } = await open({}, async (answer) => {
		if (!losesNext) return answer;
		losesNext = false;
		passedMs = 20_000;
		sandbox.clock.advance({ ms: 20_000 });
		throw new TypeError("connection lost");
	});
	const began = sandbox.clock.now().getTime();
	losesNext = true;
	const sent = await agency.messages.send({ to: anna.phoneNumber, body });
	expect([passedMs, Date.parse(sent.since) <= began]).toEqual([20_000, true]);
	expect(await checkDelivery(agency, stored(sent))).toMatchObject({ status: "held" });
});
