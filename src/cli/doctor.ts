import { version } from "../../package.json";
import { connectionHelp, connectionOptions, readConnection, startSandbox } from "./connection.ts";
import type { Check } from "./doctor/check.ts";
import { examine } from "./doctor/examine.ts";
import { createReport, mostColumns, statusOf, summaryOf } from "./doctor/report.ts";
import { readOptions } from "./options.ts";

const help = `Usage: messaging-conversations doctor [options]

Finds out why nothing works: settings, network, certificate, clock, key, agencies, contract.
It only reads. What it prints holds no key, no phone number and no name of a person.

Options:
  --env-file <file>  Reads MESSAGING_BASE_URL and MESSAGING_API_KEY from a file.
  --agency <id>      Checks this agency alone. Default all agencies of the key.
  --json             Prints one line of JSON: status, version, checks.
  --sandbox          Examines a sandbox of its own, to see the command work without a key.
  --version          Prints the version.
  --help             Shows this.

${connectionHelp}

Exit status: 0 all is well, 1 it works and something is to be mended, 2 it cannot work.
`;

const options = {
	...connectionOptions,
	agency: { type: "string" },
	json: { type: "boolean", default: false },
} as const;

export const doctorCommand = { summary: "Finds out why nothing works. It only reads.", failure: 2, run };

async function run(args: string[]): Promise<void> {
	const values = readOptions("doctor", args, options, help);
	if (!values) return;
	const local = values.sandbox ? await startSandbox() : undefined;
	// A reader that stops early, such as head, is no failure.
	process.stdout.on("error", () => {});
	const connection = local?.connection ?? readConnection(values["env-file"]);
	try {
		const checks = await print(examine(connection, values.agency), values.json);
		process.exitCode = statusOf(checks);
	} finally {
		await local?.close();
	}
}

async function print(examined: AsyncIterable<Check>, json: boolean): Promise<Check[]> {
	const checks: Check[] = [];
	const { isTTY, columns } = process.stdout;
	const report = createReport({ isColoured: isTTY && !process.env.NO_COLOR, columns: columns || mostColumns });
	const say = (lines: readonly string[]): void => {
		for (const line of json ? [] : lines) console.log(line);
	};
	const runtime = `Node ${process.versions.node} on ${process.platform}`;
	say([`messaging-conversations ${version} doctor, ${new Date().toISOString()}, ${runtime}\n`]);
	for await (const check of examined) {
		checks.push(check);
		say(report.add(check));
	}
	say([...report.end(), `\n${summaryOf(checks)}`]);
	if (json) console.log(JSON.stringify({ status: statusOf(checks), version, checks }));
	return checks;
}
