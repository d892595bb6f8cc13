import { afterAll, expect, test } from "vitest";
import { answers } from "../../generated/answers.ts";
import { nodeHttp } from "../../src/node.ts";
import { heldForConsent, readAnswer, sentNow } from "./answers.ts";
import { type Case, plainInputs, plays, runCase } from "./conformance.ts";
import { faults } from "./faults.ts";

test("the canned answers are the contract's", () => {
	const canned = {
		Me: [readAnswer("me.get")],
		ConversationPage: [readAnswer("conversations.list")],
		LookupResponse: [readAnswer("conversations.lookup")],
		ConversationWithMessages: [readAnswer("conversations.get")],
		MessagePage: [readAnswer("conversations.listMessages")],
		SendMessageResult: [sentNow, heldForConsent],
	};
	for (const [name, examples] of Object.entries(canned)) {
		const isBroken = answers[name as keyof typeof canned];
		for (const example of examples) expect(isBroken(example), name).toBe(false);
	}
});

test("the table plays every fault that the service can play", () => {
	const inTable = new Set(plays.flatMap(([{ faults }]) => faults));
	const left = faults.map(({ name }) => name).filter((name) => !inTable.has(name));
	expect(left).toEqual(["honest answer, then a stale connection"]);
});

const overNode = nodeHttp();
afterAll(() => overNode.close());

/** Only node:http shows whether there was a connection, so that a reset in the handshake proves that nothing was sent. */
function overNodeHttp(each: Case): Case {
	const isUnsent = each.faults.every((fault) => fault === "thrown: ECONNRESET");
	const title = each.title.replace("unknown", "not_sent");
	return isUnsent && each.operation === "messages.send" ? { ...each, title, outcome: "not_sent" } : each;
}

const titled = plays.map(([each, adapter]) => {
	const expected = adapter === "fetch" ? each : overNodeHttp(each);
	return [`${expected.title} (${adapter})`, expected, adapter] as const;
});

test.concurrent.for(titled)("%s", async ([, each, adapter], { expect }) => {
	const over = adapter === "fetch" ? undefined : overNode;
	const { service, attempts, result, error, facts } = await runCase(each, plainInputs, {}, over);
	const send = each.operation === "messages.send";
	expect(attempts).toBe(each.attempts);
	expect(service.landings()).toBe(0);
	expect(new Set(service.requests.map(({ body }) => body)).size).toBeLessThanOrEqual(1);
	if (each.tag === null) {
		expect(error).toBeUndefined();
		expect(result).toBeTypeOf("object");
		if (send) expect(result).toMatchObject({ success: true, operationId: service.deliveries[0]?.operationId });
		return;
	}
	expect(result).toBeUndefined();
	expect(error).toBeInstanceOf(Error);
	expect(facts).toMatchObject({
		_tag: each.tag,
		name: each.tag,
		operation: each.operation,
		attempts: each.attempts,
		retryable: each.retryable,
		...(each.status !== undefined && { status: each.status, correlationId: expect.stringMatching(/^service-\d+$/) }),
		...(each.retryAfterMs !== undefined && { retryAfterMs: each.retryAfterMs }),
	});
	expect(facts.outcome).toBe(send ? each.outcome : undefined);
	expect(facts.operationId).toEqual(send ? expect.stringMatching(/^[0-9a-f-]{36}$/) : undefined);
	for (const { fields } of service.requests) if (send) expect(fields.operationId).toBe(facts.operationId);
	if (each.outcome === "not_sent") expect(service.deliveries).toEqual([]);
	if (each.outcome === "sent" && send) expect(service.deliveries).toHaveLength(1);
});
