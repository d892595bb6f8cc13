import type { ApiKey } from "./client-options.ts";
import { PartnerConfigurationError } from "./errors.ts";

type KeyFunction = Extract<ApiKey, () => unknown>;

/** For each shared key function, the one that reads the key after a 401. */
const afterRefusal = new WeakMap<KeyFunction, KeyFunction>();

/** A read that takes longer is not joined, because one that never ends would hold up every later call. */
const longestShareMs = 5000;

/**
 * Wraps a key function so that calls made at the same time share one read of your secret store. Without it, 64 calls at
 * the same time read 64 times, and a store may throttle them. It does not cache: a call that starts after the read has
 * ended reads again, so that a rotated key is used at once. After a 401 the key is read anew. A read that has taken more
 * than 5 seconds is not shared any more.
 *
 * Do not use it for a function that returns the key of the current request or tenant, such as one that reads an
 * `AsyncLocalStorage`. Another tenant would get that key.
 *
 * @param read returns the key, or a promise of it
 * @returns the function to pass as `apiKey`. It rejects with whatever `read` throws.
 * @throws PartnerConfigurationError if `read` is not a function
 * @example
 * const secrets = { current: async () => process.env.MESSAGING_API_KEY }; // your secret store
 * const client = createClient({
 *   baseUrl: process.env.MESSAGING_BASE_URL,
 *   apiKey: cachedKey(() => secrets.current()),
 * });
 */
export function cachedKey(read: KeyFunction): KeyFunction {
	if (typeof read !== "function") {
		const rule = "must be a function that returns the key: cachedKey(() => secrets.current())";
		throw new PartnerConfigurationError({ operation: "cachedKey", field: "read", rule });
	}
	const shared = sharing(read);
	// Calls that are refused at the same time share a read too, but none that began before.
	afterRefusal.set(shared, sharing(read));
	return shared;
}

/** Reads the key after a 401. A read that began before it could return the key that was refused. */
export function keyAfterRefusal(read: KeyFunction): ReturnType<KeyFunction> {
	return (afterRefusal.get(read) ?? read)();
}

/** Calls `read`, unless a call of it is under way that can be joined. */
function sharing(read: KeyFunction): KeyFunction {
	let pending: { key: Promise<string | undefined>; startedAt: number } | undefined;
	return () => {
		if (pending && performance.now() - pending.startedAt < longestShareMs) return pending.key;
		const started = { key: (async () => read())(), startedAt: performance.now() };
		const end = (): void => {
			if (pending === started) pending = undefined;
		};
		started.key.then(end, end);
		pending = started;
		return started.key;
	};
}
