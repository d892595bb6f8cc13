import { type AnySchema, anything, oneOf, optional, orNull, rule, type Schema } from "../../shared/validation.ts";
import { type OperationId, operationIds } from "../base/contract.ts";
import { aString, assertValid, fields, isRecord, someText, wholeFrom } from "../base/input.ts";

export const faultKinds = [
	"status",
	"reset",
	"hang",
	"latency",
	"html",
	"empty",
	"truncated",
	"not-json",
	"redirect",
	"missing-field",
] as const;

const bareKinds = faultKinds.filter((kind) => kind !== "status");

/** The ways in which a fault changes an answer. */
export type FaultKind = (typeof faultKinds)[number];

export const faultPhases = ["before", "after"] as const;

/** The effect of a fault in full; null is as good as absent. A {@link FaultKind} alone is short for one with nothing set. */
export interface FaultEffect {
	/** @default "status" with a `status`, "latency" with only a time */
	readonly kind?: FaultKind | undefined;
	/** 200 to 599. @default 502 for `html`, 307 for `redirect`, 200 for the other bodies */
	readonly status?: number | null | undefined;
	/** The Retry-After header: seconds, or any text. */
	readonly retryAfter?: number | string | null | undefined;
	/** Real milliseconds to wait first, for every kind. @default 100 for "latency", else 0 */
	readonly latencyMs?: number | undefined;
	/**
	 * For `missing-field`: a field of the answer, dots between levels. It needs the phase `after`, because the answer does not
	 * exist before. @default one that the operation's callers need
	 */
	readonly field?: string | null | undefined;
	/**
	 * For `html`: what a load balancer, firewall or proxy answers in place of the service, such as `default backend - 404`.
	 * @default a page that says "Bad gateway"
	 */
	readonly body?: string | null | undefined;
	/** For `html`: the content type of the body. @default "text/html; charset=utf-8" */
	readonly contentType?: string | null | undefined;
	/** For `redirect`: where to. @default "https://elsewhere.invalid/" */
	readonly location?: string | undefined;
}

/** A fault to come. Faults are counted and never random. */
export interface FaultOptions {
	/** Only this operation. @default all six */
	readonly operation?: OperationId | undefined;
	/** Only requests for this agency, by its id. @default all agencies */
	readonly agencyId?: string | undefined;
	/**
	 * Only requests about this contact: sends to it, and reads of its conversation. A number, or the contact.
	 * @default everybody
	 */
	readonly contact?:
		| string
		| {
				/** Its number. */
				readonly phoneNumber: string;
		  }
		| undefined;
	/** How many requests it hits. `Infinity` is allowed. @default 1 */
	readonly times?: number | undefined;
	/** How many matching requests pass before the first hit. @default 0 */
	readonly skip?: number | undefined;
	/**
	 * `before`: the operation does not run and no operationId is remembered. `after`: the operation runs and commits,
	 * then its answer is replaced or lost. @default "before", with a `field` "after"
	 */
	readonly phase?: (typeof faultPhases)[number] | undefined;
	/** The change of the answer. */
	readonly effect: Exclude<FaultKind, "status"> | FaultEffect;
}

/** An effect with everything settled. No interface, because a library that exports it needs no name for it then. */
export type Effect = {
	readonly kind: FaultKind;
	readonly status: number | null;
	readonly retryAfter: string | null;
	readonly latencyMs: number;
	readonly field: string | null;
	readonly body: string | null;
	readonly contentType: string | null;
	readonly location: string;
};

/** A fault as it is kept; `remaining` null is without end. */
export interface Fault {
	readonly id: number;
	readonly operation: OperationId | null;
	readonly agencyId: string | null;
	/** E.164 */
	readonly contact: string | null;
	readonly phase: (typeof faultPhases)[number];
	readonly effect: Effect;
	skip: number;
	hits: number;
	remaining: number | null;
}

// A name or a value that a header cannot carry would break the answer instead of the client.
const isHeaderText = (text: unknown): boolean => typeof text === "string" && /^[\t -~]*$/.test(text);
const headerWords = "must be text that a header can carry";
const headerText: Schema<string> = rule(isHeaderText, headerWords);
const statusRule: Schema<number> = rule(
	(status) => typeof status === "number" && /^[2-5]\d\d$/.test(String(status)),
	"must be from 200 to 599",
);
const waitRule: Schema<number> = rule(
	(ms) => typeof ms === "number" && ms >= 0 && ms <= 86_400_000,
	"must be milliseconds, from 0 to 86400000",
);
const anyText: Schema<string> = rule((text) => typeof text === "string", "must be text");
const operationRule = oneOf(...operationIds);

const effectRule = fields<FaultEffect>({
	kind: optional(oneOf(...faultKinds)),
	status: optional(orNull(statusRule)),
	retryAfter: optional(orNull(rule((after) => Number.isFinite(after) || isHeaderText(after), headerWords))),
	latencyMs: optional(waitRule),
	field: optional(orNull(someText)),
	body: optional(orNull(anyText)),
	contentType: optional(orNull(headerText)),
	location: optional(headerText),
});

/** A bare kind; `status` needs to say which. */
const kindRule = rule(
	(kind) => bareKinds.some((each) => each === kind),
	(kind) => {
		if (kind === "status") return 'must say which status: { status: 503 }, not "status"';
		if (typeof kind === "number") return `must be a word or an object: { status: ${kind} }`;
		if (kind === undefined || kind === null) return "must be a word or an object, such as { status: 503 }";
		const words = bareKinds.map((each) => JSON.stringify(each)).join(" or ");
		return `must be ${words}, or an object: { status: 503 }, { latencyMs: 250 } or { kind: "missing-field", field: "conversations" }`;
	},
);

/** How often something is to happen. */
export const timesRule: Schema<number> = rule(
	(times) => times === Number.POSITIVE_INFINITY || (Number.isSafeInteger(times) && Number(times) >= 1),
	"must be a whole number, at least 1, or Infinity",
);

const optionsWith = (effect: AnySchema): Schema<unknown> =>
	fields<FaultOptions>({
		operation: optional(operationRule),
		agencyId: optional(aString),
		contact: optional(anything), // phoneOf says what it may be
		times: optional(timesRule),
		skip: optional(wholeFrom(0)),
		phase: optional(oneOf(...faultPhases)),
		effect,
	});
const optionsRules = { kind: optionsWith(kindRule), object: optionsWith(effectRule) };

/** A fault in an archive, with everything settled. */
export const faultRule = fields<Fault>({
	id: wholeFrom(1),
	operation: orNull(operationRule),
	agencyId: orNull(aString),
	contact: orNull(aString),
	phase: oneOf(...faultPhases),
	effect: fields<Effect>({
		kind: oneOf(...faultKinds),
		status: orNull(statusRule),
		retryAfter: orNull(headerText),
		latencyMs: waitRule,
		field: orNull(someText),
		body: orNull(anyText),
		contentType: orNull(headerText),
		location: headerText,
	}),
	skip: wholeFrom(0),
	hits: wholeFrom(0),
	remaining: orNull(wholeFrom(0)),
});

/** Whose requests a fault hits. */
type Whose = Pick<Fault, "agencyId" | "contact">;

/** A fault as a control describes it, with everything settled. `whose` says who the options name. */
export function faultFrom(
	id: number,
	options: FaultOptions,
	whose: (options: FaultOptions) => Whose,
	control = "faults.add",
): Fault {
	const isObject = isRecord(Object(options).effect);
	assertValid(control, options, isObject ? optionsRules.object : optionsRules.kind);
	const effect = effectFrom(options.effect, control);
	const { operation = null, times = 1, skip = 0, phase = effect.field === null ? "before" : "after" } = options;
	if (effect.field !== null && phase === "before")
		throw new TypeError(`${control}: phase must be "after" with a field: there is no answer before.`);
	const remaining = times === Number.POSITIVE_INFINITY ? null : times;
	return { id, operation, ...whose(options), phase, effect, skip, hits: 0, remaining };
}

function effectFrom(given: FaultOptions["effect"], control: string): Effect {
	const effect: FaultEffect = typeof given === "string" ? { kind: given } : given;
	const waits = effect.latencyMs;
	const { body = null, contentType = null } = effect;
	const { status = null, retryAfter = null, field = null, location = "https://elsewhere.invalid/" } = effect;
	const kind = effect.kind ?? (status === null && waits !== undefined ? "latency" : "status");
	if (kind === "status" && status === null)
		throw new TypeError(`${control}: effect must have a status or a kind: { status: 503 }.`);
	if (field !== null && kind !== "missing-field")
		throw new TypeError(`${control}: effect.field is for missing-field, not for ${kind}.`);
	for (const [name, value] of Object.entries({ body, contentType }))
		if (value !== null && kind !== "html")
			throw new TypeError(`${control}: effect.${name} is for html, not for ${kind}.`);
	if (status !== null && (kind === "reset" || kind === "hang" || kind === "latency"))
		throw new TypeError(
			`${control}: effect.status is not for ${kind}. A late answer is { status: 503, latencyMs: 250 }.`,
		);
	const latencyMs = waits ?? (kind === "latency" ? 100 : 0);
	const after = retryAfter === null ? null : String(retryAfter);
	return { kind, status, retryAfter: after, latencyMs, field, body, contentType, location };
}

/** A request as faults look at it. */
export interface FaultTarget {
	readonly operation: OperationId;
	/** Empty for an operation of no agency. */
	readonly agencyId: string;
	/** The contact that it is about, E.164; null if it is about no contact. */
	readonly contact: string | null;
}

/** Whether a fault or a breakpoint is for such a request. */
export function meets(
	{ operation, agencyId, contact }: Whose & Pick<Fault, "operation">,
	target: FaultTarget,
): boolean {
	if (operation !== null && operation !== target.operation) return false;
	if (agencyId && agencyId !== target.agencyId) return false;
	return !contact || contact === target.contact;
}

/** The fault that hits this request, if any: the first one in order of creation that can; its count goes down. */
export function takeFault(
	faults: readonly Fault[],
	target: FaultTarget,
	phase: Fault["phase"],
	can: (effect: Effect) => boolean = () => true,
): Fault | undefined {
	for (const fault of faults) {
		if (fault.phase !== phase || fault.remaining === 0) continue;
		if (!meets(fault, target) || !can(fault.effect)) continue;
		if (fault.skip > 0) {
			fault.skip--;
			continue;
		}
		fault.hits++;
		if (fault.remaining !== null) fault.remaining--;
		return fault;
	}
	return undefined;
}
