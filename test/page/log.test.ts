// The log answers a developer's questions: when, of whom, how often, and what became of it.
import { expect, test } from "vitest";
import { axeFindings, messages, requests, shows, type Visit, visit } from "./visit.ts";

const phone = "+447700900101";

/** Anna wrote, and two lists, a refused one and two sends followed; the first answer to the first send was lost. */
async function busyDay(): Promise<Visit> {
	const visited = await visit({}, { viewport: { width: 1440, height: 900 } });
	const { sandbox, client } = visited;
	const agency = sandbox.agency();
	agency.contact(phone, { name: "Anna" }).writes("Hello?");
	const { conversations, messages: texts } = client.agency(agency.id);
	for (let i = 0; i < 18; i++) await conversations.list({ pageSize: 50 }).page();
	sandbox.faults.add({ operation: "messages.send", effect: { status: 503 } });
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
	await texts.send({ to: phone, body: "It is.", operationId: "visit-1" });
	sandbox.clock.advance({ hours: 25 });
	await texts.send({ to: phone, body: "Would Thursday suit you?", operationId: "visit-2" });
	sandbox.clock.advance({ minutes: 3 });
	await texts.send({ to: phone, body: "Would Friday suit you?", operationId: "visit-3" });
	await client.agency(agency.id).conversations.get(phone);
	return visited;
}

const lines = (page: Visit["page"]) => requests(page).locator("li:has(details)");
const line = (page: Visit["page"], text: string) =>
	lines(page)
		.filter({ has: page.locator("summary", { hasText: text }) })
		.first();

test("equal polls in a row are one line, and days part the lines", async () => {
	const { page, client, sandbox } = await busyDay();
	await shows(requests(page), "conversations.list ×18");
	await shows(line(page, "conversations.list"), "?pageSize=50");
	await shows(line(page, "conversations.get"), "Anna");
	await expect.poll(() => lines(page).count()).toBe(5);
	const order = await requests(page).locator("li.date, b").allTextContents();
	expect(order).toEqual([
		"Tue, 6 Jan 2026",
		"conversations.get",
		"messages.send",
		"messages.send",
		"Mon, 5 Jan 2026",
		"messages.send",
		"conversations.list ×18",
	]);
	const { conversations } = client.agency(sandbox.agency().id);
	await conversations.list().page();
	await conversations.list().page();
	await shows(requests(page), "conversations.list ×2");
});

test("a line has the real time beside the sandbox's", async () => {
	const { page } = await busyDay();
	const sandboxTime = line(page, "conversations.get").locator("time").first();
	const realTime = line(page, "conversations.get").locator("time.gap");
	expect(await sandboxTime.textContent()).toBe("10:03:00");
	expect(await realTime.textContent()).toMatch(/^\+\d+(\.\d\d)? s$/);
	const at = Date.parse((await realTime.getAttribute("datetime")) ?? "");
	expect(new Date(at).getFullYear()).toBe(new Date().getFullYear());
	await page.getByRole("tab", { name: "Events" }).click();
	const events = page.getByRole("log", { name: "Events" });
	await shows(events, "text.replaced");
	await expect.poll(() => events.locator("time.gap").count()).toBeGreaterThan(10);
});

test("filters show sends alone, errors alone, one operation, or what has a text", async () => {
	const { page, client, sandbox } = await busyDay();
	await client.agency(sandbox.agency().id).conversations.get("+447700900199").result();
	const shown = () => requests(page).locator("b").allTextContents();
	const choose = page.getByLabel("Which requests");
	await choose.selectOption("Sends");
	await expect.poll(shown).toEqual(["messages.send", "messages.send", "messages.send"]);
	await choose.selectOption("Errors");
	await expect.poll(shown).toEqual(["conversations.get", "messages.send"]);
	await choose.selectOption("conversations.list");
	await expect.poll(shown).toEqual(["conversations.list ×18"]);
	await choose.selectOption("All requests");
	await page.getByLabel("Text in the log").fill("thursday");
	await expect.poll(shown).toEqual(["messages.send", "messages.send"]);
	await page.getByLabel("Text in the log").fill("visit-3");
	await expect.poll(shown).toEqual(["messages.send"]);
	await page.getByLabel("Text in the log").fill("no such thing");
	await page.getByText("No request fits the filter.").waitFor();
	await page.getByRole("tab", { name: "Events" }).click();
	await page.getByLabel("Words in the loaded events").fill("held");
	await page.getByText(/^\d+ of the \d+ events that are loaded\.$/).waitFor();
	const events = page.getByRole("log", { name: "Events" }).locator("b");
	await expect.poll(async () => (await events.allTextContents()).includes("text.held")).toBe(true);
	expect(await events.allTextContents()).not.toContain("contact.wrote");
});

test("the attempts of one operationId are one line, with their waits and all their answers", async () => {
	const { page } = await busyDay();
	const send = line(page, "It is.");
	await shows(send, "3 attempts of one operationId: 503, no answer, 200");
	await send.locator("summary").click();
	await shows(send, "3 attempts of one operationId");
	expect(await send.locator(".attempts > span").textContent()).toMatch(
		/503, \d+(\.\d\d)? s later no answer, \d+(\.\d\d)? s later 200$/,
	);
	const parts = send.locator(".waits > .attempt");
	await expect.poll(() => parts.count()).toBe(3);
	for (const part of await parts.all()) {
		const { width = 0, height = 0 } = (await part.boundingBox()) ?? {};
		expect(Math.min(width, height), "a part of the bar that one can see").toBeGreaterThanOrEqual(5);
	}
	await shows(send, "→ no answer");
	const text = (await send.locator("pre").textContent()) ?? "";
	expect(text.match(/^POST /gm)).toHaveLength(3);
	expect(text).toMatch(/→ 503.*→ no answer.*→ 200/s);
});

/** Sends a text without the package, which would refuse to reuse an id. */
async function sendRaw({ server }: Visit, body: string): Promise<void> {
	await fetch(`${server.baseUrl}/agencies/${server.agencyId}/messages`, {
		method: "POST",
		headers: { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" },
		body: JSON.stringify({ to: phone, body, operationId: "visit-1" }),
	});
}

test("two sends and a read fit into a third of the screen, with outcome and one reason each, and the rest opens", async () => {
	const { page } = await busyDay();
	const friday = line(page, "Would Friday");
	await shows(friday, "held");
	const heights = await lines(page).evaluateAll((all) => all.map((each) => each.getBoundingClientRect().height));
	expect(heights).toHaveLength(5);
	expect((heights[0] ?? 0) + (heights[1] ?? 0) + (heights[2] ?? 0)).toBeLessThan(300);
	// One reason is there, in one row. The others come before the request once it is open.
	expect(await friday.locator(".why > span").count()).toBe(1);
	await friday.locator("summary").click();
	await friday.locator("pre").waitFor();
	const reasons = await friday.locator(".then > li").allTextContents();
	expect(reasons.length).toBeGreaterThan(2);
	expect(await friday.locator(".brief").count()).toBe(0);
	const [then, text] = await Promise.all([friday.locator(".then").boundingBox(), friday.locator("pre").boundingBox()]);
	expect((then?.y ?? 0) + (then?.height ?? 0)).toBeLessThanOrEqual(text?.y ?? 0);
	await friday.locator("summary").click();
	await shows(friday, "held");
	expect(await friday.locator(".then").count()).toBe(0);
});

test.each([
	["1440 px", { width: 1440, height: 900 }],
	["200 % zoom", { width: 720, height: 450 }],
	["390 px", { width: 390, height: 844 }],
])("at %s a reason has room beside a long outcome, and a refused key leaves its row whole", async (_name, viewport) => {
	const visited = await visit({}, { viewport });
	const { page, sandbox, server, client } = visited;
	const agency = sandbox.agency();
	agency.contact(phone, { name: "Anna" }).writes("Hello?");
	sandbox.clock.advance({ hours: 25 });
	await client.agency(agency.id).messages.send({ to: phone, body: "Would Thursday at two o'clock suit you?" });
	agency.contact(phone).declines();
	const path = `/agencies/${server.agencyId}/messages`;
	await sandbox.request({
		method: "POST",
		path,
		apiKey: "none",
		body: { to: phone, body: "Or would Friday suit you?" },
	});
	if (viewport.width < 900)
		await page.getByRole("navigation", { name: "Panes" }).getByRole("button", { name: "Requests" }).click();
	const send = line(page, "Thursday");
	await send.getByRole("link", { name: "held → declined, never sent 10:00" }).waitFor();
	const isInView = await send.locator(".why > span").evaluate((place) => {
		const range = document.createRange();
		const said = "The window was closed since 2026-01-06";
		range.setStart(place.firstChild ?? place, 0);
		range.setEnd(place.firstChild ?? place, said.length);
		const [box, words] = [place.getBoundingClientRect(), range.getBoundingClientRect()];
		return words.bottom <= box.bottom && words.right <= box.right;
	});
	expect(isInView).toBe(true);
	const refused = line(page, "key unknown");
	const tops = refused.locator("summary").locator("b, .target, .bad");
	const boxes = await tops.evaluateAll((all) => all.map((each) => each.getBoundingClientRect().top));
	expect(boxes).toHaveLength(4);
	expect(Math.max(...boxes) - Math.min(...boxes)).toBeLessThan(2);
	// The time since the line before is below the time, and takes nothing from the row.
	const [time, gap] = [
		await refused.locator("time").first().boundingBox(),
		await refused.locator(".gap").boundingBox(),
	];
	expect(gap?.x).toBe(time?.x);
});

test("another text with the same operationId is another line, which does not say that it was sent", async () => {
	const visited = await visit();
	const { page, sandbox } = visited;
	sandbox.agency().contact(phone, { name: "Anna" }).writes("Hello?");
	for (const text of ["Thursday?", "Friday?", "Thursday?"]) await sendRaw(visited, text);
	await shows(line(page, "Anna “Thursday?”"), "2 attempts of one operationId");
	await line(page, "Anna “Thursday?”").getByRole("link", { name: "sent", exact: true }).waitFor();
	const reused = line(page, "Anna “Friday?”");
	await shows(reused, 'another text. First: "Thursday?". Now: "Friday?".');
	expect(await reused.locator("summary").innerText()).toContain("500");
	expect(await reused.getByRole("link").count()).toBe(0);
});

test("what each attempt of a send was refused for is said once, in the log and on the phone", async () => {
	const visited = await visit();
	const { page, sandbox } = visited;
	sandbox.agency().contact(phone, { name: "Anna" }).writes("Hello?");
	sandbox.faults.add({ operation: "messages.send", effect: { status: 503 }, times: 4 });
	for (let i = 0; i < 4; i++) await sendRaw(visited, "Thursday?");
	await page.getByRole("button", { name: /Anna/ }).click();
	await shows(line(page, "Thursday?"), "4 attempts of one operationId: 503, 503, 503, 503");
	await line(page, "Thursday?").locator("summary").click();
	await expect.poll(() => line(page, "Thursday?").getByText("A fault that you added").count()).toBe(1);
	await shows(messages(page), "before the operation ran. ×4");
	expect(await messages(page).getByText("The CRM's send was answered").count()).toBe(1);
});

test("a jump to the phone leaves the request open, after a reload too", async () => {
	const { page } = await busyDay();
	await line(page, "It is.").locator("summary").click();
	await shows(line(page, "It is."), "X-Correlation-Id");
	await line(page, "It is.").getByRole("link", { name: "sent", exact: true }).click();
	await messages(page).locator("article:focus").filter({ hasText: "It is." }).waitFor();
	await page.reload();
	await shows(line(page, "It is."), "X-Correlation-Id");
});

test("a long name leaves room for the text, and the filter finds it whole", async () => {
	const { page, sandbox, client } = await visit();
	sandbox.agency().contact(phone, { name: "Wolfeschlegelsteinhausenbergerdorff" }).writes("Hello?");
	await client.agency(sandbox.agency().id).messages.send({ to: phone, body: "It is." });
	const target = requests(page).locator(".target");
	await expect.poll(() => target.allTextContents()).toEqual(["Wolfeschlegelsteinhausen… “It is.”"]);
	await page.getByLabel("Text in the log").fill("bergerdorff");
	await expect.poll(() => target.count()).toBe(1);
	await page.getByLabel("Text in the log").fill("");
	await page.getByRole("button", { name: /Wolfe/ }).click();
	sandbox.agency().contact("+447700900102", { name: "Bram" }).writes("Hello");
	await page.getByRole("button", { name: /Bram/ }).click();
	await page.getByLabel("only Bram").check();
	await page.getByText("No request fits the filter.").waitFor();
});

test("a send says what became of its text, and leads to the text on the phone, by keyboard too", async () => {
	const { page, sandbox } = await busyDay();
	await line(page, "Would Thursday").getByRole("link", { name: "held → replaced 10:03" }).waitFor();
	await line(page, "Would Friday").getByRole("link", { name: "held", exact: true }).click();
	const held = messages(page).locator("article").filter({ hasText: "Held, not sent" });
	await held.and(page.locator(":focus")).waitFor();
	sandbox.agency().contact(phone).accepts();
	await line(page, "Would Friday").getByRole("link", { name: "held → accepted, sent 10:03" }).waitFor();
	const sent = sandbox.agency().contact(phone).state().messages.at(-1);
	sandbox.message(sent?.id ?? 0).read();
	await line(page, "Would Friday").getByRole("link", { name: "held → accepted, sent 10:03, read" }).focus();
	await page.keyboard.press("Enter");
	await messages(page).locator("article:focus").filter({ hasText: "Would Friday" }).waitFor();
	await line(page, "Would Thursday").getByRole("link").click();
	await messages(page).locator("article:focus").filter({ hasText: "Never sent" }).waitFor();
	await line(page, "It is.").getByRole("link", { name: "sent", exact: true }).waitFor();
	sandbox.message(sandbox.agency().contact(phone).state().messages[1]?.id ?? 0).failed({ errorCode: 63024 });
	await line(page, "It is.").getByRole("link", { name: "sent → failed 63024" }).waitFor();
});

test("an outcome leads to a message that was not loaded, and to another agency's conversation", async () => {
	const { page, sandbox, client } = await visit();
	const anna = sandbox.agency().contact(phone, { name: "Anna" });
	anna.writes("Hello");
	await client.agency(sandbox.agency().id).messages.send({ to: phone, body: "The first text" });
	for (let i = 0; i < 150; i++) anna.writes(`line ${i}.`);
	const other = sandbox.link({ name: "Harbour Homes" });
	other.contact(phone, { name: "Chloé" }).writes("Hello Harbour");
	await client.agency(other.id).messages.send({ to: phone, body: "From the harbour" });
	await line(page, "The first text").getByRole("link", { name: "sent" }).click();
	await messages(page).locator("article:focus").filter({ hasText: "The first text" }).waitFor();
	await line(page, "From the harbour").getByRole("link", { name: "sent" }).click();
	await messages(page).locator("article:focus").filter({ hasText: "From the harbour" }).waitFor();
	expect(await page.getByLabel("Agency").inputValue()).toBe(other.id);
});

test("axe finds nothing in the log, at three widths, with a line opened", async () => {
	const { page } = await busyDay();
	await page.getByRole("button", { name: /Anna/ }).click();
	await line(page, "It is.").locator("summary").click();
	await shows(line(page, "It is."), "X-Correlation-Id");
	for (const width of [1440, 1024, 390]) {
		await page.setViewportSize({ width, height: 844 });
		if (width < 900)
			await page.getByRole("navigation", { name: "Panes" }).getByRole("button", { name: "Requests" }).click();
		expect(await axeFindings(page)).toEqual([]);
		expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
	}
});

test.each([
	["1440 px, light", { viewport: { width: 1440, height: 900 } }],
	["390 px, dark", { viewport: { width: 390, height: 844 }, colorScheme: "dark" as const }],
])("at %s the head of an open row covers what scrolls below it, also of one that was undone", async (_name, screen) => {
	const visited = await visit({}, screen);
	const { page, sandbox } = visited;
	sandbox.agency().contact(phone, { name: "Anna" }).writes("Hello?");
	const before = sandbox.snapshot();
	await sendRaw(visited, "Thursday?");
	if (screen.viewport.width < 900)
		await page.getByRole("navigation", { name: "Panes" }).getByRole("button", { name: "Requests" }).click();
	const head = line(page, "Thursday?").locator("summary");
	await head.click();
	await shows(line(page, "Thursday?"), "X-Correlation-Id");
	for (const undone of [false, true]) {
		if (undone) sandbox.restore(before);
		if (undone) await expect.poll(() => line(page, "Thursday?").getAttribute("class")).toContain("undone");
		// Long enough for the head to stay on top of its text.
		await line(page, "Thursday?")
			.locator("pre")
			.evaluate((pre: HTMLElement) => {
				pre.style.height = "3000px";
				pre.closest(".panel")?.scrollTo(0, 600);
			});
		const { colour, isOnTop, isOver } = await head.evaluate((each) => {
			const { left, right, top, bottom } = each.getBoundingClientRect();
			const [x, y] = [(left + right) / 2, (top + bottom) / 2];
			const pre = each.parentElement?.querySelector("pre")?.getBoundingClientRect();
			return {
				colour: getComputedStyle(each).backgroundColor,
				isOnTop: each.contains(document.elementFromPoint(x, y)),
				isOver: pre !== undefined && pre.top < y && pre.bottom > y,
			};
		});
		expect({ isOnTop, isOver }).toEqual({ isOnTop: true, isOver: true });
		expect(colour, "a colour that nothing shows through").toMatch(/^(rgb|oklch|color)\([^/]*\)$/);
	}
});
