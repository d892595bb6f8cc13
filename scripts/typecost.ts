/**
 * What the types cost a user's compiler: instantiations of a file that calls the client and the sandbox, over an empty
 * file. Fails over the budget.
 *
 *   npm run build && npm run types:cost
 */
import { fileURLToPath } from "node:url";
import ts from "typescript";

const budget = 1100;

const code = `import { createClient, isWindowOpen, toE164 } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
const sandbox = createSandbox({ seed: "busy" });
sandbox.faults.add({ operation: "messages.send", times: 1, phase: "after", effect: "reset" });
const client = createClient({ ...sandbox.connection });
const agency = client.agency((await client.me.get()).agencies[0]?.id ?? "");
for await (const row of agency.conversations.list({ search: "Peeters" })) console.log(row.contactName, isWindowOpen(row));
for await (const message of agency.conversations.listMessages(toE164("0470 12 34 56"))) console.log(message.body);
console.log((await agency.conversations.lookup(["0470 12 34 56"])).map(({ input }) => input));
const result = await agency.messages.send({ to: "+32470123456", body: "Hi" }).result();
if (result.ok) console.log(result.data.queued ? result.data.queueId : result.data.messageId);
else console.log(result.error._tag === "PartnerConflict" ? result.error.outcome : result.error.operationId);
`;

const options: ts.CompilerOptions = {
	target: ts.ScriptTarget.ES2022,
	lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
	module: ts.ModuleKind.ESNext,
	moduleResolution: ts.ModuleResolutionKind.Bundler,
	strict: true,
	noEmit: true,
	types: [],
	paths: {
		"messaging-conversations": [dist("index.d.ts")],
		"messaging-conversations/sandbox": [dist("sandbox/index.d.ts")],
	},
};

const own = instantiations(code) - instantiations("export {};\n");
console.log(`types ${own} instantiations of ${budget}`);
if (own > budget) process.exitCode = 1;

function instantiations(text: string): number {
	const host = ts.createCompilerHost(options);
	const { getSourceFile, fileExists } = host;
	const name = "/main.ts";
	host.fileExists = (path) => path === name || fileExists(path);
	host.getSourceFile = (path, ...rest) =>
		path === name ? ts.createSourceFile(path, text, ts.ScriptTarget.ES2022) : getSourceFile(path, ...rest);
	const program = ts.createProgram([name], options, host);
	const wrong = ts.getPreEmitDiagnostics(program);
	if (wrong.length > 0) throw new Error(ts.formatDiagnostics(wrong, host));
	return program.getInstantiationCount();
}

function dist(path: string): string {
	return fileURLToPath(new URL(`../dist/${path}`, import.meta.url));
}
