// The page sends as a CRM does: through the API, with a key.
import { expect, test } from "vitest";
import { messages, requests, shows, type Visit, visit } from "./visit.ts";

const phone = "+447700900101";

/** Chooses Anna, and returns what a test does as the CRM. */
async function asCrm(scenario: "closed" | "twoLanguages"): Promise<Visit & { send(text: string): Promise<void> }> {
	const visited = await visit({ scenario });
	const { page } = visited;
	await page.getByRole("button", { name: /Anna/ }).click();
	await page.getByLabel("Text from the CRM").waitFor();
	const send = async (text: string) => {
		await page.keyboard.press("s");
		await page.keyboard.type(text);
		await page.keyboard.press("Enter");
	};
	return { ...visited, send };
}

test("a text is sent through the API by keyboard, with a random operationId", async () => {
	const { page, sandbox, send } = await asCrm("closed");
	await send("Would Thursday suit you?");
	await shows(messages(page), "Held, not sent");
	await shows(page.getByRole("contentinfo"), "POST /api/v1/agencies/");
	const [{ body } = { body: null }] = sandbox.requests();
	expect(body).toEqual({
		to: phone,
		body: "Would Thursday suit you?",
		operationId: expect.stringMatching(/^page-\w+/),
	});
	await send("Or Friday?");
	await shows(messages(page), "Or Friday?");
	const ids = sandbox.requests().map((request) => Object(request.body).operationId);
	expect(new Set(ids).size).toBe(2);
});

test("a refusal is shown beside the fields, which keep their text, and goes when they are corrected", async () => {
	const { page, sandbox, send } = await asCrm("twoLanguages");
	const form = page.getByRole("form", { name: "Send as the CRM" });
	await send("Bonjour");
	await form.getByRole("alert").getByText("400: consentLanguage: is required").waitFor();
	expect(await form.getByLabel("Text from the CRM").inputValue()).toBe("Bonjour");
	await form.getByLabel("Consent language").selectOption("fr");
	await form.getByRole("alert").waitFor({ state: "detached" });
	await form.getByLabel("operationId").fill("visit-1");
	await form.getByRole("button", { name: "Send as the CRM" }).click();
	await shows(messages(page), "Held, not sent");
	expect(sandbox.requests().at(-1)).toMatchObject({
		status: 200,
		body: { to: phone, body: "Bonjour", operationId: "visit-1", consentLanguage: "fr" },
	});
});

test("a send without an answer keeps its operationId, so that the next attempt is not a second text", async () => {
	const { page, sandbox, send } = await asCrm("closed");
	sandbox.agency().contact(phone).writes("Hello?");
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "hang" });
	await send("Wednesday at 14:00?");
	await page.getByRole("alert").getByText("it may have been carried out").waitFor();
	expect(await page.getByLabel("operationId").inputValue()).toMatch(/^page-/);
	await page.getByLabel("Text from the CRM").press("Enter");
	await expect.poll(() => sandbox.requests().map(({ status }) => status)).toEqual([null, 200]);
	expect(sandbox.agency().contact(phone).inbox()).toHaveLength(1);
	await expect.poll(() => page.getByLabel("operationId").inputValue()).toBe("");
});

test("a text that was edited after a failed send has an id of its own, and the failed text keeps its first id", async () => {
	const { page, sandbox, send } = await asCrm("closed");
	sandbox.agency().contact(phone).writes("Hello?");
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: { status: 500 } });
	await send("Wednesday?");
	await page.getByRole("alert").getByText("500: ").waitFor();
	const text = page.getByLabel("Text from the CRM");
	const id = page.getByLabel("operationId");
	const first = await id.inputValue();
	expect(first).toMatch(/^page-/);
	for (const [words, shown] of [
		["Thursday?", ""],
		["Wednesday?", first],
	] as const) {
		await text.fill(words);
		await expect.poll(() => id.inputValue()).toBe(shown);
		await text.press("Enter");
		await expect.poll(() => text.inputValue()).toBe("");
	}
	await expect.poll(() => sandbox.requests().map(({ status }) => status)).toEqual([500, 200, 200]);
	const ids = sandbox.requests().map(({ body }) => Object(body).operationId);
	expect(ids).toEqual([first, expect.stringMatching(/^page-/), first]);
	expect(ids[1]).not.toBe(first);
	const bodies = sandbox.agency().contact(phone).inbox();
	expect(bodies.map(({ body }) => body)).toEqual(["Wednesday?", "Thursday?"]);
});

test("an id that is removed after a failed send is used no more", async () => {
	const { page, sandbox, send } = await asCrm("closed");
	sandbox.agency().contact(phone).writes("Hello?");
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: { status: 500 } });
	await send("Wednesday?");
	await page.getByRole("alert").getByText("500: ").waitFor();
	await page.getByLabel("operationId").fill("");
	await page.getByLabel("Text from the CRM").press("Enter");
	await expect.poll(() => sandbox.agency().contact(phone).inbox().length).toBe(2);
});

test("while a send has no answer, the next text has an id of its own", async () => {
	const { page, sandbox, send } = await asCrm("closed");
	sandbox.agency().contact(phone).writes("Hello?");
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "hang" });
	await send("Wednesday?");
	await expect.poll(() => sandbox.requests().length).toBe(1);
	await page.getByLabel("Text from the CRM").fill("Thursday?");
	await page.keyboard.press("Enter");
	await expect.poll(() => sandbox.requests().map(({ status }) => status)).toEqual([null, 200]);
});

test("a replay that failed leaves its id to no other text", async () => {
	const { page, sandbox, client, send } = await asCrm("closed");
	sandbox.agency().contact(phone).writes("Hello?");
	await client.agency(sandbox.agency().id).messages.send({ to: phone, body: "Hi", operationId: "note-1" });
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: { status: 500 } });
	await requests(page).getByText("messages.send").click();
	await requests(page).getByRole("button", { name: "Replay" }).click();
	await expect.poll(() => sandbox.requests().at(-1)?.status).toBe(500);
	await send("Wednesday?");
	await expect.poll(() => sandbox.requests().map(({ status }) => status)).toEqual([200, 500, 200]);
});

test("each request can be repeated with its operationId, and replayed with a new one", async () => {
	const { page, sandbox, client } = await asCrm("closed");
	sandbox.agency().contact(phone).writes("Hello?");
	await client.agency(sandbox.agency().id).messages.send({ to: phone, body: "Hi", operationId: "note-1" });
	await requests(page).getByText("messages.send").click();
	const inbox = () => sandbox.agency().contact(phone).inbox().length;
	await requests(page).getByRole("button", { name: "Repeat with the same id" }).click();
	await shows(requests(page), "2 attempts of one operationId");
	expect(inbox()).toBe(1);
	expect(sandbox.requests().at(-1)?.body).toEqual({ to: phone, body: "Hi", operationId: "note-1" });
	await requests(page).getByRole("button", { name: "Replay" }).click();
	await expect.poll(inbox).toBe(2);
	expect(sandbox.requests().at(-1)?.body).toMatchObject({ to: phone, body: "Hi" });
});

test("a read is replayed with its query and the key that made it", async () => {
	const { page, sandbox, client } = await asCrm("closed");
	await client.agency(sandbox.agency().id).conversations.list({ pageSize: 7 }).page();
	const [first] = sandbox.requests();
	sandbox.keys.revoke(first?.keyId ?? "");
	sandbox.keys.create();
	await requests(page).getByText("conversations.list").click();
	await requests(page).getByRole("button", { name: "Replay" }).click();
	await expect.poll(() => sandbox.requests().length).toBe(2);
	expect(sandbox.requests()[1]).toMatchObject({ query: "pageSize=7", status: 401 });
});

test("a reused operationId is explained with both texts: beside the field, on the phone, in the log, in the violations", async () => {
	const { page, sandbox } = await asCrm("closed");
	sandbox.agency().contact(phone).writes("Hello?");
	for (const text of ["Thursday?", "Friday?"]) {
		await page.getByLabel("operationId").fill("visit-1");
		await page.getByLabel("Text from the CRM").fill(text);
		await page.keyboard.press("Enter");
		await shows(messages(page), text);
	}
	const why = 'another text. First: "Thursday?". Now: "Friday?".';
	await shows(page.getByRole("form", { name: "Send as the CRM" }).getByRole("alert"), why);
	await shows(messages(page), "The CRM's send was answered 500");
	await shows(messages(page), why);
	await shows(requests(page), why);
	await page.getByRole("button", { name: "1 violation" }).click();
	await shows(page.getByRole("dialog"), why);
});
