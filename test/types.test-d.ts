import type {
	AgencyClient,
	Answered,
	AttemptEvent,
	CallResponse,
	Client,
	ConversationPage,
	ConversationSummary,
	ConversationWithMessages,
	E164,
	Fetch,
	Logger,
	LookedUp,
	Me,
	Message,
	MessageMedia,
	MessagePage,
	OperationError,
	OperationId,
	Outcome,
	OutgoingMessage,
	Paginated,
	PartnerErrorTag,
	PhoneProblem,
	QueuedMessage,
	RequestError,
	Sent,
} from "messaging-conversations";
import {
	createClient,
	isE164,
	isPartnerError,
	isWindowOpen,
	operationIdFrom,
	type PartnerConfigurationError,
	PartnerConflict,
	PartnerError,
	PartnerNotFound,
	toE164,
} from "messaging-conversations";
import { expectTypeOf, test } from "vitest";
import type { SendMessageResult } from "../generated/openapi.ts";

declare const client: Client;
declare const agency: AgencyClient;
declare const signal: AbortSignal;

// The client's own; every operation can end in them.
type Own =
	| "PartnerInternalError"
	| "PartnerGatewayError"
	| "PartnerConnectionError"
	| "PartnerTimeoutError"
	| "PartnerUnexpectedResponse"
	| "PartnerAbortError"
	| "PartnerInvalidInput"
	| "PartnerConfigurationError";

type ErrorOf<Result> = Extract<Awaited<Result>, { ok: false }> extends { error: infer Failure } ? Failure : never;
type TagsOf<Result> = ErrorOf<Result> extends { _tag: infer Tag } ? Tag : never;

const results = {
	me: () => client.me.get().result(),
	list: () => agency.conversations.list().page().result(),
	lookup: () => agency.conversations.lookup(["+32470123456"]).result(),
	get: () => agency.conversations.get("+32470123456").result(),
	listMessages: () => agency.conversations.listMessages("+32470123456").page().result(),
	send: () => agency.messages.send({ to: "+32470123456", body: "Hi" }).result(),
};
type Of<Name extends keyof typeof results> = ReturnType<(typeof results)[Name]>;

test("the error union of each operation has exactly the contract's statuses and the client's own", () => {
	expectTypeOf<TagsOf<Of<"me">>>().toEqualTypeOf<
		Own | "PartnerUnauthorized" | "PartnerForbidden" | "PartnerNotFound"
	>();
	expectTypeOf<TagsOf<Of<"list">>>().toEqualTypeOf<
		Own | "PartnerBadRequest" | "PartnerUnauthorized" | "PartnerForbidden"
	>();
	expectTypeOf<TagsOf<Of<"lookup">>>().toEqualTypeOf<TagsOf<Of<"list">>>();
	expectTypeOf<TagsOf<Of<"get">>>().toEqualTypeOf<TagsOf<Of<"list">> | "PartnerNotFound">();
	expectTypeOf<TagsOf<Of<"listMessages">>>().toEqualTypeOf<TagsOf<Of<"get">>>();
	expectTypeOf<TagsOf<Of<"send">>>().toEqualTypeOf<TagsOf<Of<"list">> | "PartnerConflict" | "PartnerHeldText">();
	expectTypeOf<PartnerErrorTag>().toEqualTypeOf<TagsOf<Of<"send">> | "PartnerNotFound">();
});

test("each member of the union is the class of its tag", () => {
	expectTypeOf<Extract<ErrorOf<Of<"get">>, { _tag: "PartnerNotFound" }>>().toEqualTypeOf<PartnerNotFound>();
	expectTypeOf<Extract<ErrorOf<Of<"send">>, { _tag: "PartnerConflict" }>>().toExtend<PartnerConflict>();
	expectTypeOf<ErrorOf<Of<"me">>>().toExtend<PartnerError>();
	expectTypeOf<ErrorOf<Of<"me">>>().toExtend<Error>();
});

// A switch is exhaustive when the compiler lets the function end in `never`.

test("a switch over the error of me.get is exhaustive, and takes no tag that cannot come", async () => {
	const result = await results.me();
	if (result.ok) return;
	const { error } = result;
	switch (error._tag) {
		case "PartnerUnauthorized":
		case "PartnerForbidden":
		case "PartnerNotFound":
		case "PartnerInternalError":
		case "PartnerGatewayError":
		case "PartnerConnectionError":
		case "PartnerTimeoutError":
		case "PartnerUnexpectedResponse":
		case "PartnerAbortError":
		case "PartnerInvalidInput":
		case "PartnerConfigurationError":
			return;
		// @ts-expect-error me.get lists no 400
		case "PartnerBadRequest":
			return;
		// @ts-expect-error only a send has a 409
		case "PartnerConflict":
			return;
		default:
			expectTypeOf(error).toBeNever();
	}
});

test("a switch over the error of messages.send is exhaustive, and takes no tag that cannot come", async () => {
	const result = await results.send();
	if (result.ok) return;
	const { error } = result;
	switch (error._tag) {
		case "PartnerBadRequest":
		case "PartnerUnauthorized":
		case "PartnerForbidden":
		case "PartnerConflict":
		case "PartnerHeldText":
		case "PartnerInternalError":
		case "PartnerGatewayError":
		case "PartnerConnectionError":
		case "PartnerTimeoutError":
		case "PartnerUnexpectedResponse":
		case "PartnerAbortError":
		case "PartnerInvalidInput":
		case "PartnerConfigurationError":
			return;
		// @ts-expect-error a send has no 404: a contact needs no conversation
		case "PartnerNotFound":
			return;
		default:
			expectTypeOf(error).toBeNever();
	}
});

test("a switch that forgets a tag is seen", async () => {
	const result = await results.me();
	if (result.ok) return;
	switch (result.error._tag) {
		case "PartnerUnauthorized":
			return;
		default:
			// @ts-expect-error the other tags are left
			expectTypeOf(result.error).toBeNever();
	}
});

test("every error of a send has its outcome and operationId; those of a read need not", async () => {
	const sent = await results.send();
	if (!sent.ok) {
		expectTypeOf(sent.error.outcome).toEqualTypeOf<Outcome>();
		expectTypeOf(sent.error.operationId).toEqualTypeOf<string>();
		if (sent.error._tag === "PartnerConflict") expectTypeOf(sent.error.outcome).toEqualTypeOf<Outcome>();
	}
	const read = await results.get();
	if (!read.ok) {
		expectTypeOf(read.error.outcome).toEqualTypeOf<Outcome | undefined>();
		expectTypeOf(read.error.operationId).toEqualTypeOf<string | undefined>();
	}
	expectTypeOf<Outcome>().toEqualTypeOf<"not_sent" | "unknown" | "sent">();
});

test("every error has the public fields", () => {
	expectTypeOf<PartnerError["attempts"]>().toEqualTypeOf<number>();
	expectTypeOf<PartnerError["retryable"]>().toEqualTypeOf<boolean>();
	expectTypeOf<PartnerError["status"]>().toEqualTypeOf<number | undefined>();
	expectTypeOf<PartnerError["correlationId"]>().toEqualTypeOf<string | undefined>();
	expectTypeOf<PartnerError["retryAfterMs"]>().toEqualTypeOf<number | undefined>();
	expectTypeOf<PartnerError["cursor"]>().toEqualTypeOf<string | null | undefined>();
	expectTypeOf<PartnerError["itemsRead"]>().toEqualTypeOf<number | undefined>();
	expectTypeOf<PartnerError["_tag"]>().toEqualTypeOf<PartnerErrorTag>();
	expectTypeOf<PartnerError["operation"]>().toExtend<string>();
});

test("the errors of several operations are those of each", () => {
	expectTypeOf<OperationError<"me.get" | "messages.send">["_tag"]>().toEqualTypeOf<PartnerErrorTag>();
	expectTypeOf<OperationError<OperationId>>().toEqualTypeOf<RequestError>();
	expectTypeOf<ErrorOf<Of<"get">>>().toExtend<OperationError<OperationId>>();
	expectTypeOf<ErrorOf<Of<"send">>>().toExtend<RequestError>();
});

test("a switch over an error that was caught is exhaustive, and knows the fields of each class", () => {
	const caught: unknown = null;
	if (!isPartnerError(caught)) return;
	expectTypeOf(caught).toExtend<PartnerError>();
	switch (caught._tag) {
		case "PartnerInvalidInput":
		case "PartnerConfigurationError":
			expectTypeOf(caught.field).toEqualTypeOf<string>();
			return;
		case "PartnerBadRequest":
		case "PartnerUnauthorized":
		case "PartnerForbidden":
		case "PartnerNotFound":
		case "PartnerConflict":
		case "PartnerHeldText":
		case "PartnerInternalError":
		case "PartnerGatewayError":
		case "PartnerConnectionError":
		case "PartnerTimeoutError":
		case "PartnerUnexpectedResponse":
		case "PartnerAbortError":
			return;
		default:
			expectTypeOf(caught).toBeNever();
	}
});

test("isPartnerError and instanceof narrow what was caught", () => {
	const caught: unknown = null;
	if (isPartnerError(caught)) expectTypeOf(caught).toEqualTypeOf<RequestError>();
	if (caught instanceof PartnerNotFound) expectTypeOf(caught._tag).toEqualTypeOf<"PartnerNotFound">();
	if (caught instanceof PartnerConflict) expectTypeOf(caught._tag).toEqualTypeOf<"PartnerConflict">();
	if (caught instanceof PartnerError) expectTypeOf(caught._tag).toEqualTypeOf<PartnerErrorTag>();
});

test("a result narrows on ok", async () => {
	const result = await results.get();
	if (result.ok) {
		expectTypeOf(result.data).toEqualTypeOf<ConversationWithMessages>();
		expectTypeOf(result.correlationId).toEqualTypeOf<string | undefined>();
		// @ts-expect-error a result that is ok has no error
		result.error;
	} else {
		// @ts-expect-error a result that is not ok has no data
		result.data;
	}
});

test("a call is a Promise of the plain contract object", () => {
	expectTypeOf(client.me.get()).toExtend<Promise<Me>>();
	expectTypeOf(agency.conversations.get("x")).toExtend<Promise<ConversationWithMessages>>();
	expectTypeOf(agency.conversations.lookup([])).toExtend<Promise<LookedUp[]>>();
	expectTypeOf(agency.conversations.list().page()).toExtend<Promise<ConversationPage>>();
	expectTypeOf(agency.conversations.listMessages("x").page()).toExtend<Promise<MessagePage>>();
	expectTypeOf<Awaited<ReturnType<Client["me"]["get"]>>>().toEqualTypeOf<Me>();
});

test("withResponse gives data and the HTTP side", async () => {
	const answered = await client.me.get().withResponse();
	expectTypeOf(answered).toEqualTypeOf<Answered<Me>>();
	expectTypeOf(answered.response).toEqualTypeOf<CallResponse>();
	expectTypeOf(answered.response.headers).toEqualTypeOf<Headers>();
	expectTypeOf(answered.response.attempts).toEqualTypeOf<number>();
	expectTypeOf(answered.response.status).toEqualTypeOf<number>();
	expectTypeOf(answered.response.correlationId).toEqualTypeOf<string | undefined>();
});

test("a list is Paginated of its items and pages", async () => {
	const list = agency.conversations.list({ search: "x", pageSize: 10, cursor: "c", readAhead: false, signal });
	expectTypeOf(list).toExtend<Paginated<ConversationSummary, ConversationPage, PartnerError>>();
	for await (const row of list) expectTypeOf(row).toEqualTypeOf<ConversationSummary>();
	for await (const page of list.pages()) expectTypeOf(page).toEqualTypeOf<ConversationPage>();
	expectTypeOf(await list.toArray({ limit: 3 })).toEqualTypeOf<ConversationSummary[]>();
	for await (const message of agency.conversations.listMessages("x")) expectTypeOf(message).toEqualTypeOf<Message>();
	expectTypeOf(await list).toEqualTypeOf<ConversationPage>();
	const result = await list.result();
	if (result.ok) expectTypeOf(result.data).toEqualTypeOf<ConversationPage>();
});

test("the fetch of the runtime, of undici, and one around it fit", () => {
	expectTypeOf<typeof globalThis.fetch>().toExtend<Fetch>();
	expectTypeOf<typeof import("undici-types").fetch>().toExtend<Fetch>();
	const dispatched: Fetch = (url, init) => fetch(url, { ...init, headers: { ...init.headers, "x-a": "1" } });
	expectTypeOf(dispatched).toExtend<Fetch>();
});

test("send narrows on queued", async () => {
	const sent = await agency.messages.send({ to: "x", body: "y" });
	expectTypeOf(sent).toEqualTypeOf<Sent>();
	expectTypeOf(sent.operationId).toEqualTypeOf<string>();
	expectTypeOf(sent.messageId).toEqualTypeOf<string | null>();
	if (sent.queued) {
		expectTypeOf(sent.queueId).toEqualTypeOf<string>();
		expectTypeOf(sent.messageId).toEqualTypeOf<null>();
	} else {
		expectTypeOf(sent.messageId).toEqualTypeOf<string>();
		expectTypeOf(sent.queueId).toEqualTypeOf<null>();
	}
	expectTypeOf(sent).toExtend<SendMessageResult>();
});

test("a send takes what the contract takes, and no more", () => {
	agency.messages.send({ to: "x", body: "y", operationId: "z", subaccountId: null, consentLanguage: "nl" });
	agency.messages.send({ to: "x", body: "y", operationId: undefined, subaccountId: undefined }, { signal });
	// @ts-expect-error the API sends no files
	agency.messages.send({ to: "x", body: "y", attachments: [] });
	// @ts-expect-error body is required
	agency.messages.send({ to: "x" });
	// @ts-expect-error to is required
	agency.messages.send({ body: "y" });
	// @ts-expect-error null is for subaccountId alone
	agency.messages.send({ to: "x", body: "y", consentLanguage: null });
	agency.messages.send({ to: "x", body: "y", ifHeld: "refuse" });
	agency.messages.send({ to: "x", body: "y", ifHeld: undefined });
	// @ts-expect-error ifHeld has two values
	agency.messages.send({ to: "x", body: "y", ifHeld: true });
	// @ts-expect-error ifHeld is a field of the message
	agency.messages.send({ to: "x", body: "y" }, { ifHeld: "refuse" });
	// @ts-expect-error call options are the last argument
	agency.messages.send({ to: "x", body: "y", signal });
	expectTypeOf<keyof OutgoingMessage>().toEqualTypeOf<
		"to" | "body" | "operationId" | "subaccountId" | "consentLanguage" | "ifHeld"
	>();
});

test("each call takes its own parameters beside the call options, and no more", () => {
	const call = { signal, timeoutMs: 1, deadline: 1, retry: false } as const;
	client.me.get({ ...call, retry: { attempts: 2 } });
	agency.conversations.list({ ...call, pageSize: 1, cursor: "c", search: "s", readAhead: true });
	agency.conversations.get("x", { ...call, pageSize: 1, cursor: "c" });
	agency.conversations.listMessages("x", { ...call, pageSize: 1, cursor: "c", readAhead: true });
	agency.conversations.lookup(new Set(["x"]), { ...call, concurrency: 2 });
	// @ts-expect-error me.get has no pages
	client.me.get({ pageSize: 1 });
	// @ts-expect-error one conversation is not searched
	agency.conversations.get("x", { search: "s" });
	// @ts-expect-error messages are not searched
	agency.conversations.listMessages("x", { search: "s" });
	// @ts-expect-error concurrency is the lookup's
	agency.conversations.list({ concurrency: 2 });
	// @ts-expect-error numbers are strings
	agency.conversations.lookup([32470123456]);
	agency.conversations.lookup(["x", null, undefined]);
	agency.conversations.lookup({} as AsyncIterable<string | null>);
	// @ts-expect-error an agency id is a string
	client.agency(5);
});

test("a lookup's entry has the caller's spelling, and a number in E.164 or null", () => {
	expectTypeOf<LookedUp["input"]>().toEqualTypeOf<string>();
	expectTypeOf<LookedUp["phoneNumber"]>().toEqualTypeOf<E164 | null>();
	expectTypeOf<LookedUp["reason"]>().toEqualTypeOf<PhoneProblem | undefined>();
	expectTypeOf(agency.conversations.lookup(["x", null])).toExtend<AsyncIterable<LookedUp<string | null>>>();
	expectTypeOf<LookedUp["conversation"]>().toEqualTypeOf<ConversationSummary | null>();
});

test("a lookup's entry has a number or a reason, and a conversation only with a number", async () => {
	for await (const { phoneNumber, conversation, reason } of agency.conversations.lookup(["x", null])) {
		if (phoneNumber === null) {
			expectTypeOf(reason).toEqualTypeOf<PhoneProblem>();
			expectTypeOf(conversation).toBeNull();
		} else expectTypeOf(reason).toBeUndefined();
	}
	for (const entry of await agency.conversations.lookup(["x"])) {
		if (entry.reason) expectTypeOf(entry.phoneNumber).toBeNull();
		if (entry.conversation) expectTypeOf(entry.phoneNumber).toEqualTypeOf<E164>();
	}
});

test("E164 is a brand: a string, but no string is one", () => {
	expectTypeOf<E164>().toExtend<string>();
	expectTypeOf<string>().not.toExtend<E164>();
	expectTypeOf(toE164("0470 12 34 56")).toEqualTypeOf<E164>();
	expectTypeOf(toE164("06 12 34 56 78", { defaultCountry: "FR" })).toEqualTypeOf<E164>();
	// @ts-expect-error a plain string is not known to be a number
	const phone: E164 = "+32470123456";
	const value: unknown = phone;
	if (isE164(value)) expectTypeOf(value).toEqualTypeOf<E164>();
	agency.messages.send({ to: toE164("x"), body: "y" });
	createClient({ baseUrl: "https://x", apiKey: "y", allowRecipients: (to) => to === toE164("x") });
});

test("open enums take unknown values and still know their own", () => {
	type Status = Message["status"];
	type Flow = ConversationSummary["latestFlowStatus"];
	type Reason = ConversationSummary["visibility"]["reason"];
	type Scope = Me["scopes"][number];
	for (const open of [] as { status: Status; flow: Flow; reason: Reason; scope: Scope }[]) {
		Object.assign(open, { status: "new" } satisfies { status: Status });
		Object.assign(open, { flow: "new" } satisfies { flow: Flow });
		Object.assign(open, { reason: "new" } satisfies { reason: Reason });
		Object.assign(open, { scope: "new" } satisfies { scope: Scope });
	}
	// Where the known values were swallowed by `string`, an editor would not offer them, and these would be never.
	expectTypeOf<Extract<Status, "delivered">>().toEqualTypeOf<"delivered">();
	expectTypeOf<Extract<Flow, "waiting">>().toEqualTypeOf<"waiting">();
	expectTypeOf<Extract<Reason, "tagged">>().toEqualTypeOf<"tagged">();
	expectTypeOf<Extract<Scope, "messages:write">>().toEqualTypeOf<"messages:write">();
	expectTypeOf<Extract<Sent["status"], "accepted">>().toEqualTypeOf<"accepted">();
	expectTypeOf<Extract<QueuedMessage["status"], "queued">>().toEqualTypeOf<"queued">();
});

test("the contract's types: nullable where the contract is, optional where it is", () => {
	expectTypeOf<ConversationSummary["windowExpiresAt"]>().toEqualTypeOf<string | null>();
	expectTypeOf<Message["id"]>().toEqualTypeOf<number>();
	expectTypeOf<MessageMedia["content_type"]>().toEqualTypeOf<string | undefined>();
	expectTypeOf<Extract<Message["replyTo"], undefined>>().toEqualTypeOf<undefined>();
	expectTypeOf<Extract<Message["body"], undefined>>().toBeNever();
});

test("createClient needs baseUrl and apiKey, which a build step may not have yet", () => {
	createClient({ baseUrl: process.env.MESSAGING_BASE_URL, apiKey: process.env.MESSAGING_API_KEY });
	createClient({ baseUrl: "https://x", apiKey: () => "y" });
	createClient({ baseUrl: "https://x", apiKey: async () => "y" });
	createClient({ baseUrl: "https://x", apiKey: "y", fetch: globalThis.fetch, logger: console, retry: false });
	// @ts-expect-error the key is named, if only to be undefined
	createClient({ baseUrl: "https://x" });
	// @ts-expect-error no such option
	createClient({ baseUrl: "https://x", apiKey: "y", timeout: 5 });
	// @ts-expect-error not a country
	createClient({ baseUrl: "https://x", apiKey: "y", defaultCountry: "Belgium" });
});

test("client.request takes a template and answers with unknown JSON", async () => {
	const { data } = await client.request({ method: "GET", path: "/tags" }).withResponse();
	expectTypeOf(data).toBeUnknown();
	client.request({
		method: "POST",
		path: "/a/{b}",
		agencyId: "x",
		params: { b: "1" },
		query: { c: 1, d: true },
		body: {},
	});
	// @ts-expect-error not a method
	client.request({ method: "HEAD", path: "/tags" });
	// @ts-expect-error a parameter of the path is text
	client.request({ method: "GET", path: "/{a}", params: { a: 1 } });
	const result = await client.request({ method: "GET", path: "/tags" }, { signal }).result();
	if (!result.ok) expectTypeOf(result.error._tag).toEqualTypeOf<PartnerErrorTag>();
});

test("a logger's methods get a line and the event of the attempt", () => {
	createClient({ baseUrl: "https://x", apiKey: "y", logger: console });
	expectTypeOf<Parameters<Logger["warn"]>>().toEqualTypeOf<[line: string, event: AttemptEvent]>();
	expectTypeOf<AttemptEvent["agencyId"]>().toEqualTypeOf<string | undefined>();
});

test("every error may name its agency, a field and a rule", () => {
	expectTypeOf<PartnerError["agencyId"]>().toEqualTypeOf<string | undefined>();
	expectTypeOf<PartnerError["field"]>().toEqualTypeOf<string | undefined>();
	expectTypeOf<PartnerConfigurationError["field"]>().toEqualTypeOf<string>();
});

test("the small helpers", () => {
	expectTypeOf(operationIdFrom("crm", "1")).toEqualTypeOf<Promise<string>>();
	// @ts-expect-error parts are strings
	operationIdFrom("crm", 1);
	expectTypeOf(isWindowOpen).parameter(0).toExtend<object>();
	expectTypeOf<ReturnType<typeof isWindowOpen>>().toEqualTypeOf<boolean>();
	const { conversation } = {} as ConversationWithMessages;
	isWindowOpen(conversation);
	isWindowOpen(conversation.summary, new Date());
});
