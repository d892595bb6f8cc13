import { expect, test } from "vitest";
import published from "../../openapi.json" with { type: "json" };
import { compareContracts } from "../../src/cli/contract/compare.ts";

// biome-ignore lint/suspicious/noExplicitAny: a JSON document that each row changes at will
type Json = any;

/** What the comparison says of a change of the contract: `!` for what can break a call, `+` for what cannot. */
function reported(change: (contract: Json) => void): string[] {
	const next = structuredClone<Json>(published);
	change(next);
	return compareContracts(published, next).map(({ at, what, canBreak }) => `${canBreak ? "!" : "+"} ${at} ${what}`);
}

const schemas = (contract: Json) => contract.components.schemas;
const list = (contract: Json) => contract.paths["/agencies/{agencyId}/conversations"].get;
const send = (contract: Json) => contract.paths["/agencies/{agencyId}/messages"].post;

const rows: [name: string, change: (contract: Json) => void, says: string[]][] = [
	["nothing", () => {}, []],
	["prose", (c) => (send(c).description = "Sends."), []],
	["the order of fields", (c) => schemas(c).Me.required.reverse(), []],
	["an operation that is gone", (c) => delete c.paths["/me"], ["! me.get is gone"]],
	[
		"a new operation",
		(c) => (c.paths["/agencies/{agencyId}/tags"] = { get: { operationId: "tags.list" } }),
		["+ tags.list is a new operation"],
	],
	["a parameter that is gone", (c) => list(c).parameters.pop(), ["! conversations.list ?search is gone"]],
	[
		"a parameter that is required now",
		(c) => list(c).parameters.push({ name: "since", in: "query", required: true, schema: { type: "string" } }),
		["! conversations.list ?since is required now"],
	],
	[
		"a new parameter",
		(c) => list(c).parameters.push({ name: "tag", in: "query", schema: { type: "string" } }),
		["+ conversations.list ?tag is a new parameter"],
	],
	[
		"a limit that is tighter",
		(c) => (schemas(c).LookupRequest.properties.phoneNumbers.maxItems = 50),
		["! LookupRequest.phoneNumbers has maxItems 50 now"],
	],
	[
		"a limit that is looser",
		(c) => (schemas(c).LookupRequest.properties.phoneNumbers.maxItems = 500),
		["+ LookupRequest.phoneNumbers has maxItems 500 now"],
	],
	[
		"a field of a request that is gone",
		(c) => delete schemas(c).SendMessageRequest.properties.operationId,
		["! SendMessageRequest.operationId is gone"],
	],
	[
		"a field of a request that is required now",
		(c) => schemas(c).SendMessageRequest.required.push("consentLanguage"),
		["! SendMessageRequest.consentLanguage is required now"],
	],
	[
		"a new field of a request",
		(c) => (schemas(c).SendMessageRequest.properties.priority = { type: "string" }),
		["+ SendMessageRequest.priority is a new field"],
	],
	[
		"a field of a request of another type",
		(c) => (schemas(c).SendMessageRequest.properties.subaccountId.type = "string"),
		["! SendMessageRequest.subaccountId cannot be null any more"],
	],
	[
		"a list of values for what was free",
		(c) => (schemas(c).SendMessageRequest.properties.consentLanguage.enum = ["nl", "fr"]),
		["! SendMessageRequest.consentLanguage must be one of nl, fr now"],
	],
	[
		"a field of an answer that is gone",
		(c) => delete schemas(c).ConversationSummary.properties.aiEnabled,
		["! ConversationSummary.aiEnabled is gone"],
	],
	[
		"an optional field of an answer that is gone",
		(c) => delete schemas(c).Message.properties.replyTo,
		["+ Message.replyTo is gone"],
	],
	[
		"a field of an answer that may be missing",
		(c) => schemas(c).Agency.required.pop(),
		["! Agency.name may be missing now"],
	],
	[
		"a field of an answer that may be null",
		(c) => (schemas(c).Agency.properties.id.type = ["string", "null"]),
		["! Agency.id may be null now"],
	],
	[
		"an object of an answer that may be null, of a schema that may be null elsewhere",
		(c) => {
			const { summary } = schemas(c).ConversationDetail.properties;
			schemas(c).ConversationDetail.properties.summary = { anyOf: [{ $ref: summary.$ref }, { type: "null" }] };
		},
		["! ConversationDetail.summary may be null now"],
	],
	[
		"a schema that is another one in one place",
		(c) => {
			const other = structuredClone(schemas(c).ConversationSummary);
			delete other.properties.aiEnabled;
			schemas(c).LookupEntry.properties.conversation = { anyOf: [other, { type: "null" }] };
		},
		["! ConversationSummary.aiEnabled is gone"],
	],
	[
		"a field of an answer that is never null",
		(c) => (schemas(c).Agency.properties.name.type = "string"),
		["+ Agency.name is never null any more"],
	],
	[
		"a field of an answer of another type",
		(c) => (schemas(c).Message.properties.id.type = "string"),
		["! Message.id may be string now"],
	],
	[
		"a new value",
		(c) => schemas(c).ConversationVisibility.properties.reason.enum.push("team"),
		["+ ConversationVisibility.reason may be team now"],
	],
	[
		"another success",
		(c) => (send(c).responses["202"] = { description: "Accepted." }),
		["! messages.send may answer 202 now"],
	],
	[
		"another refusal",
		(c) => (send(c).responses["429"] = { description: "Too many." }),
		["+ messages.send may answer 429 now"],
	],
	[
		"another way to show who one is",
		(c) => (c.components.securitySchemes = { key: { type: "apiKey", in: "header", name: "X-Key" } }),
		["! authentication is not a bearer key any more"],
	],
];

test.each(rows)("the comparison reports %s", (_name, change, says) => {
	expect(reported(change)).toEqual(says);
});

test("the same contract in another spelling is the same", () => {
	const says = reported((contract) => {
		const { paths } = contract;
		// As generators write it: the whole path, other names in it, inline schemas, anyOf for null, const for one value.
		contract.paths = Object.fromEntries(
			Object.entries<Json>(paths).map(([path, item]) => [`/api/v1${path.replace("{agencyId}", "{agency_id}")}`, item]),
		);
		const { Agency, Me, QueuedMessage, ConversationVisibility } = schemas(contract);
		Me.properties.agencies.items = { allOf: [structuredClone(Agency)] };
		Me.properties.integration = structuredClone(schemas(contract).Integration);
		Agency.properties.name = { anyOf: [{ type: "string" }, { type: "null" }] };
		QueuedMessage.properties.attachmentFileSize = { type: "integer", nullable: true };
		const { reason } = ConversationVisibility.properties;
		reason.anyOf = reason.enum.map((value: string) => ({ const: value }));
		delete reason.enum;
	});
	expect(says).toEqual([]);
});

test("a contract that refers to itself without end is compared to an end", () => {
	const says = reported((contract) => {
		schemas(contract).Message.properties.thread = { $ref: "#/components/schemas/Message" };
		schemas(contract).ReplyToMessage.allOf = [{ $ref: "#/components/schemas/ReplyToMessage" }];
		schemas(contract).Agency.properties.id = { $ref: "#/components/schemas/Loop" };
		schemas(contract).Loop = { $ref: "#/components/schemas/Loop" };
	});
	expect(says).toContain("+ Message.thread is a new field");
});

test.each([null, [], "text", { paths: [] }, { paths: { "/me": null } }])(
	"what is not a contract has all operations gone: %j",
	(live) => {
		const changes = compareContracts(published, Object(live));
		expect(changes.filter(({ what }) => what === "is gone")).toHaveLength(6);
	},
);
