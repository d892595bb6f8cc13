import { expect, test } from "vitest";
import { createSandbox } from "../../src/sandbox/index.ts";
import { serve } from "../../src/sandbox/server.ts";
import { messages, openPage, requests, shows, visit } from "./visit.ts";

const phone = "+447700900101";

const focused = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText";

test("a text leaves its field at once, comes back when it could not be sent, and is one contact's alone", async () => {
	const { page, server, sandbox } = await visit();
	const anna = sandbox.agency().contact(phone, { name: "Anna" });
	anna.writes("Hello");
	sandbox.agency().contact("+447700900102", { name: "Bram" }).writes("Hello");
	const field = page.getByLabel("Message from");
	await page.getByRole("button", { name: /Anna/ }).click();
	let pass = (): void => undefined;
	const gate = new Promise<void>((resolve) => (pass = resolve));
	await page.route("**/writes", async (route) => {
		await gate;
		await route.continue();
	});
	await field.fill("one");
	await field.press("Enter");
	await expect.poll(() => field.inputValue()).toBe("");
	await field.press("Enter");
	await field.fill("two");
	pass();
	await shows(messages(page), "one");
	expect(await field.inputValue()).toBe("two");
	expect(anna.state().messages.map(({ body }) => body)).toEqual(["Hello", "one"]);
	await page.getByRole("button", { name: /Bram/ }).click();
	await expect.poll(() => field.inputValue()).toBe("");
	await page.getByRole("button", { name: /Anna/ }).click();
	await expect.poll(() => field.inputValue()).toBe("two");
	await server.close();
	await field.press("Enter");
	await expect.poll(() => field.inputValue()).toBe("two");
});

test("a fault that a read spent is armed no more", async () => {
	const { page, sandbox, client } = await visit();
	sandbox.faults.add({ operation: "me.get", effect: { status: 404 } });
	await page.getByRole("button", { name: "1 fault armed" }).waitFor();
	await client.me.get().result();
	await page.getByRole("button", { name: "1 fault armed" }).waitFor({ state: "hidden" });
});

test("in a thread of more lines than are shown, a new message leaves what is open open, and in focus", async () => {
	const { page, sandbox } = await visit();
	const anna = sandbox.agency().contact(phone, { name: "Anna" });
	for (let i = 0; i < 320; i++) anna.writes(`line ${i}`);
	sandbox.agency().staff.sends({ contact: phone, text: "from Tom" });
	await page.getByRole("button", { name: /Anna/ }).click();
	await messages(page).locator("summary").last().focus();
	await page.keyboard.press("Enter");
	await messages(page).getByRole("button", { name: "delivered" }).waitFor();
	anna.writes("the last one");
	await shows(messages(page), "the last one");
	expect(await messages(page).getByRole("button", { name: "delivered" }).isVisible()).toBe(true);
	expect(await page.evaluate(focused)).toContain("Staff");
});

test("a conversation follows its new messages, though the one before was scrolled up", async () => {
	const { page, sandbox } = await visit();
	const bram = sandbox.agency().contact("+447700900102", { name: "Bram" });
	bram.writes("Hello");
	for (let i = 0; i < 50; i++) sandbox.agency().contact(phone, { name: "Anna" }).writes(`line ${i}`);
	await page.getByRole("button", { name: /Anna/ }).click();
	await shows(messages(page), "line 49");
	await messages(page).evaluate((log) => (log.scrollTop = 0));
	await page.getByRole("button", { name: /Bram/ }).click();
	for (let i = 0; i < 50; i++) bram.writes(`word ${i}`);
	await shows(messages(page), "word 49");
	const left = () => messages(page).evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight);
	await expect.poll(left).toBeLessThan(40);
});

test("a number is taken as people write it, and an empty error code is none", async () => {
	const { page, sandbox } = await visit();
	await page.getByLabel("Search or new number").fill("0470/12 34 56");
	await page.keyboard.press("Enter");
	await page.getByRole("heading", { name: "+32470123456" }).waitFor();
	const agency = sandbox.agency();
	agency.contact("+32470123456").writes("Hello");
	agency.staff.sends({ contact: "+32470123456", text: "Hi" });
	await messages(page).getByText("Staff").click();
	await page.getByLabel("Error code of a failure").fill("");
	await page.getByRole("button", { name: "failed" }).click();
	await expect.poll(() => agency.contact("+32470123456").state().lastMessage?.status).toBe("failed");
	expect(agency.contact("+32470123456").state().lastMessage?.errorCode).toBe(null);
});

test("the address takes any token of letters, digits and signs", async () => {
	const { page } = await visit();
	const server = await serve(createSandbox(), { token: "p+ss&w%41=d#1" });
	try {
		const other = await openPage(`${server.controlUrl}/ui/#token=${server.token}`, []);
		await other.getByText("● connected").waitFor();
	} finally {
		await server.close();
		await page.close();
	}
});

test("the title counts what the list shows as new, and nothing of another agency", async () => {
	const { page, sandbox } = await visit();
	const other = sandbox.integration.link({ name: "Second" });
	other.contact(phone, { name: "Cleo" }).writes("to the second");
	sandbox.agency().contact(phone, { name: "Anna" });
	sandbox.agency().contact("+447700900102", { name: "Bram" }).writes("to the first");
	await page.getByRole("button", { name: /Bram.*1 new/ }).waitFor();
	await expect.poll(() => page.title()).toMatch(/^\(1\) /);
	await page.getByLabel("Agency").selectOption(other.id);
	await page.getByRole("button", { name: /Cleo.*1 new/ }).click();
	await expect.poll(() => page.title()).toMatch(/^Sandbox/);
});

test("an export that fails says so", async () => {
	const { page, server } = await visit();
	await page.getByRole("button", { name: "Scenario…" }).click();
	await server.close();
	await page.getByRole("button", { name: "Export as a file" }).click();
	await page.getByRole("dialog").getByRole("status").getByText("cannot be reached").waitFor();
});

test("the focus stays near a button that its own press removes", async () => {
	const { page } = await visit({ scenario: "held" });
	await page.getByRole("button", { name: /Anna/ }).click();
	await page.getByRole("button", { name: "Accept" }).focus();
	await page.keyboard.press("Enter");
	await shows(messages(page), "accepted");
	await expect.poll(() => page.evaluate(focused)).toBe("Messages");
	await page.getByRole("button", { name: "Reset…" }).focus();
	await page.keyboard.press("Enter");
	await page.getByRole("dialog").getByRole("button", { name: "Reset" }).press("Enter");
	await page.getByRole("dialog").waitFor({ state: "hidden" });
	await expect.poll(() => page.evaluate(focused)).toBe("Reset…");
	await page.evaluate("sessionStorage.clear()");
	await page.reload();
	await page.getByLabel("Control token").and(page.locator(":focus")).waitFor();
});

test("a request is shown with its whole query, and a long thread's state a hundred messages at a time", async () => {
	const { page, sandbox, client } = await visit();
	const anna = sandbox.agency().contact(phone, { name: "Anna" });
	for (let i = 0; i < 150; i++) anna.writes(`line ${i}.`);
	await client.agency(sandbox.agency().id).conversations.list({ pageSize: 7 }).page();
	await requests(page).getByText("conversations.list").click();
	await shows(requests(page), "/conversations?pageSize=7");
	await page.getByRole("button", { name: /Anna/ }).click();
	await page.getByRole("tab", { name: "State" }).click();
	await shows(page.getByRole("tabpanel"), "line 149.");
	expect(await page.getByRole("tabpanel").innerText()).not.toContain("line 49.");
	await page.getByRole("tabpanel").getByRole("button", { name: "Load older" }).click();
	await shows(page.getByRole("tabpanel"), "line 49.");
});

test("a page that has read nothing yet says nothing of the sandbox", async () => {
	const { page } = await visit({ scenario: "held" });
	let pass = (): void => undefined;
	const gate = new Promise<void>((resolve) => (pass = resolve));
	await page.route("**/connection", async (route) => {
		await gate;
		await route.continue();
	});
	await page.reload();
	await page.getByText("connecting").waitFor();
	await expect.poll(() => page.getByText(/No conversation yet|1970/).count()).toBe(0);
	pass();
	await page.getByRole("button", { name: /Anna/ }).waitFor();
});

test("at 400 % zoom there is room for each pane", async () => {
	const { page } = await visit({ scenario: "held" }, { viewport: { width: 320, height: 190 } });
	const list = await page.getByRole("navigation", { name: "Conversations" }).boundingBox();
	expect(list?.height).toBeGreaterThan(100);
});
