import { expect, test } from "vitest";
import { clientOf, failure } from "../calls.ts";
import { apiKey, me } from "../canned.ts";
import { inTurn, refusal, scripted } from "../scripted.ts";

test("me.get is GET /me with the bearer and no body", async () => {
	const service = await scripted(inTurn({ json: me }));
	await clientOf(service).me.get();
	const [seen] = service.requests;
	expect(seen).toMatchObject({ method: "GET", url: "/api/v1/me", body: "" });
	expect(seen?.headers.authorization).toBe(`Bearer ${apiKey}`);
	expect(seen?.headers.accept).toContain("application/json");
	expect(seen?.headers["content-type"]).toBeUndefined();
});

test("me.get gives the integration, its agencies in the service's order and the scopes", async () => {
	const service = await scripted(inTurn({ json: me }));
	const { integration, agencies, scopes } = await clientOf(service).me.get();
	expect(integration).toEqual(me.integration);
	expect(agencies).toEqual(me.agencies);
	expect(scopes).toEqual(["conversations:read", "messages:write"]);
});

test("me.get: an agency may have no name, and there may be no agency", async () => {
	const service = await scripted(inTurn({ json: me }, { json: { ...me, agencies: [] } }));
	const client = clientOf(service);
	expect((await client.me.get()).agencies[1]?.name).toBeNull();
	expect((await client.me.get()).agencies).toEqual([]);
});

test("me.get: each call asks anew, as agencies are linked at any time", async () => {
	const service = await scripted(inTurn({ json: { ...me, agencies: [] } }, { json: me }));
	const client = clientOf(service);
	await client.me.get();
	expect((await client.me.get()).agencies).toHaveLength(2);
	expect(service.requests).toHaveLength(2);
});

test("me.get: a scope and a field that the contract does not know are kept", async () => {
	const json = { ...me, scopes: ["conversations:read", "calls:read"], region: "eu" };
	const service = await scripted(inTurn({ json }));
	await expect(clientOf(service).me.get()).resolves.toEqual(json);
});

test("me.get: 404 when the integration is gone is PartnerNotFound", async () => {
	const service = await scripted(inTurn(refusal(404, "No such integration.")));
	const error = await failure(() => clientOf(service).me.get());
	expect(error).toMatchObject({ _tag: "PartnerNotFound", operation: "me.get", status: 404, attempts: 1 });
});

test("me.get is retried after a 500 and after a lost answer", async () => {
	const service = await scripted(inTurn(refusal(500), "reset", { json: me }));
	const { data, response } = await clientOf(service).me.get().withResponse();
	expect(data).toEqual(me);
	expect(response.attempts).toBe(3);
	expect(new Set(service.requests.map(({ method, url }) => `${method} ${url}`)).size).toBe(1);
});
