import type { OperationError, SendError } from "messaging-conversations";
import { match, P } from "ts-pattern";
import { expect, test } from "vitest";
import { clientOf } from "./calls.ts";
import { agencyId, phone, text } from "./canned.ts";
import { inTurn, refusal, scripted } from "./scripted.ts";

/** Compiles only while the union of a read has exactly these members. */
function remedy(error: OperationError<"conversations.get">): string {
	return match(error)
		.with({ _tag: "PartnerNotFound" }, () => "write first")
		.with({ _tag: "PartnerUnauthorized" }, { _tag: "PartnerForbidden" }, ({ status }) => `look at the key: ${status}`)
		.with(
			{ _tag: "PartnerBadRequest" },
			{ _tag: "PartnerInvalidInput" },
			{ _tag: "PartnerConfigurationError" },
			() => "mend the request",
		)
		.with({ _tag: "PartnerInternalError", retryAfterMs: P.number }, ({ retryAfterMs }) => `after ${retryAfterMs} ms`)
		.with(
			{ _tag: P.union("PartnerInternalError", "PartnerGatewayError", "PartnerConnectionError", "PartnerTimeoutError") },
			() => "later",
		)
		.with({ _tag: "PartnerUnexpectedResponse" }, ({ correlationId }) => `report ${correlationId}`)
		.with({ _tag: "PartnerAbortError" }, () => "as you wished")
		.exhaustive();
}

test.for([
	[refusal(404), "write first"],
	[refusal(401), "look at the key: 401"],
	[refusal(403), "look at the key: 403"],
	[refusal(400), "mend the request"],
	[{ ...refusal(503), headers: { "retry-after": "7" } }, "after 7000 ms"],
	[refusal(500), "later"],
	["reset", "later"],
	[{ status: 418 }, "later"],
] as const)("match takes an error of a read by its tag: %j", async ([answer, reported]) => {
	const service = await scripted(inTurn(answer));
	const result = await clientOf(service, { retry: false }).agency(agencyId).conversations.get(phone).result();
	expect(result.ok ? "" : remedy(result.error)).toBe(reported);
});

test("match over a whole result is exhaustive, and distinguishes a queued send from one that went out", async () => {
	const service = await scripted(inTurn(refusal(409), "reset"));
	const { messages } = clientOf(service, { retry: false }).agency(agencyId);
	const reported = async () =>
		match(await messages.send({ to: phone, body: text }).result())
			.with({ ok: true, data: { queued: true } }, ({ data }) => `waits as ${data.queueId}`)
			.with({ ok: true, data: { queued: false } }, ({ data }) => `sent as ${data.messageId}`)
			.with({ ok: false, error: { _tag: "PartnerConflict" } }, () => "read first")
			.with({ ok: false, error: { outcome: "unknown" } }, ({ error }) => `again with ${error.operationId.length}`)
			.with({ ok: false }, ({ error }) => error.message)
			.exhaustive();
	expect(await reported()).toBe("read first");
	expect(await reported()).toBe("again with 36");
});

test("a match that forgets a tag does not compile", () => {
	const forgetful = (error: SendError) =>
		match(error)
			.with({ _tag: "PartnerConflict" }, () => "read first")
			// @ts-expect-error twelve tags are missing
			.exhaustive();
	expect(forgetful).toBeTypeOf("function");
});
