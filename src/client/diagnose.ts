import type { FaultFacts } from "./errors.ts";

/** The fault of a rejected exchange, and whether its request was sent. */
export interface Diagnosis {
	text: string;
	/** Whether the fault proves that no request was sent. */
	unsent: boolean;
	/** Whether trying again cannot help: a certificate, a port that fetch blocks, a runtime without fetch. */
	permanent: boolean;
	fault: FaultFacts;
}

const connectCode =
	/^(ENOTFOUND|EAI_(AGAIN|FAIL|NODATA|NONAME)|ECONNREFUSED|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket)$/;
/** Node names every reason that OpenSSL gives against a certificate, and those that it has no name for `UNSPECIFIED`. */
const certificateCode =
	/^(CERT_|CRL_|DEPTH_ZERO_|ERROR_IN_C|INVALID_(CA|PURPOSE)$|PATH_LENGTH_|SELF_SIGNED_|UNABLE_TO_|UNSPECIFIED$|HOSTNAME_MISMATCH|ERR_TLS_CERT)/;
const handshakeCode = /^ERR_SSL_(WRONG_VERSION|UNSUPPORTED_PROTOCOL|PACKET_LENGTH|HTTP_REQUEST)/;

/**
 * Tells faults that prove that no request was sent from those that prove nothing.
 *
 * @param connected what the exchange knows: with a connection, or once a response has begun, nothing is proved
 */
export function diagnose(error: unknown, connected: boolean | undefined, hasHead: boolean): Diagnosis {
	const fault = factsOf(error);
	const { code = "", syscall } = fault;
	const suffix = code ? ` (${code})` : "";
	const unsent = (text: string, permanent: boolean): Diagnosis => ({ text, unsent: true, permanent, fault });
	if (!hasHead && connected !== true) {
		const cause = property(error, "cause");
		// Fetch puts a failed handshake into `cause`. Without one, the same code can come from a write after the handshake.
		const isHandshake = (cause !== undefined || connected === false) && handshakeCode.test(code);
		if (isHandshake || certificateCode.test(code)) return unsent(`no trusted connection${suffix}`, true);
		if (code === "ERR_NO_FETCH") return unsent(`this runtime has no fetch${suffix}`, true);
		if (property(cause, "message") === "bad port") return unsent("fetch blocks the port", true);
		// Node tries several addresses at once and rejects with an AggregateError whose parts each failed to connect.
		const parts = property(cause ?? error, "errors");
		const allConnects =
			Array.isArray(parts) && parts.length > 0 && parts.every((part) => isConnect(property(part, "syscall")));
		// The same codes also come from a read and a write, which happen after the request.
		const isCode = syscall === undefined && connectCode.test(code);
		if (isCode || isConnect(syscall) || allConnects) return unsent(`no connection${suffix}`, false);
	}
	return { text: `the connection was lost${suffix}`, unsent: false, permanent: false, fault };
}

function isConnect(syscall: unknown): boolean {
	return syscall === "connect" || syscall === "getaddrinfo";
}

/** Name, code and syscall of an error, taken from its cause where it has one. */
function factsOf(error: unknown): FaultFacts {
	const cause = property(error, "cause") ?? error;
	const name = word(property(cause, "name")) ?? "Error";
	const code = word(property(cause, "code")) ?? word(property(error, "code"));
	const syscall = word(property(cause, "syscall"));
	return { name, ...(code && { code }), ...(syscall && { syscall }) };
}

/** Only identifiers are shown, because other text can quote the request. */
function word(value: unknown): string | undefined {
	return typeof value === "string" && /^[A-Za-z]\w{0,63}$/.test(value) ? value : undefined;
}

function property(value: unknown, name: string): unknown {
	return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
