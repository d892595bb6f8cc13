import { lookup } from "node:dns/promises";
import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectTls, type PeerCertificate, type TLSSocket } from "node:tls";
import type { Host } from "../host.ts";
import { type Check, counted, skip } from "./check.ts";

const connectTimeoutMs = 10_000;
const fewDays = 14;
const dayMs = 24 * 3_600_000;

/** Checks the way to the service: the name of its host, a connection, its certificate. */
export async function* checkNetwork(url: URL, variable: Host["variable"]): AsyncGenerator<Check, void, undefined> {
	const host = url.hostname.replace(/^\[|\]$/g, "");
	const dns = await checkName(host);
	yield dns;
	if (dns.state === "fail") {
		yield skip("connection", "dns failed");
		yield skip("tls", "dns failed");
		return;
	}
	const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
	const opened = await open(url.protocol, host, port);
	yield connectionCheck(opened, `${url.hostname}:${port}`, variable);
	if (!opened.connected) yield skip("tls", "connection failed");
	else if (url.protocol === "http:") yield { id: "tls", state: "ok", what: "None: http on this machine." };
	else if (opened.error) yield handshakeCheck(opened.error);
	else yield certificateCheck(opened, host, variable);
	opened.socket.destroy();
}

async function checkName(host: string): Promise<Check> {
	const id = "dns";
	if (isIP(host) !== 0) return { id, state: "ok", what: `${host} is an address: there is no name to look up.` };
	try {
		const addresses = await lookup(host, { all: true });
		return { id, state: "ok", what: `${host} has ${counted(addresses.length, "address", "addresses")}.` };
	} catch (error) {
		const code = codeOf(error);
		if (code === "EAI_AGAIN") {
			const remedy = "Check this machine's network, its name server and its VPN; a container may have no network.";
			return { id, state: "fail", what: `No name server answers for ${host} (${code}).`, remedy };
		}
		const remedy = "Check the spelling of the host in MESSAGING_BASE_URL. An internal name may need the VPN.";
		return { id, state: "fail", what: `There is no host ${host} (${code}).`, remedy };
	}
}

interface Opened {
	readonly socket: Socket | TLSSocket;
	/** There was a connection, whatever became of the handshake. */
	readonly connected: boolean;
	readonly error: unknown;
}

/** Opens a connection. Certificates are not verified here, so that one that cannot be trusted can be read. */
function open(protocol: string, host: string, port: number): Promise<Opened> {
	return new Promise((resolve) => {
		const servername = isIP(host) === 0 ? { servername: host } : {};
		const isTls = protocol === "https:";
		const socket: Socket = isTls
			? connectTls({ host, port, rejectUnauthorized: false, ...servername })
			: connectPlain({ host, port });
		let connected = false;
		const end = (error: unknown): void => {
			clearTimeout(timer);
			resolve({ socket, connected, error });
		};
		const timer = setTimeout(() => end({ code: "ETIMEDOUT" }), connectTimeoutMs);
		socket.once("connect", () => {
			connected = true;
			if (!isTls) end(undefined);
		});
		socket.once("secureConnect", () => end(undefined));
		// Kept after the first error, because a destroyed socket can report another.
		socket.on("error", end);
		socket.once("close", () => end({ code: "ECONNRESET" }));
	});
}

function connectionCheck({ connected, error }: Opened, place: string, variable: Host["variable"]): Check {
	const id = "connection";
	if (connected) return { id, state: "ok", what: `${place} accepts connections.` };
	const code = codeOf(error);
	const proxy = variable("HTTPS_PROXY") ?? variable("https_proxy");
	const uses =
		"HTTPS_PROXY is set. fetch uses it only with NODE_USE_ENV_PROXY=1 (Node 24); nodeHttp uses only its option proxy";
	const hint = proxy ? ` ${uses}.` : "";
	const fail = (what: string, remedy: string): Check => ({
		id,
		state: "fail",
		what: `${what} (${code}).`,
		remedy: remedy + hint,
	});
	if (code === "ECONNREFUSED") {
		return fail(
			`${place} refuses connections`,
			"Nothing listens there: check host and port, and whether the service is up.",
		);
	}
	if (code === "ETIMEDOUT") {
		return fail(`${place} does not answer`, "A firewall may drop the connection: let this machine out to that port.");
	}
	return fail(`There is no connection to ${place}`, "Check this machine's network, its VPN and its firewall.");
}

function handshakeCheck(error: unknown): Check {
	const code = codeOf(error);
	const remedy = /WRONG_VERSION|PACKET_LENGTH|HTTP_REQUEST/.test(code)
		? "The port does not speak TLS: check the port in MESSAGING_BASE_URL."
		: "Something between here and the service breaks TLS: ask the people who run the network or the proxy.";
	return { id: "tls", state: "fail", what: `The TLS handshake failed (${code}).`, remedy };
}

function certificateCheck({ socket }: Opened, host: string, variable: Host["variable"]): Check {
	const certificate = "getPeerCertificate" in socket ? socket.getPeerCertificate() : undefined;
	const code = "authorizationError" in socket ? codeOf(socket.authorizationError) : "";
	if (!certificate?.valid_to) return handshakeCheck({ code: "no certificate" });
	const id = "tls";
	if (variable("NODE_TLS_REJECT_UNAUTHORIZED") === "0") {
		const what = "No certificate is verified here, because NODE_TLS_REJECT_UNAUTHORIZED is 0.";
		return { id, state: "warn", what, remedy: "Remove that variable: anyone on the way can read the key." };
	}
	const [from, to] = [Date.parse(certificate.valid_from), Date.parse(certificate.valid_to)];
	const now = Date.now();
	// Checked before trust, because a self-signed certificate that has expired is reported as self-signed alone.
	if (to < now) {
		const what = `The certificate of ${host} expired on ${day(to)}, ${counted(Math.floor((now - to) / dayMs), "day")} ago.`;
		const remedy = `The operator of ${host} must renew it. If it is good, this machine's clock is wrong.`;
		return { id, state: "fail", what, remedy };
	}
	if (from > now) {
		const what = `The certificate of ${host} is valid from ${day(from)} only, and here it is ${day(now)}.`;
		return { id, state: "fail", what, remedy: "Set this machine's clock." };
	}
	if (code !== "") return { id, state: "fail", ...distrust(code, certificate, host) };
	const left = Math.floor((to - now) / dayMs);
	const what = `The certificate is trusted, and has ${counted(left, "day")} left (to ${day(to)}).`;
	if (left >= fewDays) return { id, state: "ok", what };
	return { id, state: "warn", what, remedy: `The operator of ${host} must renew it before that day.` };
}

function distrust(
	code: string,
	{ subjectaltname = "" }: PeerCertificate,
	host: string,
): Pick<Check, "what" | "remedy"> {
	if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
		const all = subjectaltname.replaceAll("DNS:", "").replaceAll("IP Address:", "");
		const names = all.length > 80 ? `${all.slice(0, 79)}…` : all;
		const remedy = "Check the host in MESSAGING_BASE_URL, and the proxy if there is one.";
		return { what: `The certificate is for ${names}, not for ${host} (${code}).`, remedy };
	}
	const untrusted = (reason: string, remedy: string) => ({
		what: `The certificate of ${host} is not trusted: ${reason} (${code}).`,
		remedy,
	});
	const ownRoot = "set NODE_EXTRA_CA_CERTS to the file of its root certificate.";
	if (code.includes("SELF_SIGNED"))
		return untrusted("it is self-signed, or a proxy of your network made it", `Behind a company's proxy, ${ownRoot}`);
	if (code.startsWith("UNABLE_TO"))
		return untrusted(
			"its issuer is not known here",
			`The operator of ${host} must send the whole chain. If the issuer is your company, ${ownRoot}`,
		);
	return untrusted("a certificate above it is not good", `The operator of ${host} must send another chain.`);
}

/** The code of a fault, taken from its first part where several addresses were tried. */
function codeOf(error: unknown): string {
	if (typeof error === "string") return error; // how Node gives the reason of distrust
	if (typeof error !== "object" || error === null) return "";
	const parts = "errors" in error && Array.isArray(error.errors) ? error.errors : [];
	if ("code" in error && typeof error.code === "string") return error.code;
	return parts.length > 0 ? codeOf(parts[0]) : "no code";
}

function day(at: number): string {
	return new Date(at).toISOString().slice(0, 10);
}
