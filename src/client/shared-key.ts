import type { ApiKey } from "./options.ts";

type KeyFunction = Extract<ApiKey, () => unknown>;

/** Of each shared function, the one that does not join a question from before a 401. */
const freshOf = new WeakMap<KeyFunction, KeyFunction>();

/**
 * A key function whose calls share one question to a secret store, as long as that question has no answer yet. Without
 * it, 64 calls at the same time ask 64 times, and a store may throttle them. It remembers no key: the next call asks
 * again, so that a rotated key is used at once. After a 401 the question is asked afresh.
 *
 * Do not use it for a function that returns the key of the current request or tenant, such as one that reads an
 * `AsyncLocalStorage`: another tenant would get it.
 *
 * @param ask the function that reads the key
 * @example
 * const secrets = { current: async () => process.env.MESSAGING_API_KEY }; // your secret store
 * const client = createClient({
 *   baseUrl: process.env.MESSAGING_BASE_URL,
 *   apiKey: sharedKey(() => secrets.current()),
 * });
 */
export function sharedKey(ask: KeyFunction): KeyFunction {
	let pending: Promise<string | undefined> | undefined;
	let afterRefusal: Promise<string | undefined> | undefined;
	const shared: KeyFunction = () => {
		// Newer than a pending one.
		if (afterRefusal) return afterRefusal;
		pending ??= question(ask, () => (pending = undefined));
		return pending;
	};
	// Calls that are refused at the same time share this one.
	freshOf.set(shared, () => (afterRefusal ??= question(ask, () => (afterRefusal = undefined))));
	return shared;
}

/** Asks for the key after a 401: a question from before it may bring the key that was refused. */
export function keyAfterRefusal(ask: KeyFunction): ReturnType<KeyFunction> {
	return (freshOf.get(ask) ?? ask)();
}

function question(ask: KeyFunction, end: () => void): Promise<string | undefined> {
	const answer = (async () => ask())();
	answer.then(end, end);
	return answer;
}
