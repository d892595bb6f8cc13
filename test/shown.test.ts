// What a log shows of the objects that a program keeps. Their keys, tokens and databases stay out of it (S14).
import { inspect } from "node:util";
import { createClient } from "messaging-conversations";
import { nodeHttp } from "messaging-conversations/node";
import { createOutbox, mysqlStore, postgresStore, sqliteStore } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { changes, watch, watchAgencies } from "messaging-conversations/sync";
import { expect, onTestFinished, test } from "vitest";
import { wrong } from "./calls.ts";
import { apiKey } from "./canned.ts";

/** As a log shows it. `console.log` is the first one. */
const logs: readonly ((value: object) => string)[] = [
	(value) => inspect(value),
	(value) => inspect({ value }, { depth: null, showHidden: true }),
	(value) => JSON.stringify(value),
	(value) => JSON.stringify({ nested: [value] }),
	(value) => `${value}`,
];
const shown = (value: object): string => logs.map((show) => show(value)).join("\n");

test("S14 no log shows the key of a client or of what is made with it", () => {
	const baseUrl = "https://messaging.example/api/v1";
	const transport = nodeHttp();
	onTestFinished(() => transport.close());
	for (const key of [apiKey, () => apiKey])
		for (const way of [{}, { transport }]) {
			const client = createClient({ baseUrl, apiKey: key, ...way });
			const agency = client.agency("agy_1");
			const store = sqliteStore(wrong({ prepare: () => ({ all: () => [] }), exec() {}, transaction() {} }));
			const made = [
				client,
				client.withOptions({ timeoutMs: 9_000 }),
				agency,
				agency.messages.send({ to: "+32470123456", body: "Hi" }, { signal: AbortSignal.abort() }).catch(() => {}),
				agency.conversations.list(),
				changes(agency, { since: "now" }),
				watch(agency, { since: "now" }),
				watchAgencies(client, { load: async () => undefined, save: async () => {} }),
				createOutbox({ client, store }),
			];
			for (const each of made) expect(shown(each)).not.toContain(apiKey);
		}
});

const address = "postgres://crm:PASSWORDCANARY@127.0.0.1:1/crm";
const settings = {
	options: { connectionString: address, password: "PASSWORDCANARY" },
	query: async () => ({ rows: [] }),
};

test.for([
	["postgresStore", () => postgresStore(wrong({ ...settings, totalCount: 0 }))],
	[
		"mysqlStore",
		() => mysqlStore(wrong({ ...settings, execute: settings.query, getConnection: settings.query, escape() {} })),
	],
	["sqliteStore", () => sqliteStore(wrong({ ...settings, prepare: settings.query, exec() {}, transaction() {} }))],
] as const)("S14 no log shows the database of %s, or of an outbox over it", ([, make]) => {
	const store = make();
	const client = createClient({ baseUrl: "https://messaging.example/api/v1", apiKey });
	for (const each of [store, createOutbox({ client, store })]) expect(shown(each)).not.toMatch(/CANARY|crm:/);
});

test("S14 no log shows the key or the token of a sandbox, and both can be read and spread", async () => {
	const sandbox = createSandbox();
	const server = await serve(sandbox);
	onTestFinished(server.close);
	for (const each of [sandbox, sandbox.connection, server, server.connection]) {
		expect(shown(each)).not.toContain(server.apiKey);
		expect(shown(each)).not.toContain(server.token);
	}
	expect(JSON.parse(JSON.stringify(server))).toEqual({
		baseUrl: server.baseUrl,
		controlUrl: server.controlUrl,
		connection: { baseUrl: server.baseUrl },
		agencyId: server.agencyId,
	});
	expect({ ...server.connection }).toMatchObject({ baseUrl: server.baseUrl, apiKey: server.apiKey });
	expect({ ...server }).toMatchObject({ token: server.token, apiKey: sandbox.connection.apiKey });
});
