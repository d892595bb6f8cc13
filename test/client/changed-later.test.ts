// What a caller changes after it was given: options, lists, dates and messages are copied when they are given.
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { expect, test } from "vitest";
import { clientOf, failure } from "../calls.ts";
import { agencyId, conversationPage, phone, sentNow, text } from "../canned.ts";
import { inTurn, scripted } from "../scripted.ts";

const other = "+32470999999";
const message = { to: other, body: text };

test("a derived client keeps the list of recipients that was given, whatever became of it", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	const allowRecipients = [phone];
	const client = clientOf(service, { allowRecipients });
	allowRecipients.push(other);
	const derived = client.withOptions({ timeoutMs: 5000 });
	for (const each of [client, derived, derived.withOptions({})]) {
		const error = await failure(() => each.agency(agencyId).messages.send(message));
		expect(error).toMatchObject({ _tag: "PartnerInvalidInput", field: "to" });
	}
	allowRecipients.length = 0;
	await client.withOptions({}).agency(agencyId).messages.send({ to: phone, body: text });
	expect(service.requests).toHaveLength(1);
});

test("a list of recipients that withOptions was given is kept too", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	const allowRecipients = [phone];
	const client = clientOf(service).withOptions({ allowRecipients });
	allowRecipients[0] = other;
	const derived = client.withOptions({ appInfo: { name: "crm" } });
	await expect(failure(() => derived.agency(agencyId).messages.send(message))).resolves.toMatchObject({ field: "to" });
});

test("a list of recipients that can't be read later does no harm to a derived client", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	const allowRecipients: string[] = [phone];
	const client = clientOf(service, { allowRecipients });
	allowRecipients.push("no number");
	await client.withOptions({ timeoutMs: 5000 }).agency(agencyId).messages.send({ to: phone, body: text });
	expect(service.requests).toHaveLength(1);
});

test("a derived client has the headers, the application and the retries that were given", async () => {
	const service = await scripted((_, index) => (index % 2 === 0 ? { status: 503 } : { json: sentNow }));
	const headers: Record<string, string> = { "x-source": "crm" };
	const retry = { attempts: 2, baseDelayMs: 1, maxDelayMs: 1 };
	const appInfo = { name: "crm" };
	const client = clientOf(service, { headers, retry, appInfo });
	headers["x-source"] = "changed";
	headers["x-more"] = "changed";
	retry.attempts = 1;
	appInfo.name = "changed";
	for (const each of [client, client.withOptions({}), client.withOptions({ headers: { "x-own": "1" }, retry: {} })])
		await each.agency(agencyId).messages.send({ to: phone, body: text });
	expect(service.requests).toHaveLength(6);
	for (const { headers: sent } of service.requests) {
		expect(sent).toMatchObject({ "x-source": "crm", "user-agent": expect.stringMatching(/ crm$/) });
		expect(sent).not.toHaveProperty("x-more");
	}
});

test("a derived client keeps the list of insecure hosts that was given", () => {
	const allowInsecureHosts = ["sandbox"];
	const apiKey = "sandbox_live.key.secret";
	const client = createClient({ baseUrl: "http://sandbox/api/v1", apiKey, allowInsecureHosts });
	allowInsecureHosts.length = 0;
	expect(() => client.withOptions({ timeoutMs: 1000 })).not.toThrow();
});

test("a deadline is the moment that was given, for each page of an iteration", async () => {
	const service = await scripted(inTurn({ json: { ...conversationPage(["Anna"]), nextCursor: "next" } }));
	const deadline = new Date(Date.now() + 60_000);
	const list = clientOf(service).agency(agencyId).conversations.list({ deadline, readAhead: false });
	const rows = list[Symbol.asyncIterator]();
	await rows.next();
	deadline.setTime(0);
	await rows.next();
	expect(service.requests).toHaveLength(2);
});

test("a message and the numbers of a lookup are those at the call", async () => {
	const sandbox = createSandbox();
	const agency = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
	const given = { to: "+447700900101", body: "First" };
	const numbers = ["+447700900101"];
	const [sending, asking] = [agency.messages.send(given), agency.conversations.lookup(numbers)];
	Object.assign(given, { to: "+447700900102", body: "Second" });
	numbers[0] = "+447700900102";
	await sending;
	expect((await asking).map(({ input }) => input)).toEqual(["+447700900101"]);
	expect(sandbox.requests().find(({ operation }) => operation === "messages.send")?.body).toMatchObject({
		to: "+447700900101",
		body: "First",
	});
});
