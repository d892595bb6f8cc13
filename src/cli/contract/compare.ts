import { isJson, type Json, nameOf, part, resolve } from "./schema.ts";
import { type Change, compareAnswers, compareRequests, type Documents } from "./values.ts";

/**
 * Compares the contract that this package was made from with the one that a service publishes. Differences of
 * prose do not count.
 */
export function compareContracts(ours: Json, theirs: Json): Change[] {
	const documents: Documents = { ours, theirs, seen: new Set() };
	const [known, live] = [operationsOf(ours), operationsOf(theirs)];
	const changes = [...known].flatMap(([address, operation]) => {
		const next = live.get(address);
		const name = String(operation.body.operationId ?? address);
		return next ? compareOperation(documents, name, operation, next) : [{ at: name, what: "is gone", canBreak: true }];
	});
	const added = [...live].filter(([address]) => !known.has(address));
	for (const [address, { body }] of added)
		changes.push({ at: String(body.operationId ?? address), what: "is a new operation", canBreak: false });
	const schemes = Object.values(part(theirs, "components", "securitySchemes")).map((scheme) => resolve(theirs, scheme));
	if (schemes.length > 0 && !schemes.some(({ scheme }) => /^bearer$/i.test(String(scheme))))
		changes.push({ at: "authentication", what: "is not a bearer key any more", canBreak: true });
	return [...new Map(changes.map((change) => [`${change.at} ${change.what}`, change])).values()];
}

interface PublishedOperation {
	readonly body: Json;
	/** Those of the path and of the operation, without `$ref`. */
	readonly parameters: readonly Json[];
}

/** The operations of a contract by method and path. A path may begin with the version, and name its parameters freely. */
function operationsOf(document: Json): ReadonlyMap<string, PublishedOperation> {
	const found = Object.entries(part(document, "paths")).flatMap(([path, item]) => {
		const address = path.replace(/^\/api\/v\d+(?=\/)/, "").replace(/\{\w+\}/g, "{}");
		const shared = resolve(document, item);
		return ["get", "put", "post", "patch", "delete"].flatMap((method): [string, PublishedOperation][] => {
			const body = shared[method];
			if (!isJson(body)) return [];
			const given = [shared.parameters, body.parameters].flatMap((list) => (Array.isArray(list) ? list : []));
			return [
				[`${method.toUpperCase()} ${address}`, { body, parameters: given.map((each) => resolve(document, each)) }],
			];
		});
	});
	return new Map(found);
}

function compareOperation(
	documents: Documents,
	name: string,
	ours: PublishedOperation,
	theirs: PublishedOperation,
): Change[] {
	return [
		...compareParameters(documents, name, ours, theirs),
		...compareBodies(documents, name, ours.body, theirs.body),
		...compareStatuses(name, ours.body, theirs.body),
		...compareAnswers(documents, `${name} answer`, answerOf(documents.ours, ours), answerOf(documents.theirs, theirs)),
	];
}

function answerOf(document: Json, { body }: PublishedOperation): unknown {
	return part(resolve(document, part(body, "responses")["200"]), "content", "application/json").schema;
}

function compareParameters(
	documents: Documents,
	name: string,
	ours: PublishedOperation,
	theirs: PublishedOperation,
): Change[] {
	const named = ({ parameters }: PublishedOperation): Map<string, Json> =>
		new Map(parameters.filter((each) => each.in !== "path").map((each) => [String(each.name), each]));
	const [known, live] = [named(ours), named(theirs)];
	return [...new Set([...known.keys(), ...live.keys()])].flatMap((parameter): Change[] => {
		const at = `${name} ?${parameter}`;
		const [before, after] = [known.get(parameter), live.get(parameter)];
		if (!after) return [{ at, what: "is gone", canBreak: true }];
		const isNeeded = after.required === true && before?.required !== true;
		if (isNeeded) return [{ at, what: "is required now", canBreak: true }];
		if (!before) return [{ at, what: "is a new parameter", canBreak: false }];
		return compareRequests(documents, at, before.schema, after.schema);
	});
}

function compareBodies(documents: Documents, name: string, before: Json, after: Json): Change[] {
	const bodyOf = (document: Json, { requestBody }: Json): unknown =>
		part(resolve(document, requestBody), "content", "application/json").schema;
	const [known, live] = [bodyOf(documents.ours, before), bodyOf(documents.theirs, after)];
	if (known === undefined && live === undefined) return [];
	const at = nameOf(known) ?? `${name} body`;
	if (live === undefined) return [{ at, what: "is gone", canBreak: true }];
	if (known === undefined) return [{ at, what: "is a new body", canBreak: true }];
	return compareRequests(documents, at, known, live);
}

/** The statuses of an operation. The client takes a 200 alone for success. */
function compareStatuses(name: string, ours: Json, theirs: Json): Change[] {
	const [known, live] = [Object.keys(part(ours, "responses")), Object.keys(part(theirs, "responses"))];
	const added = live.filter((status) => !known.includes(status) && /^\d/.test(status));
	const gone = known.includes("200") && !live.includes("200");
	return [
		...(gone ? [{ at: name, what: "answers no 200 any more", canBreak: true }] : []),
		...added.map((status) => ({ at: name, what: `may answer ${status} now`, canBreak: status.startsWith("2") })),
	];
}
