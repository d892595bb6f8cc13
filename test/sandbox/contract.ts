import { readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { components } from "../../generated/openapi.ts";

export type Schemas = components["schemas"];

/**
 * How closely an answer is held to openapi.json. `exact`: closed objects, known values, millisecond timestamps.
 * `open values`: the test drives a value that the contract does not know. `variation`: what a caller must not lean on
 * may differ. `broken`: a fault spoils the answer on purpose.
 */
export type Check = "exact" | "open values" | "variation" | "broken";

interface Operation {
	readonly id: string;
	readonly method: string;
	readonly path: RegExp;
	readonly statuses: ReadonlyMap<number, string>;
}

type Json = Record<string, unknown>;

export const document: Json = JSON.parse(readFileSync(new URL("../../openapi.json", import.meta.url), "utf8"));

export function isRecord(value: unknown): value is Json {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value at a path of keys; the empty object where there is none. */
function at(value: unknown, ...keys: string[]): Json {
	let here = value;
	for (const key of keys) here = isRecord(here) ? here[key] : undefined;
	return isRecord(here) ? here : {};
}

function schemaName(content: unknown): string {
	const ref = at(content, "content", "application/json", "schema").$ref;
	return String(ref).replace("#/components/schemas/", "");
}

export const operations: readonly Operation[] = Object.entries(at(document, "paths")).flatMap(([path, item]) =>
	Object.entries(at(item))
		.filter(([method]) => method !== "parameters")
		.map(([method, operation]) => ({
			id: String(at(operation).operationId),
			method: method.toUpperCase(),
			path: new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`),
			statuses: new Map(
				Object.entries(at(operation, "responses")).map(([status, response]) => {
					const ref = at(response).$ref;
					const name = typeof ref === "string" ? ref.replace("#/components/responses/", "") : undefined;
					return [Number(status), schemaName(name ? at(document, "components", "responses", name) : response)];
				}),
			),
		})),
);

/** The operation that a method and a path (below the base URL, without the query) address. */
function operationOf(method: string, path: string): Operation | undefined {
	// The literal segment `lookup` wins over `{phone}`, which takes GET alone.
	return operations.find((operation) => operation.method === method && operation.path.test(path));
}

function tightened(node: unknown, check: Check): unknown {
	if (Array.isArray(node)) return node.map((each) => tightened(each, check));
	if (!isRecord(node)) return node;
	const copy: Json = {};
	for (const [key, value] of Object.entries(node)) copy[key] = tightened(value, check);
	if (node.type === "object" && check !== "variation") copy.additionalProperties = false;
	const known = node["x-known-values"];
	if (Array.isArray(known) && check === "exact") {
		copy.enum = Array.isArray(node.type) && node.type.includes("null") ? [...known, null] : known;
	}
	return copy;
}

const contracts = new Map<Check, Ajv2020>();

function contract(check: Check): Ajv2020 {
	const made = contracts.get(check);
	if (made) return made;
	const ajv = new Ajv2020({ allErrors: true, strict: false });
	ajv.addFormat("uuid", /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
	ajv.addFormat(
		"date-time",
		check === "variation" ? /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/ : /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
	);
	ajv.addSchema({ $id: "contract", components: tightened(document.components, check) });
	contracts.set(check, ajv);
	return ajv;
}

/** Compiled when it is first asked for. */
function validator(schema: string, check: Check): ValidateFunction {
	const validate = contract(check).getSchema(`contract#/components/schemas/${schema}`);
	if (!validate) throw new Error(`openapi.json has no schema ${schema}`);
	return validate;
}

/** What is wrong with a value against a schema of openapi.json; the empty list when nothing is. */
export function faultsOf(schema: string, value: unknown, check: Check = "exact"): string[] {
	const validate = validator(schema, check);
	if (validate(value)) return [];
	return (validate.errors ?? []).map(
		(error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
	);
}

export interface Seen {
	readonly method: string;
	readonly path: string;
	readonly status: number;
	readonly headers: Headers;
	readonly text: string;
}

/** Throws unless the answer is one that openapi.json allows here; `ids` holds the correlation ids seen so far. */
export function assertContract(seen: Seen, check: Check, ids: Set<string>): void {
	const where = `${seen.method} ${seen.path} → ${seen.status}`;
	const id = seen.headers.get("x-correlation-id");
	if (id !== null) {
		if (ids.has(id)) throw new Error(`${where}: correlation id ${id} was given before`);
		ids.add(id);
	}
	if (check === "broken") return;
	if (id === null || id === "") throw new Error(`${where}: no X-Correlation-Id`);
	if (!/^application\/json\b/.test(seen.headers.get("content-type") ?? "")) throw new Error(`${where}: not JSON`);
	const body: unknown = JSON.parse(seen.text);
	const operation = operationOf(seen.method, seen.path);
	if (seen.status >= 400) {
		const keys = isRecord(body) ? Object.keys(body).sort().join() : "";
		if (keys !== "_tag,message") throw new Error(`${where}: error body is ${seen.text}`);
		if (at(body).message === "") throw new Error(`${where}: empty message`);
	}
	if (!operation) {
		if (seen.status === 501 && at(body)._tag === "SandboxUnsupported") return;
		if (seen.status === 200 && seen.path === "/openapi.json") return;
		throw new Error(`${where}: no operation of the contract, and no refusal`);
	}
	const schema = operation.statuses.get(seen.status);
	if (!schema) throw new Error(`${where}: ${operation.id} does not list this status`);
	const faults = faultsOf(schema, body, check);
	if (faults.length > 0) throw new Error(`${where}: ${faults.join("; ")}\n${seen.text}`);
	const contradictions = contradictionsIn(body);
	if (contradictions.length > 0) throw new Error(`${where}: ${contradictions.join("; ")}\n${seen.text}`);
}

/** Fields that must agree with one another wherever they are: R75, R76, R78, R105, R118, R160, R165, R166, R168, R169, R181. */
function contradictionsIn(body: unknown): string[] {
	const found: string[] = [];
	const holds = (truth: boolean, rule: string) => truth || found.push(rule);
	const visit = (node: unknown): void => {
		if (Array.isArray(node)) node.forEach(visit);
		if (!isRecord(node)) return;
		if ("hasMore" in node) holds(node.hasMore === (node.nextCursor !== null), "R78 hasMore and nextCursor");
		if ("isUnlinked" in node) {
			const visibility = at(node.visibility);
			holds(node.isUnlinked === (visibility.reason === "unlinked"), "R160 isUnlinked and reason");
			if (visibility.reason === "tagged") holds(visibility.isVisibleThroughAgencyTag === true, "R165 tagged");
			holds((node.lastMessageAt === null) === (node.totalMessages === 0), "R166 lastMessageAt and totalMessages");
		}
		if ("aiSettings" in node) {
			const ai = at(node.aiSettings);
			const held = Array.isArray(node.queuedMessages) ? node.queuedMessages.length : -1;
			holds(at(node.summary).queuedMessages === held, "R75 queuedMessages");
			holds(held <= 1, "R118 one held text");
			holds(at(node.summary).aiEnabled === ai.enabled, "R75 aiEnabled");
			holds(at(node.summary).cursor === null, "R76 cursor");
			const silent = ai.disabledReason === null && ai.disabledAt === null;
			const reported = ai.disabledReason !== null && ai.disabledAt !== null;
			holds(ai.enabled === true ? silent : reported, "R169 disabledReason and disabledAt");
		}
		if ("availableLanguages" in node) {
			const languages = Array.isArray(node.availableLanguages) ? node.availableLanguages : [];
			holds(node.defaultLanguage === null || languages.includes(node.defaultLanguage), "R168 defaultLanguage");
			holds(
				node.eligibleForManualSend === (node.templatesApproved === true && languages.length > 0),
				"R105 eligibleForManualSend",
			);
		}
		if ("queueId" in node) {
			holds(node.success === true, "R109 success");
			holds(node.queued === (node.windowOpen === false), "R181 queued and windowOpen");
			holds(node.queued === (node.queueId !== null), "R181 queued and queueId");
			holds(node.queued === (node.messageId === null), "R181 queued and messageId");
		}
		Object.values(node).forEach(visit);
	};
	visit(body);
	return found;
}
