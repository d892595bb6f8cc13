// `npm run demo`: the sandbox with its page, and a small CRM beside it, in a process of its own. Both are shown in one window,
// with the steps of the demo. No real person is reached.
import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { hasBrowser, openInBrowser } from "./browser.ts";
import { createSplit } from "./split.ts";
import { type Act, annasPhone, beasPhone, perform, steps } from "./steps.ts";

const { values } = parseArgs({ options: { open: { type: "boolean" }, "no-open": { type: "boolean" } } });
const isOpened = values.open ?? (!values["no-open"] && hasBrowser());
const hourMs = 3_600_000;
console.log("Starting the sandbox …");

const sandbox = createSandbox({ now: new Date(Date.now() - 30 * hourMs) });
const agency = sandbox.agency();
tellPast();
// The window asks by its own port, from which it hands requests to the sandbox.
const server = await serve(sandbox, { follow: true, allowHosts: ["127.0.0.1"] });

/** Bea, Chloé and Dora wrote 30 hours ago, so their windows are closed. Anna wrote an hour ago, and the AI answered. */
function tellPast(): void {
	agency.contact("+447700900104", { name: "Dora Jacobs" }).writes("Is there a garden?");
	agency.contact("+447700900103", { name: "Chloé Maes" }).writes("Thank you for the visit.");
	agency.contact(beasPhone, { name: "Bea Janssens" }).writes("Could we visit the house in the Molenstraat?");
	sandbox.clock.advanceTo(new Date(Date.now() - hourMs));
	const anna = agency.contact(annasPhone, { name: "Anna Peeters" });
	anna.writes("Is the flat in the Kerkstraat still free?");
	agency.ai.replies({ contact: anna, text: "It is. Shall I plan a visit?" });
	sandbox.clock.advanceTo(new Date());
}

// Each world of the sandbox has a database of the CRM's, because ids begin anew.
const folder = mkdtempSync(join(tmpdir(), "messaging-demo-"));
let world = 1;
/** The steps that were done, by their place. */
const done = new Set<number>();
const progress = new EventEmitter().setMaxListeners(0);
sandbox.subscribe((event) => {
	const places = [...steps.keys()].filter((place) => !done.has(place) && steps[place]?.isDone(event));
	for (const place of places) done.add(place);
	if (places.length > 0) progress.emit("change");
});
sandbox.subscribe(({ type }) => {
	if (type !== "sandbox.reset" && type !== "sandbox.restored" && type !== "sandbox.opened") return;
	if (type === "sandbox.reset") {
		tellPast();
		// The past has steps in it too.
		queueMicrotask(() => {
			done.clear();
			progress.emit("change");
		});
	}
	world++;
	crm.kill("SIGKILL");
});
let port = "0";
let ending = false;
const terminal = createInterface({ input: process.stdin });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => void end(0));
console.log("Starting the CRM, which makes its database. This takes some seconds …");
let crm = startCrm();
const split = createSplit({
	token: server.token,
	sandboxUrl: new URL(server.baseUrl).origin,
	crmUrl: () => `http://127.0.0.1:${port}/`,
	perform: act,
	done: () => [...done],
	onDone(tell) {
		progress.on("change", tell);
		return () => void progress.off("change", tell);
	},
});
await Promise.race([once(crm, "message"), once(crm, "exit")]);
if (!ending) console.log("The CRM reads the sandbox's conversations …");
if (!ending) welcome(await listening());

/** The address of the window with both. */
async function listening(): Promise<string> {
	split.listen(0, "127.0.0.1");
	await once(split, "listening");
	const address = split.address();
	return `http://127.0.0.1:${typeof address === "object" ? address?.port : address}/${server.token}/`;
}

function act(name: Act): void {
	if (name === "kill") crm.kill("SIGKILL");
	else perform(sandbox, name);
}

function startCrm(): ChildProcess {
	const child = spawn(process.execPath, ["--import", "tsx", fileURLToPath(new URL("crm.ts", import.meta.url))], {
		env: {
			...process.env,
			MESSAGING_BASE_URL: server.baseUrl,
			MESSAGING_API_KEY: server.apiKey,
			MESSAGING_AGENCY_ID: agency.id,
			MESSAGING_SANDBOX_CONTROL_URL: server.controlUrl,
			MESSAGING_SANDBOX_TOKEN: server.token,
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
	split.close();
	split.closeAllConnections();
	await server.close();
	rmSync(folder, { recursive: true, force: true });
	process.exitCode = code;
}

function welcome(url: string): void {
	console.log(`
The demo           ${url}
A contact's phone  ${server.controlUrl}/ui/#token=${server.token}
The CRM            http://127.0.0.1:${port}/

${isOpened ? "The demo opens in your browser." : "Open the demo in a browser."} It shows the phone and the CRM side by side, and what to do.
k and Enter kill the CRM's process, and it starts again. Ctrl-C ends all.
`);
	terminal.on("line", (line) => line.trim() === "k" && crm.kill("SIGKILL"));
	if (isOpened) openInBrowser(url);
}
