import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { SandboxServer } from "../sandbox/server.ts";

const firstLine = "# Written by the command: messaging-conversations sandbox.\n";

/** Writes a new file, or one that an earlier sandbox wrote; any other file is somebody's and stays. */
export function writeEnvironment(file: string, { baseUrl, apiKey, agencyId, controlUrl, token }: SandboxServer): void {
	const text = `${firstLine}MESSAGING_BASE_URL=${baseUrl}
MESSAGING_API_KEY=${apiKey}
MESSAGING_AGENCY_ID=${agencyId}
MESSAGING_SANDBOX_CONTROL_URL=${controlUrl}
MESSAGING_SANDBOX_TOKEN=${token}
`;
	if (existsSync(file) && !readFileSync(file, "utf8").startsWith(firstLine))
		throw new Error(`--write-env ${file} exists, and no sandbox wrote it.`);
	writeFileSync(file, text, { mode: 0o600 });
}

/** Opens the page in the user's browser, and ignores a failure, because the address is printed too. */
export function openPage(url: string): void {
	const [command = "", ...args] =
		process.platform === "darwin" ? ["open"] : process.platform === "win32" ? ["cmd", "/c", "start", ""] : ["xdg-open"];
	const child = spawn(command, [...args, url], { stdio: "ignore", detached: true });
	child.on("error", () => {});
	child.unref();
}

/** The banner's words for a clock that does not run. */
const standing = `until a control moves it.
                 A program that reads the real time needs --follow: then the clock runs from now.`;

/** The facts that the banner shows beside the server. */
export interface Announced {
	readonly page: string;
	/** The time of the sandbox's clock. */
	readonly now: Date;
	/** Whether that clock runs. */
	readonly follow: boolean;
}

export function banner(
	{ baseUrl, controlUrl, token, apiKey, agencyId }: SandboxServer,
	{ page, now, follow }: Announced,
): string {
	const { hostname } = new URL(baseUrl);
	const isLoopback = /^(\[|127\.|localhost$)/.test(hostname);
	const allowed = isLoopback ? "" : `, allowInsecureHosts: ["${hostname}"]`;
	const key = `Authorization: Bearer ${apiKey}`;
	const control = `X-Sandbox-Token: ${token}`;
	return `Messaging Conversations sandbox: no message reaches anybody.

  Base URL       ${baseUrl}
  API key        ${apiKey}
  Agency         ${agencyId}
  Control URL    ${controlUrl}
  Control token  ${token}
  Page           ${page}
  Clock          ${now.toISOString()}, ${follow ? "and runs with real time" : standing}

TypeScript:

  import { createClient } from "messaging-conversations";

  const client = createClient({ baseUrl: "${baseUrl}", apiKey: "${apiKey}"${allowed} });
  const sent = await client.agency("${agencyId}").messages.send({ to: "+447700900101", body: "Hello" });

curl:

  curl -H "${key}" ${baseUrl}/me
  curl -H "${control}" -d '{"text":"Hello"}' ${controlUrl}/contacts/+447700900101/writes
  curl -H "${control}" -d '{"hours":25}' ${controlUrl}/clock/advance

Ctrl-C stops it.
`;
}
