import { Cause, Effect, Exit } from "effect";
import { isPartnerError, type OperationError, type PartnerNotFound, type SendError } from "messaging-conversations";
import { expect, expectTypeOf, test } from "vitest";
import { clientOf, wrong } from "./calls.ts";
import { agencyId, operationId, phone, sentNow, text, withMessages } from "./canned.ts";
import { inTurn, refusal, scripted } from "./scripted.ts";

/** A call as an Effect: its error channel is the union of the operation's own errors. */
function effectOf<Data, Failure>(
	call: () => { result: () => Promise<{ ok: true; data: Data } | { ok: false; error: Failure }> },
): Effect.Effect<Data, Failure> {
	return Effect.flatMap(
		Effect.promise(() => call().result()),
		(result) => (result.ok ? Effect.succeed(result.data) : Effect.fail(result.error)),
	);
}

test("catchTag takes an error of tryPromise by its tag, and lets the others pass", async () => {
	const service = await scripted(inTurn(refusal(404), refusal(403), { json: withMessages }));
	const { conversations } = clientOf(service).agency(agencyId);
	const read = Effect.tryPromise({
		try: () => conversations.get(phone),
		catch: (error) => (isPartnerError(error) ? (error as OperationError<"conversations.get">) : wrong(error)),
	}).pipe(
		Effect.map(({ conversation }) => conversation.summary.contactName),
		Effect.catchTag("PartnerNotFound", (error) => {
			expectTypeOf(error).toEqualTypeOf<PartnerNotFound>();
			return Effect.succeed(`nobody, ${error.correlationId}`);
		}),
	);
	expectTypeOf<Effect.Effect.Error<typeof read>["_tag"]>().toEqualTypeOf<
		Exclude<OperationError<"conversations.get">["_tag"], "PartnerNotFound">
	>();
	expect(await Effect.runPromise(read)).toBe("nobody, cor-1");
	const refused = await Effect.runPromiseExit(read);
	expect(Exit.isFailure(refused) && Cause.squash(refused.cause)).toMatchObject({ _tag: "PartnerForbidden" });
	expect(await Effect.runPromise(read)).toBe("Anna Peeters");
});

test("catchTags over a call's result leaves an error channel that the compiler knows to be empty", async () => {
	const service = await scripted(inTurn("reset", refusal(409)));
	const { messages } = clientOf(service, { retry: false }).agency(agencyId);
	const outcome = ({ outcome }: SendError) => Effect.succeed<string>(outcome);
	const send = effectOf(() => messages.send({ to: phone, body: text, operationId })).pipe(
		Effect.map((sent) => (sent.queued ? "queued" : "sent now")),
		Effect.catchTags({
			PartnerConflict: () => Effect.succeed("read first"),
			PartnerHeldText: outcome,
			PartnerBadRequest: outcome,
			PartnerUnauthorized: outcome,
			PartnerForbidden: outcome,
			PartnerInternalError: outcome,
			PartnerGatewayError: outcome,
			PartnerConnectionError: outcome,
			PartnerTimeoutError: outcome,
			PartnerUnexpectedResponse: outcome,
			PartnerAbortError: outcome,
			PartnerInvalidInput: outcome,
			PartnerConfigurationError: outcome,
		}),
	);
	expectTypeOf(send).toEqualTypeOf<Effect.Effect<string>>();
	expect(await Effect.runPromise(send)).toBe("unknown");
	expect(await Effect.runPromise(send)).toBe("read first");
});

test("the error that arrives is the one that was thrown, with its outcome and operationId", async () => {
	const service = await scripted(inTurn(refusal(400)));
	const { messages } = clientOf(service).agency(agencyId);
	const failed = await Effect.runPromise(
		Effect.flip(effectOf(() => messages.send({ to: phone, body: text, operationId }))),
	);
	expect(failed).toBeInstanceOf(Error);
	expect(failed).toMatchObject({ _tag: "PartnerBadRequest", outcome: "not_sent", operationId });
});

test("an interrupted Effect aborts its call", async () => {
	const service = await scripted(inTurn("hang"));
	const { messages } = clientOf(service).agency(agencyId);
	const send = Effect.tryPromise((signal) => messages.send({ to: phone, body: text }, { signal }));
	const exit = await Effect.runPromiseExit(send.pipe(Effect.timeout("200 millis")));
	expect(Exit.isFailure(exit)).toBe(true);
	await expect.poll(() => service.requests.map(({ cut }) => cut)).toEqual([true]);
});

test("no failed Effect prints a number, a text or the key", async () => {
	const service = await scripted(inTurn(refusal(400, `${phone} ${text}`), { json: sentNow }));
	const { messages } = clientOf(service).agency(agencyId);
	const exit = await Effect.runPromiseExit(effectOf(() => messages.send({ to: phone, body: text })));
	const printed = Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "";
	expect(printed).toContain("PartnerBadRequest");
	expect(printed).not.toMatch(/CANARY|470123456/);
});
