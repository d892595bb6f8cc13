/**
 * Checks the types of every sample: of the README, the guides, llms.txt and the TSDoc. An error names the document and
 * the line. test/readme.test.ts runs the samples.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { exampleSamples, pageSamples } from "../test/samples.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

// The samples stay in memory. This folder need not exist: it decides what their relative imports mean.
const folder = join(root, "test/.samples");
const samples = new Map(
	[...pageSamples, ...exampleSamples].map((sample, index) => [join(folder, `${index + 1}.ts`), sample]),
);
if (samples.size === 0) throw new Error("There are no samples.");

const fail = (diagnostic: ts.Diagnostic): never => {
	throw new Error(ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n"));
};
const config = ts.getParsedCommandLineOfConfigFile(
	join(root, "tsconfig.json"),
	{},
	{ ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail },
);
if (!config) throw new Error("tsconfig.json cannot be read.");

const host = ts.createCompilerHost(config.options);
const { fileExists, readFile, directoryExists } = host;
host.fileExists = (path) => samples.has(path) || fileExists(path);
host.directoryExists = (path) => path === folder || (directoryExists?.(path) ?? true);
host.readFile = (path) => {
	const sample = samples.get(path);
	return sample ? `${sample.code}\nexport {};\n` : readFile(path);
};

const program = ts.createProgram([...samples.keys()], config.options, host);
// The check of types reads the sources that the samples import.
const errors = [...samples].flatMap(([path, { name, code, places }]) => {
	const file = program.getSourceFile(path);
	if (!file) throw new Error(`The compiler did not read ${name}.`);
	return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map((diagnostic) => {
		const { line } = file.getLineAndCharacterOfPosition(diagnostic.start ?? 0);
		const place = places[line] ?? `${name}, in the code added to it (${code.split("\n")[line]?.trim()})`;
		return `${place} - error TS${diagnostic.code}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n")}`;
	});
});

for (const error of errors) console.error(error);
if (errors.length > 0) process.exitCode = 1;
else console.log(`${samples.size} samples compile`);
