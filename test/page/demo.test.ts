// The demo of examples/apps: the sandbox's page and the CRM, in two windows. Each story has a contact of its own.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { axeFindings, messages, openPage, pictureOfBoth, requests, shows } from "./visit.ts";

let demo: ChildProcess;
let said = "";

beforeAll(async () => {
	const cwd = fileURLToPath(new URL("../../examples/apps", import.meta.url));
	// Without --open, and with no terminal, it opens nothing by itself.
	demo = spawn(process.execPath, ["--liftoff-only", "--import", "tsx", "demo/main.ts"], {
		cwd,
		stdio: ["pipe", "pipe", "inherit"],
	});
	demo.stdout?.on("data", (text) => (said += text));
	// A hook has no expect.poll.
	await vi.waitFor(() => expect(said).toContain("Ctrl-C ends all."), 180_000);
});
afterAll(async () => {
	demo.kill("SIGINT");
	expect(await once(demo, "exit")).toEqual([0, null]);
});

/** An address that the demo has printed. */
const address = (name: string): string => new RegExp(`${name} +(http:\\S+)`).exec(said)?.[1] ?? "";

interface Windows {
	phone: Page;
	crm: Page;
	/** Sends a text to the contact from the CRM. */
	send(body: string): Promise<void>;
	/** How often the text is on the phone. */
	copies(body: string): Promise<number>;
}

/** Both windows; with a name, both show that contact. */
async function openBoth(name?: string): Promise<Windows> {
	const wrong: string[] = [];
	const phone = await openPage(address("A contact's phone"), wrong);
	const crm = await openPage(address("The CRM"), wrong);
	onTestFinished(() => expect(wrong).toEqual([]));
	await phone.getByText("● connected").waitFor();
	await crm.getByText("● live").waitFor();
	if (name !== undefined) {
		await phone.getByRole("button", { name }).click();
		await openInCrm(crm, name);
	}
	return {
		phone,
		crm,
		async send(body) {
			await crm.getByRole("textbox", { name: "Text to" }).fill(body);
			await crm.getByRole("button", { name: "Send" }).click();
		},
		copies: (body) => messages(phone).getByRole("paragraph").getByText(body, { exact: true }).count(),
	};
}

async function openInCrm(crm: Page, name: string): Promise<void> {
	await crm.getByRole("link", { name }).click();
	await crm.getByRole("heading", { name }).waitFor();
	await crm.getByText("● live").waitFor();
}

const forecast = (crm: Page) => crm.getByRole("status").filter({ hasText: /\S/ });

/** What the CRM says of its text. */
const line = (crm: Page, body: string) => messages(crm).getByRole("article").filter({ hasText: body });

test("a contact writes and appears in the CRM", async () => {
	const { phone, crm, send } = await openBoth();
	const body = `Hello <img src="x" onerror="document.title = 'hacked'">`;
	await phone.keyboard.press("/");
	await phone.keyboard.type("+447700900150");
	await phone.keyboard.press("Enter");
	await phone.getByRole("main", { name: "Phone of +447700900150" }).waitFor();
	await phone.keyboard.press("r");
	await phone.keyboard.type(body);
	await phone.keyboard.press("Enter");
	await openInCrm(crm, "+447700900150");
	await shows(messages(crm), body);
	expect(await crm.title()).not.toContain("hacked");
	await shows(forecast(crm), "Goes out now");
	await shows(forecast(crm), "The AI will be switched off.");
	await send("Good morning");
	await shows(messages(phone), "Good morning");
	await shows(line(crm, "Good morning"), "Sent.");
	await phone.getByRole("main").getByText("AI off: after a manual send").waitFor();
	// The outbox of the CRM, which is another process, shows itself.
	await phone.getByRole("tab", { name: "Outbox" }).click();
	await shows(phone.getByRole("list", { name: "Texts of the outbox" }), "Good morning");
	expect(await axeFindings(crm)).toEqual([]);
});

test("a text to a closed window is held on the phone", async () => {
	const { phone, crm, send, copies } = await openBoth("Bea Janssens");
	await shows(forecast(crm), "Will be held");
	await send("Friday at 10:00 suits us. Shall we meet there?");
	await shows(messages(phone), "Held, not sent");
	await shows(line(crm, "Friday at 10:00"), "Waits for the contact's consent.");
	await shows(messages(crm), "May we send it?");
	await crm.getByRole("textbox", { name: "Text to" }).fill("Or would Saturday be better?");
	await shows(forecast(crm), "that is still held: «Friday at 10:00 suits us. Shall we meet there?»");
	await pictureOfBoth(phone, crm, "demo");
	await crm.getByRole("button", { name: "Send" }).click();
	await shows(line(crm, "Friday at 10:00"), "took its place while it waited for consent");
	await shows(line(crm, "Or would Saturday"), "Waits for the contact's consent.");
	await shows(messages(phone), "Never sent");
	await expect.poll(() => copies("Or would Saturday be better?")).toBe(1);
	expect(await axeFindings(crm)).toEqual([]);
});

test("she accepts, and both show it sent", async () => {
	const { phone, crm, send } = await openBoth("Chloé Maes");
	await send("The keys are at our office.");
	await shows(line(crm, "The keys"), "Waits for the contact's consent.");
	await phone.getByRole("button", { name: "Accept" }).click();
	await shows(messages(phone), "accepted: the held text went out");
	await shows(line(crm, "The keys"), "Sent.");
	await phone.getByText("Staff, AI, flows and more").click();
	await phone.getByRole("button", { name: "Read all" }).click();
	await crm.getByRole("textbox", { name: "Text to" }).focus();
	await shows(line(crm, "The keys"), "Read.");
});

test("she declines", async () => {
	const { phone, crm, send } = await openBoth("Dora Jacobs");
	await send("There is one, of 200 m².");
	await shows(line(crm, "There is one"), "Waits for the contact's consent.");
	await phone.getByRole("button", { name: "Decline" }).click();
	await shows(messages(phone), "Never sent");
	await shows(line(crm, "There is one"), "Not held any more");
	await shows(line(crm, "There is one"), "Not delivered: the contact seems to have declined");
});

test("a lost answer, and there is one text", async () => {
	const { phone, crm, send, copies } = await openBoth("Anna Peeters");
	await armed(phone, "reset");
	await send("Wednesday at 14:00?");
	// A read shows the text, so that its request is not repeated.
	await shows(line(crm, "Wednesday"), "Sent.");
	await shows(requests(phone), "conversations.get");
	expect(await copies("Wednesday at 14:00?")).toBe(1);
});

test("a worker killed in between", async () => {
	const { phone, crm, send, copies } = await openBoth("Anna Peeters");
	await armed(phone, "hang", "");
	await send("Or Thursday?");
	await shows(line(crm, "Or Thursday?"), "Is being sent; the result is not known yet.");
	await shows(messages(phone), "Or Thursday?");
	demo.stdin?.write("k\n");
	await crm.getByText("not connected").waitFor();
	await phone.getByRole("button", { name: "1 fault armed" }).click();
	await phone.getByRole("button", { name: "Remove" }).click();
	await phone.keyboard.press("Escape");
	await crm.getByText("● live").waitFor();
	await shows(line(crm, "Or Thursday?"), "Sent.");
	expect(await copies("Or Thursday?")).toBe(1);
	expect(said).toContain("process ended (SIGKILL)");
});

test("one window has the steps, the phone and the CRM, and a step that is done says what to see", async () => {
	const wrong: string[] = [];
	const page = await openPage(address("The demo"), wrong, { viewport: { width: 1440, height: 900 } });
	onTestFinished(() => expect(wrong).toEqual([]));
	const phone = page.frameLocator('iframe[title="A contact\'s phone"]');
	const crm = page.frameLocator('iframe[title="The CRM"]');
	await phone.getByText("● connected").waitFor();
	await crm.getByText("● live").waitFor();
	// Both are at Anna's conversation, so that the first click moves something in each.
	await phone.getByRole("main", { name: "Phone of Anna Peeters" }).waitFor();
	await crm.getByRole("heading", { name: "Anna Peeters" }).waitFor();
	const step = (title: string) => page.getByRole("link", { name: title });
	const shown = page.getByRole("region", { name: /^Step / });

	// What was done before, by the tests above, is done.
	await step("A closed window").click();
	await shows(shown, "In the CRM, open Bea Janssens");
	await shows(shown, "✓ The CRM said beforehand that the text would be held.");
	await page.reload();
	await shows(shown, "In the CRM, open Bea Janssens");
	await step("A contact writes").click();
	await expect.poll(() => shown.getByText("✓").count()).toBe(0);
	await shown.getByRole("button", { name: "Let Anna write" }).click();
	await shows(shown, "✓ Her message is in the CRM");
	for (const side of [phone, crm])
		await shows(side.getByRole("log", { name: "Messages" }), "Could I come on Thursday?");
	await page.goBack();
	await shows(shown, "In the CRM, open Bea Janssens");

	await step("A lost answer").click();
	const before = await armedFaults();
	await shown.getByRole("button", { name: "Lose the next answer" }).click();
	await expect.poll(armedFaults).toBe(before + 1);
	await crm.getByRole("textbox", { name: "Text to" }).fill("In this window?");
	await crm.getByRole("button", { name: "Send" }).click();
	await shows(crm.getByRole("article").filter({ hasText: "In this window?" }), "Sent.");
	await shows(phone.getByRole("log", { name: "Messages" }), "In this window?");

	await step("A crash").click();
	await shown.getByRole("button", { name: "Kill the CRM" }).click();
	await crm.getByText("not connected").waitFor();
	await crm.getByText("● live").waitFor();
	expect(await axeFindings(page)).toEqual([]);
});

test("only who knows the address gets the window, and no page of another host", async () => {
	const url = new URL(address("The demo"));
	const statusOf = async (path: string, init?: RequestInit) => (await fetch(new URL(path, url), init)).status;
	expect(await statusOf(url.pathname)).toBe(200);
	for (const path of ["/", "/steps", "/split.js", `/x${url.pathname.slice(1)}`]) expect(await statusOf(path)).toBe(404);
	expect(await statusOf("/x/do/kill", { method: "POST" })).toBe(404);
	expect(await statusOf(`${url.pathname}do/nothing`, { method: "POST" })).toBe(404);
	expect(await statusOf("/_sandbox/clock")).toBe(401);
	const asked = (path: string) =>
		new Promise((resolve) => {
			const headers = { host: `evil.example:${url.port}` };
			request(new URL(path, url), { headers }, (response) => resolve(response.resume().statusCode)).end();
		});
	expect(await asked(url.pathname)).toBe(404);
	expect(await asked("/_sandbox/ui/")).toBe(403);
});

/** How many faults wait to hit. */
async function armedFaults(): Promise<number> {
	const [, controlUrl, token = ""] = /(http:\S+)\/ui\/#token=(\w+)/.exec(said) ?? [];
	return (await (await fetch(`${controlUrl}/faults`, { headers: { "x-sandbox-token": token } })).json()).length;
}

/** The next sends run, and their answers do not arrive: so many, or without end. */
async function armed(phone: Page, effect: "reset" | "hang", times = "1"): Promise<void> {
	await phone.getByRole("button", { name: "Faults…" }).click();
	await phone.getByLabel("Phase").selectOption("after");
	await phone.getByLabel("Effect").selectOption(effect);
	await phone.getByLabel("Times").fill(times);
	await phone.getByRole("button", { name: "Arm the fault" }).click();
	await phone.getByText(`messages.send: ${effect === "hang" ? "Lose its answer" : "reset, after it runs"}`).waitFor();
	await phone.keyboard.press("Escape");
}
