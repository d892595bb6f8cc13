import { createClient, type Fetch, type OutgoingMessage, type PartnerError } from "messaging-conversations";
import { expect, test } from "vitest";
import { clientOf, failure, jsonResponse, wrong } from "../calls.ts";
import { agencyId, apiKey, operationId, phone, sentNow, sentQueued, spelledPhone, text } from "../canned.ts";
import { eventually } from "../eventually.ts";
import { jumpingTimers } from "../jumping-timers.ts";
import { inTurn, refusal, type Script, type Scripted, type Seen, scripted } from "../scripted.ts";

const sender = "0b5a3d9e-0000-4000-8000-000000000000";
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const idOf = ({ body }: Seen): unknown => JSON.parse(body).operationId;
const sendOf = (service: Scripted) => clientOf(service).agency(agencyId).messages.send;

// What goes over the wire

test("send is POST …/messages with the bearer, as JSON", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	await sendOf(service)({ to: phone, body: text });
	const [seen] = service.requests;
	expect(seen).toMatchObject({ method: "POST", url: `/api/v1/agencies/${agencyId}/messages` });
	expect(seen?.headers.authorization).toBe(`Bearer ${apiKey}`);
	expect(seen?.headers["content-type"]).toContain("application/json");
});

// An id that was persisted with these bytes must meet the same bytes after an upgrade.
const pinned: [string, OutgoingMessage, string][] = [
	[
		"the least",
		{ to: phone, body: "Hi", operationId },
		`{"to":"+32470123456","body":"Hi","operationId":"${operationId}"}`,
	],
	[
		"everything",
		{ to: phone, body: "Hi", operationId, subaccountId: sender, consentLanguage: "nl" },
		`{"to":"+32470123456","body":"Hi","operationId":"${operationId}","subaccountId":"${sender}","consentLanguage":"nl"}`,
	],
	[
		"everything in another order",
		{ consentLanguage: "nl", subaccountId: sender, operationId, body: "Hi", to: phone },
		`{"to":"+32470123456","body":"Hi","operationId":"${operationId}","subaccountId":"${sender}","consentLanguage":"nl"}`,
	],
	[
		"undefined is left out",
		{ to: phone, body: "Hi", operationId, subaccountId: undefined, consentLanguage: undefined },
		`{"to":"+32470123456","body":"Hi","operationId":"${operationId}"}`,
	],
	[
		"null stays null",
		{ to: phone, body: "Hi", operationId, subaccountId: null },
		`{"to":"+32470123456","body":"Hi","operationId":"${operationId}","subaccountId":null}`,
	],
	[
		"a number as people write it goes out in E.164",
		{ to: " 0470 / 12.34.56 ", body: "Hi", operationId },
		`{"to":"+32470123456","body":"Hi","operationId":"${operationId}"}`,
	],
	[
		"the text is sent as it is, with its spaces",
		{ to: phone, body: ' "é😀"\n\t\\ ', operationId },
		`{"to":"+32470123456","body":" \\"é😀\\"\\n\\t\\\\ ","operationId":"${operationId}"}`,
	],
	[
		"an id is the caller's own, of any form",
		{ to: phone, body: "Hi", operationId: "crm/note 7" },
		'{"to":"+32470123456","body":"Hi","operationId":"crm/note 7"}',
	],
];

test.for(pinned)("the bytes of a send are pinned: %s", async ([, message, bytes]) => {
	const service = await scripted(inTurn({ json: sentNow }));
	await sendOf(service)(message);
	expect(service.requests.map(({ body }) => body)).toEqual([bytes]);
});

test("a send without operationId gets a UUID of its own, each call another", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	const send = sendOf(service);
	const sent = [await send({ to: phone, body: text }), await send({ to: phone, body: text })];
	const ids = service.requests.map(idOf);
	expect(sent.map(({ operationId }) => operationId)).toEqual(ids);
	for (const id of ids) expect(id).toMatch(uuid);
	expect(new Set(ids).size).toBe(2);
});

test("each attempt of a send has the same bytes and the same id", async () => {
	const service = await scripted(inTurn(refusal(500), "reset", { text: "<html>" }, { json: sentNow }));
	const { data, response } = await sendOf(service)({ to: phone, body: text }).withResponse();
	expect(response.attempts).toBe(4);
	expect(service.requests).toHaveLength(4);
	expect(new Set(service.requests.map(({ body }) => body)).size).toBe(1);
	expect(new Set(service.requests.map(({ headers }) => headers["content-length"])).size).toBe(1);
	expect(data.operationId).toBe(idOf(service.requests[3] ?? wrong(undefined)));
});

test("what the caller does to the message after the call changes no attempt", async () => {
	const service = await scripted(inTurn(refusal(500), { json: sentNow }));
	const message: OutgoingMessage = { to: phone, body: text };
	const sending = sendOf(service)(message);
	message.body = "another text";
	message.to = "+32470999999";
	await sending;
	expect(service.requests.map(({ body }) => JSON.parse(body).body)).toEqual([text, text]);
	expect(service.requests.map(({ body }) => JSON.parse(body).to)).toEqual([phone, phone]);
});

// What it resolves to

test.for([
	["sent now", sentNow],
	["queued", sentQueued],
] as const)("%s: the contract's seven fields, and what was sent, under which id and since when", async ([, json]) => {
	const service = await scripted(inTurn({ json }));
	const sent = await sendOf(service)({ to: spelledPhone, body: text, operationId });
	expect(sent).toEqual({ ...json, operationId, to: phone, body: text, since: expect.any(String) });
	expect(JSON.parse(JSON.stringify(sent))).toEqual(sent);
});

test("queued distinguishes the branches", async () => {
	const service = await scripted(inTurn({ json: sentNow }, { json: sentQueued }));
	const send = sendOf(service);
	const reported: string[] = [];
	for (const sent of [await send({ to: phone, body: text }), await send({ to: phone, body: text })]) {
		reported.push(sent.queued ? sent.queueId.toUpperCase() : sent.messageId.toUpperCase());
	}
	expect(reported).toEqual(["SM900", "QUEUE-1"]);
});

test("a replayed send has status null, and an unknown status is kept", async () => {
	const service = await scripted(
		inTurn({ json: { ...sentNow, status: null } }, { json: { ...sentNow, status: "odd" } }),
	);
	const send = sendOf(service);
	await expect(send({ to: phone, body: text })).resolves.toMatchObject({ status: null });
	await expect(send({ to: phone, body: text })).resolves.toMatchObject({ status: "odd" });
});

test("the service's own operationId field, should it ever have one, does not replace ours", async () => {
	const service = await scripted(inTurn({ json: { ...sentNow, operationId: "theirs" } }));
	await expect(sendOf(service)({ to: phone, body: text, operationId })).resolves.toMatchObject({ operationId });
});

const contradictions: [string, object, string][] = [
	["sent now without messageId", { ...sentNow, messageId: null }, "unknown"],
	["sent now with queueId", { ...sentNow, queueId: "queue-1" }, "sent"],
	["sent now with queueId and no messageId", { ...sentNow, messageId: null, queueId: "queue-1" }, "sent"],
	["queued without queueId", { ...sentQueued, queueId: null }, "unknown"],
	["queued with messageId", { ...sentQueued, messageId: "SM900" }, "sent"],
	["queued with messageId and no queueId", { ...sentQueued, messageId: "SM900", queueId: null }, "sent"],
];

test.for(contradictions)(
	"an answer that contradicts itself is PartnerUnexpectedResponse, and sent if it has an id: %s",
	async ([, json, outcome]) => {
		const service = await scripted(inTurn({ json }));
		const error = await failure(() => sendOf(service)({ to: phone, body: text, operationId }));
		expect(error).toMatchObject({
			_tag: "PartnerUnexpectedResponse",
			outcome,
			operationId,
			attempts: 1,
			retryable: false,
		});
		expect(service.requests).toHaveLength(1);
	},
);

test.for([
	{ ...sentNow, success: false },
	{ ...sentQueued, success: false },
	{ ...sentNow, success: false, messageId: null },
])("success: false is PartnerUnexpectedResponse, outcome unknown, and not sent again: %j", async (json) => {
	const service = await scripted(inTurn({ json }));
	const error = await failure(() => sendOf(service)({ to: phone, body: text }));
	expect(error).toMatchObject({ _tag: "PartnerUnexpectedResponse", outcome: "unknown", attempts: 1 });
	expect(service.requests).toHaveLength(1);
});

// What is refused before any request, in words

const fine = { to: phone, body: text };
const refusals: [string, unknown[], string][] = [
	["nothing", [], "message: must be an object of to, body, operationId, subaccountId, consentLanguage, ifHeld"],
	["null", [null], "message: must be an object of to, body, operationId, subaccountId, consentLanguage, ifHeld"],
	[
		"options that are none",
		[fine, 5],
		"options: must be an object of timeoutMs, deadline, retry, headers, signal, keyScope, allowUnlistedNumber, beginBy",
	],
	["no recipient", [{ body: text }], "to: must be a phone number as a string"],
	["a number for the recipient", [{ ...fine, to: 32470123456 }], "to: must be a phone number as a string"],
	[
		"no phone number",
		[{ ...fine, to: "112" }],
		"to: not a phone number: it is too short. Use E.164 (+447700900123) or a Belgian local number (0470 12 34 56).",
	],
	[
		"a sender that is not a UUID",
		[{ ...fine, subaccountId: "CANARY" }],
		"subaccountId: must be the UUID of a sender, or null",
	],
	["a number for the sender", [{ ...fine, subaccountId: 5 }], "subaccountId: must be the UUID of a sender, or null"],
	["a UUID in a list", [{ ...fine, subaccountId: [sender] }], "subaccountId: must be the UUID of a sender, or null"],
	[
		"more than a UUID",
		[{ ...fine, subaccountId: `${sender}0` }],
		"subaccountId: must be the UUID of a sender, or null",
	],
	[
		"more before a UUID",
		[{ ...fine, subaccountId: `0${sender}` }],
		"subaccountId: must be the UUID of a sender, or null",
	],
	["an id that is no text", [{ ...fine, operationId: 5 }], "operationId: must be a string"],
];

test.for(refusals)(
	"a send of %s is refused with a message that names the field, and with an id",
	async ([, given, message]) => {
		const service = await scripted(inTurn({ json: sentNow }));
		const error = await failure(() => Reflect.apply(sendOf(service), undefined, given));
		expect(error).toMatchObject({ _tag: "PartnerInvalidInput", message, outcome: "not_sent", attempts: 0 });
		expect(error.operationId).toMatch(uuid);
		expect(service.requests).toEqual([]);
	},
);

const unlisted = ["+3247012345", "+32 446 12 34 56", "+33692929292", "+352 611 123 456"];

test.for(unlisted)("a send to %s, which its country does not list, needs allowUnlistedNumber", async (to) => {
	const service = await scripted(inTurn({ json: sentNow }));
	const send = sendOf(service);
	for (const options of [undefined, {}, { allowUnlistedNumber: false }, { allowUnlistedNumber: undefined }]) {
		const error = await failure(() => send({ to, body: text }, options));
		expect(error).toMatchObject({ _tag: "PartnerInvalidInput", field: "to", outcome: "not_sent" });
		expect(error.message).toMatch(/pass allowUnlistedNumber: true\.$/);
	}
	expect(service.requests).toEqual([]);
	await send({ to, body: text }, { allowUnlistedNumber: true });
	expect(service.requests.map(({ body }) => JSON.parse(body))).toEqual([
		{ to: to.replaceAll(" ", ""), body: text, operationId: expect.any(String) },
	]);
	const error = await failure(() => send({ to, body: text }, { allowUnlistedNumber: wrong("yes") }));
	expect(error.message).toBe("allowUnlistedNumber: must be true or false");
});

test("a send removes a zero that was kept after the country code, and takes E.164 of other countries as it is", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	for (const to of ["+352 0621 123 456", "+480512345678", "+5215512345678"]) await sendOf(service)({ to, body: text });
	const sent = service.requests.map(({ body }) => JSON.parse(body).to);
	expect(sent).toEqual(["+352621123456", "+48512345678", "+5215512345678"]);
});

test("a sender's UUID may be in capitals", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	await sendOf(service)({ ...fine, subaccountId: sender.toUpperCase() });
	expect(service.requests).toHaveLength(1);
});

test("the message of a refusal names allowRecipients, or the operationId that was used", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	const { send } = clientOf(service, { allowRecipients: [phone] }).agency(agencyId).messages;
	const belt = await failure(() => send({ to: "+32470999999", body: text }));
	expect(belt.message).toBe("to: is not one of allowRecipients. Add it to this option of createClient to send to it");
	await send({ ...fine, operationId });
	const guard = await failure(() => send({ ...fine, body: "another", operationId }));
	expect(guard.message).toBe("operationId: was used with another message; a new message needs a new id");
});

test("the id of a send that did not go out is free for a corrected one, of any other it is not", async () => {
	const service = await scripted(inTurn(refusal(400), { json: sentNow }));
	const { send } = clientOf(service).agency(agencyId).messages;
	await failure(() => send({ ...fine, operationId }));
	await expect(send({ ...fine, consentLanguage: "nl", operationId })).resolves.toMatchObject({ operationId });
	const lost = clientOf(await scripted(inTurn("reset")), { retry: false }).agency(agencyId).messages;
	await failure(() => lost.send({ ...fine, operationId }));
	const again = await failure(() => lost.send({ ...fine, body: "another", operationId }));
	expect(again).toMatchObject({ _tag: "PartnerInvalidInput", field: "operationId" });
});

test("the id of two sends that were both refused is free for a corrected one", async () => {
	const service = await scripted(inTurn(refusal(400), refusal(400), { json: sentNow }));
	const { send } = clientOf(service).agency(agencyId).messages;
	await Promise.all([1, 2].map(() => failure(() => send({ ...fine, operationId }))));
	await expect(send({ ...fine, consentLanguage: "nl", operationId })).resolves.toMatchObject({ operationId });
});

test("a 500 of an id that the caller chose may mean another body, of an id made here it does not", async () => {
	const service = await scripted(inTurn(refusal(500)));
	const { send } = clientOf(service, { retry: false }).agency(agencyId).messages;
	const chosen = await failure(() => send({ ...fine, operationId }));
	expect(chosen.message).toMatch(/ \(the operationId may have been used with a different body\)$/);
	const made = await failure(() => send(fine));
	expect(made.message).toBe("messages.send: the service answered 500: The reason.");
});

// The reuse guard

test("the same operationId with the same body goes out again: that is how an unknown send is settled", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	const send = sendOf(service);
	await send({ to: phone, body: text, operationId });
	await send({ to: "0470 12 34 56", body: text, operationId });
	expect(service.requests).toHaveLength(2);
	expect(service.requests[0]?.body).toBe(service.requests[1]?.body);
});

const others: [string, Partial<OutgoingMessage>][] = [
	["text", { body: "another text" }],
	["recipient", { to: "+32470999999" }],
	["sender", { subaccountId: sender }],
	["sender (null)", { subaccountId: null }],
	["consent language", { consentLanguage: "fr" }],
];

test.for(others)("the same operationId with another %s is refused before any request", async ([, change]) => {
	const service = await scripted(inTurn({ json: sentNow }));
	const send = sendOf(service);
	await send({ to: phone, body: text, operationId });
	const error = await failure(() => send({ to: phone, body: text, operationId, ...change }));
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", attempts: 0, outcome: "not_sent", operationId });
	expect(error.message).toContain("operationId");
	expect(service.requests).toHaveLength(1);
});

test("the reuse guard holds after a send that failed: the service may know the id", async () => {
	const service = await scripted(inTurn("reset", "reset", "reset", "reset", { json: sentNow }));
	const send = sendOf(service);
	await expect(failure(() => send({ to: phone, body: text, operationId }))).resolves.toMatchObject({
		outcome: "unknown",
	});
	await expect(failure(() => send({ to: phone, body: "x", operationId }))).resolves.toMatchObject({
		_tag: "PartnerInvalidInput",
	});
	await expect(send({ to: phone, body: text, operationId })).resolves.toMatchObject({ operationId });
});

test("the reuse guard holds while the first send is under way", async () => {
	const service = await scripted(inTurn("hang"));
	const controller = new AbortController();
	const send = sendOf(service);
	const flying = failure(() => send({ to: phone, body: text, operationId }, { signal: controller.signal }));
	await eventually(() => expect(service.requests).toHaveLength(1));
	const error = await failure(() => send({ to: phone, body: "x", operationId }));
	expect(error._tag).toBe("PartnerInvalidInput");
	controller.abort();
	await flying;
});

test("the reuse guard holds for two sends of one moment: one goes out, the other is refused", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	const send = sendOf(service);
	const both = await Promise.allSettled([
		send({ to: phone, body: "one", operationId }),
		send({ to: phone, body: "two", operationId }),
	]);
	expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
	expect(new Set(service.requests.map(({ body }) => body)).size).toBe(1);
	const refused = both.find((each) => each.status === "rejected");
	expect(refused?.reason).toMatchObject({ _tag: "PartnerInvalidInput", outcome: "not_sent" });
});

test("the reuse guard is kept by agency: another agency may use the same id", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	const client = clientOf(service);
	await client.agency("agy_1").messages.send({ to: phone, body: "one", operationId });
	await client.agency("agy_2").messages.send({ to: phone, body: "two", operationId });
	const error = await failure(() => client.agency("agy_1").messages.send({ to: phone, body: "two", operationId }));
	expect(error._tag).toBe("PartnerInvalidInput");
	expect(service.requests).toHaveLength(2);
});

test("the reuse guard is one for all objects of an agency", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	const client = clientOf(service);
	await client.agency(agencyId).messages.send({ to: phone, body: "one", operationId });
	const error = await failure(() => client.agency(agencyId).messages.send({ to: phone, body: "two", operationId }));
	expect(error._tag).toBe("PartnerInvalidInput");
});

test("the reuse guard notes an id only when its first attempt goes out", async () => {
	const urls: string[] = [];
	const fetch: Fetch = async (url) => {
		urls.push(url);
		return jsonResponse(sentNow);
	};
	let locked = true;
	const key = () => (locked ? Promise.reject(new Error("vault is locked")) : apiKey);
	const client = createClient({ baseUrl: "https://messaging.example/api/v1", apiKey: key, fetch });
	const { send } = client.agency(agencyId).messages;
	await failure(() => send({ to: phone, body: "one", operationId }));
	await failure(() => send({ to: phone, body: "two", operationId }, { signal: AbortSignal.abort() }));
	await failure(() => send({ to: phone, body: "three", operationId }, { timeoutMs: 0 }));
	await failure(() => send({ to: "112", body: "four", operationId }));
	locked = false;
	await expect(send({ to: phone, body: "five", operationId })).resolves.toMatchObject({ operationId });
	expect(urls).toHaveLength(1);
});

test("the reuse guard is the client's own", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	await sendOf(service)({ to: phone, body: "one", operationId });
	await sendOf(service)({ to: phone, body: "two", operationId });
	expect(service.requests).toHaveLength(2);
});

// operationId on every error

test.for([
	["400", [refusal(400)]],
	["401", [refusal(401)]],
	["403", [refusal(403)]],
	["409", [refusal(409)]],
	["404", [refusal(404)]],
	["429", [{ status: 429 }]],
	["302", [{ status: 302 }]],
	["500", [refusal(500)]],
	["reset", ["reset"]],
	["unreadable", [{ text: "<html>" }]],
	["broken", [{ json: { success: true } }]],
] as const)("operationId stands on the error of a send: %s", async ([, answers]) => {
	await hasIdOnError(inTurn(...answers));
});

test("operationId stands on the error of a send: time-out", async () => {
	const jump = jumpingTimers();
	const error = await hasIdOnError(() => {
		setImmediate(() => jump(30_000));
		return "hang";
	});
	expect(error).toMatchObject({ _tag: "PartnerTimeoutError", outcome: "unknown", attempts: 4 });
});

async function hasIdOnError(script: Script): Promise<PartnerError> {
	const service = await scripted(script);
	const { send } = clientOf(service, { deadline: 600_000 }).agency(agencyId).messages;
	const chosen = await failure(() => send({ to: phone, body: text, operationId }));
	expect(chosen.operationId).toBe(operationId);
	expect(chosen.outcome).toMatch(/^(not_sent|unknown|sent)$/);
	service.requests.length = 0;
	const made = await failure(() => send({ to: phone, body: text }));
	expect(made.operationId).toMatch(uuid);
	expect(new Set(service.requests.map(idOf))).toEqual(new Set([made.operationId]));
	return made;
}

test("operationId is on an error before any request, and is the one to send with", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	const { send } = clientOf(service).agency(agencyId).messages;
	const made = await failure(() => send({ to: "112", body: text }));
	expect(made).toMatchObject({ outcome: "not_sent", operation: "messages.send" });
	expect(made.operationId).toMatch(uuid);
	const chosen = await failure(() => send({ to: "112", body: text, operationId }));
	expect(chosen.operationId).toBe(operationId);
	const aborted = await failure(() => send({ to: phone, body: text, operationId }, { signal: AbortSignal.abort() }));
	expect(aborted).toMatchObject({ _tag: "PartnerAbortError", operationId, outcome: "not_sent" });
});

test("an unknown send is settled by sending again with the error's operationId", async () => {
	const service = await scripted(inTurn("reset", { json: { ...sentNow, status: null } }));
	const { send } = clientOf(service, { retry: false }).agency(agencyId).messages;
	const error = await failure(() => send({ to: phone, body: text }));
	expect(error.outcome).toBe("unknown");
	const sent = await send({ to: phone, body: text, operationId: error.operationId });
	expect(sent.operationId).toBe(error.operationId);
	expect(new Set(service.requests.map(({ body }) => body)).size).toBe(1);
});
