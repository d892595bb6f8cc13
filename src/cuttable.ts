const untilCut = Symbol.for("messaging-conversations.untilCut");

/**
 * A fetch that tells `onCut` how to be cut, and needs no signal: an AbortSignal brings a whole EventTarget along. A cut
 * gives true where nothing of the request has gone out, and nothing will.
 */
export type CuttableFetch = (url: string, init: RequestInit, onCut: (cut: () => boolean) => void) => Promise<Response>;

/**
 * Gives a fetch of ours its cuttable form. The owner is kept beside it, as a wrapper that copies the properties of what
 * it wraps is to be called itself.
 */
export function makeCuttable(fetch: object, cuttable: CuttableFetch): void {
	Object.defineProperty(fetch, untilCut, { value: { owner: fetch, cuttable } });
}

/** The cuttable form of a fetch that has one of its own. */
export function cuttableOf(fetch: unknown): CuttableFetch | undefined {
	const form = typeof fetch === "function" && Reflect.get(fetch, untilCut);
	return form && form.owner === fetch ? form.cuttable : undefined;
}
