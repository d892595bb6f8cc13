import { type AnySchema, checkValue, object, type ValueOf } from "../../shared/validation.ts";
import type { AgencyControl } from "../controls/agency.ts";
import type { IntegrationControl } from "../controls/integration.ts";
import type { Sandbox, Snapshot } from "../index.ts";
import type { OpenedBug } from "../inside.ts";

/** An answer as JSON in pieces, once: to write it takes so long that requests must be answered meanwhile. */
export class LongJson {
	constructor(readonly pieces: Iterable<string>) {}
}

/** A list whose items become JSON one by one. */
export const longList = (items: readonly unknown[]): LongJson => new LongJson(piecesOf(items));

function* piecesOf(items: readonly unknown[]): Generator<string, void> {
	yield "[";
	for (const [at, item] of items.entries()) yield `${at === 0 ? "" : ","}${JSON.stringify(item)}`;
	yield "]";
}

/** What a route acts on: the sandbox, and what the path names. */
export interface Place {
	readonly sandbox: Sandbox;
	/** The base URL of the service. */
	readonly baseUrl: string;
	/** The integration that the path names, else the default one. */
	readonly integration: IntegrationControl;
	/** The agency that the path names, else the default one. */
	readonly agency: AgencyControl;
	/** The value of the path's parameter: a phone number or an id. */
	readonly id: string;
	/** The snapshots that were taken through a route, by number. */
	readonly snapshots: Map<string, KeptSnapshot> & { taken: number };
	/** The bug file that is shown, if any. */
	readonly shown: ShownBug;
}

/** The bug file that is shown. While it is read-only, nothing can be changed. */
export interface ShownBug {
	isReadOnly: boolean;
	readonly bug: OpenedBug | null;
}

/** A snapshot that was taken through a route. */
export interface KeptSnapshot {
	readonly name: string | null;
	/** The sandbox's time. */
	readonly at: string;
	readonly content: Snapshot;
}

type Shape = Readonly<Record<string, AnySchema>>;
type Fields<Takes extends Shape> = ValueOf<ReturnType<typeof object<Takes>>>;

interface RouteOptions<Takes extends Shape> {
	/** The fields of the body, or of the query of a GET. @default none */
	readonly takes?: Takes;
	/** Describes those fields, for the guide. */
	readonly body?: string;
	/** Describes the answer, for the guide. @default null */
	readonly answers?: string;
	/** Whether it may run while a bug file is open read-only, as each GET may. @default false */
	readonly isAlwaysOpen?: boolean;
	run(place: Place, given: Fields<Takes>): unknown;
}

/** One control of the sandbox by method and path. */
export interface Route {
	readonly method: "GET" | "POST";
	/** Below `/_sandbox/`. It has at most one parameter, in braces. */
	readonly path: string;
	/** The names of its fields. */
	readonly takes: readonly string[];
	/** Its fields in words. */
	readonly body: string;
	/** Its answer in words. */
	readonly answers: string;
	/** Whether it may run while a bug file is open read-only. */
	readonly isAlwaysOpen: boolean;
	/** Checks the fields, then runs the control. */
	run(place: Place, given: unknown): unknown;
}

function route<Takes extends Shape>(
	method: Route["method"],
	path: string,
	{ takes, body = "none", answers = "null", isAlwaysOpen = method === "GET", run }: RouteOptions<Takes>,
): Route {
	const schema = object((takes ?? {}) as Takes);
	const refuse = (field: string, words: string): Error => new TypeError(`${path}${field && `: ${field}`} ${words}.`);
	return {
		method,
		path,
		takes: Object.keys(takes ?? {}),
		body,
		answers,
		isAlwaysOpen,
		run: (place, given) => run(place, checkValue(schema, given, "", refuse)),
	};
}

export const get = <Takes extends Shape>(path: string, options: RouteOptions<Takes>): Route =>
	route("GET", path, options);

export const post = <Takes extends Shape>(path: string, options: RouteOptions<Takes>): Route =>
	route("POST", path, options);
