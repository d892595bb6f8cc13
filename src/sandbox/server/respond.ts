import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Answer, basePath, isLater, type Later, targetIn } from "../base/call.ts";
import type { Sandbox } from "../index.ts";
import { insideOf } from "../inside.ts";
import type { Controls } from "../routes/controls.ts";
import { LongJson } from "../routes/route.ts";
import { longestStrangersBody } from "../world/journal.ts";
import { bodyLimits, readBody, readShortBody } from "./body.ts";
import { answerControl } from "./control.ts";
import { type EventStreams, streamHeaders, wantedBy, wantsStream } from "./events.ts";
import { strangerIn } from "./hosts.ts";
import { json, longJson } from "./json.ts";
import { pageFiles, pageHeaders } from "./page.ts";

/** A sandbox that is served. */
export interface Served {
	readonly sandbox: Sandbox;
	readonly token: string;
	readonly controls: Controls;
	readonly streamEvents: EventStreams;
	/** Whether this server may be asked by that name. */
	isOwnHost: (host: string) => boolean;
}

const page = "/_sandbox/ui/";

/** Answers a request: the page, a control, or the service. */
export async function respond(served: Served, request: IncomingMessage, response: ServerResponse): Promise<void> {
	const { sandbox, token, controls, streamEvents, isOwnHost } = served;
	const { method = "GET" } = request;
	const headers = headersOf(request);
	// A proxy's client asks for a whole URL, whose host comes before the Host header (RFC 9112, 3.2.2).
	const [, host = headers.host ?? "", url = "/"] = request.url?.match(/^(?:http:\/\/([^/?]+))?(.*)$/is) ?? [];
	const refusal = strangerIn(host, headers.origin, headers["sec-fetch-site"], isOwnHost);
	if (refusal) return json(response, 403, { _tag: "SandboxRefused", message: refusal });
	const [path = "", query = ""] = url.split("?", 2);
	if (method === "GET" || method === "HEAD") {
		if (path === "/" || path === "/favicon.ico" || path === page.slice(0, -1)) return lead(path, headers, response);
		if (path.startsWith(page)) return sendPage(path.slice(page.length), response);
	}
	if (path === "/_sandbox" || path.startsWith("/_sandbox/")) {
		if (!hasToken(headers, token))
			return json(response, 401, { _tag: "SandboxRefused", message: "Control routes need the token." });
		if (wantsStream(method, path.slice("/_sandbox/".length), request.headers))
			return streamEvents(wantedBy(request.headers, query), response.writeHead(200, streamHeaders));
		const given = await readBody(request, path === "/_sandbox/import" ? bodyLimits.import : bodyLimits.known);
		if (!given) return refuseLength(response);
		const { status, result } = await answerControl(controls, method, url.slice("/_sandbox".length), given);
		return result instanceof LongJson ? longJson(response, result) : json(response, status, result);
	}
	if (controls.isReadOnly()) {
		const message = "A bug file is open read-only. Press “Continue from here” on the page, or POST continue.";
		return json(response, 503, { _tag: "SandboxReadOnly", message });
	}
	// Without a good key the body decides nothing. A short one is kept, so that the log can show and repeat the request.
	const { answer, isAuthorized } = insideOf(sandbox);
	const isKnown = isAuthorized(headers.authorization);
	const body = isKnown
		? await readBody(request, bodyLimits.known)
		: await readShortBody(request, bodyLimits.stranger, longestStrangersBody);
	if (body === undefined) return refuseLength(response);
	let reply = answer({ method, target: targetIn(url), headers, body });
	while (isLater(reply)) {
		const { resume, abandon } = reply;
		if (!(await waited(response, reply))) return abandon?.();
		reply = resume();
	}
	write(response, reply);
}

/** Leads a browser to the page. Such visits are no requests to the service. */
function lead(path: string, headers: Readonly<Record<string, string>>, response: ServerResponse): void {
	const isBrowser = /\btext\/html\b/.test(headers.accept ?? "");
	if (path === "/favicon.ico") response.writeHead(204).end();
	else if (path !== "/" || isBrowser) response.writeHead(302, { location: page }).end();
	else json(response, 404, notFound(`The operations are below ${basePath}, the sandbox's controls below /_sandbox.`));
}

function sendPage(path: string, response: ServerResponse): void {
	const file = pageFiles.get(path);
	if (file) {
		const { contentType, body } = file;
		const length = Buffer.byteLength(body);
		response.writeHead(200, { ...pageHeaders, "content-type": contentType, "content-length": length });
		response.end(body);
	} else json(response, 404, notFound(`There is no ${page}${path}.`));
}

const notFound = (message: string) => ({ _tag: "SandboxNotFound", message });

function write(response: ServerResponse, { status, headers, body, cut }: Answer): void {
	const { socket } = response;
	if (cut === "reset") socket?.resetAndDestroy();
	if (cut === "reset" || cut === "hang") return;
	response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
	if (cut !== "body") return void response.end(body); // as text, head and body leave in one write
	// The length is announced and not kept, then the connection really ends.
	response.write(body.slice(0, Math.ceil(body.length / 2)), () => socket?.destroy());
}

/** False when the caller disconnected meanwhile. */
function waited(response: ServerResponse, { waitMs, until }: Later): Promise<boolean> {
	return new Promise((resolve) => {
		const end = (): void => resolve(!response.destroyed);
		const timer = until ? undefined : setTimeout(end, waitMs);
		until?.then(end);
		response.once("close", () => {
			clearTimeout(timer);
			resolve(false);
		});
	});
}

function refuseLength(response: ServerResponse): void {
	const message =
		"The request body is too long: the server of the sandbox reads at most 10 MB, and 100 MB of an import.";
	json(response, 413, { _tag: "SandboxRefused", message });
}

const headersOf = ({ headers }: IncomingMessage): Record<string, string> =>
	Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

function hasToken(headers: Readonly<Record<string, string>>, token: string): boolean {
	const given = headers["x-sandbox-token"] ?? headers.authorization?.replace(/^bearer +/i, "") ?? "";
	const [a, b] = [Buffer.from(given), Buffer.from(token)];
	return a.length === b.length && timingSafeEqual(a, b);
}
