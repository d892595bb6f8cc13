import type { Answer } from "../base/call.ts";
import type { Effect } from "../world/fault.ts";
import { internalMessage, tagOf } from "./refusal.ts";

/** An answer as a fault leaves it. Callers need the field `needed` of it. */
export function spoil(effect: Effect, needed: string, answer: Answer): Answer {
	const { kind, location } = effect;
	const { date = "", "x-correlation-id": correlationId = "" } = answer.headers;
	const kept = { date, "x-correlation-id": correlationId };
	const retry = effect.retryAfter === null ? {} : { "retry-after": effect.retryAfter };
	const json = { ...kept, ...retry, "content-type": "application/json" };
	switch (kind) {
		case "latency":
			return answer;
		case "reset":
		case "hang":
			return { status: 0, headers: {}, body: "", cut: kind };
		case "status": {
			const status = effect.status ?? 500;
			if (status < 300) return { ...answer, status, headers: { ...answer.headers, ...retry } };
			if (status < 400)
				return { status, headers: { ...kept, ...retry, ...(isRedirect(status) ? { location } : {}) }, body: "" };
			// R7: a 500 does not name its cause.
			const message = status >= 500 ? internalMessage : `A fault of the sandbox answers ${status}.`;
			return { status, headers: json, body: JSON.stringify({ _tag: tagOf(status), message }) };
		}
		case "html": {
			const headers = { ...kept, ...retry, "content-type": effect.contentType ?? "text/html; charset=utf-8" };
			return { status: effect.status ?? 502, headers, body: effect.body ?? badGateway };
		}
		case "empty":
			return { status: effect.status ?? 200, headers: { ...kept, ...retry }, body: "" };
		case "truncated":
			return { status: effect.status ?? 200, headers: json, body: answer.body, cut: "body" };
		case "not-json":
			return { status: effect.status ?? 200, headers: json, body: "OK, but not JSON" };
		case "redirect":
			return { status: effect.status ?? 307, headers: { ...kept, ...retry, location }, body: "" };
		case "missing-field":
			return {
				status: effect.status ?? 200,
				headers: json,
				body: without(answer.body, effect.field ?? needed),
			};
	}
}

const badGateway =
	"<!doctype html><html><head><title>Bad gateway</title></head><body><h1>Bad gateway</h1></body></html>";

/** The statuses that fetch follows. */
export const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status);

/** Whether the effect changes the answer: a field that it does not have cannot be removed. */
export function canSpoil({ kind, field }: Effect, needed: string, { status, body }: Answer): boolean {
	if (kind !== "missing-field") return true;
	return status === 200 && placeIn(JSON.parse(body), field ?? needed) !== undefined;
}

function without(body: string, field: string): string {
	const tree: unknown = JSON.parse(body);
	const place = placeIn(tree, field);
	if (place) Reflect.deleteProperty(place.parent, place.name);
	return JSON.stringify(tree);
}

/** The last object and name of a path of own properties, or undefined when the path does not exist. */
function placeIn(tree: unknown, field: string): { readonly parent: object; readonly name: string } | undefined {
	const path = field.split(".");
	const name = path.pop() ?? "";
	let parent: unknown = tree;
	for (const step of path) parent = hasOwn(parent, step) ? parent[step] : undefined;
	// The length of a list cannot be removed.
	return hasOwn(parent, name) && Object.keys(parent).includes(name) ? { parent, name } : undefined;
}

function hasOwn(value: unknown, name: string): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && Object.hasOwn(value, name);
}
