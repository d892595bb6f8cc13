import type { Fetch, OperationId, PartnerError, Transport } from "messaging-conversations";
import { expect, test } from "vitest";
import { callOf, clientOf, failure } from "../calls.ts";

const baseUrl = "https://messaging.example/api/v1";

/** What a call fails with when its one request ends so. */
async function failureFrom(end: () => unknown, operation: OperationId = "me.get"): Promise<PartnerError> {
	const fetch: Fetch = async () => {
		const response = end();
		if (response instanceof Response) return response;
		throw response;
	};
	return failure(() => callOf(operation).run(clientOf({ baseUrl }, { fetch, retry: false })));
}

/** What a send fails with when its transport rejects so, knowing this of its connection. */
async function sendOver(error: unknown, connected: boolean | undefined): Promise<PartnerError> {
	const transport: Transport = () => Promise.reject(Object.assign(Object(error), { connected }));
	return failure(() => callOf("messages.send").run(clientOf({ baseUrl }, { transport, retry: false })));
}

/** A fault as Node's fetch throws it. */
function fault(cause: object): TypeError {
	return new TypeError("fetch failed", { cause: Object.assign(new Error("canary"), cause) });
}

/** A fault as node:http throws it. */
function bare(facts: object): Error {
	return Object.assign(new Error("canary"), facts);
}

const connecting = [
	"ENOTFOUND",
	"EAI_AGAIN",
	"EAI_FAIL",
	"EAI_NODATA",
	"EAI_NONAME",
	"ECONNREFUSED",
	"UND_ERR_CONNECT_TIMEOUT",
	// Bun's
	"ConnectionRefused",
	"FailedToOpenSocket",
];

test.for(["EHOSTUNREACH", "EHOSTDOWN", "ENETUNREACH", "EADDRNOTAVAIL"])(
	"a fault that comes of a connect and of a read alike is not_sent where it says which it was: %s",
	async (code) => {
		const error = await failureFrom(() => fault({ code, syscall: "connect" }), "messages.send");
		expect(error).toMatchObject({ _tag: "PartnerConnectionError", outcome: "not_sent", retryable: true });
		const silent = await failureFrom(() => fault({ code }), "messages.send");
		expect(silent).toMatchObject({ _tag: "PartnerConnectionError", outcome: "unknown", retryable: true });
	},
);

test("once an answer has begun, no fault proves that nothing went out", async () => {
	for (const cause of [{ code: "ECONNREFUSED", syscall: "connect" }, { code: "CERT_HAS_EXPIRED" }]) {
		const broken = new ReadableStream({ pull: (controller) => controller.error(fault(cause)) });
		const error = await failureFrom(() => new Response(broken), "messages.send");
		expect(error).toMatchObject({ _tag: "PartnerConnectionError", status: 200, outcome: "unknown", retryable: true });
		expect(error.message).toBe(`messages.send: the connection was lost (${cause.code})`);
	}
});

test("a TLS fault is one of the handshake where fetch names it as its cause, and nowhere else", async () => {
	const code = "ERR_SSL_WRONG_VERSION_NUMBER";
	const caused = await failureFrom(() => fault({ code }), "messages.send");
	expect(caused).toMatchObject({ _tag: "PartnerConnectionError", outcome: "not_sent", retryable: false });
	const silent = await failureFrom(() => bare({ code }), "messages.send");
	expect(silent).toMatchObject({ _tag: "PartnerConnectionError", outcome: "unknown", retryable: true });
});

test.for(connecting)("a fault before the connection exists is not_sent: %s", async (code) => {
	const error = await failureFrom(() => fault({ code }), "messages.send");
	expect(error).toMatchObject({ _tag: "PartnerConnectionError", outcome: "not_sent", retryable: true });
	expect(error.message).toBe(`messages.send: no connection (${code})`);
	expect(error.cause).toStrictEqual({ name: "Error", code });
});

test.for([
	["a connect that ended in any way", fault({ code: "ECONNRESET", syscall: "connect" }), "not_sent"],
	["a name that was not found, in any way", fault({ code: "EOTHER", syscall: "getaddrinfo" }), "not_sent"],
	["a read", fault({ code: "ECONNRESET", syscall: "read" }), "unknown"],
	["a write", fault({ code: "EPIPE", syscall: "write" }), "unknown"],
	["a host that is gone while an answer is read", fault({ code: "EHOSTUNREACH", syscall: "read" }), "unknown"],
	["a refusal in the middle of a write", fault({ code: "ECONNREFUSED", syscall: "write" }), "unknown"],
	["no code at all", fault({}), "unknown"],
	["a code on the error itself", Object.assign(fault({}), { code: "ECONNREFUSED" }), "not_sent"],
	["no cause", Object.assign(new Error("canary"), { code: "ECONNREFUSED" }), "not_sent"],
	[
		"each of several addresses at once",
		fault({ errors: [{ syscall: "connect" }, { syscall: "connect" }] }),
		"not_sent",
	],
	["not all of several addresses", fault({ errors: [{ syscall: "connect" }, { syscall: "read" }] }), "unknown"],
	["several addresses that say nothing", fault({ errors: [null, "connect"] }), "unknown"],
	["no addresses", fault({ errors: [] }), "unknown"],
	["something else in place of the addresses", fault({ errors: "connect" }), "unknown"],
] as const)("outcome of a fault: %s", async ([, thrown, outcome]) => {
	const error = await failureFrom(() => thrown, "messages.send");
	expect(error).toMatchObject({ _tag: "PartnerConnectionError", outcome, retryable: true });
	expect(error.message).toContain(outcome === "unknown" ? "the connection was lost" : "no connection");
});

const untrusted = [
	"CERT_HAS_EXPIRED",
	"DEPTH_ZERO_SELF_SIGNED_CERT",
	"SELF_SIGNED_CERT_IN_CHAIN",
	"UNABLE_TO_VERIFY_LEAF_SIGNATURE",
	"HOSTNAME_MISMATCH",
	"INVALID_CA",
	"INVALID_PURPOSE",
	"PATH_LENGTH_EXCEEDED",
	"ERROR_IN_CERT_NOT_BEFORE_FIELD",
	"CRL_HAS_EXPIRED",
	// What Node says of a signature by SHA-1, a key that is too short, or a name that an issuer may not sign.
	"UNSPECIFIED",
	"ERR_TLS_CERT_ALTNAME_INVALID",
	"ERR_SSL_WRONG_VERSION_NUMBER",
	"ERR_SSL_UNSUPPORTED_PROTOCOL",
	"ERR_SSL_PACKET_LENGTH_TOO_LONG",
	"ERR_SSL_HTTP_REQUEST",
];

test.for(untrusted)("a connection that is not to be trusted is not_sent and not retryable: %s", async (code) => {
	const error = await failureFrom(() => fault({ code }), "messages.send");
	expect(error).toMatchObject({ _tag: "PartnerConnectionError", outcome: "not_sent", retryable: false });
	expect(error.message).toBe(`messages.send: no trusted connection (${code})`);
});

test.for([
	"X_CERT_HAS_EXPIRED",
	"MY_HOSTNAME_MISMATCH",
	"INVALID_CALL",
	"UNSPECIFIED_X",
	"ERR_SSL_SOMETHING",
	"ERR_TLS_OTHER",
])("a code that only looks like a certificate's proves nothing: %s", async (code) => {
	const error = await failureFrom(() => fault({ code }), "messages.send");
	expect(error).toMatchObject({ outcome: "unknown", retryable: true });
	expect(error.message).toBe(`messages.send: the connection was lost (${code})`);
});

const longest = `E${"X".repeat(63)}`;

test.for([
	["the fault's own name", new TypeError("canary"), { name: "TypeError" }],
	["the cause's name", fault({ name: "SocketError" }), { name: "SocketError" }],
	["a name that is no word", fault({ name: "canary canary" }), { name: "Error" }],
	["a name that is no string", fault({ name: 5 }), { name: "Error" }],
	["a code of 64 characters", fault({ code: longest }), { name: "Error", code: longest }],
	["a code of 65 characters", fault({ code: `${longest}X` }), { name: "Error" }],
	["a code with digits", fault({ code: "EAI_2" }), { name: "Error", code: "EAI_2" }],
	["a code of one letter", fault({ code: "E" }), { name: "Error", code: "E" }],
	["a number for a code", fault({ code: 5 }), { name: "Error" }],
	["a code that begins with a digit", fault({ code: "32470123456" }), { name: "Error" }],
	["a code in quotes", fault({ code: '"ECONNRESET"' }), { name: "Error" }],
	["a code and more", fault({ code: "ECONNRESET canary" }), { name: "Error" }],
	["a list for a code", fault({ code: ["ECONNREFUSED"] }), { name: "Error" }],
	["a syscall", fault({ syscall: "read" }), { name: "Error", syscall: "read" }],
	["a syscall that is no word", fault({ syscall: "read canary" }), { name: "Error" }],
	["a cause that is a text", new TypeError("canary", { cause: "canary" }), { name: "Error" }],
] as const)(
	"the cause of a fault holds name, code and syscall as words, and no more: %s",
	async ([, thrown, facts]) => {
		const error = await failureFrom(() => thrown);
		expect(error._tag).toBe("PartnerConnectionError");
		expect(error.cause).toStrictEqual(facts);
		expect(error.message).toBe(
			"code" in facts ? `me.get: the connection was lost (${facts.code})` : "me.get: the connection was lost",
		);
	},
);

test("a transport that had a connection proves nothing, whatever its fault says", async () => {
	for (const code of ["CERT_HAS_EXPIRED", "ERR_SSL_WRONG_VERSION_NUMBER", "EAI_AGAIN"]) {
		const error = await sendOver(bare({ code }), true);
		expect(error).toMatchObject({ outcome: "unknown", retryable: true });
		expect(error.message).toBe(`messages.send: the connection was lost (${code})`);
	}
});

test.for(["ERR_SSL_WRONG_VERSION_NUMBER", "DEPTH_ZERO_SELF_SIGNED_CERT"])(
	"a transport that had no connection proves the handshake: %s",
	async (code) => {
		expect(await sendOver(bare({ code }), false)).toMatchObject({ outcome: "not_sent", retryable: false });
	},
);

test("a reset before there was a connection proves that nothing was sent", async () => {
	const error = await sendOver(bare({ code: "ECONNRESET", syscall: "read" }), false);
	expect(error).toMatchObject({ outcome: "not_sent", retryable: true });
});

test("#4 a port that fetch blocks is not_sent and permanent", async () => {
	for (const port of [1, 22, 6667]) {
		const client = clientOf({ baseUrl: `http://127.0.0.1:${port}/api/v1` });
		const error = await failure(() => callOf("messages.send").run(client));
		expect(error).toMatchObject({
			_tag: "PartnerConnectionError",
			outcome: "not_sent",
			attempts: 1,
			retryable: false,
			message: "messages.send: fetch blocks the port",
		});
	}
});
