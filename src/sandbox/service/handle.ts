import { operationTable } from "../../../generated/operations.ts";
import contract from "../../../openapi.json" with { type: "json" };
import { type Answer, type Call, decoded, isLater, type Later, type Reply } from "../base/call.ts";
import { phoneFrom } from "../base/contract.ts";
import { eightDigits } from "../base/derived.ts";
import { type Breakpoint, takeBreakpoint, type Waiting } from "../world/breakpoint.ts";
import type { EventFault, EventStamp, SandboxEvent } from "../world/event.ts";
import { type Fault, type FaultTarget, takeFault } from "../world/fault.ts";
import { interrupt } from "../world/interruptions.ts";
import {
	type Entry,
	jsonOrText,
	keptBody,
	type RequestKey,
	shownHeaders,
	type Violation,
	weightOfHeaders,
} from "../world/journal.ts";
import { type Agency, apiKeyOf, faultEvent, type Key, next, type World } from "../world/world.ts";
import { explainAgency, explainFault, explainKey, explainPath, explainScope, literalPlus } from "./explain.ts";
import { type Admitted, type Operation, operations, type Route, routeOf } from "./operations.ts";
import {
	forbidden,
	isRefusal,
	lacksScope,
	type Refusal,
	unauthorized,
	unsupported,
	unsupportedStatus,
} from "./refusal.ts";
import { canSpoil, spoil } from "./spoil.ts";
import { vary } from "./variation.ts";

/*
 * The path of a request: `handle` notes it, and `admit` checks route, key, scope and agency. `perform` runs the operation
 * with the faults that meet it, and `record` makes an event of request and answer.
 */

/** A request while it is being answered. */
interface Exchange {
	readonly entry: Entry;
	/** By `performance.now()`. */
	readonly startedAt: number;
	/** The fault that hit it last. */
	fault: EventFault | null;
	/** The result of the operation, and its JSON. */
	outcome: { readonly value: unknown; readonly body: string } | null;
}

let published: string | undefined;

/** A key is shorter. What is longer is refused either way. */
const longestAuthorization = 1_000;

/** Answers a request. Every frame (fetch, msw, node:http) calls this, and checks run in the order of R15. */
export function handle(world: World, call: Call): Reply {
	const [path = "", ...query] = call.target.split("?");
	const key = keyFrom(world, call.headers.authorization);
	const entry: Entry = {
		operation: null,
		method: call.method,
		path,
		query: query.join("?"),
		headers: shownHeaders(call.headers, key !== undefined),
		authorization: call.headers.authorization?.slice(0, longestAuthorization) ?? null,
		text: keptBody(call.body, key !== undefined),
		key: keyOf(world, key, call.headers.authorization),
		status: null,
		explanation: null,
		decision: null,
		correlationId: `sandbox-${eightDigits(next(world, "request"))}`, // R3: what a client sends is not echoed
		at: world.now,
	};
	world.journal.add(entry);
	const exchange: Exchange = { entry, fault: null, outcome: null, startedAt: performance.now() };
	return record(world, exchange, () => admit(world, call, key, exchange));
}

/** Runs `act`, and adds the request to the events once its reply is an answer. */
function record(world: World, exchange: Exchange, act: () => Reply): Reply {
	const { entry } = exchange;
	const { era } = world;
	return world.events.together(entry.correlationId, () => {
		const reply = act();
		if (isLater(reply)) {
			const resume = (): Reply => (world.era === era ? record(world, exchange, reply.resume) : lost);
			const { until, abandon } = reply;
			if (!until) return { waitMs: reply.waitMs, resume };
			const end = (): void => {
				if (world.era === era && abandon) record(world, exchange, () => giveUp(entry, abandon));
			};
			return { waitMs: reply.waitMs, until, resume, abandon: end };
		}
		entry.status = reply.cut === "reset" || reply.cut === "hang" ? null : reply.status;
		noteRequest(world, exchange, reply);
		return reply;
	});
}

/** The caller of a request disconnected while it waited at a breakpoint. */
function giveUp(entry: Entry, abandon: () => void): Answer {
	abandon();
	explain(entry, "The caller gave up while a breakpoint held the request, so the operation did not run.");
	return lost;
}

/** The reply to a request that had not run yet when a reset, restore or import replaced the world that it would act on. */
const lost: Answer = { status: 0, headers: {}, body: "", cut: "reset" };

function admit(world: World, call: Call, key: Key | undefined, exchange: Exchange): Reply {
	const { entry } = exchange;
	if (call.method === "GET" && entry.path === "/openapi.json") {
		published ??= JSON.stringify(contract); // R2
		return { status: 200, headers: headersOf(entry), body: published };
	}
	const route = routeOf(call.method, entry.path);
	if (!route) return refuse(world, entry, unsupported(explainPath(call.method, entry.path)));
	entry.operation = route.operation;
	if (!key) return refuse(world, entry, unauthorized(explainKey(world, call.headers.authorization)));
	const operation = operations[route.operation];
	const { scope } = operation;
	if (scope !== null && !key.scopes.includes(scope))
		return refuse(world, entry, lacksScope(scope, explainScope(key, route.operation, scope)));
	const query = new URLSearchParams(entry.query);
	const { headers, body } = call;
	const decide: Admitted["decide"] = (decision) => (entry.decision = decision);
	const admitted: Admitted = { world, key, phone: route.phone, query, headers, body, decide };
	const act = actOf(operation, admitted, route.agencyId);
	if (!act) return refuse(world, entry, forbidden(explainAgency(world, key, agencyIn(world, route.agencyId))));
	if (route.phone.includes("+")) noteViolation(world, entry, literalPlus);
	return perform(world, exchange, route, act);
}

/** Runs the operation, with the faults and interruptions that are to meet it. */
function perform(world: World, exchange: Exchange, route: Route, act: () => object | Refusal): Reply {
	const { entry } = exchange;
	const { operation } = route;
	const { needed } = operations[operation];
	const target: FaultTarget = {
		operation,
		agencyId: decoded(route.agencyId),
		// The body is read for this only if a fault asks for a contact.
		get contact() {
			return contactIn(route.phone, jsonOrText(entry.text));
		},
	};
	const { era } = world;
	const hit = (fault: Fault): void => {
		exchange.fault = faultEvent(fault);
		explain(entry, explainFault(fault));
		world.events.add({ type: "fault.hit", fault: exchange.fault, operation });
	};
	const run = (own: Fault | null): Reply => {
		interrupt(world.interruptions, operation, "before");
		if (world.era !== era) {
			explain(entry, "The sandbox was reset, restored or imported meanwhile, so this request has no answer.");
			return lost;
		}
		const answer = answerTo(world, exchange, act());
		interrupt(world.interruptions, operation, "after");
		const can = (effect: Fault["effect"]): boolean => canSpoil(effect, needed, answer);
		const isOwn = own?.phase === "after" && can(own.effect);
		const fault = isOwn ? own : takeFault(world.faults, target, "after", can);
		if (!fault) return answer;
		hit(fault);
		return delay(fault, () => spoil(fault.effect, needed, answer));
	};
	/** `own` is the fault with which a request that waited at a breakpoint continues. */
	const proceed = (own: Fault | null): Reply => {
		const fault = own?.phase === "before" ? own : takeFault(world.faults, target, "before");
		if (!fault) return run(own);
		hit(fault);
		const nothing: Answer = { status: 200, headers: headersOf(entry), body: "{}" };
		return delay(fault, () => (fault.effect.kind === "latency" ? run(own) : spoil(fault.effect, needed, nothing)));
	};
	const breakpoint = takeBreakpoint(world.breakpoints, target);
	return breakpoint ? hold(world, entry, target, breakpoint, proceed) : proceed(null);
}

/** How often a caller asks that does not know of `until`. */
const askEveryMs = 100;

/** Lets a request wait until it is let through. */
function hold(
	{ breakpoints, events }: World,
	{ correlationId, method, path, query, text, at }: Entry,
	target: FaultTarget,
	{ id }: Breakpoint,
	proceed: (own: Fault | null) => Reply,
): Later {
	let verdict: { readonly fault: Fault | null } | undefined;
	let end: () => void = () => undefined;
	const until = new Promise<void>((resolve) => (end = resolve));
	const waiting: Waiting = {
		correlationId,
		breakpointId: id,
		target: { operation: target.operation, agencyId: target.agencyId, contact: target.contact },
		method,
		path,
		query,
		text,
		at,
		realAt: Date.now(),
		release(fault) {
			verdict = { fault };
			end();
		},
	};
	breakpoints.waiting.set(correlationId, waiting);
	events.add({ type: "request.held", breakpointId: String(id), operation: target.operation });
	for (const hear of [...breakpoints.listeners]) hear(waiting);
	const later: Later = {
		waitMs: askEveryMs,
		until,
		resume: () => (verdict ? proceed(verdict.fault) : later),
		abandon: () => void breakpoints.waiting.delete(correlationId),
	};
	return later;
}

function answerTo(world: World, exchange: Exchange, outcome: object | Refusal): Answer {
	const { entry } = exchange;
	if (isRefusal(outcome)) return refuse(world, entry, outcome);
	const { variation } = world;
	const value = variation === undefined ? outcome : vary(outcome, variation, entry.correlationId);
	exchange.outcome = { value, body: JSON.stringify(value) };
	return { status: 200, headers: headersOf(entry), body: exchange.outcome.body };
}

function delay({ effect: { latencyMs } }: Fault, resume: () => Reply): Reply {
	return latencyMs > 0 ? { waitMs: latencyMs, resume } : resume();
}

/** R19 to R25 */
export function keyFrom(world: World, authorization: string | undefined): Key | undefined {
	const key = givenOut(world, authorization);
	return key?.state === "live" ? key : undefined;
}

/** The key that the header holds, if the sandbox has given it out. It may be revoked. */
function givenOut(world: World, authorization: string | undefined): Key | undefined {
	const [, apiKey, id] = authorization?.match(/^Bearer +([^\s.]+_live\.([^\s.]+)\.[^\s.]+) *$/i) ?? [];
	const key = id === undefined ? undefined : world.keys.get(id);
	return key && apiKeyOf(key) === apiKey ? key : undefined;
}

function keyOf(world: World, good: Key | undefined, authorization = ""): RequestKey {
	if (good) return { state: "valid", id: good.id };
	const known = givenOut(world, authorization);
	if (known && known.state !== "live") return { state: known.state, id: known.id };
	return { state: authorization === "" ? "absent" : "unknown", id: null };
}

/** A function that performs the operation; undefined for an agency that the key cannot reach. */
function actOf(operation: Operation, admitted: Admitted, segment: string): (() => object | Refusal) | undefined {
	if ("ofKey" in operation) return () => operation.ofKey(admitted);
	const agency = reachable(admitted.world, admitted.key, segment);
	return agency && (() => operation.ofAgency(admitted, agency));
}

/** R31 to R35, R38: one refusal for every reason. */
function reachable(world: World, key: Key, segment: string): Agency | undefined {
	const agency = agencyIn(world, segment);
	const integration = world.integrations.get(key.integrationId);
	const good = agency?.linked && agency.integrationId === key.integrationId && integration && !integration.hidden;
	return good ? agency : undefined;
}

/** The agency that a segment of a path names. */
const agencyIn = (world: World, segment: string): Agency | undefined =>
	world.agencies.get(segment) ?? world.agencies.get(decoded(segment));

function refuse(world: World, entry: Entry, { status, tag, message, explanation, violation }: Refusal): Answer {
	// R8: the service refuses with the statuses of its contract only.
	const allowed: readonly number[] = entry.operation ? operationTable[entry.operation].refusals : [unsupportedStatus];
	if (!allowed.includes(status)) throw new Error(`The sandbox is wrong: ${entry.operation} cannot answer ${status}.`);
	explain(entry, explanation);
	if (violation) noteViolation(world, entry, { ...violation, explanation });
	return { status, headers: headersOf(entry), body: JSON.stringify({ _tag: tag, message }) };
}

/** `Date` shows the sandbox's clock, because callers measure ages and waits by the service's own time. */
const headersOf = ({ correlationId, at }: Entry): Record<string, string> => ({
	"content-type": "application/json",
	date: new Date(at).toUTCString(),
	"x-correlation-id": correlationId,
});

const longestAnswer = 1_000_000;
const longestHeaders = 8_192;

/** Adds a request and its answer to the events. The event is built when it is read. */
function noteRequest(world: World, { entry, fault, outcome, startedAt }: Exchange, { body, cut }: Answer): void {
	const text = cut === "reset" || cut === "hang" || body.length > longestAnswer ? "" : body;
	// An answer that no fault changed is kept as its rows, which answers share, because its text needs more memory.
	const answer = outcome?.body === text ? outcome.value : text;
	const ms = Math.round((performance.now() - startedAt) * 100) / 100;
	const { authorization: _, ...whole } = entry;
	const headersWeight = weightOfHeaders(entry.headers);
	// Headers that are very long are kept by the journal alone, and push no event out.
	const shown = headersWeight > longestHeaders ? { ...whole, headers: {} } : whole;
	const weight = entry.text.length + entry.path.length + entry.query.length + weightOfHeaders(shown.headers);
	world.events.addRequest({
		weight,
		answer: { weight: text.length, value: answer },
		build: (stamp, kept) => requestEvent(stamp, shown, fault, typeof kept === "string" ? jsonOrText(kept) : kept, ms),
	});
}

// One literal, because a log is read event by event, and joining two objects took most of the time.
function requestEvent(
	stamp: EventStamp,
	{ operation, method, path, query, text, status, explanation, decision, key, headers }: Omit<Entry, "authorization">,
	fault: EventFault | null,
	answer: unknown,
	ms: number,
): SandboxEvent {
	const body = jsonOrText(text);
	const route = routeOf(method, path);
	return {
		id: stamp.id,
		action: stamp.action,
		at: stamp.at,
		realAt: stamp.realAt,
		correlationId: stamp.correlationId,
		type: "request",
		operation,
		method,
		path,
		query,
		agencyId: decoded(route?.agencyId ?? "") || null,
		contact: contactIn(route?.phone, body),
		body,
		status,
		explanation,
		decision,
		answer,
		ms,
		fault,
		keyId: key.state === "valid" ? key.id : null,
		key,
		headers,
	};
}

/** The contact that a request is about, by its path or by the field `to` of its body. */
function contactIn(segment: string | undefined, body: unknown): string | null {
	if (segment) return phoneFrom(decoded(segment)) ?? null;
	const to = typeof body === "object" && body !== null && "to" in body ? body.to : undefined;
	return typeof to === "string" ? (phoneFrom(to) ?? null) : null;
}

/** Adds a sentence to what is said of a request: a fault may change the answer after the operation refused it. */
function explain(entry: Entry, sentence: string): void {
	entry.explanation = entry.explanation === null ? sentence : `${entry.explanation} ${sentence}`;
}

/** Records that a client broke a rule of the API. */
function noteViolation(
	world: World,
	{ method, path, correlationId }: Entry,
	{ rule, message, explanation }: Pick<Violation, "rule" | "message" | "explanation">,
): void {
	world.journal.violated({ rule, message, explanation, method, path, correlationId });
	world.events.add({ type: "violation", rule, message, explanation, method, path });
}
