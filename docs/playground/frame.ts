// The `fetch` of the sandbox's page in the playground, which is a frame of the page that has the sandbox.
declare global {
	interface Window {
		/** Answers the requests of the sandbox's page. */
		sandboxFetch?: typeof globalThis.fetch;
	}
}

const left = new AbortController();
addEventListener("pagehide", ({ persisted }) => persisted || left.abort());

/** Asks the sandbox of the page around this frame. A reload of the frame ends what it asked for. */
export const fetch: typeof globalThis.fetch = async (input, init) => {
	const signal = AbortSignal.any([left.signal, ...(init?.signal ? [init.signal] : [])]);
	if (!window.parent.sandboxFetch) throw new TypeError("There is no sandbox around this page.");
	return window.parent.sandboxFetch(input, { ...init, signal });
};
