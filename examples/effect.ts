// Use a call with Effect: its errors are in the error channel, and catchTag distinguishes them.
import { Effect } from "effect";
import { type Call, createClient, type PartnerError } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";

const sandbox = createSandbox();
sandbox.agency().contact("+447700900101", { name: "Anna" }).writes("Is the flat still free?");
const client = createClient({ ...sandbox.connection });
const { conversations } = client.agency(sandbox.agency().id);

/** Converts a call to an Effect. Interrupting the Effect aborts the call. */
const toEffect = <Data, Failure extends PartnerError>(call: (signal: AbortSignal) => Call<Data, Failure>) =>
	Effect.tryPromise({
		try: (signal) => call(signal),
		catch: (error) => error as Failure, // a call rejects only with the errors of its operation
	});

const nameOf = (phone: string) =>
	toEffect((signal) => conversations.get(phone, { signal })).pipe(
		Effect.map(({ conversation }) => conversation.summary.contactName ?? "no name"),
		Effect.catchTag("PartnerNotFound", () => Effect.succeed("no conversation")),
		Effect.catchTag("PartnerInvalidInput", ({ message }) => Effect.succeed(`not asked: ${message}`)),
	);

for (const phone of ["+44 (0)7700 900101", "+44 7700 900199", "see notes"]) {
	console.log(await Effect.runPromise(nameOf(phone)));
}
