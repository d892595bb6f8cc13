import type { Client, Me } from "messaging-conversations";
import { isJson, type Json } from "../contract/schema.ts";
import type { Host } from "../host.ts";
import type { Advice } from "./advice.ts";
import { type Check, counted, shown, skip } from "./check.ts";
import { explain } from "./explain.ts";

/** As long as the client waits for an answer, so that what is only slow is not reported as broken. */
const publishedTimeoutMs = 15_000;
const mostClockOffMs = 30_000;
const slowMs = 2_000;
const reads = 10;
const mostFailed = 3;
/** No further read begins after this time. */
const longestReadsMs = 30_000;

/** The contract as the service publishes it, and by how much this machine's clock is ahead of the service's. */
export interface Published {
	readonly status?: number;
	readonly contract?: Json;
	readonly aheadMs?: number;
	/** A sandbox answered, whose clock is its own. */
	readonly isSandbox?: boolean;
}

/** Reads `openapi.json` without a key, so that the clock can be compared when the key is refused. */
export async function readPublished(baseUrl: string, fetch: Host["fetch"]): Promise<Published> {
	try {
		const askedAt = Date.now();
		const signal = AbortSignal.timeout(publishedTimeoutMs);
		const response = await fetch(`${baseUrl}/openapi.json`, { redirect: "manual", signal });
		const middle = (askedAt + Date.now()) / 2;
		// Both headers have whole seconds, half a second less than the time on average. A cache has kept the answer for Age.
		const ageMs = 1000 * Number(response.headers.get("age") ?? 0);
		const date = Date.parse(response.headers.get("date") ?? "") + 500 + ageMs;
		const text = await response.text();
		const contract = response.ok ? parse(text) : undefined;
		const correlationId = response.headers.get("x-correlation-id");
		// A log-in page or a proxy that answers in place of the service has a Date of its own.
		const isService = contract !== undefined || correlationId !== null;
		return {
			status: response.status,
			isSandbox: correlationId?.startsWith("sandbox-") ?? false,
			...(contract && { contract }),
			...(isService && !Number.isNaN(date) && { aheadMs: Math.round(middle - date) }),
		};
	} catch {
		return {}; // the checks of the key say what is wrong
	}
}

/** Reads `openapi.json` with the key, from a service that publishes it to its callers alone. */
export async function readWithKey(published: Published, client: Client): Promise<Published> {
	if (published.contract) return published;
	const asked = await client.request({ method: "GET", path: "/openapi.json" }).result();
	return asked.ok && isJson(asked.data) ? { ...published, contract: asked.data } : published;
}

function parse(text: string): Json | undefined {
	try {
		const json: unknown = JSON.parse(text);
		return isJson(json) ? json : undefined;
	} catch {
		return undefined;
	}
}

export function checkClock({ aheadMs, isSandbox }: Published): Check {
	const id = "clock";
	if (aheadMs === undefined) return skip(id, "no answer of the service has a Date");
	const seconds = Math.round(Math.abs(aheadMs) / 1000);
	if (Math.abs(aheadMs) <= mostClockOffMs) {
		return { id, state: "ok", what: `This machine's clock is right to ${counted(Math.max(seconds, 1), "second")}.` };
	}
	if (isSandbox) return { id, state: "skipped", what: "A sandbox has a clock of its own." };
	const off = seconds < 120 ? counted(seconds, "second") : counted(Math.round(seconds / 60), "minute");
	return {
		id,
		state: "warn",
		what: `This machine's clock is ${off} ${aheadMs > 0 ? "ahead of" : "behind"} the service's.`,
		remedy: "Turn on time synchronisation (NTP): windows seem to close too early or too late.",
	};
}

/** Checks that the service takes the key, and returns what the key reaches. */
export async function checkKey(client: Client, advice: Advice): Promise<{ check: Check; me?: Me }> {
	const asked = await client.me.get().result();
	if (!asked.ok) return { check: { id: "key", state: "fail", ...explain(asked.error, advice) } };
	const { integration, agencies } = asked.data;
	const what = `The service takes the key. Integration ${shown(integration.name)} (${integration.id}), ${counted(agencies.length, "agency", "agencies")}.`;
	return { check: { id: "key", state: "ok", what }, me: asked.data };
}

export function checkScopes({ scopes }: Me, { bothScopes }: Advice): Check {
	const id = "scopes";
	const lacking = [
		...(scopes.includes("conversations:read") ? [] : ["conversations:read: every read is refused with 403"]),
		...(scopes.includes("messages:write") ? [] : ["messages:write: every send is refused with 403"]),
	];
	if (lacking.length === 0)
		return { id, state: "ok", what: "The key may read (conversations:read) and send (messages:write)." };
	const what = `The key lacks ${lacking.join(", and ")}.`;
	if (lacking.length > 1) return { id, state: "fail", what, remedy: `${bothScopes}.` };
	const remedy = `${bothScopes}, if this program is to do both.`;
	return { id, state: "warn", what, remedy };
}

/** Times ten reads, one after the other. Ends after three that fail, after a refusal, and when they take too long. */
export async function checkLatency(client: Client, advice: Advice): Promise<Check> {
	const id = "latency";
	const times: number[] = [];
	let failed = 0;
	const end = performance.now() + longestReadsMs;
	while (times.length + failed < reads && failed < mostFailed && performance.now() < end) {
		const from = performance.now();
		const asked = await client.me.get({ retry: false }).result();
		if (asked.ok) times.push(Math.round(performance.now() - from));
		else if (asked.error.retryable) failed++;
		else return { id, state: "fail", ...explain(asked.error, advice) }; // such as a key that was revoked meanwhile
	}
	times.sort((a, b) => a - b);
	const median = times[Math.floor(times.length / 2)] ?? 0;
	const took = times.length > 0 ? `median ${median} ms, slowest ${times.at(-1)} ms` : "no answer";
	const what = `${counted(times.length + failed, "read")}: ${took}`;
	if (failed > 0) {
		const remedy = "The service or the way to it is unreliable now. The client tries failed reads again.";
		return { id, state: "warn", what: `${what}, ${failed} failed.`, remedy };
	}
	if (median <= slowMs) return { id, state: "ok", what: `${what}.` };
	return { id, state: "warn", what: `${what}.`, remedy: "The service or the way to it is slow now: check proxies." };
}
