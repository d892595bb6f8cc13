// A bug is a file: it is exported here, and opened in another sandbox at the same place, read-only until one continues.
import { text as textOf } from "node:stream/consumers";
import { expect, test } from "vitest";
import { type BugFile, createSandbox } from "../../src/sandbox/index.ts";
import { serve } from "../../src/sandbox/server.ts";
import { axeFindings, messages, openPage, picture, requests, shows, visit } from "./visit.ts";

const phone = "+447700900101";

/** A text was replaced, and a send with a revoked key refused. */
async function exported(keep = false): Promise<BugFile> {
	const { page, sandbox, client } = await visit({ scenario: "closed" }, { viewport: { width: 1440, height: 900 } });
	const { messages: texts } = client.agency(sandbox.agency().id);
	await texts.send({ to: phone, body: "Would Thursday suit you?", operationId: "thursday" });
	await texts.send({ to: phone, body: "Would Friday suit you?", operationId: "friday" });
	sandbox.keys.create();
	sandbox.keys.revoke(sandbox.connection.apiKey);
	await texts.send({ to: phone, body: "Would Saturday suit you?", operationId: "saturday" }).result();
	await page.getByRole("button", { name: /Anna/ }).click();
	await requests(page).getByText("messages.send").first().click();
	await shows(requests(page), "X-Correlation-Id");
	await page.getByRole("button", { name: "Scenario…" }).click();
	if (keep) await page.getByLabel("Keep numbers, names and texts").check();
	const [download] = await Promise.all([
		page.waitForEvent("download"),
		page.getByRole("button", { name: "Export as a file" }).click(),
	]);
	expect(download.suggestedFilename()).toBe("bug.json");
	return JSON.parse(await textOf(await download.createReadStream()));
}

test("a file of a later number that is imported says to update the package, and the world stays", async () => {
	const { page, sandbox } = await visit({ scenario: "closed" });
	const before = JSON.stringify(sandbox.snapshot().world);
	const buffer = Buffer.from(JSON.stringify({ ...createSandbox().bug(), version: 2 }));
	await page.getByRole("button", { name: "Scenario…" }).click();
	await page.getByLabel("Import a file").setInputFiles({ name: "bug.json", mimeType: "application/json", buffer });
	await shows(page.getByRole("dialog"), "Update the package in this program");
	expect(JSON.stringify(sandbox.snapshot().world)).toBe(before);
});

test("an export holds no key and nothing of a person, and opens at the same request in another sandbox", async () => {
	const bug = await exported();
	const text = JSON.stringify(bug);
	for (const own of ["Anna", "Thursday", "Friday", "Saturday", "7700900101", "_live.", "Lakeside"])
		expect(text).not.toContain(own);
	const sandbox = createSandbox({ from: bug });
	const server = await serve(sandbox, { readOnly: true });
	const wrong: string[] = [];
	const { contact, request } = bug.place;
	const query = new URLSearchParams({ contact: contact ?? "", request: request ?? "" });
	const page = await openPage(`${server.controlUrl}/ui/#/?${query}&token=${server.token}`, wrong, {
		viewport: { width: 1440, height: 900 },
	});
	await page.getByRole("heading", { name: "Contact 1" }).waitFor();
	await shows(messages(page), "Never sent");
	await shows(messages(page), "Held, not sent");
	await shows(messages(page), "The key key-1 is revoked.");
	await shows(requests(page), "key revoked");
	await shows(requests(page), "X-Correlation-Id");
	expect(await axeFindings(page)).toEqual([]);
	await page.emulateMedia({ colorScheme: "light" });
	await picture(page, "bug-file");
	// The slider goes back before the mistake, on this machine too.
	const held = bug.events.find(({ type }) => type === "request")?.id;
	await page.getByRole("slider", { name: "Go back in time" }).fill(String(held));
	await shows(page.getByRole("main"), "Everything as it was");
	await expect.poll(() => messages(page).getByText("Never sent").count()).toBe(0);
	await shows(messages(page), "Held, not sent");
	await page.getByRole("button", { name: "Back to now" }).click();
	await shows(messages(page), "Never sent");
	// Read-only: no button changes anything, and the service does not answer.
	const write = page.getByRole("button", { name: "Accept", exact: false });
	expect(await write.isDisabled()).toBe(true);
	expect((await fetch(`${server.baseUrl}/me`)).status).toBe(503);
	const refused = await fetch(`${server.controlUrl}/reset`, {
		method: "POST",
		headers: { "x-sandbox-token": server.token },
	});
	expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("read-only")]);
	await page.getByRole("button", { name: "Continue from here" }).click();
	await page.getByRole("button", { name: "Continue from here" }).waitFor({ state: "hidden" });
	await write.click();
	await expect
		.poll(
			() =>
				sandbox
					.agency()
					.contact(contact ?? "")
					.state().held,
		)
		.toBeNull();
	await requests(page).getByRole("button", { name: "Replay", exact: true }).click();
	await expect.poll(() => sandbox.requests().at(-1)?.status).toBe(401);
	expect(wrong).toEqual([]);
	await server.close();
});

test("a bug file is opened on the page of a sandbox that runs, with its texts if those were kept", async () => {
	const bug = await exported(true);
	expect(JSON.stringify(bug)).not.toContain("_live.");
	const { page, sandbox } = await visit();
	sandbox.agency().contact("+447700900199", { name: "Zoe" }).writes("Another world");
	await page.getByRole("button", { name: "Scenario…" }).click();
	const buffer = Buffer.from(JSON.stringify(bug));
	await page.getByLabel("Import a file").setInputFiles({ name: "bug.json", mimeType: "application/json", buffer });
	await page.getByRole("dialog").waitFor({ state: "detached" });
	await page.getByRole("heading", { name: "Anna" }).waitFor();
	await shows(messages(page), "Would Thursday suit you?");
	await shows(requests(page), "key revoked");
	await shows(requests(page), "X-Correlation-Id");
	expect(await page.getByText("Zoe").count()).toBe(0);
	await page.getByRole("button", { name: "Continue from here" }).waitFor();
});

test("from the past of a bug file one goes on with one button, which stays the only one on a phone too", async () => {
	const bug = await exported();
	const sandbox = createSandbox({ from: bug });
	const server = await serve(sandbox, { readOnly: true });
	const page = await openPage(`${server.controlUrl}/ui/#token=${server.token}`, []);
	const held = bug.events.find(({ type }) => type === "request")?.id;
	const goOn = page.getByRole("button", { name: "Continue from here" });
	await page.getByRole("slider", { name: "Go back in time" }).fill(String(held));
	await shows(page.getByRole("main"), "Everything as it was");
	expect(await goOn.count()).toBe(1);
	await page.setViewportSize({ width: 390, height: 844 });
	await page.getByRole("navigation", { name: "Panes" }).getByRole("button", { name: "Phone" }).click();
	await goOn.waitFor();
	expect(await axeFindings(page)).toEqual([]);
	await goOn.click();
	await goOn.waitFor({ state: "detached" });
	await expect.poll(() => sandbox.events({ limit: 1 }).at(-1)?.type).toBe("sandbox.restored");
	expect((await fetch(`${server.baseUrl}/me`)).status).toBe(401); // it answers again
	await server.close();
});

test("an export says that it runs, and a second click makes no second one", async () => {
	const { page, client } = await visit();
	await client.me.get();
	await requests(page).getByText("me.get").click();
	let asked = 0;
	let goOn: () => void = () => undefined;
	const wait = new Promise<void>((resolve) => (goOn = resolve));
	await page.route(/_sandbox\/bug/, async (route) => {
		asked++;
		await wait;
		await route.continue();
	});
	await requests(page).getByRole("button", { name: "export" }).click();
	const busy = requests(page).getByRole("button", { name: "Exporting…" });
	await busy.click();
	expect(await busy.getAttribute("aria-busy")).toBe("true");
	const [download] = await Promise.all([page.waitForEvent("download"), goOn()]);
	expect(download.suggestedFilename()).toBe("bug.json");
	await requests(page).getByRole("button", { name: "export" }).waitFor();
	expect(asked).toBe(1);
});

test("a file that is none says so, and what is in one is shown as text", async () => {
	const bug = createSandbox({ scenario: "held" }).bug({ keepContent: true });
	const { page, sandbox } = await visit();
	await page.getByRole("button", { name: "Scenario…" }).click();
	const load = (file: unknown) =>
		page.getByLabel("Import a file").setInputFiles({
			name: "bug.json",
			mimeType: "application/json",
			buffer: Buffer.from(JSON.stringify(file)),
		});
	await load({ ...bug, events: [{ id: 1, type: "request" }] });
	await shows(page.getByRole("dialog"), "bug: events[0]");
	expect(sandbox.agency().conversations()).toEqual([]);
	const markup = "<img src=x onerror=alert(1)>";
	const spoilt = JSON.parse(JSON.stringify(bug));
	for (const thread of spoilt.world.agencies[0].threads) thread.name = markup;
	await load(spoilt);
	await page.getByRole("dialog").waitFor({ state: "detached" });
	await page.getByRole("button", { name: markup }).waitFor();
	expect(await page.locator("img").count()).toBe(0);
});
