import { anything, optional, type Schema } from "../../validation.ts";
import { type Call, textIn } from "../base/call.ts";
import { assertValid, fields, isRecord } from "../base/input.ts";
import type { Sandbox, Snapshot } from "../index.ts";
import { controls } from "./controls.ts";

/** The response of a control route. */
export interface ControlAnswer {
	readonly status: number;
	readonly result: unknown;
}

/** The controls by verb and path alone; a colon marks a phone number or an id. */
const table = new Map(
	Object.entries(controls).map(([key, control]) => {
		const [verb = "", path = "", ...takes] = key.split(" ");
		const rule = fields<Record<string, unknown>>(Object.fromEntries(takes.map((name) => [name, optional(anything)])));
		return [`${verb} ${path.replace(/\{\w+\}/, ":")}`, { verb, path, takes, rule, control }];
	}),
);

/** Answers a GET of the root with the list of routes, so that they are found without this repository. */
const listed = {
	controls: [
		{ verb: "GET", path: "events", takes: [] },
		...[...table.values()].map(({ verb, path, takes }) => ({ verb, path, takes })),
	],
};

/**
 * The controls over HTTP, for programs that are not JavaScript: docs/sandbox-server.md. `target` is path and query
 * below `/_sandbox`.
 */
export function createControlRoutes(
	sandbox: Sandbox,
	baseUrl: () => string,
): (method: string, target: string, body: Call["body"]) => ControlAnswer {
	const snapshots = new Map<string, Snapshot>();
	return (method, target, body) => {
		const [path = "", query = ""] = target.split("?", 2);
		const segments = path.split("/").slice(1);
		if (method === "GET" && segments.join("") === "") return { status: 200, result: listed };
		try {
			if (method === "GET" && segments.join("/") === "events")
				return { status: 200, result: sandbox.events({ after: afterIn(query) }) };
			const { place, agencyId, integrationId } = placeOf(segments);
			const [noun = "", second, third, ...rest] = place;
			const direct = table.get(`${method} ${[noun, second].filter((part) => part !== undefined).join("/")}`);
			const placed = table.get(`${method} ${noun}/:${third === undefined ? "" : `/${third}`}`);
			const found = rest.length > 0 ? undefined : third === undefined && direct ? direct : placed;
			if (!found) {
				const message = `There is no control ${method} ${path}. GET /_sandbox lists all controls.`;
				return refused(404, "SandboxNotFound", message);
			}
			const id = decoded(second ?? "");
			const isAsked = method === "GET" && found.takes.length > 0;
			const asks = isAsked ? JSON.stringify(Object.fromEntries(new URLSearchParams(query))) : textIn(body);
			const given = fieldsIn(asks, found.rule);
			const agency = sandbox.agency(agencyId);
			const integration = integrationId === undefined ? sandbox.integration : sandbox.integrations.get(integrationId);
			const asked = { sandbox, baseUrl: baseUrl(), integration, agency, id, given, snapshots };
			return { status: 200, result: found.control(asked) ?? null };
		} catch (error) {
			return refused(400, "SandboxBadRequest", error instanceof Error ? error.message : String(error));
		}
	};
}

function decoded(segment: string): string {
	try {
		return decodeURIComponent(segment);
	} catch {
		throw new TypeError("The path has a % that begins no escape.");
	}
}

/** A path without the agency or the integration that it begins with. */
function placeOf(segments: readonly string[]): { place: readonly string[]; agencyId?: string; integrationId?: string } {
	const [first, second = "", ...rest] = segments;
	if (first === "agencies" && rest.length > 0) return { place: rest, agencyId: decoded(second) };
	if (first === "integrations" && rest.length > 0) return { place: rest, integrationId: decoded(second) };
	return { place: segments };
}

/** The number after which events are asked for; NaN, which `sandbox.events` refuses, for what is none. */
export function afterIn(query: string): number {
	const after = new URLSearchParams(query).get("after") ?? "0";
	return /^\d{1,15}$/.test(after) ? Number(after) : Number.NaN;
}

const refused = (status: number, tag: string, message: string): ControlAnswer => ({
	status,
	result: { _tag: tag, message },
});

function fieldsIn(body: string, rule: Schema<unknown>): Readonly<Record<string, unknown>> {
	const given = body.trim() === "" ? {} : parsed(body);
	assertValid("The body", given, rule);
	return isRecord(given) ? given : {};
}

function parsed(body: string): unknown {
	try {
		return JSON.parse(body);
	} catch {
		throw new TypeError("The request body is not JSON.");
	}
}
