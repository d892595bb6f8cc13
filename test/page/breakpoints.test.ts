// A request waits in the log until one lets it go on: through, or with a fault.
import { expect, test } from "vitest";
import { axeFindings, picture, requests, shows, type Visit, visit } from "./visit.ts";

const phone = "+447700900101";

async function annaVisited() {
	const visited = await visit({}, { viewport: { width: 1440, height: 900 } });
	const { sandbox, client, page } = visited;
	const agency = sandbox.agency();
	const anna = agency.contact(phone, { name: "Anna" });
	anna.writes("Is the flat still free?");
	await page.getByRole("button", { name: /Anna/ }).click();
	const send = (body: string) => client.agency(agency.id).messages.send({ to: phone, body }, { retry: false }).result();
	return { ...visited, anna, send };
}

const waiting = (page: Visit["page"]) => page.getByRole("region", { name: "Held requests" });
const hold = (page: Visit["page"]) => page.getByRole("button", { name: "Hold the next send" });

test("one click holds the next send, and another lets it through", async () => {
	const { page, sandbox, anna, send } = await annaVisited();
	await hold(page).click();
	await expect.poll(() => hold(page).getAttribute("aria-pressed")).toBe("true");
	expect(sandbox.breakpoints.list()).toMatchObject([{ operation: "messages.send", contact: null, remaining: 1 }]);
	const sending = send("It is. Would Thursday suit you?");
	await shows(waiting(page), "waits at a breakpoint");
	await shows(waiting(page), "Anna “It is. Would Thursday suit you?”");
	await page.getByRole("button", { name: "1 request held" }).waitFor();
	await expect.poll(() => hold(page).getAttribute("aria-pressed")).toBe("false");
	await picture(page, "breakpoint");
	expect(await axeFindings(page)).toEqual([]);
	anna.writes("Never mind");
	expect(anna.inbox()).toEqual([]);
	await waiting(page).getByRole("button", { name: "Let it through" }).click();
	expect((await sending).ok).toBe(true);
	await waiting(page).waitFor({ state: "detached" });
	await requests(page).getByText("messages.send").click();
	await shows(requests(page), "held at a breakpoint");
	await page.getByRole("button", { name: "1 request held" }).waitFor({ state: "detached" });
	expect(anna.state().messages.map(({ body }) => body)).toEqual([
		"Is the flat still free?",
		"Never mind",
		"It is. Would Thursday suit you?",
	]);
});

test("a text of the page whose answer one loses comes back, and says that it may have gone out", async () => {
	const { page } = await annaVisited();
	await hold(page).click();
	await expect.poll(() => hold(page).getAttribute("aria-pressed")).toBe("true");
	await page.getByLabel("Text from the CRM").fill("It is.");
	await page.keyboard.press("Enter");
	await waiting(page).getByRole("button", { name: "Lose its answer" }).click();
	await page.getByRole("alert").getByText("it may have been carried out").waitFor();
	expect(await page.getByLabel("Text from the CRM").inputValue()).toBe("It is.");
	expect(await requests(page).getByText("0 left").count()).toBe(0);
});

test.each([
	["Answer 503", "PartnerInternalError", 0],
	["A gateway's 404", "PartnerGatewayError", 0],
	["Reset the connection", "PartnerConnectionError", 0],
])("%s is an answer to a held request", async (button, tag, texts) => {
	const { page, anna, send } = await annaVisited();
	await hold(page).click();
	await expect.poll(() => hold(page).getAttribute("aria-pressed")).toBe("true");
	const sending = send("Thursday?");
	await waiting(page).getByRole("button", { name: button }).click();
	const result = await sending;
	expect(result.ok ? "ok" : result.error._tag).toBe(tag);
	expect(anna.inbox()).toHaveLength(texts);
});

test("a held request that loses its answer, or whose caller gives up, leaves the list", async () => {
	const { page, sandbox, client, anna } = await annaVisited();
	const { messages } = client.agency(sandbox.agency().id);
	const quick = { retry: false, timeoutMs: 1_500 } as const;
	sandbox.breakpoints.add({ times: 2 });
	const lost = messages.send({ to: phone, body: "One" }, { retry: false, timeoutMs: 4_000 }).result();
	await waiting(page).getByRole("button", { name: "Lose its answer" }).click();
	await waiting(page).waitFor({ state: "detached" });
	await expect.poll(() => anna.inbox().length).toBe(1);
	const given = messages.send({ to: phone, body: "Two" }, quick).result();
	await shows(waiting(page), "Anna “Two”");
	expect((await given).ok).toBe(false);
	await waiting(page).waitFor({ state: "detached" });
	await shows(requests(page), "The caller gave up while a breakpoint held the request");
	expect((await lost).ok).toBe(false);
	expect(anna.inbox()).toHaveLength(1);
});

test("the next list and everything of a contact can be held too, and taken back, by keyboard", async () => {
	const { page, sandbox, client } = await annaVisited();
	const agency = client.agency(sandbox.agency().id);
	await page.getByRole("button", { name: "Faults…" }).click();
	await page.getByRole("button", { name: "The next list" }).press("Enter");
	await page.getByRole("button", { name: "Everything of Anna" }).press("Enter");
	const dialog = page.getByRole("dialog");
	await shows(dialog, `Holds any operation of ${phone}, without end`);
	expect(await axeFindings(page)).toEqual([]);
	await dialog.getByRole("button", { name: "Close" }).click();
	const listing = agency.conversations.list().page();
	const reading = agency.conversations.get(phone);
	await page.getByRole("button", { name: "2 requests held" }).press("Enter");
	await waiting(page).getByRole("button", { name: "Let it through" }).first().and(page.locator(":focus")).waitFor();
	await page.keyboard.press("Enter");
	await page.getByRole("button", { name: "1 request held" }).waitFor();
	await waiting(page).getByRole("button", { name: "Let it through" }).click();
	await Promise.all([listing, reading]);
	await page.getByRole("button", { name: "Faults…" }).click();
	await dialog.getByRole("button", { name: "Remove breakpoint 2" }).click();
	await expect.poll(() => sandbox.breakpoints.list().map(({ remaining }) => remaining)).toEqual([0, 0]);
	await agency.conversations.get(phone);
});
