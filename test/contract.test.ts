import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { expect, test } from "vitest";
import { answers } from "../generated/answers.ts";
import { limits, operationTable } from "../generated/operations.ts";
import { requests } from "../generated/requests.ts";
import { describeChanges } from "../scripts/generate/changes.ts";
import { brokenPath } from "../src/client/response.ts";

const contract = JSON.parse(readFileSync(new URL("../openapi.json", import.meta.url), "utf8"));

/** ajv over the contract as it is written, apart from what only the client decides: open sets and formats. */
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false });
ajv.addSchema(contract, "contract");

function holds(name: string, value: unknown): boolean {
	const validate = ajv.getSchema(`contract#/components/schemas/${name}`);
	if (!validate) throw new Error(`no schema ${name}`);
	return validate(value) === true;
}

test("the contract is OpenAPI 3.1, version 1.0.0, with the six operations of the spec", () => {
	expect(contract.openapi).toMatch(/^3\.1\./);
	expect(contract.info.version).toBe("1.0.0");
	const found = Object.entries<Record<string, { operationId?: string; responses: object }>>(contract.paths).flatMap(
		([path, item]) =>
			["get", "post", "put", "patch", "delete"]
				.filter((method) => item[method])
				.map((method) => {
					const { operationId, responses } = item[method] ?? { responses: {} };
					return `${operationId} ${method.toUpperCase()} ${path} ${Object.keys(responses).join(" ")}`;
				}),
	);
	expect(found).toEqual([
		"me.get GET /me 200 401 403 404 500",
		"conversations.list GET /agencies/{agencyId}/conversations 200 400 401 403 500",
		"conversations.lookup POST /agencies/{agencyId}/conversations/lookup 200 400 401 403 500",
		"conversations.get GET /agencies/{agencyId}/conversations/{phone} 200 400 401 403 404 500",
		"conversations.listMessages GET /agencies/{agencyId}/conversations/{phone}/messages 200 400 401 403 404 500",
		"messages.send POST /agencies/{agencyId}/messages 200 400 401 403 409 500",
	]);
});

test("every answer of the contract carries X-Correlation-Id", () => {
	for (const [path, item] of Object.entries<Record<string, { responses?: Record<string, object> }>>(contract.paths)) {
		for (const { responses = {} } of Object.values(item)) {
			for (const [status, response] of Object.entries(responses)) {
				const shown =
					"$ref" in response ? contract.components.responses[String(response.$ref).split("/").pop() ?? ""] : response;
				expect(shown.headers, `${path} ${status}`).toHaveProperty("X-Correlation-Id");
			}
		}
	}
});

test("the limits of the spec are those of the contract", () => {
	expect(limits).toEqual({
		pageSize: { min: 1, max: 100, default: 50 },
		phoneNumbers: { min: 1, max: 100 },
		phoneNumber: { min: 1, max: 32 },
	});
});

test("request bodies and error bodies take no other field", () => {
	for (const name of ["LookupRequest", "SendMessageRequest", "PartnerBadRequest", "PartnerInternalError"]) {
		expect(contract.components.schemas[name].additionalProperties, name).toBe(false);
	}
});

test("the compiled checks of answers agree with ajv on whatever a field is replaced by", () => {
	const values = fc.oneof(
		fc.constant(undefined),
		fc.constant(null),
		fc.boolean(),
		fc.integer(),
		fc.double({ noNaN: true, noDefaultInfinity: true }),
		fc.string(),
		fc.constant([]),
		fc.constant({}),
		fc.constant([null]),
		fc.constant(["x"]),
	);
	for (const [operation, { answer }] of Object.entries(operationTable)) {
		const recorded = JSON.parse(readFileSync(new URL(`./recorded/${operation}.json`, import.meta.url), "utf8"));
		expect(holds(answer, recorded), operation).toBe(true);
		expect(answers[answer](recorded), operation).toBe(false);
		const spots = pathsOf(recorded);
		fc.assert(
			fc.property(fc.constantFrom(...spots), values, (spot, value) => {
				const changed = replaceAt(recorded, spot, value);
				// `reason` is the one closed set of the contract that the client keeps open.
				if (spot.at(-1) === "reason" && typeof value === "string") return;
				const place = `/${spot.join("/")}`;
				const isBroken = answers[answer](changed);
				expect(isBroken, `${operation} ${place} ${JSON.stringify(value)}`).toBe(!holds(answer, changed));
				if (isBroken) expect(brokenPath(answers[answer], changed)).toMatch(new RegExp(`^${place}(/|$)`));
			}),
			{ numRuns: 400 },
		);
	}
});

test("an answer with unknown fields and unknown values of open sets is good", () => {
	const recorded = JSON.parse(readFileSync(new URL("./recorded/conversations.list.json", import.meta.url), "utf8"));
	recorded.conversations[0].visibility.reason = "something new";
	recorded.conversations[0].latestFlowStatus = "paused";
	recorded.extra = { deep: [1] };
	expect(answers.ConversationPage(recorded)).toBe(false);
});

test("a broken answer is reported by the place where it breaks", () => {
	const recorded = JSON.parse(readFileSync(new URL("./recorded/conversations.list.json", import.meta.url), "utf8"));
	recorded.conversations[0].visibility.isShared = "yes";
	expect(answers.ConversationPage(recorded)).toBe(true);
	expect(brokenPath(answers.ConversationPage, recorded)).toBe("/conversations/0/visibility/isShared");
});

test("the compiled checks of requests agree with ajv, and name the field and the rule", () => {
	const bodies: [keyof typeof requests, unknown][] = [
		["LookupRequest", { phoneNumbers: ["+32470123456"] }],
		["LookupRequest", { phoneNumbers: [] }],
		["LookupRequest", { phoneNumbers: Array(100).fill("1") }],
		["LookupRequest", { phoneNumbers: Array(101).fill("1") }],
		["LookupRequest", { phoneNumbers: [""] }],
		["LookupRequest", { phoneNumbers: ["1".repeat(32)] }],
		["LookupRequest", { phoneNumbers: ["1".repeat(33)] }],
		["LookupRequest", { phoneNumbers: ["🏠".repeat(32)] }],
		["LookupRequest", { phoneNumbers: ["🏠".repeat(33)] }],
		["LookupRequest", { phoneNumbers: [1] }],
		["LookupRequest", { phoneNumbers: ["1"], extra: 1 }],
		["LookupRequest", {}],
		["LookupRequest", []],
		["LookupRequest", null],
		["SendMessageRequest", { to: "a", body: "b" }],
		["SendMessageRequest", { to: "a", body: "b", subaccountId: null, operationId: "c", consentLanguage: "nl" }],
		["SendMessageRequest", { to: "a" }],
		["SendMessageRequest", { to: "a", body: 1 }],
		["SendMessageRequest", { to: null, body: "b" }],
		["SendMessageRequest", { to: "a", body: "b", operationId: null }],
		["SendMessageRequest", { to: "a", body: "b", attachments: [] }],
		["SendMessageRequest", JSON.parse('{"to":"a","body":"b","__proto__":1}')],
	];
	for (const [name, body] of bodies) {
		expect(requests[name](body) === undefined, JSON.stringify(body)).toBe(holds(name, body));
	}
	expect(requests.SendMessageRequest({ to: "a", body: "b", subaccountId: "x" })).toBe("/subaccountId: must be a UUID");
	expect(requests.LookupRequest({ phoneNumbers: [] })).toBe("/phoneNumbers: must have 1 to 100 items");
});

test("a refreshed contract is reported by what changed in it", () => {
	const next = structuredClone(contract);
	next.info.version = "1.1.0";
	next.paths["/new"] = {};
	delete next.components.schemas.Agency.properties.name;
	expect(describeChanges(contract, next)).toEqual([
		'~ /info/version: "1.0.0" → "1.1.0"',
		"+ /paths/~1new",
		"- /components/schemas/Agency/properties/name",
	]);
	expect(describeChanges(contract, structuredClone(contract))).toEqual([]);
});

function pathsOf(value: unknown, path: string[] = []): string[][] {
	if (typeof value !== "object" || value === null) return [path];
	return [
		...(path.length ? [path] : []),
		...Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, [...path, key])),
	];
}

function replaceAt(root: unknown, path: readonly string[], value: unknown): unknown {
	const copy = structuredClone(root);
	let parent = copy as Record<string, unknown>;
	for (const key of path.slice(0, -1)) parent = parent[key] as Record<string, unknown>;
	const last = path.at(-1) ?? "";
	if (value === undefined && !Array.isArray(parent)) delete parent[last];
	else parent[last] = value === undefined ? null : value;
	return copy;
}
