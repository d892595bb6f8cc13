import { AsyncLocalStorage } from "node:async_hooks";
import { type Client, createClient } from "messaging-conversations";

/** The id of the request that your server is answering. */
export const requestId = new AsyncLocalStorage<string>();

/**
 * One client for the whole process: it keeps connections and shares the retry
 * budget.
 */
export function createMessaging(
	log: (line: object) => void = (line) => console.log(JSON.stringify(line)),
): Client {
	return createClient({
		baseUrl: process.env.MESSAGING_BASE_URL,
		apiKey: process.env.MESSAGING_API_KEY,
		// A send and the read before it take less than the time-out of your proxy
		deadline: 20_000,
		onAttempt: (attempt) =>
			log({ requestId: requestId.getStore(), ...attempt }),
	});
}
