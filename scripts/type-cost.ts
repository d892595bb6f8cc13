/**
 * What the types cost a user's compiler: the type instantiations of a file that calls the client and the sandbox, less
 * those of an empty file. With skipLibCheck, which nearly every project sets. Fails over the budget.
 */
import ts from "typescript";
import { declarations } from "./generate/declarations.ts";

const budget = 1000;

const code = `import { createClient, isWindowOpen, toE164 } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
const sandbox = createSandbox({ scenario: "busy" });
sandbox.faults.add({ operation: "messages.send", times: 1, phase: "after", effect: "reset" });
const client = createClient({ ...sandbox.connection });
const agency = client.agency("agy_0a1b2c3d");
for await (const row of agency.conversations.list({ search: "Peeters" })) console.log(row.contactName, isWindowOpen(row));
for await (const message of agency.conversations.listMessages(toE164("+447700900101"))) console.log(message.body);
console.log((await agency.conversations.lookup(["+447700900101"])).map(({ input }) => input));
const result = await agency.messages.send({ to: "+447700900101", body: "Hi" }).result();
if (result.ok) console.log(result.data.queued ? result.data.queueId : result.data.messageId);
else console.log(result.error._tag === "PartnerConflict" ? result.error.outcome : result.error.operationId);
`;

const compiled = declarations();
const own = instantiations(code) - instantiations("export {};\n");
console.log(`types: ${own} instantiations of at most ${budget}`);
if (own > budget) process.exitCode = 1;

function instantiations(text: string): number {
	const options = { exactOptionalPropertyTypes: false, types: [] };
	const program = compiled.createProgram(["/main.ts"], { more: { "/main.ts": text }, options });
	const [wrong] = program.getSemanticDiagnostics(program.getSourceFile("/main.ts"));
	if (wrong) throw new Error(ts.flattenDiagnosticMessageText(wrong.messageText, "\n"));
	return program.getInstantiationCount();
}
