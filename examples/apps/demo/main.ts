// `npm run demo`: the sandbox with its page, and a small CRM beside it, in a process of its own. Nobody is reached.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";

const { values } = parseArgs({ options: { open: { type: "boolean", default: false } } });
const hourMs = 3_600_000;

const sandbox = createSandbox({ now: new Date(Date.now() - 30 * hourMs) });
const agency = sandbox.agency();
tellPast();
const server = await serve(sandbox, { follow: true });

/** Bea, Chloé and Dora wrote 30 hours ago, so their windows are closed. Anna wrote an hour ago, and the AI answered. */
function tellPast(): void {
	agency.contact("+447700900104", { name: "Dora Jacobs" }).writes("Is there a garden?");
	agency.contact("+447700900103", { name: "Chloé Maes" }).writes("Thank you for the visit.");
	agency.contact("+447700900102", { name: "Bea Janssens" }).writes("Could we visit the house in the Molenstraat?");
	sandbox.clock.advanceTo(new Date(Date.now() - hourMs));
	const anna = agency.contact("+447700900101", { name: "Anna Peeters" });
	anna.writes("Is the flat in the Kerkstraat still free?");
	agency.ai.replies(anna, "It is. Shall I plan a visit?");
	sandbox.clock.advanceTo(new Date());
}

// Each world of the sandbox has a database of the CRM's, because ids begin anew.
const folder = mkdtempSync(join(tmpdir(), "messaging-demo-"));
let world = 1;
sandbox.subscribe(({ type }) => {
	if (type === "sandbox.reset") tellPast();
	else if (type !== "sandbox.restored" && type !== "sandbox.imported") return;
	world++;
	crm.kill("SIGKILL");
});
let port = "0";
let ending = false;
const terminal = createInterface({ input: process.stdin });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => void end(0));
let crm = startCrm();
await Promise.race([once(crm, "message"), once(crm, "exit")]);
if (!ending) welcome({ phone: `${server.controlUrl}/ui/#token=${server.token}`, crm: `http://127.0.0.1:${port}/` });

function startCrm(): ChildProcess {
	const child = spawn(process.execPath, ["--import", "tsx", fileURLToPath(new URL("crm.ts", import.meta.url))], {
		env: {
			...process.env,
			MESSAGING_BASE_URL: server.baseUrl,
			MESSAGING_API_KEY: server.apiKey,
			MESSAGING_AGENCY_ID: agency.id,
			DATABASE_URL: join(folder, `crm-${world}`),
			PORT: port,
		},
		stdio: ["ignore", "inherit", "inherit", "ipc"],
	});
	child.once("message", (message) => {
		port = String(message); // the same one when it starts again
	});
	child.once("exit", async (code, signal) => {
		if (ending) return;
		if (port === "0") return end(1); // it has never run
		console.log(`The CRM's process ended (${signal ?? code}). It starts again, and goes on where it was.`);
		await setTimeout(500);
		if (!ending) crm = startCrm();
	});
	return child;
}

async function end(code: number): Promise<void> {
	if (ending) return;
	ending = true;
	terminal.close();
	if (crm.exitCode === null && crm.signalCode === null) {
		crm.kill("SIGTERM");
		await once(crm, "exit");
	}
	await server.close();
	rmSync(folder, { recursive: true, force: true });
	process.exitCode = code;
}

function welcome(pages: { phone: string; crm: string }): void {
	console.log(`
A contact's phone  ${pages.phone}
The CRM            ${pages.crm}

Put the two windows side by side. Write as Anna on the phone, and answer in the CRM. Then:
- Bea's window is closed: a text to her is held. Accept or decline as Bea, or write her a second text first.
- Under "Faults…" arm messages.send, after, reset. The CRM gets no answer, and Anna gets one text.
- Arm hang instead, send, then press k and Enter here: the CRM's process is killed in the middle.
- "+24 h" closes Anna's window. "Staff, AI, flows and more" has Block, for a phone that cannot be reached.

Ctrl-C ends all.
`);
	terminal.on("line", (line) => line.trim() === "k" && crm.kill("SIGKILL"));
	if (values.open) for (const url of Object.values(pages)) openInBrowser(url);
}

function openInBrowser(url: string): void {
	const [command = "", ...args] =
		process.platform === "darwin" ? ["open"] : process.platform === "win32" ? ["cmd", "/c", "start", ""] : ["xdg-open"];
	const child = spawn(command, [...args, url], { stdio: "ignore", detached: true });
	child.on("error", () => {}); // where no browser can be opened, the printed address remains
	child.unref();
}
