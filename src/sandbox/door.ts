import { operationTable } from "../../generated/operations.ts";
import contract from "../../openapi.json" with { type: "json" };
import { distort } from "./effects.ts";
import type { Effect } from "./faults.ts";
import type { Entry } from "./journal.ts";
import { vary } from "./latitude.ts";
import { eightDigits } from "./noise.ts";
import { type Admitted, type Operation, operations, routeOf } from "./operations.ts";
import { forbidden, isRefusal, lacksScope, type Refusal, unauthorized, unsupported } from "./refusal.ts";
import { textOf } from "./rows.ts";
import type { Agency, Key, World } from "./state.ts";
import { type Answer, type Call, isLater, type Reply } from "./wire.ts";
import { apiKeyOf, next } from "./world.ts";

let published: string | undefined;

/** The one door (law 2): a request as plain values in, an answer as plain values out. Checks run in the order of R15. */
export function knock(world: World, call: Call): Reply {
	const mark = call.target.indexOf("?");
	const path = mark < 0 ? call.target : call.target.slice(0, mark);
	const query = mark < 0 ? "" : call.target.slice(mark + 1);
	const entry: Entry = {
		operation: null,
		method: call.method,
		path,
		query,
		headers: call.headers,
		text: typeof call.body === "string" ? call.body : new TextDecoder("utf-8", { ignoreBOM: true }).decode(call.body),
		keyId: null,
		status: null,
		correlationId: nextCorrelationId(world),
		at: world.clock.now(),
	};
	world.journal.add(entry);
	return noted(entry, admit(world, call, entry));
}

function noted(entry: Entry, reply: Reply): Reply {
	if (isLater(reply)) return { waitMs: reply.waitMs, resume: () => noted(entry, reply.resume()) };
	entry.status = reply.cut === "reset" || reply.cut === "hang" ? null : reply.status;
	return reply;
}

/** R3: fresh for each response; what a client sends is not echoed. */
function nextCorrelationId(world: World): string {
	return `sandbox-${eightDigits(next(world, "request"))}`;
}

function admit(world: World, call: Call, entry: Entry): Reply {
	if (call.method === "GET" && entry.path === "/openapi.json") {
		published ??= JSON.stringify(contract); // R2
		return { status: 200, headers: headersOf(entry), body: published };
	}
	const route = routeOf(call.method, entry.path);
	if (!route) {
		world.journal.violated("R12", unsupported.message, entry);
		return refused(entry, unsupported);
	}
	const operation = operations[route.operation];
	entry.operation = route.operation;
	const key = keyFrom(world, call.headers.authorization);
	if (!key) return refused(entry, unauthorized);
	entry.keyId = key.id;
	const { scope, needed } = operation;
	if (scope !== null && !key.scopes.includes(scope)) return refused(entry, lacksScope(scope));
	const { phone, agencyId } = route;
	const { headers, body } = call;
	const admitted: Admitted = { world, key, phone, query: new URLSearchParams(entry.query), headers, body };
	const act = actOf(operation, admitted, agencyId);
	if (!act) return refused(entry, forbidden);
	if (phone.includes("+")) world.journal.violated("R69", "The + of a phone number is not written as %2B.", entry);

	const run = (): Answer => {
		const outcome = act();
		if (isRefusal(outcome)) return refused(entry, outcome);
		const body =
			world.latitude === undefined
				? textOf(world, outcome)
				: JSON.stringify(vary(outcome, world.latitude, entry.correlationId));
		return { status: 200, headers: headersOf(entry), body };
	};
	const runThenAfter = (): Reply => {
		const answer = run();
		const effect = world.faults.take(route.operation, "after");
		return effect ? afflict(effect, () => distort(effect, needed, answer)) : answer;
	};
	const before = world.faults.take(route.operation, "before");
	if (!before) return runThenAfter();
	const nothing: Answer = { status: 200, headers: headersOf(entry), body: "{}" };
	return afflict(before, () => (before.kind === "latency" ? runThenAfter() : distort(before, needed, nothing)));
}

function afflict(effect: Effect, resume: () => Reply): Reply {
	return effect.latencyMs > 0 ? { waitMs: effect.latencyMs, resume } : resume();
}

/** R19 to R25 */
function keyFrom(world: World, authorization: string | undefined): Key | undefined {
	const [, apiKey, id] = authorization?.match(/^Bearer +([^\s.]+_live\.([^\s.]+)\.[^\s.]+) *$/i) ?? [];
	const key = id === undefined ? undefined : world.keys.get(id);
	return key && apiKeyOf(key) === apiKey && key.state === "live" ? key : undefined;
}

/** What the operation does; undefined where it is for an agency that the key cannot reach. */
function actOf(operation: Operation, admitted: Admitted, segment: string): (() => object | Refusal) | undefined {
	if ("ofKey" in operation) return () => operation.ofKey(admitted);
	const agency = reachable(admitted.world, admitted.key, segment);
	return agency && (() => operation.ofAgency(admitted, agency));
}

/** R31 to R35, R38: one refusal for every reason. */
function reachable(world: World, key: Key, segment: string): Agency | undefined {
	const agency = world.agencies.get(segment) ?? world.agencies.get(decoded(segment));
	const integration = world.integrations.get(key.integrationId);
	const good = agency?.linked && agency.integrationId === key.integrationId && integration && !integration.hidden;
	return good ? agency : undefined;
}

function decoded(segment: string): string {
	try {
		return decodeURIComponent(segment);
	} catch {
		return "";
	}
}

function refused(entry: Entry, { status, tag, message }: Refusal): Answer {
	// R8: the service refuses with the statuses of its contract and no other.
	const allowed: readonly number[] = entry.operation ? operationTable[entry.operation].refusals : [unsupported.status];
	if (!allowed.includes(status)) throw new Error(`The sandbox is wrong: ${entry.operation} cannot answer ${status}.`);
	return { status, headers: headersOf(entry), body: JSON.stringify({ _tag: tag, message }) };
}

const headersOf = ({ correlationId }: Entry): Record<string, string> => ({
	"content-type": "application/json",
	"x-correlation-id": correlationId,
});
