/* Sandboxes of other copies of the package. */
import { createClient, PartnerConfigurationError } from "messaging-conversations";
import { changes } from "messaging-conversations/sync";
import { expect, onTestFinished, test } from "vitest";
import { createSandbox, type Sandbox } from "../../src/sandbox/index.ts";
import { handlers } from "../../src/sandbox/msw.ts";
import { serve } from "../../src/sandbox/server.ts";
import { another, errorOf, numberless, ofNumber } from "../protocol.ts";

test.each([
	["of a later number", ofNumber(createSandbox(), 2), another(2)],
	["of an earlier number", ofNumber(createSandbox(), 0), another(0)],
	["of a number that is text", ofNumber(createSandbox(), "1"), numberless],
	["of no number", ofNumber(createSandbox(), undefined), numberless],
])("#49 serve and handlers refuse a sandbox that is %s, and say what to do", async (_name, wrong, rule) => {
	for (const [operation, run] of [
		["serve", serve],
		["handlers", handlers],
	] as const) {
		const error = await errorOf(() => run(wrong));
		expect(error).toBeInstanceOf(PartnerConfigurationError);
		expect(error).toMatchObject({ operation, field: "sandbox", rule, message: `sandbox: ${rule}` });
	}
});

test.each<[name: string, wrap: (sandbox: Sandbox) => Sandbox]>([
	["by a Proxy", (inner) => new Proxy(inner, {})],
	["by a copy", (inner) => ({ ...inner, connection: inner.connection })],
])("a sandbox that is wrapped %s is served", async (_name, wrap) => {
	const server = await serve(wrap(createSandbox()));
	onTestFinished(() => server.close());
	expect(handlers(wrap(createSandbox()))).not.toEqual([]);
	const client = createClient({ baseUrl: server.baseUrl, apiKey: server.apiKey });
	expect((await client.me.get()).agencies).toHaveLength(1);
});

test("a feed tells nothing to a sandbox of another number, and polls", async () => {
	const sandbox = createSandbox();
	sandbox.agency().contact("+447700900101").writes("Hello");
	const fetch: typeof sandbox.fetch = (url, init) => sandbox.fetch(url, init);
	/** An observer of which this version knows neither the methods nor what they take. */
	for (const name of ["messaging-conversations/observer", "messaging-conversations/observer/2"])
		Object.defineProperty(fetch, Symbol.for(name), { value: {} });
	const client = createClient({ ...sandbox.connection, fetch });
	const found: string[] = [];
	const feed = changes(client.agency(sandbox.agency().id), { since: "beginning" });
	for await (const { phoneNumber } of feed) found.push(phoneNumber);
	expect(found).toEqual(["+447700900101"]);
});
