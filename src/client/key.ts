/*
 * The key of an attempt.
 */
import { type CallState, leftMs } from "./call-state.ts";
import { type ApiKey, keyProblem } from "./client-options.ts";
import { Interruption, isControlFlow } from "./control-flow.ts";
import { type FaultFacts, PartnerConfigurationError, type PartnerError } from "./errors.ts";
import { factsOf } from "./facts.ts";
import { Limit } from "./limit.ts";
import { word } from "./network-fault.ts";
import { reportAttempt } from "./report-attempt.ts";
import { roomMs } from "./retry.ts";
import { keyAfterRefusal } from "./shared-key.ts";

/** The key of this attempt. A function is asked each time, so that a rotated key is used at once, except for a send in doubt. */
export function readKey<Data>(call: CallState<Data>): string | Promise<string> {
	const { apiKey, baseUrl } = call.client;
	if (baseUrl === "") {
		const rule = "is required. Pass the URL of the service; is its environment variable set?";
		throw noKey(call, "baseUrl", rule);
	}
	// The service may not know the id of a send in doubt under another key, and the contact would get the text twice.
	const used = call.keys.at(-1);
	if (used !== undefined && call.lastError?.outcome === "unknown") return used;
	if (call.newKey !== undefined && !call.keys.includes(call.newKey)) return call.newKey;
	if (typeof apiKey === "function") return askForKey(call, apiKey);
	// `createClient` has checked a key that is there.
	return apiKey || checkedKey(call, apiKey);
}

async function askForKey<Data>(call: CallState<Data>, ask: Extract<ApiKey, () => unknown>): Promise<string> {
	let key: unknown;
	try {
		key = await ask();
	} catch (thrown) {
		if (isControlFlow(thrown)) throw new Interruption(thrown);
		const name = word(Object(thrown).name) ?? "Error";
		throw noKey(call, "apiKey", `its function failed (${name})`, { name });
	}
	return checkedKey(call, key);
}

function checkedKey<Data>(call: CallState<Data>, key: unknown): string {
	const rule = keyProblem(key, call.client.baseUrl);
	if (typeof key !== "string" || rule !== undefined) throw noKey(call, "apiKey", rule ?? "must be a string");
	return key;
}

/** @param cause what the key function threw, so that a later call may succeed */
function noKey<Data>(call: CallState<Data>, field: string, rule: string, cause?: FaultFacts): PartnerError {
	const retryable = cause !== undefined;
	return new PartnerConfigurationError({ ...factsOf(call, "not_sent"), field, rule, retryable, cause });
}

/** Whether a 401 is worth one more attempt: the key may have been rotated while the request was on its way. */
export async function hasNewKey<Data>(call: CallState<Data>, error: PartnerError): Promise<boolean> {
	const { _tag, status, outcome } = error;
	const { apiKey } = call.client;
	// A gateway can check keys too.
	const isRefusedKey = _tag === "PartnerUnauthorized" || (_tag === "PartnerGatewayError" && status === 401);
	const isPossible = typeof apiKey === "function" && call.newKey === undefined && leftMs(call) > roomMs(call);
	if (!isRefusedKey || !isPossible) return false;
	// The id of a send in doubt may not be known under another key.
	if (outcome === "unknown") return false;
	const limit = new Limit(call);
	try {
		const key = checkedKey(call, await limit.race(Promise.resolve(keyAfterRefusal(apiKey))));
		if (key === call.keys.at(-1)) return false;
		call.newKey = key;
		return true;
	} catch (thrown) {
		if (isControlFlow(thrown)) {
			reportAttempt(call, error, undefined);
			throw new Interruption(thrown);
		}
		// The next attempt reports an abort. Without another key the 401 is final.
		return limit.cutBy === "abort";
	} finally {
		limit.end();
	}
}
