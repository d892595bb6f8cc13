/*
 * The key of an attempt.
 */

import { Secret } from "../shared/secret.ts";
import { keyAfterRefusal } from "./cached-key.ts";
import { type CallState, leftMs } from "./call-state.ts";
import { type ApiKey, keyProblem } from "./client-options.ts";
import { Interruption, isControlFlow } from "./control-flow.ts";
import { type FaultFacts, PartnerConfigurationError, type PartnerError } from "./errors.ts";
import { factsOf } from "./facts.ts";
import { Limit } from "./limit.ts";
import { word } from "./network-fault.ts";
import { reportAttempt } from "./report-attempt.ts";
import { roomMs } from "./retry.ts";

/** The key of this attempt. A function is asked each time, so that a rotated key is used at once, except for a send in doubt. */
export function readKey<Data>(call: CallState<Data>): Secret<string> | Promise<Secret<string>> {
	const { apiKey, baseUrl } = call.client;
	if (baseUrl === "") {
		const rule = "is required. Pass the URL of the service; is its environment variable set?";
		throw noKey(call, "baseUrl", rule);
	}
	// The service may not know the id of a send in doubt under another key, and the contact would get the text twice.
	const used = call.keys.at(-1);
	if (used !== undefined && call.lastError?.outcome === "unknown") return used;
	const { newKey } = call;
	if (newKey !== undefined && !call.keys.some((key) => isSame(key, newKey))) return newKey;
	const ask = functionOf(apiKey);
	return ask ? (keyOfScope(call, ask) ?? askForKey(call, ask)) : checkedKey(call, apiKey);
}

const isSame = (one: Secret<string> | undefined, other: Secret<string>): boolean => one?.reveal() === other.reveal();

/** The function of a key that is one. */
function functionOf(apiKey: Secret<ApiKey> | undefined): KeyFunction | undefined {
	const given = apiKey?.reveal();
	return typeof given === "function" ? given : undefined;
}

type KeyFunction = Extract<ApiKey, () => unknown>;

/** The keys of the scopes of each key function, because another function may return the key of another integration. */
const scopes = new WeakMap<KeyFunction, WeakMap<object, Promise<Secret<string>>>>();

/** The key of the call's scope, which its first call asks for. Undefined without a scope. */
function keyOfScope<Data>(call: CallState<Data>, ask: KeyFunction): Promise<Secret<string>> | undefined {
	const { keyScope } = call;
	if (!keyScope) return undefined;
	const known = scopes.get(ask)?.get(keyScope);
	if (known) return known;
	const asked = askForKey(call, ask);
	keepInScope(call, ask, asked);
	asked.catch(() => scopes.get(ask)?.delete(keyScope));
	return asked;
}

function keepInScope<Data>({ keyScope }: CallState<Data>, ask: KeyFunction, key: Promise<Secret<string>>): void {
	if (!keyScope) return;
	const keys = scopes.get(ask) ?? new WeakMap<object, Promise<Secret<string>>>();
	scopes.set(ask, keys.set(keyScope, key));
}

/**
 * The header of a key, which makes its value when it is read: `fetch` may throw while this package's frames have the headers in a
 * variable. It can be written too, as a `fetch` of the caller may do. Made once for each key, because objects with the same
 * accessor share a shape, and V8 makes such an object fast.
 */
export function authorizationOf(key: Secret<string>): PropertyDescriptor {
	const known = headersOfKeys.get(key);
	if (known) return known;
	const made = hidden(new Secret(`Bearer ${key.reveal()}`));
	headersOfKeys.set(key, made);
	return made;
}

const headersOfKeys = new WeakMap<Secret<string>, PropertyDescriptor>();

function hidden(header: Secret<string>): PropertyDescriptor {
	return {
		get: () => header.reveal(),
		set(value: string) {
			Object.defineProperty(this, "authorization", hidden(new Secret(value)));
		},
		enumerable: true,
		configurable: true,
	};
}

async function askForKey<Data>(call: CallState<Data>, ask: KeyFunction): Promise<Secret<string>> {
	let key: Secret<unknown> | undefined;
	let failure: Error | undefined;
	try {
		key = new Secret(await ask());
	} catch (thrown) {
		const name = word(Object(thrown).name) ?? "Error";
		failure = isControlFlow(thrown)
			? new Interruption(thrown)
			: noKey(call, "apiKey", `its function failed (${name})`, { name });
	}
	// Outside of `catch`, because what was thrown may hold the key.
	if (failure) throw failure;
	return checkedKey(call, key);
}

function checkedKey<Data>(call: CallState<Data>, key: Secret<unknown> | undefined): Secret<string> {
	const rule = keyProblem(key?.reveal(), call.client.baseUrl);
	if (!isText(key) || rule !== undefined) throw noKey(call, "apiKey", rule ?? "must be a string");
	return key;
}

const isText = (key: Secret<unknown> | undefined): key is Secret<string> => typeof key?.reveal() === "string";

/** @param cause what the key function threw, so that a later call may succeed */
function noKey<Data>(call: CallState<Data>, field: string, rule: string, cause?: FaultFacts): PartnerError {
	const retryable = cause !== undefined;
	return new PartnerConfigurationError({ ...factsOf(call, "not_sent"), field, rule, retryable, cause });
}

/** Whether a 401 is worth one more attempt: the key may have been rotated while the request was on its way. */
export async function hasNewKey<Data>(call: CallState<Data>, error: PartnerError): Promise<boolean> {
	const { _tag, status, outcome } = error;
	const ask = functionOf(call.client.apiKey);
	// A gateway can check keys too.
	const isRefusedKey = _tag === "PartnerUnauthorized" || (_tag === "PartnerGatewayError" && status === 401);
	const isPossible = call.newKey === undefined && leftMs(call) > roomMs(call);
	if (!isRefusedKey || !isPossible || !ask) return false;
	// The id of a send in doubt may not be known under another key.
	if (outcome === "unknown") return false;
	const limit = new Limit(call);
	try {
		const key = checkedKey(call, new Secret(await limit.race(Promise.resolve(keyAfterRefusal(ask)))));
		if (isSame(call.keys.at(-1), key)) return false;
		call.newKey = key;
		keepInScope(call, ask, Promise.resolve(key));
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
