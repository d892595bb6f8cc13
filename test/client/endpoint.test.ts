import { readFileSync } from "node:fs";
import type { OperationId } from "messaging-conversations";
import { expect, test } from "vitest";
import { clientOf, failure, jsonResponse, sixCalls } from "../calls.ts";

const contract = JSON.parse(readFileSync(new URL("../../openapi.json", import.meta.url), "utf8"));

/** Method, path template and listed statuses of an operation in the contract. */
function listed(operation: OperationId): { method: string; path: string; statuses: number[] } {
	for (const [path, item] of Object.entries<Record<string, { operationId?: string; responses?: object }>>(
		contract.paths,
	)) {
		for (const [method, { operationId, responses = {} }] of Object.entries(item)) {
			if (operationId === operation) {
				return { method: method.toUpperCase(), path, statuses: Object.keys(responses).map(Number) };
			}
		}
	}
	throw new Error(`the contract has no ${operation}`);
}

const baseUrl = "https://messaging.example/api/v1";

test.for(sixCalls)("$operation goes where the contract says", async ({ operation, good, run }) => {
	const asked: string[] = [];
	const client = clientOf(
		{ baseUrl },
		{
			fetch: async (url, { method }) => {
				asked.push(`${method} ${url.replace(baseUrl, "").replace(/\?.*/, "")}`);
				return jsonResponse(good);
			},
		},
	);
	await run(client);
	const { method, path } = listed(operation);
	const pattern = path.replace(/\{\w+\}/g, "[^/]+");
	expect(asked).toEqual([expect.stringMatching(new RegExp(`^${method} ${pattern}$`))]);
});

const tags: Record<number, string> = {
	400: "PartnerBadRequest",
	401: "PartnerUnauthorized",
	403: "PartnerForbidden",
	404: "PartnerNotFound",
	409: "PartnerConflict",
};
const statuses = sixCalls.flatMap((call) => Object.keys(tags).map((status) => ({ ...call, status: Number(status) })));

test.for(statuses)(
	"$operation: a $status has a class of its own where the contract lists it",
	async ({ operation, run, status }) => {
		const client = clientOf(
			{ baseUrl },
			{ fetch: async () => jsonResponse({ _tag: tags[status], message: "No." }, { status }) },
		);
		const tag = listed(operation).statuses.includes(status) ? tags[status] : "PartnerUnexpectedResponse";
		expect(await failure(() => run(client))).toMatchObject({ _tag: tag, status, operation, attempts: 1 });
	},
);

test.for(sixCalls)("$operation: an answer of another operation breaks its contract", async ({ operation, run }) => {
	const other = sixCalls.find((call) => call.operation !== operation);
	const client = clientOf({ baseUrl }, { fetch: async () => jsonResponse(other?.good) });
	expect(await failure(() => run(client))).toMatchObject({ _tag: "PartnerUnexpectedResponse", status: 200 });
});
