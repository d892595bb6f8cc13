// Handle every result of a send with ts-pattern. A missing case does not compile.
import { createClient, type Result, type SendError, type Sent } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { match, P } from "ts-pattern";

const sandbox = createSandbox();
const anna = sandbox.agency().contact("+447700900101", { name: "Anna" });
const client = createClient({ ...sandbox.connection, retry: false });
const { messages } = client.agency(sandbox.agency().id);

const describe = (result: Result<Sent, SendError>): string =>
	match(result)
		.with({ ok: true, data: { queued: true } }, () => "waits for consent")
		.with({ ok: true, data: { queued: false } }, () => "sent")
		.with({ error: { outcome: "unknown", retryable: true } }, () => "unknown: again later, same id and text")
		.with({ error: { outcome: "unknown" } }, () => "unknown: a person looks at the conversation")
		.with({ error: { outcome: "sent" } }, () => "accepted, in an answer that is unusable otherwise")
		.with({ error: { _tag: "PartnerConflict" } }, () => "read the conversation, then again")
		.with({ error: { _tag: P.union("PartnerInvalidInput", "PartnerBadRequest") } }, ({ error }) => error.message)
		.with({ error: { retryable: true } }, () => "not sent: again later")
		.with({ ok: false }, ({ error }) => `not sent: ${error._tag}`)
		.exhaustive();

console.log(describe(await messages.send({ to: anna.phoneNumber, body: "Hello Anna" }).result()));
anna.writes("Hello!");
console.log(describe(await messages.send({ to: anna.phoneNumber, body: "Friday?" }).result()));
sandbox.faults.add({ operation: "messages.send", times: 1, phase: "after", effect: "reset" });
console.log(describe(await messages.send({ to: anna.phoneNumber, body: "At two?" }).result()));
sandbox.faults.add({ operation: "messages.send", times: 1, effect: { kind: "missing-field", field: "status" } });
console.log(describe(await messages.send({ to: anna.phoneNumber, body: "At three?" }).result()));
console.log(describe(await messages.send({ to: "see notes", body: "At four?" }).result()));
