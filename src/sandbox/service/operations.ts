import { operationTable } from "../../../generated/operations.ts";
import type { Call } from "../base/call.ts";
import { isOperationId, type OperationId } from "../base/contract.ts";
import type { SendDecision } from "../world/decision.ts";
import type { Agency, Key, Scope, World } from "../world/world.ts";
import { get, list, listMessages, lookup } from "./conversations.ts";
import { getMe } from "./me.ts";
import { send } from "./messages.ts";
import { listInput, lookupInput, messagesInput, sendInput } from "./read-request.ts";
import { isRefusal, type Refusal } from "./refusal.ts";

/*
 * The six operations of the contract: the scope that each needs, and the function that performs it.
 */

/** A request whose key and agency are good, its phone number still as it came. */
export interface Admitted {
	readonly world: World;
	readonly key: Key;
	readonly phone: string;
	readonly query: URLSearchParams;
	readonly headers: Call["headers"];
	readonly body: Call["body"];
	/** Takes what decided a send. */
	readonly decide: (decision: SendDecision) => void;
}

type Outcome = object | Refusal;

interface Needs {
	/** Null for an operation that any valid key may call (R28). */
	readonly scope: Scope | null;
	/** A field of the answer that no caller can do without. A `missing-field` fault removes it by default. */
	readonly needed: string;
}

interface OfKey extends Needs {
	readonly ofKey: (admitted: Admitted) => Outcome;
}

interface OfAgency extends Needs {
	readonly ofAgency: (admitted: Admitted, agency: Agency) => Outcome;
}

export type Operation = OfKey | OfAgency;

export const operations: Readonly<Record<OperationId, Operation>> = {
	"me.get": { scope: null, needed: "agencies", ofKey: ({ world, key }) => getMe(world, key) },
	"conversations.list": {
		scope: "conversations:read",
		needed: "nextCursor",
		ofAgency: ({ world, query }, agency) =>
			unlessRefused(listInput(world, agency, query), (input) => list(world, agency, input)),
	},
	"conversations.lookup": {
		scope: "conversations:read",
		needed: "results",
		ofAgency: ({ world, headers, body }, agency) =>
			unlessRefused(lookupInput(headers, body), (input) => lookup(world, agency, input)),
	},
	"conversations.get": {
		scope: "conversations:read",
		needed: "messagePage",
		ofAgency: ({ world, phone, query }, agency) =>
			unlessRefused(messagesInput(world, agency, phone, query), (input) => get(world, agency, input)),
	},
	"conversations.listMessages": {
		scope: "conversations:read",
		needed: "hasMore",
		ofAgency: ({ world, phone, query }, agency) =>
			unlessRefused(messagesInput(world, agency, phone, query), (input) => listMessages(agency, input)),
	},
	"messages.send": {
		scope: "messages:write",
		needed: "queued",
		ofAgency: ({ world, headers, body, decide }, agency) =>
			unlessRefused(sendInput(headers, body), (input) => send(world, agency, input, decide)),
	},
};

function unlessRefused<Input>(input: Input | Refusal, act: (input: Input) => Outcome): Outcome {
	return isRefusal(input) ? input : act(input);
}

/** The operation of a request and the two segments of its path, still encoded. */
export interface Route {
	readonly operation: OperationId;
	readonly agencyId: string;
	readonly phone: string;
}

const routes = Object.keys(operationTable)
	.filter(isOperationId)
	.map((operation) => {
		const { method, path } = operationTable[operation];
		const template = path.split("/");
		return {
			operation,
			method,
			template,
			agencyAt: template.indexOf("{agencyId}"),
			phoneAt: template.indexOf("{phone}"),
		};
	});

/** R1: the contract's own methods and paths, and no other. */
export function routeOf(method: string, path: string): Route | undefined {
	const segments = path.split("/");
	const fits = (template: readonly string[]): boolean =>
		template.length === segments.length &&
		template.every((part, at) => (part.startsWith("{") ? segments[at] !== "" : segments[at] === part));
	const route = routes.find((each) => each.method === method && fits(each.template));
	if (!route) return undefined;
	const { operation, agencyAt, phoneAt } = route;
	return { operation, agencyId: segments[agencyAt] ?? "", phone: segments[phoneAt] ?? "" };
}
