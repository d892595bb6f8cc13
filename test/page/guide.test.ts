// The five stories, with three clicks each.
import { expect, test } from "vitest";
import type { Sandbox } from "../../src/sandbox/index.ts";
import { axeFindings, messages, picture, requests, shows, visit } from "./visit.ts";

const [first, second] = ["Would Thursday at 14:00 suit you?", "Or would Friday at 10:00 be better?"];

/** The texts that the contact has, without templates. */
const textsOf = (sandbox: Sandbox) =>
	sandbox
		.agency()
		.contact("+447700900201")
		.inbox()
		.flatMap(({ kind, body }) => (kind === "text" ? [body] : []));

const stories = [
	{ id: "accepted", title: "A held text is accepted", end: "It went out at once", texts: [first, second] },
	{ id: "refused", title: "A held text is refused", end: "the tap on No opened the window", texts: [second] },
	{ id: "expired", title: "A held text expires", end: "Nothing was held any more", texts: [] },
	{ id: "replaced", title: "A held text is replaced", end: "got the second text only", texts: [second] },
	{ id: "lost", title: "An answer is lost", end: "still has one text", texts: [first] },
];

test.each(stories)("$title: the story takes three clicks, by keyboard", async ({ id, title, end, texts }) => {
	const { page, sandbox } = await visit({}, { viewport: { width: 1440, height: 900 } });
	await page.getByRole("link", { name: title }).focus();
	await page.keyboard.press("Enter");
	const guide = page.getByRole("region", { name: `Story: ${title}` });
	for (const step of [1, 2, 3]) {
		await shows(guide, `step ${step} of 3`);
		await guide.getByRole("button").and(page.locator(":enabled")).focus();
		await page.keyboard.press("Enter");
	}
	await shows(guide, end);
	expect(textsOf(sandbox)).toEqual(texts);
	expect(sandbox.agency().contact("+447700900201").state().held).toBe(null);
	if (id === "lost") await picture(page, "lost-answer");
	expect(await axeFindings(page)).toEqual([]);
});

test("the link of a story sets its scene, a reload continues it, and the list leads to the next one", async () => {
	const { page, sandbox } = await visit();
	await page.goto(`${page.url()}#/stories/replaced`);
	const guide = page.getByRole("region", { name: "Story: A held text is replaced" });
	await guide.getByRole("button", { name: "Send as the CRM" }).click();
	await shows(guide, "step 2 of 3");
	await page.reload();
	await shows(guide, "step 2 of 3");
	expect(sandbox.agency().contacts()).toHaveLength(1);
	await guide.getByRole("link", { name: "All stories" }).click();
	await page.getByRole("link", { name: "A held text is replaced" }).click();
	await shows(guide, "step 1 of 3");
	expect(sandbox.agency().contacts()).toHaveLength(2);
});

test("a story continues when its step is done on the phone or by a CRM", async () => {
	const { page, sandbox, client } = await visit();
	await page.getByRole("link", { name: "A held text is accepted" }).click();
	const guide = page.getByRole("region", { name: "Story: A held text is accepted" });
	await shows(guide, "step 1 of 3");
	const { messages: texts } = client.agency(sandbox.agency().id);
	await texts.send({ to: "+447700900201", body: "Hello" });
	await shows(guide, "step 2 of 3");
	await messages(page).getByRole("button", { name: "Accept" }).click();
	await shows(guide, "step 3 of 3");
	await requests(page).getByText("messages.send").click();
	await shows(requests(page), "held for Emma");
});

test("where a no opens no window, the refused story ends with a text that is held", async () => {
	const { page, sandbox } = await visit({ policy: { declineOpensWindow: false } });
	await page.getByRole("link", { name: "A held text is refused" }).click();
	const guide = page.getByRole("region", { name: "Story: A held text is refused" });
	for (const name of ["Send as the CRM", "Decline as Liam", "Send as the CRM"]) {
		await guide.getByRole("button", { name }).click();
	}
	await shows(guide, "Liam is asked once more");
	expect(sandbox.agency().contact("+447700900201").state().held?.body).toBe(second);
});

test("a step that is refused says why, beside its button", async () => {
	const { page, sandbox } = await visit();
	sandbox.agency().consent.set({ missingTemplates: ["window_reopen_consent"] });
	await page.getByRole("link", { name: "A held text is accepted" }).click();
	const guide = page.getByRole("region", { name: "Story: A held text is accepted" });
	await guide.getByRole("button", { name: "Send as the CRM" }).click();
	await guide.getByRole("alert").getByText("the agency cannot send a consent template").waitFor();
});
