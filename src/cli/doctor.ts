import { version } from "../../package.json";
import { connectionHelp, connectionOptions, readConnection, startSandbox } from "./connection.ts";
import type { Check } from "./doctor/check.ts";
import { examine } from "./doctor/examine.ts";
import { createReport, statusOf, summaryOf } from "./doctor/report.ts";
import type { Host } from "./host.ts";
import { lookOf, mostColumns, wrapped } from "./look.ts";
import { type Options, readOptions } from "./options.ts";
import { jsonLine } from "./text.ts";

const options = {
	...connectionOptions,
	agency: { type: "string", value: "<id>", help: "Checks only this agency. Default all agencies of the key." },
	json: { type: "boolean", default: false, help: "Prints one line of JSON: status, version, checks." },
	sandbox: {
		type: "boolean",
		default: false,
		help: "Examines a sandbox of its own, to see the command work without a key.",
	},
} as const satisfies Options;

const usage = {
	command: "doctor",
	about: `Diagnoses connection and configuration problems: settings, network, certificate, clock, key, agencies, contract.
It only reads. What it prints holds no key, no phone number and no name of a person.`,
	options,
	notes: `${connectionHelp}

Exit status: 0 every check is fine, 1 it works and some checks need attention, 2 it cannot work.`,
	end: { example: "doctor --sandbox", page: "command-line" },
};

export const doctorCommand = {
	summary: "Diagnoses connection and configuration problems. It only reads.",
	failure: 2,
	options,
	run,
};

async function run(args: string[], host: Host): Promise<number> {
	const values = readOptions(usage, args, host);
	if (!values) return 0;
	const local = values.sandbox ? await startSandbox() : undefined;
	// It is fine if the reader stops early, such as head.
	host.onOutputClosed(() => {});
	const connection = local?.connection ?? readConnection(values.env, host);
	try {
		return statusOf(await printReport(examine(connection, host, values.agency), values.json, host));
	} finally {
		await local?.close();
	}
}

async function printReport(examined: AsyncIterable<Check>, json: boolean, host: Host): Promise<Check[]> {
	const checks: Check[] = [];
	const report = createReport(lookOf(host));
	const say = (lines: readonly string[]): void => {
		for (const line of json ? [] : lines) host.print(line);
	};
	const runtime = `Node ${process.versions.node} on ${process.platform}`;
	const columns = Math.min(lookOf(host).columns(), mostColumns);
	say(wrapped(`messaging-conversations ${version} doctor, ${new Date().toISOString()}, ${runtime}`, columns));
	say([""]);
	for await (const check of examined) {
		checks.push(check);
		say(report.add(check));
	}
	say([...report.end(), "", ...wrapped(summaryOf(checks), columns)]);
	if (json) host.print(jsonLine({ status: statusOf(checks), version, checks }));
	return checks;
}
