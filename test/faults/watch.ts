import { keyOf, type Picker } from "./picker.ts";
import type { Service } from "./service.ts";

/** One attempt, seen from the caller's side of the wire. */
export interface Dispatch {
	readonly at: number;
	answeredAt?: number;
	retryAfterMs?: number;
}

export interface Watch {
	readonly fetch: typeof fetch;
	readonly dispatches: ReadonlyMap<string, readonly Dispatch[]>;
}

/** A fetch that notes when each attempt leaves, and sends to a dead port those that the picker wants refused. */
export function watchFetch(service: Service, picker: Picker, over: typeof fetch = fetch): Watch {
	const dispatches = new Map<string, Dispatch[]>();
	const watched: typeof fetch = async (input, init) => {
		const url = input instanceof Request ? input.url : String(input);
		const text = input instanceof Request ? await input.clone().text() : init?.body;
		const key = keyOf(url, fieldsOf(text));
		const dispatch: Dispatch = { at: performance.now() };
		dispatches.set(key, [...(dispatches.get(key) ?? []), dispatch]);
		const refusing = picker.refuses(key);
		const target = refusing ? url.replace(service.origin, service.deadOrigin) : url;
		const response = await (input instanceof Request && !refusing ? over(input) : over(target, init));
		dispatch.answeredAt = performance.now();
		const after = response.headers.get("retry-after");
		if (after !== null) dispatch.retryAfterMs = askedFor(after, response.headers.get("date"));
		return response;
	};
	return { fetch: watched, dispatches };
}

/** The wait that a Retry-After header asks for; none for what is neither seconds nor a date to come. */
function askedFor(header: string, date: string | null): number {
	if (/^\d+$/.test(header)) return Number(header) * 1000;
	const until = Date.parse(header) - Date.parse(date ?? "");
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
