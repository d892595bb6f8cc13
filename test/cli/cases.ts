import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { certificate, expiredCertificate } from "../certificate.ts";
import { liveKey, startLive, world } from "./live.ts";

/** A reason why nothing works, and what the doctor says of it. */
export interface Case {
	readonly name: string;
	/** Node reads this environment when it starts, so that the case needs a process of its own. */
	readonly needsProcess?: true;
	/** The environment in which it is so. */
	readonly prepare: () => Promise<{ env: Record<string, string>; stop?: () => void }>;
	readonly status: 0 | 1 | 2;
	/** The checks that are not well, with what they say. */
	readonly found: Readonly<Record<string, RegExp>>;
	/** The remedy of the first of them. */
	readonly remedy?: RegExp;
}

/** The nine reasons that the doctor is made for. */
export const cases: readonly Case[] = [
	{
		name: "a wrong host",
		prepare: async () => ({ env: settings("https://api.messaging.invalid/api/v1") }),
		status: 2,
		found: { dns: /api\.messaging\.invalid \((ENOTFOUND|EAI_AGAIN)\)/ },
		remedy: /MESSAGING_BASE_URL|name server/,
	},
	{
		name: "a refused port",
		async prepare() {
			const { baseUrl, stop } = await startLive();
			stop();
			return { env: { ...settings(baseUrl), HTTPS_PROXY: "http://127.0.0.1:2" } };
		},
		status: 2,
		found: { connection: /^127\.0\.0\.1:\d+ refuses connections \(ECONNREFUSED\)/ },
		remedy: /check host and port.*NODE_USE_ENV_PROXY=1/,
	},
	{
		name: "an expired certificate",
		needsProcess: true,
		prepare: () => trusted(expiredCertificate),
		status: 2,
		found: { tls: /expired on 2021-03-01, \d+ days ago/ },
		remedy: /must renew it/,
	},
	{
		name: "a clock ten minutes off",
		prepare: () => live({ sandbox: world(600_000) }),
		status: 1,
		found: { clock: /10 minutes behind the service's/ },
		remedy: /NTP/,
	},
	{
		name: "a revoked key",
		async prepare() {
			const sandbox = world();
			sandbox.keys.revoke(sandbox.connection.apiKey);
			return live({ sandbox });
		},
		status: 2,
		found: { key: /refuses the key \(401\).*revoked.*Correlation id: live-\d+/ },
		remedy: /Create a key in the service's console/,
	},
	{
		name: "a read-only key",
		prepare: () => live({ sandbox: world(0, "readOnlyKey") }),
		status: 1,
		found: { scopes: /lacks messages:write: every send is refused with 403/ },
		remedy: /key with both scopes/,
	},
	{
		name: "an agency without approved templates",
		prepare: () => live({ sandbox: world(0, "ineligible") }),
		status: 1,
		found: { window: /refused with 400: the template window_reopen_consent waits for approval \(pending\)/ },
		remedy: /finish the consent templates/,
	},
	{
		name: "a drifted contract",
		prepare: () =>
			live({
				edit(answer, { path }) {
					if (path === "/openapi.json") answer.body = drifted(answer.body);
				},
			}),
		status: 1,
		found: {
			contract:
				/\(1\.1\.0\) differs in 2, 1 can break a call: Me\.scopes is gone \(can break a call\); Agency\.city is a new field/,
		},
		remedy: /newer than/,
	},
	{
		name: "a base URL without /api/v1",
		async prepare() {
			const { baseUrl, stop } = await startLive();
			return { env: settings(new URL(baseUrl).origin), stop };
		},
		status: 2,
		found: { "base-url": /^http:\/\/127\.0\.0\.1:\d+ does not end in \/api\/v1/ },
		remedy: /^Set MESSAGING_BASE_URL=http:\/\/127\.0\.0\.1:\d+\/api\/v1,/,
	},
];

/** Further ones, and the good ends. */
export const furtherCases: readonly Case[] = [
	{ name: "a service that is well", prepare: () => live({}), status: 0, found: {} },
	{
		name: "a certificate that is good",
		needsProcess: true,
		prepare: () => trusted(certificate),
		status: 0,
		found: {},
	},
	{
		name: "a sandbox of another process, whose clock is its own",
		async prepare() {
			const server = await serve(createSandbox());
			const env = settings(server.baseUrl, server.apiKey);
			return { env, stop: () => void server.close() };
		},
		status: 0,
		found: {},
	},
	{
		name: "a key that a sandbox of another process refuses, whose clock is its own",
		async prepare() {
			const server = await serve(createSandbox());
			return { env: settings(server.baseUrl), stop: () => void server.close() };
		},
		status: 2,
		found: { key: /refuses the key \(401\)/ },
	},
	{
		name: "a contract that only callers with a key get, and that a cache has kept for an hour",
		prepare: () =>
			live({
				edit(answer, { path, key }) {
					if (path !== "/openapi.json") return;
					if (key === undefined) answer.status = 401;
					Object.assign(answer.headers, { date: new Date(Date.now() - 3_600_000).toUTCString(), age: "3600" });
				},
			}),
		status: 0,
		found: {},
	},
	{
		name: "a self-signed certificate",
		prepare: () => live({ certificate }),
		status: 2,
		found: { tls: /not trusted: it is self-signed.*\(DEPTH_ZERO_SELF_SIGNED_CERT\)/ },
		remedy: /NODE_EXTRA_CA_CERTS/,
	},
	{
		name: "a runtime that verifies no certificate",
		needsProcess: true,
		async prepare() {
			const { baseUrl, stop } = await startLive({ certificate });
			return { env: { ...settings(baseUrl), NODE_TLS_REJECT_UNAUTHORIZED: "0", NODE_NO_WARNINGS: "1" }, stop };
		},
		status: 1,
		found: { tls: /NODE_TLS_REJECT_UNAUTHORIZED is 0/ },
		remedy: /can read the key/,
	},
	{
		name: "a port that does not speak TLS",
		async prepare() {
			const { baseUrl, stop } = await startLive();
			return { env: settings(baseUrl.replace("http:", "https:")), stop };
		},
		status: 2,
		found: { tls: /The TLS handshake failed/ },
		remedy: /does not speak TLS/,
	},
	{
		name: "a page in place of the service",
		prepare: () =>
			live({
				edit(answer) {
					answer.body = "<html>Log in</html>";
				},
			}),
		status: 2,
		found: { key: /cannot be read \(200\): it is not JSON/, contract: /it is not JSON/ },
		remedy: /a log-in page/,
	},
	{
		name: "a key without a scope",
		async prepare() {
			const sandbox = world();
			sandbox.keys.setScopes(sandbox.connection.apiKey, []);
			return live({ sandbox });
		},
		status: 2,
		found: { scopes: /every read is refused with 403, and messages:write: every send is refused/ },
		remedy: /Create a key with both scopes/,
	},
	{
		name: "a gateway that replaces the bodies of errors",
		prepare: () =>
			live({
				edit(answer) {
					if (answer.status === 404) answer.body = "<h1>Not Found</h1>";
				},
			}),
		status: 2,
		found: { errors: /^Errors arrive without `_tag`: something in front of the service replaces them/ },
		remedy: /errorBodies/,
	},
	{
		name: "a key that is revoked during the checks",
		async prepare() {
			const sandbox = world();
			let asked = 0;
			return live({
				sandbox,
				edit(_answer, { path }) {
					if (path === "/me" && ++asked % 4 === 0) {
						sandbox.keys.revoke(sandbox.connection.apiKey);
					}
				},
			});
		},
		status: 2,
		found: { latency: /refuses the key \(401\)/ },
		remedy: /Create a key in the service's console/,
	},
	{
		name: "a service that asks to wait",
		async prepare() {
			const sandbox = world();
			sandbox.faults.add({ times: Number.POSITIVE_INFINITY, effect: { status: 429, retryAfter: 600 } });
			return live({ sandbox });
		},
		status: 2,
		found: { key: /refuses for now \(429\), and asks to wait 600 seconds/ },
		remedy: /Slow down/,
	},
	{
		name: "a service that cuts the connection off",
		async prepare() {
			const sandbox = createSandbox();
			sandbox.faults.add({ times: Number.POSITIVE_INFINITY, effect: "reset" });
			const server = await serve(sandbox);
			const env = settings(server.baseUrl, server.apiKey);
			return { env, stop: () => void server.close() };
		},
		status: 2,
		found: { key: /^The connection was lost \(\w+\)\.$/ },
	},
	{
		name: "an agency whose name is a number, in an integration of two",
		async prepare() {
			const sandbox = world();
			sandbox.link({ name: "+32 470 12 34 56" });
			return live({ sandbox });
		},
		status: 0,
		found: {},
	},
	{
		name: "an integration without an agency",
		async prepare() {
			const sandbox = world();
			sandbox.agency().unlink();
			return live({ sandbox });
		},
		status: 2,
		found: { agency: /No agency is linked/ },
		remedy: /link the agency/,
	},
	{
		name: "a service that fails",
		async prepare() {
			const sandbox = world();
			sandbox.faults.add({ times: Number.POSITIVE_INFINITY, effect: { status: 503 } });
			return live({ sandbox });
		},
		status: 2,
		found: { key: /The service fails \(503\)/ },
		remedy: /it is not your program/,
	},
	{
		name: "quotes around the key",
		prepare: async () => ({ env: settings("http://127.0.0.1:9/api/v1", `"${liveKey}"`) }),
		status: 2,
		found: { "key-form": /quotes around MESSAGING_API_KEY/, connection: /./ },
	},
	{
		name: "a line break behind the key",
		prepare: async () => ({ env: settings("http://127.0.0.1:9/api/v1", `${liveKey}\n`) }),
		status: 2,
		found: { "key-form": /white space or a line break around MESSAGING_API_KEY/, connection: /./ },
	},
	{
		name: "a key with Bearer",
		prepare: async () => ({ env: settings("http://127.0.0.1:9/api/v1", `Bearer ${liveKey}`) }),
		status: 2,
		found: { "key-form": /begins with "Bearer"/, connection: /./ },
	},
	{
		name: "a key in the base URL",
		prepare: async () => ({ env: settings(`https://${liveKey}@api.messaging.invalid/api/v1`) }),
		status: 2,
		found: { "base-url": /There is a key in MESSAGING_BASE_URL/ },
	},
	{
		name: "http to a host that is not this machine",
		prepare: async () => ({ env: settings("http://api.messaging.invalid/api/v1") }),
		status: 2,
		found: { "base-url": /is http, which is for this machine only/ },
		remedy: /^Set MESSAGING_BASE_URL=https:\/\/api\.messaging\.invalid\/api\/v1,/,
	},
	{
		name: "neither base URL nor key",
		prepare: async () => ({ env: settings("", "") }),
		status: 2,
		found: { "base-url": /MESSAGING_BASE_URL is empty/, "key-form": /MESSAGING_API_KEY is empty/ },
		remedy: /--env/,
	},
];

function settings(baseUrl: string, apiKey = liveKey): Record<string, string> {
	return { MESSAGING_BASE_URL: baseUrl, MESSAGING_API_KEY: apiKey };
}

/** Serves https with a certificate, to a client that trusts it. */
async function trusted(certificate: string): Promise<{ env: Record<string, string>; stop: () => void }> {
	const { baseUrl, stop } = await startLive({ certificate });
	const folder = mkdtempSync(join(tmpdir(), "trust-"));
	const file = join(folder, "ca.pem");
	writeFileSync(file, certificate);
	return {
		env: { ...settings(baseUrl), NODE_EXTRA_CA_CERTS: file },
		stop() {
			stop();
			rmSync(folder, { recursive: true });
		},
	};
}

async function live(
	options: Parameters<typeof startLive>[0],
): Promise<{ env: Record<string, string>; stop: () => void }> {
	const { baseUrl, stop } = await startLive(options);
	return { env: settings(baseUrl), stop };
}

function drifted(body: string): string {
	const contract = JSON.parse(body);
	contract.info.version = "1.1.0";
	const { Me, Agency } = contract.components.schemas;
	delete Me.properties.scopes;
	Agency.properties.city = { type: "string" };
	return JSON.stringify(contract);
}
