import type { ClientOptions, TransportControl } from "messaging-conversations";
import { type NodeHttp, type NodeHttpOptions, nodeHttp } from "messaging-conversations/node";
import { onTestFinished } from "vitest";

/** The two ways to the network. What holds over one of them holds over the other. */
export const adapters = ["fetch", "nodeHttp"] as const;
export type Adapter = (typeof adapters)[number];

/** The client options of an adapter, for one test. Its connections are closed after the test. */
export function over(adapter: Adapter, options?: NodeHttpOptions): Pick<ClientOptions, "transport"> {
	return adapter === "fetch" ? {} : { transport: nodeTransport(options) };
}

/** What a transport is given beside its request. Nothing aborts it. */
export function controlOf(maxBytes: number): TransportControl {
	return { maxBytes, signal: new AbortController().signal, check: () => {} };
}

/**
 * A transport over node:http that is closed after the test.
 *
 * @param onFinished that of the context, where tests run at the same time
 */
export function nodeTransport(options?: NodeHttpOptions, onFinished: typeof onTestFinished = onTestFinished): NodeHttp {
	const transport = nodeHttp(options);
	onFinished(() => transport.close());
	return transport;
}
