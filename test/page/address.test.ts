// What the page shows has an address.
import { expect, test } from "vitest";
import { messages, openPage, requests, shows, visit } from "./visit.ts";

const phone = "+447700900101";

test("Back and Forward go through conversations and tabs", async () => {
	const { page, sandbox } = await visit();
	sandbox.agency().contact(phone, { name: "Anna" }).writes("Hello");
	sandbox.agency().contact("+447700900102", { name: "Bram" }).writes("Hello");
	const heading = (name: string) => page.getByRole("main", { name: `Phone of ${name}` }).waitFor();
	const pause = () => new Promise((resolve) => setTimeout(resolve, 400)); // faster changes are one step
	await page.getByRole("button", { name: /Anna/ }).click();
	await heading("Anna");
	await pause();
	await page.getByRole("button", { name: /Bram/ }).click();
	await heading("Bram");
	await pause();
	await page.getByRole("tab", { name: "State" }).click();
	await page.getByRole("tab", { name: "State", selected: true }).waitFor();
	await page.goBack();
	await page.getByRole("tab", { name: "Requests", selected: true }).waitFor();
	await heading("Bram");
	await page.goBack();
	await heading("Anna");
	await page.goBack();
	await page.getByText("Choose a conversation").waitFor();
	await page.goForward();
	await heading("Anna");
});

test("a reload shows the same agency, conversation, tab and request", async () => {
	const { page, sandbox, client } = await visit();
	const other = sandbox.link({ name: "Harbour Homes" });
	other.contact(phone, { name: "Chloé" }).writes("Hello Harbour");
	await client.agency(other.id).messages.send({ to: phone, body: "From the harbour" });
	for (let i = 0; i < 3; i++) await client.me.get();
	await page.getByLabel("Agency").selectOption(other.id);
	await page.getByRole("button", { name: /Chloé/ }).click();
	await shows(messages(page), "Hello Harbour");
	await requests(page).getByText("messages.send").click();
	await shows(requests(page), "X-Correlation-Id");
	await page.reload();
	await shows(messages(page), "Hello Harbour");
	await shows(requests(page), "X-Correlation-Id");
	expect(await requests(page).locator("details[open] b").allTextContents()).toEqual(["messages.send"]);
	await page.getByRole("tab", { name: "Events" }).click();
	await page.reload();
	await page.getByRole("tab", { name: "Events", selected: true }).waitFor();
	await shows(messages(page), "Hello Harbour");
});

test("a copied link opens the same request in another window, without a question for the token", async () => {
	const { page, server, sandbox, client } = await visit();
	sandbox.agency().contact(phone, { name: "Anna" }).writes("Hello");
	await client.agency(sandbox.agency().id).messages.send({ to: phone, body: "It is!" });
	const { conversations } = client.agency(sandbox.agency().id);
	for (let i = 0; i < 60; i++) await Promise.all([client.me.get(), conversations.list().page()]);
	await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
	await page.getByRole("button", { name: /Anna/ }).click();
	await page.getByLabel("Which requests").selectOption("Sends");
	await requests(page).getByText("messages.send").click();
	await requests(page).getByRole("button", { name: "copy link" }).click();
	await shows(requests(page), "copied");
	const link: string = await page.evaluate("navigator.clipboard.readText()");
	expect(link).toContain(`token=${server.token}`);
	const wrong: string[] = [];
	const other = await openPage(link, wrong);
	await shows(messages(other), "It is!");
	await shows(requests(other), "X-Correlation-Id");
	expect(other.url()).not.toContain(server.token);
	expect(other.url()).toContain("contact=%2B447700900101");
	expect(wrong).toEqual([]);
});

test("an address of an agency and a request that the sandbox does not have opens the page all the same", async () => {
	const { page, server, sandbox } = await visit();
	sandbox.agency().contact(phone, { name: "Anna" }).writes("Hello");
	await page.goto(`${server.controlUrl}/ui/#/?agency=agy_none&contact=%2B447700900199&request=none&tab=None`);
	await page.reload();
	await page.getByRole("button", { name: /Anna/ }).click();
	await shows(messages(page), "Hello");
	expect(page.url()).not.toContain("agy_none");
});

test("snapshots have names, and another window lists them", async () => {
	const { page, sandbox, open } = await visit();
	const anna = sandbox.agency().contact(phone, { name: "Anna" });
	anna.writes("one");
	await page.getByRole("button", { name: "Scenario…" }).click();
	await page.getByLabel("Name of the snapshot").fill("Before the send");
	await page.getByRole("button", { name: "Take a snapshot" }).click();
	await page.getByRole("button", { name: "Restore Before the send" }).waitFor();
	anna.writes("two");
	const other = await open();
	await other.getByRole("button", { name: "Scenario…" }).click();
	await other.getByRole("button", { name: "Restore Before the send" }).click();
	await expect.poll(() => anna.state().messages.map(({ body }) => body)).toEqual(["one"]);
});
