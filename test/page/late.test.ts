// An answer that was asked for before the user chose something else undoes no choice.
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { messages, requests, shows, type Visit, visit } from "./visit.ts";

const [anna, bram] = ["+447700900101", "+447700900102"];

/** Holds answers to questions of the page back, which are those that it would have got at once. */
async function hold(page: Page, isWanted: (address: string) => boolean, most = Number.POSITIVE_INFINITY) {
	const held: (() => Promise<void>)[] = [];
	let [count, isOver] = [0, false];
	await page.route(
		({ href }) => isWanted(href),
		async (route) => {
			const isHeld = ++count <= most && !isOver;
			const response = await route.fetch();
			if (isHeld) held.push(() => route.fulfill({ response }));
			else await route.fulfill({ response });
		},
	);
	return {
		asked: () => expect.poll(() => held.length).toBeGreaterThan(0),
		async letGo() {
			isOver = true;
			for (const answer of held) await answer();
		},
	};
}

const wide = { viewport: { width: 1440, height: 900 } };

/** Two contacts wrote. */
async function visitBoth(): Promise<Visit> {
	const visited = await visit({}, wide);
	const agency = visited.sandbox.agency();
	agency.contact(anna, { name: "Anna" }).writes("Hello from Anna");
	agency.contact(bram, { name: "Bram" }).writes("Hello from Bram");
	return visited;
}

const choose = (page: Page, name: string) => page.getByRole("button", { name: new RegExp(`^${name}`) }).click();
const phoneOf = (page: Page, name: string) => page.getByRole("main", { name: `Phone of ${name}` });

/** What came late is taken in, because the page shows what came after it. */
async function later({ page, sandbox }: Visit): Promise<void> {
	await sandbox.request({ method: "GET", path: "/me?later" });
	await shows(requests(page), "?later");
}

test("a text that went out while older messages were read is not held again", async () => {
	const visited = await visit({}, wide);
	const { page, sandbox, client } = visited;
	const contact = sandbox.agency().contact(anna, { name: "Anna" });
	for (let i = 0; i < 150; i++) contact.writes(`line ${i}.`);
	sandbox.clock.advance({ hours: 25 });
	await client.agency(sandbox.agency().id).messages.send({ to: anna, body: "Would Friday suit you?" });
	await choose(page, "Anna");
	await shows(messages(page), "Held, not sent");
	const older = await hold(page, (address) => address.includes("before=") && address.includes("conversations"));
	await messages(page).getByRole("button", { name: "Load older" }).click();
	await older.asked();
	contact.accepts();
	await messages(page).getByText("Held, not sent").waitFor({ state: "detached" });
	await older.letGo();
	await messages(page).getByText("line 0.", { exact: true }).waitFor({ state: "attached" });
	expect(await messages(page).getByText("Held, not sent").count()).toBe(0);
	expect(await messages(page).getByText("Would Friday suit you?").count()).toBe(1);
});

test("rows of an earlier moment that come late are not in the list of now", async () => {
	const visited = await visit({}, wide);
	const { page, sandbox } = visited;
	for (let i = 0; i < 150; i++)
		sandbox
			.agency()
			.contact(`+4477009${10_000 + i}`, { name: `Contact ${i}.` })
			.writes("Hello");
	const listed = page.getByRole("navigation", { name: "Conversations" });
	await expect.poll(() => listed.getByRole("listitem").count()).toBe(100);
	await page.getByRole("slider", { name: "Go back in time" }).press("ArrowLeft");
	await page.getByRole("button", { name: "Back to now" }).waitFor();
	const more = await hold(page, (address) => address.includes("offset=100"));
	await listed.getByRole("button", { name: "Load older" }).click();
	await more.asked();
	await page.getByRole("button", { name: "Back to now" }).click();
	await expect.poll(() => page.getByRole("button", { name: "Back to now" }).count()).toBe(0);
	await more.letGo();
	await later(visited);
	expect(await listed.getByRole("listitem").count()).toBe(100);
});

test("a story that begins late does not take the place of a conversation that was chosen meanwhile", async () => {
	const visited = await visitBoth();
	const { page } = visited;
	const contacts = await hold(page, (address) => address.endsWith("/contacts"));
	await page.getByRole("link", { name: /A held text is accepted/ }).click();
	await contacts.asked();
	await choose(page, "Bram");
	await phoneOf(page, "Bram").waitFor();
	await contacts.letGo();
	await page.getByRole("button", { name: /^Emma/ }).waitFor();
	await later(visited);
	await phoneOf(page, "Bram").waitFor();
	expect(page.url()).not.toContain("stories");
});

test("a bug file that opens late leaves the conversation that was chosen meanwhile", async () => {
	const { page, sandbox } = await visitBoth();
	await choose(page, "Anna");
	await phoneOf(page, "Anna").waitFor();
	const bug = JSON.parse(JSON.stringify(sandbox.bug({ keepContent: true, contact: anna })));
	const shown = await hold(page, (address) => address.endsWith("/shown"), 1);
	sandbox.import(bug);
	await shown.asked();
	await choose(page, "Bram");
	await phoneOf(page, "Bram").waitFor();
	const events = page.waitForResponse(/events\?brief=true&limit=2000/);
	await shown.letGo();
	await (await events).finished();
	await page.evaluate("new Promise((resolve) => setTimeout(resolve))");
	await phoneOf(page, "Bram").waitFor();
	await shows(messages(page), "Hello from Bram");
});

test("a search that comes late does not take back the older requests that were loaded meanwhile", async () => {
	const { page, sandbox } = await visit({}, wide);
	for (let i = 0; i < 450; i++) await sandbox.request({ method: "GET", path: `/me?${i}`, apiKey: "none" });
	await page.getByLabel("Which requests").selectOption("Errors");
	await page.getByText("450 requests found").waitFor();
	const first = () => requests(page).locator("li[aria-posinset]").first().getAttribute("aria-posinset");
	const again = await hold(page, (address) => address.includes("limit=200") && address.includes("search?"));
	await sandbox.request({ method: "GET", path: "/me?450", apiKey: "none" });
	await again.asked();
	await page.getByRole("button", { name: "Load older" }).click();
	await page.getByText("the newest 400 are loaded").waitFor();
	await expect.poll(first).toBe("201");
	await again.letGo();
	await sandbox.request({ method: "GET", path: "/me?451", apiKey: "none" });
	await page.getByText("452 requests found").waitFor();
	await page.getByText("the newest 400 are loaded").waitFor();
	expect(await first()).toBe("201");
});

test("older requests that come late do not move the lines of a filter that was chosen meanwhile", async () => {
	const { page, sandbox } = await visit({}, wide);
	for (let i = 0; i < 250; i++) await sandbox.request({ method: "GET", path: `/me?${i}`, apiKey: "none" });
	for (let i = 0; i < 2_000; i++) await sandbox.request({ method: "GET", path: `/me?${i}` });
	await page.reload();
	await shows(requests(page), "me.get ×2000");
	const older = await hold(page, (address) => /events\?.*before=/.test(address));
	await page.getByRole("button", { name: "Load older" }).click();
	await older.asked();
	await page.getByLabel("Which requests").selectOption("Errors");
	await page.getByText("250 requests found, the newest 200 are shown.").waitFor();
	await older.letGo();
	await sandbox.request({ method: "GET", path: "/me?250", apiKey: "none" });
	await page.getByText("251 requests found, the newest 200 are shown.").waitFor();
	expect(await page.getByRole("button", { name: "Show newer" }).count()).toBe(0);
	await page.getByRole("button", { name: "Load older" }).click();
	await expect
		.poll(() => requests(page).locator("li[aria-posinset]").first().getAttribute("aria-posinset"))
		.toBe("201");
});

test("the contact of a violation that is found late does not take the place of one that was chosen meanwhile", async () => {
	const visited = await visitBoth();
	const { page, sandbox, server } = visited;
	const path = `/agencies/${server.agencyId}/messages`;
	for (const body of ["Thursday?", "Friday?"])
		await sandbox.request({ method: "POST", path, body: { to: anna, body, operationId: "visit-1" } });
	for (let i = 0; i < 2_000; i++) await sandbox.request({ method: "GET", path: `/me?${i}` });
	await page.reload();
	await page.getByRole("button", { name: "1 violation" }).click();
	const search = await hold(page, (address) => address.includes("search?search="));
	await page.getByRole("dialog").getByRole("link", { name: /^POST/ }).click();
	await search.asked();
	await choose(page, "Bram");
	await phoneOf(page, "Bram").waitFor();
	await search.letGo();
	await later(visited);
	await phoneOf(page, "Bram").waitFor();
});

test("a moment that the slider looks up late does not take the place of now, which was chosen meanwhile", async () => {
	const visited = await visit({}, wide);
	const { page, sandbox } = visited;
	const contact = sandbox.agency().contact(anna, { name: "Anna" });
	for (let day = 0; day < 700; day++) {
		contact.writes(`Day ${day}`);
		sandbox.clock.advance({ hours: 25 });
	}
	await page.reload();
	const slider = page.getByRole("slider", { name: "Go back in time" });
	await slider.press("Home");
	await page.getByRole("button", { name: "Back to now" }).waitFor();
	const moment = await hold(page, (address) => /events\?brief=true&after=/.test(address));
	await slider.press("ArrowRight");
	await moment.asked();
	await page.getByRole("button", { name: "Back to now" }).click();
	await expect.poll(() => slider.getAttribute("aria-valuetext")).toBe("now");
	await moment.letGo();
	await later(visited);
	expect(await slider.getAttribute("aria-valuetext")).toBe("now");
});
