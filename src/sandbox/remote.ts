import { isPrivate } from "../shared/hosts.ts";
import { type ObservedPoll, type Observer, observedBy } from "../shared/observer.ts";
import { abortSignal, callable, listOf, optional, rule } from "../shared/validation.ts";
import { aString, assertValid, fields } from "./base/input.ts";
import { createObserver, type ObservedReport, type ReadTexts, readAll } from "./controls/observed.ts";

/** Where a sandbox is served, as `serve` and the command print it. */
export interface SandboxAddress {
	/** Such as `http://127.0.0.1:4010/_sandbox` */
	readonly controlUrl: string;
	/** The control token. */
	readonly token: string;
	/**
	 * Hosts to which texts may be reported beside private ones: this machine, private addresses, and names that no public name
	 * server knows, such as `sandbox` in docker compose, `host.docker.internal` and `sandbox.local`.
	 * @default none
	 */
	readonly allowHosts?: readonly string[] | undefined;
	/** The `fetch` that makes the requests. @default globalThis.fetch, looked up at each request */
	readonly fetch?: typeof globalThis.fetch | undefined;
	/** Ends the reports, for example at the end of a test. @default they last as long as the process */
	readonly signal?: AbortSignal | undefined;
}

const addressRule = fields<SandboxAddress>({
	controlUrl: rule(
		(url) => typeof url === "string" && /^https?:\/\/[^/?#]+\/_sandbox\/?$/.test(url),
		"must be the control URL of a sandbox, such as http://127.0.0.1:4010/_sandbox",
	),
	token: rule((token) => typeof token === "string" && /^[!-~]{8,}$/.test(token), "must be the control token"),
	allowHosts: optional(listOf(aString)),
	fetch: optional(callable()),
	signal: optional(abortSignal),
});

const everyMs = 1_000;
const longestPauseMs = 30_000;
const repeatMs = 10_000;
const mostPolls = 200;
const mostOutboxes = 20;

/**
 * A `fetch` for a client that uses a sandbox in another process, such as `npx messaging-conversations sandbox`. Outboxes and feeds of the
 * client show themselves on the sandbox's page. It reaches nothing but that sandbox: a request to any other host fails, and
 * nothing is reported anywhere else. For development and tests. In process, `connection` of `createSandbox()` does this
 * by itself.
 *
 * Texts are reported when they have changed, at most once a second. A report that fails is dropped and disturbs nothing.
 * Nothing of it keeps the process alive.
 *
 * @example
 * const fetch = sandboxFetch({ controlUrl: "http://127.0.0.1:4010/_sandbox", token: "the-control-token" });
 * createClient({ baseUrl: "http://127.0.0.1:4010/api/v1", apiKey: sandbox.connection.apiKey, fetch });
 */
export function sandboxFetch(address: SandboxAddress): typeof globalThis.fetch {
	assertValid("sandboxFetch", address, addressRule);
	const { controlUrl, token, allowHosts = [], fetch = latestFetch, signal } = address;
	const { hostname, origin } = new URL(controlUrl);
	if (!isPrivate(hostname) && !allowHosts.includes(hostname))
		throw new TypeError(
			"sandboxFetch: controlUrl must have a private host, because texts are sent there: this machine, a private address, or a name without a dot. Name any other one in allowHosts.",
		);
	const send = (body: string): Promise<Response> =>
		fetch(`${controlUrl.replace(/\/$/, "")}/observed`, {
			method: "POST",
			headers: { "x-sandbox-token": token, "content-type": "application/json" },
			body,
			redirect: "error",
			signal: AbortSignal.timeout(5_000),
		});
	return observedBy(fetchOf(origin, fetch), createReporter(send, signal));
}

/** A `fetch` that reaches one origin alone. */
export function fetchOf(origin: string, fetch: typeof globalThis.fetch = latestFetch): typeof globalThis.fetch {
	return async (input, init) => {
		const url = typeof input === "object" && "url" in input ? input.url : String(input);
		if (new URL(url).origin === origin) return fetch(input, init);
		const cause = Object.assign(new Error(`this fetch reaches ${origin} alone`), { code: "ENOTFOUND" });
		throw new TypeError("fetch failed", { cause });
	};
}

const latestFetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, init);

/** Reports what changed, as long as something has announced itself. */
function createReporter(send: (body: string) => Promise<Response>, signal: AbortSignal | undefined): Observer {
	const source = crypto.randomUUID();
	let reads: ReadTexts[] = [];
	let polls: ObservedPoll[] = [];
	let sent = "";
	let sentAt = 0;
	let pauseMs = everyMs;
	let isRunning = false;
	let timer: ReturnType<typeof setTimeout> | undefined;
	signal?.addEventListener("abort", () => clearTimeout(timer));

	async function report(): Promise<void> {
		const news = polls;
		try {
			const { texts, unreadable } = await readAll(reads);
			const state: Omit<ObservedReport, "polls"> = { source, outboxes: reads.length, texts, unreadable };
			const text = JSON.stringify(state);
			// A sandbox that was started again knows nothing.
			const isKnown = text === sent && Date.now() - sentAt < repeatMs;
			if (isKnown && news.length === 0) return;
			const { ok, body } = await send(JSON.stringify({ ...state, polls: news }));
			await body?.cancel();
			if (!ok) throw new Error("refused");
			[sent, sentAt] = [text, Date.now()];
			polls = polls.filter((poll) => !news.includes(poll));
			pauseMs = everyMs;
		} catch {
			// The sandbox may be down for a while, and sends must not notice.
			pauseMs = Math.min(longestPauseMs, 2 * pauseMs);
		}
	}

	function run(): void {
		if (isRunning || signal?.aborted) return;
		isRunning = true;
		timer = setTimeout(() => {
			report().finally(() => {
				isRunning = false;
				if (reads.length + polls.length > 0) run();
			});
		}, pauseMs);
		// In a browser a timer is a number.
		if (typeof timer === "object" && timer !== null && "unref" in timer && typeof timer.unref === "function")
			timer.unref();
	}

	return createObserver(
		(read) => {
			reads = [...reads, read].slice(-mostOutboxes);
			run();
		},
		(poll) => {
			polls = [...polls, poll].slice(-mostPolls);
			run();
		},
	);
}
