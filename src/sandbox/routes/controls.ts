import { masked } from "../base/mask.ts";
import type { Sandbox } from "../index.ts";
import { insideOf } from "../inside.ts";
import type { KeptSnapshot, Route, ShownBug } from "./route.ts";
import { routes } from "./table.ts";

/** The path or the method is unknown. */
export class UnknownRoute extends Error {}

/**
 * Runs the control with this method and path, which may have a query. Returns its answer, which JSON can carry. Throws
 * `UnknownRoute`, or the control's own error, which names the field.
 */
export interface Controls {
	(method: string, path: string, given?: unknown): unknown;
	/** Whether a bug file is open read-only: requests to the service are not answered then. */
	readonly isReadOnly: () => boolean;
}

const all = Object.values(routes).flat();

/** The list of routes, so that they are found without this repository. */
const listed = {
	controls: all.map(({ method, path, takes, answers }) => ({ verb: method, path, takes, answers })),
};

/**
 * The sandbox's controls by method and path. They need no server: only `GET connection` uses `baseUrl`. They may be read-only until
 * `POST continue`.
 */
export function createControls(sandbox: Sandbox, baseUrl: () => string, isReadOnly = false): Controls {
	sandbox.history.record(); // for `?at=`
	const snapshots = Object.assign(new Map<string, KeptSnapshot>(), { taken: 0 });
	const shown: ShownBug = {
		isReadOnly,
		get bug() {
			return insideOf(sandbox).opened;
		},
	};
	const control = (method: string, path: string, given: unknown = {}): unknown => {
		const [place = "", query = ""] = path.split("?", 2);
		if (method === "GET" && place.replaceAll("/", "") === "") return listed;
		const { agencyId, integrationId, segments } = placeOf(place.replace(/^\//, "").split("/"));
		const found = all.find((route) => route.method === method && fits(route, segments));
		if (!found)
			throw new UnknownRoute(`There is no control ${method} ${masked(place)}. GET /_sandbox lists all controls.`);
		if (shown.isReadOnly && !found.isAlwaysOpen)
			throw new Error("A bug file is open read-only. POST continue makes it a world to act in.");
		const { at, ...asked } = Object.fromEntries(new URLSearchParams(query));
		const fields = method === "GET" ? asked : given;
		const acted = method === "GET" && at !== undefined ? pastAt(at) : sandbox;
		const agency = acted.agency(agencyId);
		const integration = integrationId === undefined ? acted.integration : acted.integrations.get(integrationId);
		const id = decoded(segments[1] ?? "");
		return found.run({ sandbox: acted, baseUrl: baseUrl(), integration, agency, id, snapshots, shown }, fields) ?? null;
	};
	/** The moment that was looked at last: a page reads several parts of it. */
	let past: { readonly at: string; readonly sandbox: Sandbox } | undefined;
	const pastAt = (at: string): Sandbox => {
		if (!/^\d{1,15}$/.test(at)) throw new TypeError("at must be the number of an event.");
		const isKnown = Number(at) <= (sandbox.events({ limit: 1 })[0]?.id ?? 0);
		if (past?.at !== at || !isKnown) past = { at, sandbox: sandbox.history.at(Number(at)) };
		return past.sandbox;
	};
	return Object.assign(control, { isReadOnly: () => shown.isReadOnly });
}

/** A path without the agency or the integration that it begins with. */
function placeOf(segments: readonly string[]) {
	const [first, second = "", ...rest] = segments;
	if (first === "agencies" && rest.length > 0) return { agencyId: decoded(second), segments: rest };
	if (first === "integrations" && rest.length > 0) return { integrationId: decoded(second), segments: rest };
	return { segments };
}

function fits({ path }: Route, segments: readonly string[]): boolean {
	const parts = path.split("/");
	return parts.length === segments.length && parts.every((part, i) => part.startsWith("{") || part === segments[i]);
}

function decoded(segment: string): string {
	try {
		return decodeURIComponent(segment);
	} catch {
		throw new TypeError("The path has a % that begins no escape.");
	}
}
