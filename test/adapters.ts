import type { ClientOptions, ExchangeControl } from "messaging-conversations";
import { type NodeHttp, type NodeHttpOptions, nodeHttp } from "messaging-conversations/node";
import { onTestFinished } from "vitest";

/** The two ways to the network. What holds over one of them holds over the other. */
export const adapters = ["fetch", "nodeHttp"] as const;
export type Adapter = (typeof adapters)[number];

/** The client options of an adapter, for one test. Its connections are closed after the test. */
export function over(adapter: Adapter, options?: NodeHttpOptions): Pick<ClientOptions, "http"> {
	return adapter === "fetch" ? {} : { http: nodeExchange(options) };
}

/** What an exchange is given beside its request. Nothing aborts it. */
export function controlOf(maxBytes: number): ExchangeControl {
	return { maxBytes, signal: new AbortController().signal, check: () => {} };
}

/**
 * An exchange over node:http that is closed after the test.
 *
 * @param onFinished that of the context, where tests run at the same time
 */
export function nodeExchange(options?: NodeHttpOptions, onFinished: typeof onTestFinished = onTestFinished): NodeHttp {
	const http = nodeHttp(options);
	onFinished(() => http.close());
	return http;
}
