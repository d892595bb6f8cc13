import { operationTable } from "../../generated/operations.ts";
import contract from "../../openapi.json" with { type: "json" };
import { get, list, listMessages, lookup } from "./conversations.ts";
import { distort } from "./effects.ts";
import type { Effect } from "./faults.ts";
import { listInput, lookupInput, messagesInput, sendInput } from "./inputs.ts";
import type { Entry, OperationId } from "./journal.ts";
import { vary } from "./latitude.ts";
import { getMe } from "./me.ts";
import { send } from "./messages.ts";
import { eightDigits } from "./noise.ts";
import { forbidden, isRefusal, lacksScope, type Refusal, unauthorized, unsupported } from "./refusal.ts";
import { textOf } from "./rows.ts";
import type { Agency, Key, Scope, World } from "./state.ts";
import { type Answer, type Call, isLater, type Reply } from "./wire.ts";
import { apiKeyOf, next } from "./world.ts";

/** Where a request goes. The two segments are still encoded. */
interface Route {
	readonly operation: OperationId;
	readonly agencyId: string;
	readonly phone: string;
}

/** §4: the scope each operation needs; `/me` needs a valid key only (R28). */
const scopes: Readonly<Record<OperationId, Scope | null>> = {
	"me.get": null,
	"conversations.list": "conversations:read",
	"conversations.lookup": "conversations:read",
	"conversations.get": "conversations:read",
	"conversations.listMessages": "conversations:read",
	"messages.send": "messages:write",
};

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
export function nextCorrelationId(world: World): string {
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
	const { operation } = route;
	entry.operation = operation;
	const key = keyFrom(world, call.headers.authorization);
	if (!key) return refused(entry, unauthorized);
	entry.keyId = key.id;
	const scope = scopes[operation];
	if (scope !== null && !key.scopes.includes(scope)) return refused(entry, lacksScope(scope));
	const agency = operation === "me.get" ? undefined : reachable(world, key, route.agencyId);
	if (operation !== "me.get" && !agency) return refused(entry, forbidden);
	if (route.phone.includes("+")) world.journal.violated("R69", "The + of a phone number is not written as %2B.", entry);

	const run = (): Answer => {
		const outcome = agency ? operate(world, agency, route, entry, call.body) : getMe(world, key);
		if (isRefusal(outcome)) return refused(entry, outcome);
		const body =
			world.latitude === undefined
				? textOf(world, outcome)
				: JSON.stringify(vary(outcome, world.latitude, entry.correlationId));
		return { status: 200, headers: headersOf(entry), body };
	};
	const runThenAfter = (): Reply => {
		const answer = run();
		const effect = world.faults.take(operation, "after");
		return effect ? afflict(effect, () => distort(effect, operation, answer)) : answer;
	};
	const before = world.faults.take(operation, "before");
	if (!before) return runThenAfter();
	const nothing: Answer = { status: 200, headers: headersOf(entry), body: "{}" };
	return afflict(before, () => (before.kind === "latency" ? runThenAfter() : distort(before, operation, nothing)));
}

function afflict(effect: Effect, resume: () => Reply): Reply {
	return effect.latencyMs > 0 ? { waitMs: effect.latencyMs, resume } : resume();
}

function operate(
	world: World,
	agency: Agency,
	{ operation, phone }: Route,
	{ query, headers }: Entry,
	body: Call["body"],
): object | Refusal {
	switch (operation) {
		case "conversations.list": {
			const input = listInput(world, agency, new URLSearchParams(query));
			return isRefusal(input) ? input : list(world, agency, input);
		}
		case "conversations.lookup": {
			const input = lookupInput(headers, body);
			return isRefusal(input) ? input : lookup(world, agency, input);
		}
		case "messages.send": {
			const input = sendInput(agency, headers, body);
			return isRefusal(input) ? input : send(world, agency, input);
		}
		default: {
			const input = messagesInput(world, agency, phone, new URLSearchParams(query));
			if (isRefusal(input)) return input;
			return operation === "conversations.get" ? get(world, agency, input) : listMessages(world, agency, input);
		}
	}
}

/** R1: exactly six operations. */
function routeOf(method: string, path: string): Route | undefined {
	const [root, first, agencyId = "", resource, phone = "", messages, ...rest] = path.split("/");
	if (root !== "" || rest.length > 0) return undefined;
	const at = (operation: OperationId): Route | undefined =>
		operationTable[operation].method === method ? { operation, agencyId, phone } : undefined;
	const depth = path.split("/").length;
	if (first === "me" && depth === 2) return at("me.get");
	if (first !== "agencies" || agencyId === "") return undefined;
	if (resource === "messages" && depth === 4) return at("messages.send");
	if (resource !== "conversations") return undefined;
	if (depth === 4) return at("conversations.list");
	if (phone === "") return undefined;
	if (depth === 5)
		return method === "POST" && phone === "lookup" ? at("conversations.lookup") : at("conversations.get");
	return messages === "messages" ? at("conversations.listMessages") : undefined;
}

/** R19 to R25 */
function keyFrom(world: World, authorization: string | undefined): Key | undefined {
	const [, apiKey, id] = authorization?.match(/^Bearer +([^\s.]+_live\.([^\s.]+)\.[^\s.]+) *$/i) ?? [];
	const key = id === undefined ? undefined : world.keys.get(id);
	return key && apiKeyOf(key) === apiKey && key.state === "live" ? key : undefined;
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

function refused(entry: Entry, { refused: status, tag, message }: Refusal): Answer {
	// R8: the service refuses with the statuses of its contract and no other.
	const allowed: readonly number[] = entry.operation ? operationTable[entry.operation].refusals : [unsupported.refused];
	if (!allowed.includes(status)) throw new Error(`The sandbox is wrong: ${entry.operation} cannot answer ${status}.`);
	return { status, headers: headersOf(entry), body: JSON.stringify({ _tag: tag, message }) };
}

const headersOf = ({ correlationId }: Entry): Record<string, string> => ({
	"content-type": "application/json",
	"x-correlation-id": correlationId,
});
