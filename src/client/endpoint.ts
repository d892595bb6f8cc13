import { answers } from "../../generated/answers.ts";
import type { operations } from "../../generated/openapi.ts";
import { operationTable } from "../../generated/operations.ts";
import type { Operation, OperationId } from "./errors.ts";

/** Method and path of a request, and the checks of its responses. */
export interface Endpoint<Data, Params> {
	operation: Operation;
	method: string;
	/** Path template. */
	path: string;
	/** The statuses that have an error class of their own. */
	refusals: readonly number[];
	/** Name of the schema of a 200 response. Undefined when the contract does not list the endpoint. */
	schema: string | undefined;
	/** Whether a 200 response breaks the schema. */
	isBroken: (json: unknown) => boolean;
	/** Never assigned. It carries the types of the response and of the parameters. */
	readonly "~types"?: { data: Data; params: Params };
}

/** The contract's 200 response of an operation. */
export type AnswerOf<Name extends OperationId> = operations[Name]["responses"][200]["content"]["application/json"];

/** The parameters of an operation as the contract names them. A body is JSON text. */
export type ParametersOf<Name extends OperationId> = (operations[Name] extends { parameters: { path: infer Path } }
	? { path: Path }
	: { path?: undefined }) &
	(operations[Name] extends { parameters: { query?: infer Query } }
		? { query?: { [Key in keyof Query]: Query[Key] | undefined } }
		: { query?: undefined }) &
	(operations[Name] extends { requestBody: object } ? { body: string } : { body?: undefined });

/** The endpoint of an operation of the contract. */
export function endpointOf<Name extends OperationId>(operation: Name): Endpoint<AnswerOf<Name>, ParametersOf<Name>> {
	const { method, path, refusals, answer } = operationTable[operation];
	return { operation, method, path, refusals, schema: answer, isBroken: answers[answer] };
}

/** The path at which a response breaks its schema: the last field that the check read, because it ends at the broken one. */
export function brokenPath(isBroken: (json: unknown) => boolean, json: unknown): string {
	let last = "";
	const watch = (value: unknown, path: string): unknown => {
		last = path;
		if (typeof value !== "object" || value === null) return value;
		return new Proxy(value, { get: (target, key) => watch(Reflect.get(target, key), `${path}/${String(key)}`) });
	};
	isBroken(watch(json, ""));
	return last;
}
