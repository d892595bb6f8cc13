import { expect, test } from "vitest";
import { messages, picture, requests, shows, type Visit, visit } from "./visit.ts";

const phone = "+447700900101";

/** Anna wrote; with `hours`, so long ago. Then her conversation is chosen by keyboard. */
async function annaWrote(hours = 0): Promise<Visit & { send(body: string): Promise<{ queued: boolean }> }> {
	const visited = await visit();
	const { sandbox, client, page } = visited;
	sandbox.agency().contact(phone, { name: "Anna Peeters" }).writes("Is the flat in the Kerkstraat still free?");
	if (hours > 0) sandbox.clock.advance({ hours });
	await page.getByRole("button", { name: /Anna Peeters/ }).waitFor();
	await page.keyboard.press("j");
	await page.getByRole("main", { name: "Phone of Anna Peeters" }).waitFor();
	const { messages: texts } = client.agency(sandbox.agency().id);
	return { ...visited, send: (body) => texts.send({ to: phone, body }) };
}

test("an open window: a new contact writes, and the CRM's text arrives at once", async () => {
	const { page, client, sandbox } = await visit();
	await page.keyboard.press("/");
	await page.keyboard.type(phone);
	await page.keyboard.press("Enter");
	await page.getByRole("main", { name: `Phone of ${phone}` }).waitFor();
	await page.keyboard.press("r");
	await page.keyboard.type("Is the flat in the Kerkstraat still free?");
	await page.keyboard.press("Enter");
	await shows(messages(page), "Is the flat in the Kerkstraat still free?");
	await shows(page.getByRole("main"), "window open 24 h");
	await client.agency(sandbox.agency().id).messages.send({ to: phone, body: "It is. Wednesday at 14:00?" });
	await shows(messages(page), "It is. Wednesday at 14:00?");
	await requests(page).getByText("messages.send").click();
	await shows(requests(page), `sent to ${phone} by API`);
	await shows(requests(page), "POST /agencies/");
	await picture(page, "open-window");
});

test("consent is given: the held text goes out", async () => {
	const { page, send, sandbox } = await annaWrote(25);
	await send("Would Thursday suit you?");
	await shows(messages(page), "Held, not sent");
	await page.getByRole("button", { name: "Accept" }).waitFor();
	await shows(page.getByRole("navigation", { name: "Conversations" }), "1 held");
	await page.keyboard.press("a");
	await shows(messages(page), "accepted: the held text went out");
	await messages(page).getByText("Held, not sent").waitFor({ state: "detached" });
	await page.getByRole("button", { name: "Accept" }).waitFor({ state: "detached" });
	expect(sandbox.agency().contact(phone).inbox().at(-1)).toMatchObject({ body: "Would Thursday suit you?" });
});

test("consent is refused: the held text stays visible as never sent", async () => {
	const { page, send } = await annaWrote(25);
	await send("Would Thursday suit you?");
	await page.getByRole("button", { name: "Decline" }).waitFor();
	await page.keyboard.press("d");
	await shows(messages(page), "Never sent");
	await shows(messages(page), "the contact declined");
	expect(await messages(page).locator("s").allTextContents()).toEqual(["Would Thursday suit you?"]);
});

test("consent expires: the clock bar moves time to the end of the answer time", async () => {
	const { page, send, sandbox } = await annaWrote(25);
	await send("Would Thursday suit you?");
	await page.getByRole("button", { name: "→ expiry" }).and(page.locator(":enabled")).waitFor();
	await page.keyboard.press("t");
	await page.keyboard.press("Tab");
	await page.keyboard.press("Tab");
	await page.keyboard.press("Enter");
	await shows(messages(page), "no answer in time");
	expect(sandbox.clock.now().toISOString()).toBe("2026-01-08T10:00:00.000Z");
	await shows(page.getByRole("contentinfo"), "POST /_sandbox/clock/advanceTo");
});

test("a replaced text: the conversation, the list and the request say that it is never sent", async () => {
	const { page, send, sandbox } = await annaWrote(25);
	expect((await send("Would Thursday suit you?")).queued).toBe(true);
	sandbox.clock.advance({ minutes: 3 });
	expect((await send("Would Friday suit you?")).queued).toBe(true);
	await shows(requests(page), "“Would Thursday suit you?”: never sent");
	await shows(page.getByRole("navigation", { name: "Conversations" }), "1 never sent");
	await shows(messages(page), "replaced at 10:03 by “Would Friday suit you?”");
	expect(await messages(page).locator("s").allTextContents()).toEqual(["Would Thursday suit you?"]);
	await shows(messages(page), "Would Friday suit you?");
	await picture(page, "replaced-text");
});

test("a lost answer: the fault builder arms it, and the retry sends nothing twice", async () => {
	const { page, send, sandbox } = await annaWrote();
	await page.getByRole("button", { name: "Faults…" }).focus();
	await page.keyboard.press("Enter");
	await page.getByRole("dialog", { name: "Faults" }).waitFor();
	await page.getByLabel("Phase").focus();
	await page.keyboard.type("after");
	await page.getByLabel("Effect").focus();
	await page.keyboard.type("reset");
	await page.getByRole("button", { name: "Arm the fault" }).press("Enter");
	await page.getByText("messages.send: reset, after it runs, 1 left").waitFor();
	await page.keyboard.press("Escape");
	await page.getByRole("dialog").waitFor({ state: "detached" });
	await page.getByRole("button", { name: "1 fault armed" }).waitFor();
	await send("Wednesday at 14:00?");
	await shows(requests(page), "2 attempts of one operationId: no answer");
	await requests(page).getByText("messages.send").click();
	await shows(requests(page), "A fault that you added: the connection cut, after the operation ran.");
	await shows(messages(page), "The CRM's send got no answer");
	await expect.poll(() => messages(page).getByText("Wednesday at 14:00?", { exact: true }).count()).toBe(1);
	expect(sandbox.agency().contact(phone).inbox()).toHaveLength(1);
});

test("the AI is switched off by a send, and on again by a message a day later", async () => {
	const { page, send, sandbox } = await annaWrote();
	const agency = sandbox.agency();
	agency.ai.replies({ contact: phone, text: "It is. Shall we plan a visit?" });
	agency.startFlow(phone);
	await shows(page.getByRole("main"), "AI on");
	await send("Anna, this is Tom. Wednesday at 14:00?");
	await shows(page.getByRole("main"), "AI off: after a manual send");
	await requests(page).getByText("messages.send").click();
	await shows(requests(page), "AI off: a message was sent");
	await shows(messages(page), "flow 1: cancelled");
	sandbox.clock.advance({ hours: 25 });
	await page.keyboard.press("r");
	await page.keyboard.type("Wednesday is fine");
	await page.keyboard.press("Enter");
	await shows(messages(page), "AI on again: the contact wrote");
});
