import type { Transport } from "../../src/index.ts";
import { keyOf, type Picker } from "./picker.ts";
import type { Service } from "./service.ts";

/** One attempt, as the caller sees it. */
export interface Dispatch {
	readonly at: number;
	answeredAt?: number;
	retryAfterMs?: number;
}

export interface Watch {
	readonly fetch: typeof fetch;
	/** The given transport, watched in the same way. */
	readonly transport: Transport | undefined;
	readonly dispatches: ReadonlyMap<string, readonly Dispatch[]>;
}

/** Notes when each attempt leaves, and sends to a dead port those that the picker wants refused. */
export function watchRequests(service: Service, picker: Picker, over?: Transport): Watch {
	const dispatches = new Map<string, Dispatch[]>();
	function depart(url: string, text: unknown) {
		const key = keyOf(url, fieldsOf(text));
		const dispatch: Dispatch = { at: performance.now() };
		dispatches.set(key, [...(dispatches.get(key) ?? []), dispatch]);
		const isRefused = picker.refuses(key);
		return {
			isRefused,
			target: isRefused ? url.replace(service.origin, service.deadOrigin) : url,
			arrive(after: string | null | undefined, date: string | null | undefined) {
				dispatch.answeredAt = performance.now();
				if (after) dispatch.retryAfterMs = askedFor(after, date ?? "");
			},
		};
	}
	const watchedFetch: typeof fetch = async (input, init) => {
		const url = input instanceof Request ? input.url : String(input);
		const text = input instanceof Request ? await input.clone().text() : init?.body;
		const { isRefused, target, arrive } = depart(url, text);
		const response = await (input instanceof Request && !isRefused ? fetch(input) : fetch(target, init));
		arrive(response.headers.get("retry-after"), response.headers.get("date"));
		return response;
	};
	const watchedTransport = (transport: Transport): Transport => {
		return async (request, control) => {
			const { target, arrive } = depart(request.url, request.body);
			const answer = await transport({ ...request, url: target }, control);
			arrive(answer.headers.get("retry-after"), answer.headers.get("date"));
			return answer;
		};
	};
	return { fetch: watchedFetch, transport: over && watchedTransport(over), dispatches };
}

/** The wait that a Retry-After header asks for; none for what is neither seconds nor a date to come. */
function askedFor(header: string, date: string): number {
	if (/^\d+$/.test(header)) return Number(header) * 1000;
	const until = Date.parse(header) - Date.parse(date);
	return /GMT$/.test(header) && until > 0 ? until : 0;
}

function fieldsOf(text: unknown): Readonly<Record<string, unknown>> {
	try {
		const raw = text instanceof Uint8Array ? new TextDecoder().decode(text) : text;
		const parsed: unknown = typeof raw === "string" ? JSON.parse(raw) : {};
		return typeof parsed === "object" && parsed !== null ? { ...parsed } : {};
	} catch {
		return {};
	}
}
