import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { expect, test } from "vitest";

test("an option of a sandbox that is undefined is as good as absent", () => {
	const policy = { shortSearch: undefined, operationIdTtlHours: undefined };
	const sandbox = createSandbox({ now: undefined, scenario: undefined, policy, variation: undefined });
	const absent = createSandbox();
	expect(sandbox.snapshot().world).toEqual(absent.snapshot().world);
	expect(sandbox.policy).toEqual(absent.policy);
});

test("an option of serve that is undefined is as good as absent", async () => {
	const options = { port: undefined, token: undefined, follow: undefined, listen: undefined, allowHosts: undefined };
	const server = await serve(createSandbox(), options);
	expect(server.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/v1$/);
	expect(server.token).toMatch(/^[0-9a-f]{32}$/);
	await server.close();
});

test("an option of a control that is undefined is as good as absent", () => {
	const [given, absent] = [createSandbox(), createSandbox()];
	const consent = {
		configured: undefined,
		languages: undefined,
		defaultLanguage: undefined,
		flowCodes: undefined,
		missingFlowCodes: undefined,
		missingTemplates: undefined,
		unapprovedTemplates: undefined,
		answerWithinHours: undefined,
	};
	given.agency().consent.set(consent);
	absent.agency().consent.set({});
	given.link({ name: "Second", consent, senders: undefined, storesMedia: undefined });
	absent.link({ name: "Second" });
	given.keys.create({ scopes: undefined });
	absent.keys.create();
	const effect = { kind: undefined, status: 503, retryAfter: undefined, latencyMs: undefined };
	given.faults.add({
		operation: undefined,
		times: undefined,
		skip: undefined,
		phase: undefined,
		effect: { ...effect, field: undefined, location: undefined },
	});
	absent.faults.add({ effect: { status: 503 } });
	const during = given.during({ operation: undefined, phase: undefined, times: undefined }, () => {});
	expect(during.remaining).toBe(1);
	for (const [sandbox, options] of [
		[given, { name: undefined, media: undefined, replyTo: undefined, errorCode: undefined, times: undefined }],
		[absent, undefined],
	] as const) {
		const { name, media, replyTo, errorCode, times } = options ?? {};
		const agency = sandbox.agency();
		const anna = agency.contact("+447700900101", options && { name });
		anna.writes(options ? { body: "Hello", media, replyTo } : "Hello");
		const { id } = agency.ai.replies({ contact: anna, text: "Good morning" });
		sandbox.message(id).failed(options && { errorCode });
		sandbox.message(id).set("undelivered", options && { errorCode });
		agency.conversation(anna).takeOver(options && { times });
		agency.conversation(anna).shareWith(sandbox.link({ name: "Third" }), options && { reason: undefined });
		sandbox.clock.advance(options ? { hours: 1, minutes: undefined, ms: undefined } : { hours: 1 });
	}
	expect(given.snapshot().world).toEqual(absent.snapshot().world);
	const atAnyTime = (event: object): object => ({ ...event, realAt: expect.any(String) });
	expect(given.events({ after: undefined })).toEqual(absent.events().map(atAnyTime));
});
