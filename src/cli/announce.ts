import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { SandboxServer } from "../sandbox/server.ts";
import { isLoopback } from "../shared/hosts.ts";
import { wrapped } from "./look.ts";

const firstLine = "# Written by the command: messaging-conversations sandbox.\n";

/** Writes a new file, or one that an earlier sandbox wrote; any other file belongs to someone, and stays. */
export function writeEnvironment(file: string, { baseUrl, apiKey, agencyId, controlUrl, token }: SandboxServer): void {
	const text = `${firstLine}MESSAGING_BASE_URL=${baseUrl}
MESSAGING_API_KEY=${apiKey}
MESSAGING_AGENCY_ID=${agencyId}
MESSAGING_SANDBOX_CONTROL_URL=${controlUrl}
MESSAGING_SANDBOX_TOKEN=${token}
`;
	if (existsSync(file) && !readFileSync(file, "utf8").startsWith(firstLine))
		throw new Error(`--write-env ${file} exists, and no sandbox wrote it. Name another file.`);
	writeFileSync(file, text, { mode: 0o600 });
}

/** The facts that the banner shows beside the server. */
export interface Announced {
	readonly page: string;
	/** The time of the sandbox's clock. */
	readonly now: Date;
	/** Whether that clock runs. */
	readonly follow: boolean;
	/** Whether a bug file is open, read-only. */
	readonly isBug: boolean;
	/** The file of `--state`. */
	readonly state: string | undefined;
	/** Whether keys are read. */
	readonly hasKeys: boolean;
}

const nameWidth = 17;

/** What one needs at start. The link comes first, because the page has all the rest. */
export function banner(
	{ baseUrl, controlUrl, token, apiKey, agencyId }: SandboxServer,
	{ page, now, follow, isBug, state, hasKeys }: Announced,
	columns: number,
): string {
	const stands = isBug ? "stands still" : "does not run: a control moves it, or --follow lets it run";
	const clock = follow ? "runs with real time" : stands;
	const fits = (line: string): boolean => line.length <= columns;
	const keys = hasKeys ? "Keys: o opens the page, q quits." : "Ctrl-C stops it.";
	const rows: readonly (readonly [string, string])[] = [
		["Page", page],
		["Base URL", baseUrl],
		["API key", apiKey],
		["Agency", agencyId],
		["Control URL", controlUrl],
		["Control token", token],
		["Clock", `${now.toISOString()}, ${clock}`],
		...(isBug ? [["Bug file", 'read-only, until "Continue from here" on the page, or POST continue'] as const] : []),
		...(state === undefined ? [] : [["State", state] as const]),
	];
	const lines = rows.flatMap(([name, value]) => {
		const head = `  ${name}`.padEnd(nameWidth);
		// What is to be copied stays in one piece, on a line of its own if there is no room beside the name.
		if (!value.includes(" ")) return fits(head + value) ? [head + value] : [`  ${name}`, `    ${value}`];
		const [first, ...rest] = wrapped(value, columns - nameWidth);
		return [head + first, ...rest.map((line) => " ".repeat(nameWidth) + line)];
	});
	const end = `No message reaches anybody. ${keys} --examples shows code to paste.`;
	return [...lines, ...wrapped(end, columns)].join("\n");
}

/** Lines to paste, for `--examples`. */
export function examples({ baseUrl, controlUrl, token, apiKey, agencyId }: SandboxServer): string {
	const { hostname } = new URL(baseUrl);
	const allowed = isLoopback(hostname) ? "" : `, allowInsecureHosts: ["${hostname}"]`;
	const key = `Authorization: Bearer ${apiKey}`;
	const control = `X-Sandbox-Token: ${token}`;
	return `
TypeScript:

  import { createClient } from "messaging-conversations";

  const client = createClient({ baseUrl: "${baseUrl}", apiKey: "${apiKey}"${allowed} });
  const sent = await client.agency("${agencyId}").messages.send({ to: "+447700900101", body: "Hello" });

curl:

  curl -H "${key}" ${baseUrl}/me
  curl -H "${control}" -d '{"text":"Hello"}' ${controlUrl}/contacts/+447700900101/writes
  curl -H "${control}" -d '{"hours":25}' ${controlUrl}/clock/advance
`;
}
