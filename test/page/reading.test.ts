// A log that one can read while requests arrive, and what the page says without colours and a mouse.
import { expect, test } from "vitest";
import { createSandbox } from "../../src/sandbox/index.ts";
import { axeFindings, messages, requests, shows, visit } from "./visit.ts";

const phone = "+447700900101";

test("polls that take turns are one line each, until something else happens", async () => {
	const { page, sandbox, client } = await visit();
	const agency = sandbox.agency();
	agency.contact(phone, { name: "Anna" }).writes("Hello");
	const { conversations, messages: texts } = client.agency(agency.id);
	for (let i = 0; i < 10; i++) {
		await conversations.list().page();
		await conversations.get(phone);
	}
	await shows(requests(page), "conversations.list ×10");
	await shows(requests(page), "conversations.get ×10");
	await expect.poll(() => requests(page).locator("details").count()).toBe(2);
	await texts.send({ to: phone, body: "Hi Anna" });
	await conversations.list().page();
	await expect.poll(() => requests(page).locator("details").count()).toBe(4);
	await page.getByLabel("Which requests").selectOption("notable");
	await expect.poll(() => requests(page).locator("details").count()).toBe(1);
	expect(await axeFindings(page)).toEqual([]);
});

test("an open request shows the answer of a retry too, and stays in its place while polls arrive", async () => {
	const { page, sandbox, client, server } = await visit();
	const agency = sandbox.agency();
	agency.contact(phone, { name: "Anna" }).writes("Hello");
	sandbox.faults.add({ operation: "messages.send", effect: { status: 503 } });
	const headers = { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" };
	const body = JSON.stringify({ to: phone, body: "Hi Anna", operationId: "visit-1" });
	const send = () => fetch(`${server.baseUrl}/agencies/${agency.id}/messages`, { method: "POST", headers, body });
	await send();
	await requests(page).getByText("messages.send").click();
	await shows(requests(page), "→ 503");
	await send();
	await shows(requests(page), "→ 200");
	await shows(requests(page), "→ 503");
	const open = requests(page).locator("details[open]");
	const before = (await open.boundingBox())?.y;
	const others = Array.from({ length: 30 }, (_, at) => `+4477009001${String(at).padStart(2, "0")}`);
	for (const other of others) {
		agency.contact(other).writes("Hello");
		await client.agency(agency.id).messages.send({ to: other, body: "Hi" });
	}
	await expect.poll(() => requests(page).locator("li:has(details)").count()).toBe(31);
	const after = (await open.boundingBox())?.y ?? 0;
	expect(Math.abs(after - (before ?? 0))).toBeLessThan(5);
});

test("a paused log stands still, counts what is new, and goes on", async () => {
	const { page, client } = await visit();
	await client.me.get();
	await shows(requests(page), "me.get");
	await page.getByRole("button", { name: "Pause" }).click();
	for (let i = 0; i < 3; i++) await client.me.get();
	await page.getByRole("button", { name: "3 new" }).waitFor();
	expect(await requests(page).getByText("me.get ×").count()).toBe(0);
	await page.getByRole("button", { name: "3 new" }).click();
	await shows(requests(page), "me.get ×4");
	await client.me.get();
	await page.getByRole("button", { name: "1 new" }).waitFor();
	await page.getByRole("button", { name: "Pause" }).click();
	await shows(requests(page), "me.get ×5");
});

test("a screen reader hears of new requests in one sentence a second at most, and of none when that is off", async () => {
	const { page, client } = await visit();
	await page.evaluate(`(() => {
		globalThis.said = [];
		const place = document.querySelector("aside [role=status]");
		const hear = () => place.textContent && said.push(place.textContent);
		new MutationObserver(hear).observe(place, { childList: true, characterData: true, subtree: true });
	})()`);
	for (let i = 0; i < 20; i++) await client.me.get();
	const said = () => page.evaluate<string[]>("said");
	await expect.poll(async () => (await said()).at(-1)).toMatch(/me\.get answered 200$/);
	expect((await said()).length).toBeLessThan(20);
	expect(await requests(page).getAttribute("aria-live")).toBe("off");
	await page.keyboard.press("?");
	await page.getByLabel(/screen reader/).uncheck();
	await page.keyboard.press("Escape");
	const before = (await said()).length;
	await client
		.agency("agy_0")
		.conversations.list()
		.page()
		.catch(() => undefined);
	await shows(requests(page), "conversations.list");
	await expect.poll(async () => (await said()).length).toBe(before);
});

test("what a restore undid is grey and says so, and holds nothing any more", async () => {
	const { page, sandbox, client } = await visit({ scenario: "closed" });
	const before = sandbox.snapshot();
	await client.agency(sandbox.agency().id).messages.send({ to: phone, body: "Would Thursday suit you?" });
	await shows(requests(page), "held");
	sandbox.restore(before);
	const row = requests(page).locator("li.undone");
	await row.getByText("undone: restored to before it").waitFor();
	expect(await row.getByText(/held/).count()).toBe(0);
	expect(await axeFindings(page)).toEqual([]);
	await client.agency(sandbox.agency().id).messages.send({ to: phone, body: "Or Friday?" });
	await requests(page).getByRole("link", { name: "held", exact: true }).waitFor();
	await expect.poll(() => row.count()).toBe(1);
});

test("contacts without a name are told apart, however long the date beside them is", async () => {
	const { page, sandbox } = await visit({}, { viewport: { width: 1000, height: 700 } });
	for (const last of ["01", "02"]) sandbox.agency().contact(`+4477009001${last}`).writes("Hello");
	sandbox.clock.advance({ hours: 400 });
	const list = page.getByRole("navigation", { name: "Conversations" });
	await list.getByText("Mon, 5 Jan 2026").first().waitFor();
	const cut = `[...document.querySelectorAll(".list b")].filter((name) => name.scrollWidth > name.clientWidth || name.getBoundingClientRect().right > name.closest("button").getBoundingClientRect().right).length`;
	expect(await page.evaluate(cut)).toBe(0);
	expect(await list.locator("b").allTextContents()).toHaveLength(2);
});

test("snapshots of one name can be told apart, and each can be deleted", async () => {
	const { page, sandbox } = await visit({ scenario: "closed" });
	await page.getByRole("button", { name: "Scenario…" }).click();
	for (let i = 0; i < 2; i++) {
		await page.getByLabel("Name of the snapshot").fill("Before");
		await page.getByRole("button", { name: "Take a snapshot" }).click();
		await expect.poll(() => page.getByRole("button", { name: /^Restore Before/ }).count()).toBe(i + 1);
	}
	await page.getByRole("button", { name: "Restore Before (1)" }).waitFor();
	await page.getByRole("button", { name: "Delete snapshot 1" }).click();
	await page.getByRole("button", { name: "Restore Before", exact: true }).waitFor();
	expect(await page.getByRole("button", { name: /^Restore/ }).count()).toBe(1);
	// A number is not given twice.
	await page.getByRole("button", { name: "Delete snapshot 2" }).click();
	await page.getByRole("button", { name: "Take a snapshot" }).click();
	await page.getByRole("button", { name: "Restore 3" }).click();
	expect(sandbox.events({ limit: 1 }).at(-1)?.type).toBe("sandbox.restored");
});

test("j and k say which conversation is open, and bubbles name who wrote", async () => {
	const { page, sandbox, client } = await visit();
	const agency = sandbox.agency();
	agency.contact(phone, { name: "Anna" }).writes("Hello");
	agency.contact("+447700900102", { name: "Bram" }).writes("Good morning");
	await client.agency(agency.id).messages.send({ to: phone, body: "Hi Anna" });
	// The send has made Anna's the first of both.
	await page.locator(".list button", { hasText: "Hi Anna" }).waitFor();
	await page.getByRole("button", { name: /Bram/ }).waitFor();
	await page.keyboard.press("j");
	await page.locator(".list button:focus", { hasText: "Anna" }).waitFor();
	expect(await page.locator(".list button:focus").getAttribute("aria-current")).toBe("true");
	await messages(page).getByRole("article", { name: "Anna", exact: true }).getByText("Hello").waitFor();
	await messages(page).getByRole("article", { name: "API", exact: true }).getByText("Hi Anna").waitFor();
	await page.keyboard.press("j");
	await page.locator(".list button:focus", { hasText: "Bram" }).waitFor();
	expect(await axeFindings(page)).toEqual([]);
});

test("a violation leads to its request", async () => {
	const { page, server } = await visit();
	await fetch(`${server.baseUrl}/nowhere`, { headers: { authorization: `Bearer ${server.apiKey}` } });
	await page.getByRole("button", { name: "1 violation" }).click();
	await page.getByRole("dialog").getByRole("link", { name: "GET /nowhere" }).click();
	await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
	await requests(page).locator("details[open]").getByText("→ 501").waitFor();
});

test("whoever reads further down sees how much is new, and one click shows it", async () => {
	const { page, server, client } = await visit();
	await fetch(`${server.baseUrl}/nowhere`, { headers: { authorization: `Bearer ${server.apiKey}` } });
	for (let i = 0; i < 40; i++) await fetch(`${server.baseUrl}/nowhere?${i}`);
	await shows(requests(page), "?39");
	await page.getByRole("button", { name: "41 violations" }).click();
	await page.getByRole("dialog").getByRole("link", { name: "GET /nowhere" }).first().click();
	await requests(page).locator("details[open]").getByText("→ 501").waitFor();
	await expect.poll(() => page.getByRole("button", { name: /new$/ }).count()).toBe(0);
	await client.me.get();
	await page.getByRole("button", { name: "1 new" }).focus();
	await page.keyboard.press("Enter");
	await requests(page).getByText("me.get").and(page.locator(":visible")).waitFor();
	await expect.poll(() => page.locator(".panel").evaluate((panel) => panel.scrollTop)).toBe(0);
	await page.getByRole("button", { name: "1 new" }).waitFor({ state: "detached" });
});

test("a link to a send with several attempts shows its head, and it stays in view", async () => {
	const { page, sandbox, open } = await visit();
	sandbox.agency().contact(phone, { name: "Anna" }).writes("Hello");
	const path = `/agencies/${sandbox.agency().id}/messages`;
	const body = { to: phone, body: "Hi Anna", operationId: "visit-1" };
	sandbox.faults.add({ operation: "messages.send", effect: { status: 503 }, times: 8 });
	for (let i = 0; i < 9; i++) await sandbox.request({ method: "POST", path, body });
	for (let i = 0; i < 30; i++) await sandbox.request({ method: "GET", path: `/me?${i}` });
	const id = sandbox.requests()[8]?.correlationId;
	const other = await open({ viewport: { width: 1280, height: 500 } });
	await other.evaluate((hash) => (location.hash = hash), `#/?request=${id}`);
	const row = requests(other).locator("details[open]");
	await shows(row, "X-Correlation-Id");
	const isHeadInView = () =>
		row.locator("summary").evaluate((head) => {
			const { x, y, width, height } = head.getBoundingClientRect();
			const isShown = (top: number) => head.contains(document.elementFromPoint(x + width / 2, top));
			return isShown(y + 2) && isShown(y + height - 2);
		});
	await expect.poll(isHeadInView).toBe(true);
	await other.locator(".panel").evaluate((panel) => (panel.scrollTop += 300));
	await expect.poll(isHeadInView).toBe(true);
	await page.close();
});

test("a row names its contact also when the list shows others", async () => {
	const { page, sandbox, client } = await visit();
	const before = createSandbox();
	before.agency().contact("+447700900102", { name: "Bram" }).writes("Hello");
	before.agency().contact(phone, { name: "Anna" }).writes("Hello");
	sandbox.restore(before.snapshot()); // so that no event names them
	await page.getByRole("navigation", { name: "Conversations" }).getByText("Anna").waitFor();
	await client.agency(sandbox.agency().id).conversations.get(phone);
	await shows(requests(page), "Anna");
	await page.getByLabel("Search or new number").fill("Bram");
	await expect.poll(() => page.getByRole("navigation", { name: "Conversations" }).locator("li b").count()).toBe(1);
	const again = page.waitForResponse(/conversations\?.*search=Bram/);
	sandbox.loadScenario("unlinked"); // everything is read again
	await (await again).finished();
	await shows(page.getByRole("navigation", { name: "Conversations" }), "Bram");
	await shows(requests(page), "Anna");
});

test("a search finds requests in the whole log and counts them, and one click shows the oldest", async () => {
	const { page, sandbox } = await visit();
	const body = { to: "+447700900199", body: "The very first text", operationId: "first-1" };
	const agency = sandbox.agency();
	agency.contact(body.to, { name: "Zoë" });
	await sandbox.request({ method: "POST", path: `/agencies/${agency.id}/messages`, body });
	for (let i = 0; i < 2_500; i++)
		await sandbox.request({ method: "GET", path: `/me?${i}`, apiKey: i % 5 ? undefined : "no key" });
	await page.reload();
	await shows(requests(page), "me.get");
	await page.getByRole("button", { name: "Oldest first" }).click();
	await requests(page).locator("li:has(details)").first().getByText("The very first text").waitFor();
	await page.getByRole("button", { name: "Oldest first" }).click();
	await page.getByLabel("Text in the log").fill("status:401 key:unknown");
	await page.getByText("500 requests found, the newest 200 are shown.").waitFor();
	await page.getByLabel("Text in the log").fill("outcome:held contact:zoë");
	await page.getByText("1 request found.").waitFor();
	await shows(requests(page), "The very first text");
	expect(await axeFindings(page)).toEqual([]);
});

test("the next send of a contact loses its answer after two clicks", async () => {
	const { page, sandbox } = await visit();
	sandbox.agency().contact(phone, { name: "Anna" }).writes("Hello");
	await page.getByRole("button", { name: /Anna/ }).click();
	await page.getByRole("button", { name: "Faults…" }).click();
	await page.getByRole("button", { name: "Lose its answer" }).click();
	await expect
		.poll(() => sandbox.faults.unused())
		.toMatchObject([{ operation: "messages.send", contact: phone, phase: "after", effect: { kind: "hang" } }]);
	expect(await axeFindings(page)).toEqual([]);
});

test("a repeat of a send says that it is one", async () => {
	const { page, sandbox, client } = await visit();
	const agency = sandbox.agency();
	agency.contact(phone, { name: "Anna" }).writes("Hello");
	const { messages: texts } = client.agency(agency.id);
	await texts.send({ to: phone, body: "Hi Anna", operationId: "visit-1" });
	await shows(requests(page), "messages.send");
	expect(await requests(page).getByText("A repeat of an earlier send").count()).toBe(0);
	await sandbox.replay(sandbox.requests().at(-1)?.correlationId ?? "");
	await shows(requests(page), "2 attempts of one operationId: 200, 200");
	await requests(page).getByText("messages.send").click();
	await shows(requests(page), "A repeat of an earlier send, whose text went out: nothing was sent again.");
});
