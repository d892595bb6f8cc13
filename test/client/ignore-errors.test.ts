import { createClient } from "messaging-conversations";
import { expect, test } from "vitest";
import { jsonResponse, unhandledRejections } from "../calls.ts";
import { apiKey, me } from "../canned.ts";

const baseUrl = "https://messaging.example/api/v1";

test.for([
	["throws", () => JSON.parse("{")],
	["rejects", () => Promise.reject(new Error("the observer's own fault"))],
	["never settles", () => new Promise(() => {})],
	["throws undefined", () => Promise.reject(undefined)],
] as [string, () => unknown][])("S36 a callback that %s changes nothing and is not waited for", async ([, run]) => {
	const unhandled = unhandledRejections();
	const fetch = async () => jsonResponse({ ...me, extra: 1 });
	let calls = 0;
	const observe = (): unknown => {
		calls++;
		return run();
	};
	const logger = { debug: observe, info: observe, warn: observe, error: observe };
	const client = createClient({ baseUrl, apiKey, fetch, logger, onAttempt: observe, onContractDrift: observe });
	await expect(client.me.get()).resolves.toMatchObject(me);
	// The logger, onAttempt, and onContractDrift with the extra field.
	expect(calls).toBe(3);
	await expect(unhandled()).resolves.toEqual([]);
});
