import { expect, test } from "vitest";
import { clientOf, failure, sixCalls, unhandledRejections } from "../calls.ts";
import { agencyId, me, phone, sentNow, text } from "../canned.ts";
import { inTurn, refusal, scripted } from "../scripted.ts";

test.for(sixCalls)("$operation returns a real Promise", async ({ run, good }) => {
	const service = await scripted(inTurn({ json: good }));
	const call = run(clientOf(service));
	expect(call).toBeInstanceOf(Promise);
	expect(Object.prototype.toString.call(call)).toBe("[object Promise]");
	const [first, second, third] = await Promise.all([call, call.then((data) => data), call.finally(() => {})]);
	expect(first).toBeTypeOf("object");
	expect(second).toEqual(first);
	expect(third).toEqual(first);
	expect(service.requests).toHaveLength(1);
});

test("data is the plain contract object", async () => {
	const service = await scripted(inTurn({ json: me }));
	const data = await clientOf(service).me.get();
	expect(data).toEqual(me);
	expect(Object.getPrototypeOf(data)).toBe(Object.prototype);
	expect(JSON.parse(JSON.stringify(data))).toEqual(me);
});

test.for(sixCalls)(
	"withResponse: data, status, headers, correlation id and attempts of $operation",
	async ({ run, good }) => {
		const headers = { "x-something": "else" };
		const service = await scripted(inTurn(refusal(500), { json: good, headers }));
		const call = run(clientOf(service));
		const { data, response } = await call.withResponse();
		expect(data).toEqual(await call);
		expect(response.status).toBe(200);
		expect(response.headers).toBeInstanceOf(Headers);
		expect(response.headers.get("x-something")).toBe("else");
		expect(response.correlationId).toBe("cor-2");
		expect(response.attempts).toBe(2);
		expect(service.requests).toHaveLength(2);
	},
);

test("withResponse: rejects as the call itself does", async () => {
	const service = await scripted(inTurn(refusal(404)));
	const error = await failure(() => clientOf(service).agency(agencyId).conversations.get(phone).withResponse());
	expect(error).toMatchObject({ _tag: "PartnerNotFound", status: 404 });
});

test("withResponse: the correlation id is undefined where a gateway dropped it", async () => {
	const service = await scripted(inTurn({ json: me, headers: { "x-correlation-id": undefined } }));
	const { data, response } = await clientOf(service).me.get().withResponse();
	expect(data).toEqual(me);
	expect(response.correlationId).toBeUndefined();
});

test.for(sixCalls)("result: ok with data and correlation id of $operation", async ({ run, good }) => {
	const service = await scripted(inTurn({ json: good }));
	const call = run(clientOf(service));
	await expect(call.result()).resolves.toEqual({ ok: true, data: await call, correlationId: "cor-1" });
});

test.for(sixCalls)("result: never rejects for an error of $operation", async ({ run }) => {
	const service = await scripted(inTurn(refusal(401)));
	const client = clientOf(service);
	const tags = [];
	for (const options of [{}, { timeoutMs: 0 }, { signal: AbortSignal.abort() }]) {
		const result = await run(client, options).result();
		tags.push(result.ok || result.error._tag);
	}
	expect(tags).toEqual(["PartnerUnauthorized", "PartnerInvalidInput", "PartnerAbortError"]);
});

test("one call is one request, in however many forms it is asked for", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	const call = clientOf(service).agency(agencyId).messages.send({ to: phone, body: text });
	const answers = await Promise.all([call, call.withResponse(), call.result(), call.withResponse(), call.result()]);
	expect(answers[1].data).toEqual(answers[0]);
	expect(service.requests).toHaveLength(1);
});

test("a call goes out whether or not it is awaited", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	const call = clientOf(service).agency(agencyId).messages.send({ to: phone, body: text });
	const { response } = await call.withResponse();
	expect(response.status).toBe(200);
	expect(service.requests).toHaveLength(1);
});

test.for(sixCalls)("no unhandled rejection in any form of use: $operation", async ({ run }) => {
	const unhandled = unhandledRejections();
	const service = await scripted(inTurn(refusal(403)));
	const client = clientOf(service);
	await run(client).result();
	await run(client)
		.withResponse()
		.catch(() => {});
	await run(client).catch(() => {});
	await run(client).then(
		() => {},
		() => {},
	);
	await failure(() => run(client));
	const all = run(client);
	await Promise.allSettled([all, all.withResponse(), all.result(), all.finally(() => {})]);
	const late = run(client);
	const [first] = await Promise.allSettled([late]);
	expect(first.status).toBe("rejected");
	await late.result();
	await late.withResponse().catch(() => {});
	await run(client, { timeoutMs: 0 }).result();
	await run(client, { signal: AbortSignal.abort() }).result();
	await expect(unhandled()).resolves.toEqual([]);
});

test("an unhandled error is not hidden: the plain form rejects like any Promise", async () => {
	const service = await scripted(inTurn(refusal(403)));
	const call = clientOf(service).me.get();
	await expect(call).rejects.toMatchObject({ _tag: "PartnerForbidden" });
	await expect(call).rejects.toMatchObject({ _tag: "PartnerForbidden" });
});

test("the same error comes out of every form", async () => {
	const service = await scripted(inTurn(refusal(403)));
	const call = clientOf(service).me.get();
	const result = await call.result();
	const plain = await failure(() => call);
	const detailed = await failure(() => call.withResponse());
	expect(result).toEqual({ ok: false, error: plain });
	expect(detailed).toBe(plain);
});

test("withResponse and result need no this", async () => {
	const service = await scripted(inTurn({ json: me }));
	const { withResponse, result } = clientOf(service).me.get();
	await expect(withResponse()).resolves.toMatchObject({ data: me });
	await expect(result()).resolves.toMatchObject({ ok: true, data: me });
});

test("a key named then in the data makes nothing thenable", async () => {
	const text = JSON.stringify(me).replace("{", '{"then":"x","constructor":"y",');
	const service = await scripted(inTurn({ text }));
	await expect(clientOf(service).me.get()).resolves.toEqual(JSON.parse(text));
});

test("__proto__ in an answer pollutes nothing", async () => {
	const json = JSON.stringify(me).replace("{", '{"__proto__":{"polluted":true},');
	const service = await scripted(inTurn({ text: json }));
	await clientOf(service).me.get();
	expect(Reflect.get({}, "polluted")).toBeUndefined();
});
