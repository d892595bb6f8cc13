import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { chunkOf, head, type Reply, write } from "./bytes.ts";

/** One request that waits for its answer. */
export interface Turn {
	readonly socket: Socket;
	/** What an honest service would answer with 200. */
	readonly honest: string;
	readonly headers: Readonly<Record<string, string>>;
	/** Where a redirect may point: this service, and a host of somebody else. */
	readonly origin: string;
	readonly foreign: string;
	/** What a careless service repeats of the request in its answers; empty unless a test asks for it. */
	readonly echo: string;
	/** The answer is complete and the connection may serve the next request. */
	readonly finish: () => void;
	/** The next request on this connection meets a closed socket. */
	readonly goStale: () => void;
}

export type Variant = "unprocessed" | "processed";

export interface Fault {
	readonly kind: string;
	readonly name: string;
	/** Number of the kind of fault, as the names of the tests have it. */
	readonly row: number;
	/** Whether the service acts on the request before the fault; both where the caller cannot tell. */
	readonly variants: readonly Variant[];
	readonly play: (turn: Turn) => void;
}

const either: readonly Variant[] = ["unprocessed", "processed"];
const neverActedOn: readonly Variant[] = ["unprocessed"];
const actedOn: readonly Variant[] = ["processed"];

const whole = (make: (turn: Turn) => Reply) => (turn: Turn) => {
	const reply = make(turn);
	write(turn.socket, { ...reply, headers: { ...turn.headers, ...reply.headers } });
	turn.finish();
};
const tagged = (status: number, tag: string, headers: Readonly<Record<string, string>> = {}) =>
	whole(({ echo }) => ({ status, headers, body: JSON.stringify({ _tag: tag, message: `No.${echo}` }) }));
const html = (status: number) =>
	whole(({ echo }) => ({
		status,
		headers: { "Content-Type": "text/html" },
		body: `<html><h1>${status}</h1><pre>${echo}</pre></html>`,
	}));
const body = (status: number, text: string, framing: Reply["framing"] = "length") =>
	whole(() => ({ status, body: text, framing }));
const raw = (text: string) => (turn: Turn) => {
	turn.socket.end(Buffer.from(text, "latin1"));
};
const half = (text: string) => text.slice(0, Math.floor(text.length / 2));
const started = (turn: Turn, extra: Readonly<Record<string, string>>) =>
	turn.socket.write(Buffer.from(head(200, { ...turn.headers, ...extra }), "latin1"));

let bomb: Buffer | undefined;
const elevenMegabytes = () => (bomb ??= gzipSync(Buffer.alloc(11_000_000, 0x20)));

const gzipped = (status: number) =>
	whole(() => ({ status, headers: { "Content-Encoding": "gzip" }, body: elevenMegabytes() }));

function drip(turn: Turn, everyMs: number): void {
	const timer = setInterval(() => turn.socket.write(" "), everyMs).unref();
	turn.socket.once("close", () => clearInterval(timer));
}

function pour(turn: Turn): void {
	const block = chunkOf(Buffer.alloc(65_536, 0x20));
	// Endless for a client with a limit; one without must not take the machine with it.
	let left = 1000;
	const more = () => {
		while (left-- > 0 && !turn.socket.destroyed && turn.socket.write(block));
	};
	turn.socket.on("drain", more);
	more();
}

function redirect(status: number, where: "same origin" | "another origin"): Fault {
	return {
		kind: "redirect",
		name: `${status} to ${where}`,
		row: 24,
		variants: either,
		play: whole(({ origin, foreign, echo }) => {
			const query = echo === "" ? "" : `?${encodeURIComponent(echo)}`;
			return { status, headers: { Location: `${where === "same origin" ? origin : foreign}/landing${query}` } };
		}),
	};
}

/** What something in front of the service answers, whether or not it has forwarded the request. */
const pages = (row: number, ...statuses: readonly number[]): Fault[] =>
	statuses.map((status) => ({ kind: "page", name: `${status} page`, row, variants: either, play: html(status) }));

const retryAfter = (name: string, row: number, value: (turn: Turn) => string): Fault => ({
	kind: "retry-after",
	name,
	row,
	variants: either,
	play: (turn) => tagged(503, "PartnerInternalError", { "Retry-After": value(turn) })(turn),
});

const edit = (change: (answer: Record<string, unknown>) => unknown) =>
	whole(({ honest }) => {
		const answer: Record<string, unknown> = JSON.parse(honest);
		change(answer);
		return { status: 200, body: JSON.stringify(answer) };
	});

/**
 * What can go wrong between the client and the service, as a server plays it on bare sockets. `connect refused` and its
 * like are played before the server: see picker.ts and conformance.ts.
 */
export const faults: readonly Fault[] = [
	{
		kind: "reset",
		name: "reset without an answer",
		row: 7,
		variants: either,
		play: ({ socket }) => socket.resetAndDestroy(),
	},
	{ kind: "fin", name: "end without an answer", row: 8, variants: either, play: ({ socket }) => socket.end() },
	{
		kind: "stale",
		name: "honest answer, then a stale connection",
		row: 9,
		variants: actedOn,
		play: (turn) => {
			whole(({ honest }) => ({ status: 200, body: honest }))(turn);
			turn.goStale();
		},
	},
	{
		kind: "cut-length",
		name: "end inside a body of known length",
		row: 10,
		variants: either,
		play: (turn) => {
			started(turn, { "Content-Length": String(turn.honest.length) });
			turn.socket.end(half(turn.honest));
		},
	},
	{
		kind: "cut-length",
		name: "reset inside a body of known length",
		row: 10,
		variants: either,
		play: (turn) => {
			started(turn, { "Content-Length": String(turn.honest.length) });
			turn.socket.write(half(turn.honest), () => turn.socket.resetAndDestroy());
		},
	},
	{
		kind: "cut-chunked",
		name: "end inside a chunked body",
		row: 10,
		variants: either,
		play: (turn) => {
			started(turn, { "Transfer-Encoding": "chunked" });
			turn.socket.end(chunkOf(half(turn.honest)));
		},
	},
	{
		kind: "cut-chunked",
		name: "whole JSON but no last chunk",
		row: 10,
		variants: either,
		play: (turn) => {
			started(turn, { "Transfer-Encoding": "chunked" });
			turn.socket.end(chunkOf(turn.honest));
		},
	},
	{
		kind: "cut-eof",
		name: "body by end of stream, cut",
		row: 11,
		variants: either,
		play: whole(({ honest }) => ({ status: 200, body: half(honest), framing: "end-of-stream" })),
	},
	{
		kind: "cut-gzip",
		name: "gzip body, cut",
		row: 11,
		variants: either,
		play: whole(({ honest }) => {
			const zipped = gzipSync(honest);
			const headers = { "Content-Encoding": "gzip" };
			return { status: 200, headers, body: zipped.subarray(0, Math.floor(zipped.length * 0.6)) };
		}),
	},
	{ kind: "hang", name: "no headers ever", row: 12, variants: either, play: () => undefined },
	{
		kind: "hang",
		name: "half the headers, then nothing",
		row: 12,
		variants: either,
		play: ({ socket }) => socket.write("HTTP/1.1 200 OK\r\nContent-Le"),
	},
	{
		kind: "trickle",
		name: "a body that trickles",
		row: 13,
		variants: either,
		play: (turn) => {
			started(turn, { "Content-Length": "1000000" });
			drip(turn, 20);
		},
	},
	{
		kind: "trickle",
		name: "a body that stalls",
		row: 13,
		variants: either,
		play: (turn) => {
			started(turn, { "Content-Length": String(turn.honest.length) });
			turn.socket.write(half(turn.honest));
		},
	},
	{ kind: "invalid-http", name: "not HTTP", row: 15, variants: either, play: raw("SSH-2.0-OpenSSH_9\r\n\r\n") },
	{
		kind: "invalid-http",
		name: "length and chunks at once",
		row: 15,
		variants: either,
		play: raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
	},
	{
		kind: "invalid-http",
		name: "two lengths",
		row: 15,
		variants: either,
		play: raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x"),
	},
	{
		kind: "invalid-http",
		name: "control byte in a header",
		row: 15,
		variants: either,
		play: raw("HTTP/1.1 200 OK\r\nX-Odd: a\0b\r\nContent-Length: 2\r\n\r\n{}"),
	},
	{
		kind: "huge-headers",
		name: "headers over 16 kB",
		row: 15,
		variants: either,
		play: raw(`HTTP/1.1 200 OK\r\nX-Huge: ${"h".repeat(40_000)}\r\nContent-Length: 2\r\n\r\n{}`),
	},
	{ kind: "html-5xx", name: "502 HTML", row: 16, variants: either, play: html(502) },
	{ kind: "html-5xx", name: "504 HTML", row: 16, variants: either, play: html(504) },
	{ kind: "tagged-500", name: "500 tagged", row: 17, variants: either, play: tagged(500, "PartnerInternalError") },
	{ kind: "empty-500", name: "500 empty", row: 18, variants: either, play: body(500, "") },
	{ kind: "empty-500", name: "500 empty, chunked", row: 18, variants: either, play: body(500, "", "chunked") },
	{ kind: "falsy-500", name: "500 null", row: 18, variants: either, play: body(500, "null") },
	{ kind: "falsy-500", name: "500 false", row: 18, variants: either, play: body(500, "false") },
	{ kind: "falsy-500", name: "500 zero", row: 18, variants: either, play: body(500, "0") },
	{ kind: "falsy-500", name: "500 empty string", row: 18, variants: either, play: body(500, '""') },
	retryAfter("503, Retry-After 1", 19, () => "1"),
	retryAfter("503, Retry-After 0", 19, () => "0"),
	retryAfter("503, Retry-After 40", 19, () => "40"),
	retryAfter("503, Retry-After of eleven digits", 19, () => "99999999999"),
	retryAfter("503, Retry-After junk", 19, () => "1e0, 5s"),
	retryAfter("503, Retry-After date", 33, ({ headers }) =>
		new Date(Date.parse(headers.Date ?? "") + 1000).toUTCString(),
	),
	retryAfter("503, Retry-After date in the past", 33, () => "Mon, 05 Jan 2015 09:00:00 GMT"),
	{ kind: "4xx-outside", name: "429", row: 43, variants: either, play: tagged(429, "TooManyRequests") },
	{
		kind: "4xx-outside",
		name: "429, Retry-After 1",
		row: 43,
		variants: either,
		play: tagged(429, "TooManyRequests", { "Retry-After": "1" }),
	},
	{ kind: "page", name: "408", row: 20, variants: either, play: html(408) },
	{ kind: "page", name: "425", row: 20, variants: either, play: html(425) },
	{ kind: "page", name: "402", row: 23, variants: either, play: html(402) },
	{ kind: "page", name: "418", row: 23, variants: either, play: html(418) },
	{ kind: "4xx", name: "400 tagged", row: 21, variants: neverActedOn, play: tagged(400, "PartnerBadRequest") },
	{ kind: "4xx", name: "401 tagged", row: 21, variants: neverActedOn, play: tagged(401, "PartnerUnauthorized") },
	{ kind: "4xx", name: "403 tagged", row: 21, variants: neverActedOn, play: tagged(403, "PartnerForbidden") },
	{ kind: "4xx", name: "404 tagged", row: 21, variants: neverActedOn, play: tagged(404, "PartnerNotFound") },
	{ kind: "conflict", name: "409 tagged", row: 22, variants: neverActedOn, play: tagged(409, "PartnerConflict") },
	{
		kind: "4xx-unreadable",
		name: "403, body cut",
		row: 23,
		variants: either,
		play: (turn) => {
			turn.socket.write(head(403, { ...turn.headers, "Content-Length": "60" }));
			turn.socket.end('{"_tag":"Par');
		},
	},
	{ kind: "4xx-unreadable", name: "401 HTML", row: 23, variants: either, play: html(401) },
	{
		kind: "4xx-unreadable",
		name: "403 of another shape",
		row: 23,
		variants: either,
		play: body(403, '{"x":[1]}'),
	},
	{ kind: "4xx-unreadable", name: "401 null", row: 23, variants: either, play: body(401, "null") },
	...pages(20, 404, 408, 410, 499),
	...pages(23, 403, 409, 451, 600),
	...pages(42, 400, 405, 411, 413, 414, 415, 426, 431),
	...pages(16, 502),
	...([301, 302, 303, 307, 308] as const).flatMap((status) => [
		redirect(status, "same origin"),
		redirect(status, "another origin"),
	]),
	{ kind: "redirect", name: "304", row: 24, variants: either, play: whole(() => ({ status: 304 })) },
	{
		kind: "upgrade",
		name: "101 upgrade",
		row: 25,
		variants: either,
		play: raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"),
	},
	{ kind: "no-content", name: "204", row: 26, variants: either, play: whole(() => ({ status: 204 })) },
	{ kind: "no-content", name: "205", row: 26, variants: either, play: body(205, "") },
	{ kind: "empty-200", name: "200 empty", row: 26, variants: either, play: body(200, "") },
	{ kind: "empty-200", name: "200 empty, chunked", row: 26, variants: either, play: body(200, "", "chunked") },
	{ kind: "html-200", name: "200 HTML", row: 27, variants: either, play: html(200) },
	{ kind: "html-200", name: "200 not JSON", row: 27, variants: either, play: body(200, "{'success':true}") },
	{
		kind: "wrong-type",
		name: "200 JSON called text/plain",
		row: 28,
		variants: actedOn,
		play: whole(({ honest }) => ({ status: 200, headers: { "Content-Type": "text/plain" }, body: honest })),
	},
	{
		kind: "missing-field",
		name: "200 without a required field",
		row: 29,
		variants: actedOn,
		play: edit((answer) => {
			for (const field of ["windowOpen", "integration", "pageSize", "results", "messagePage"]) delete answer[field];
		}),
	},
	{ kind: "missing-field", name: "200 of another shape", row: 29, variants: either, play: body(200, "[1,2]") },
	{
		kind: "contradiction",
		name: "200, sent and queued at once",
		row: 29,
		variants: actedOn,
		play: edit(
			(answer) => "success" in answer && Object.assign(answer, { queued: true, messageId: "SM1", queueId: null }),
		),
	},
	{
		kind: "contradiction",
		name: "200, success false",
		row: 29,
		variants: either,
		play: edit((answer) => "success" in answer && Object.assign(answer, { success: false })),
	},
	{
		kind: "drift",
		name: "200 with a field the contract does not know",
		row: 30,
		variants: actedOn,
		play: edit((answer) => {
			answer.brandNew = { deep: [1] };
			if ("success" in answer) answer.status = "teleported";
		}),
	},
	{
		kind: "endless",
		name: "a body without end",
		row: 31,
		variants: either,
		play: (turn) => {
			started(turn, { "Transfer-Encoding": "chunked" });
			pour(turn);
		},
	},
	{
		kind: "bomb",
		name: "gzip bomb",
		row: 31,
		variants: either,
		play: gzipped(200),
	},
	{ kind: "bomb", name: "500, gzip bomb", row: 31, variants: either, play: gzipped(500) },
	{ kind: "bomb", name: "403, gzip bomb", row: 31, variants: either, play: gzipped(403) },
];

export function faultNamed(name: string): Fault {
	const found = faults.find((fault) => fault.name === name);
	if (found === undefined) throw new Error(`no fault is called "${name}"`);
	return found;
}
