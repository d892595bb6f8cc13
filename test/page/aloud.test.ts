// What a screen reader meets on the way through eight tasks: names, roles and live regions, in that order.
import { expect, test } from "vitest";
import { requests, shows, type Visit, visit } from "./visit.ts";

const phone = "+447700900101";
type Place = ReturnType<Visit["page"]["getByRole"]>;

/** The accessibility tree of a place has these parts, one after the other. */
async function reads(place: Place, ...parts: readonly RegExp[]): Promise<void> {
	const order = async (): Promise<string> => {
		const tree = await place.ariaSnapshot();
		let at = 0;
		for (const part of parts) {
			const found = tree.slice(at).search(part);
			if (found < 0) return `${part} is not in, or not after the ones before:\n${tree}`;
			at += found + 1;
		}
		return "in order";
	};
	await expect.poll(order).toBe("in order");
}

/** Anna wrote. */
async function annaWrote() {
	const visited = await visit({}, { viewport: { width: 1440, height: 900 } });
	const agency = visited.sandbox.agency();
	const anna = agency.contact(phone, { name: "Anna" });
	anna.writes("Is the flat free?");
	const { messages } = visited.client.agency(agency.id);
	const choose = () => visited.page.getByRole("button", { name: /^Anna/ }).click();
	return { ...visited, agency, anna, messages, choose };
}

const open = (page: Visit["page"], text: string) => requests(page).getByText(text).first().click();

test("the parts of the page have names and come in the order in which one works", async () => {
	const { page, choose } = await annaWrote();
	await choose();
	await reads(
		page.locator("body"),
		/^- banner:/m,
		/button "Skip to the phone"/,
		/heading "Sandbox" \[level=1\]/,
		/combobox "Agency"/,
		/region "Clock"/,
		/^- navigation "Conversations":/m,
		/searchbox "Search or new number"/,
		/^- main "Phone of Anna":/m,
		/heading "Anna" \[level=2\]/,
		/log "Messages"/,
		/form "Write as Anna"/,
		/form "Send as the CRM"/,
		/^- complementary "Log":/m,
		/tablist "What the log shows"/,
		/slider "Go back in time"/,
		/tabpanel "Requests"/,
		/search "Filter the log"/,
		/^- contentinfo:/m,
		/status: ● connected/,
	);
	// What comes by itself is said once: in the phone at once, and of the requests how many there were.
	expect(await page.getByRole("log", { name: "Messages" }).getAttribute("aria-live")).toBeNull();
	expect(await requests(page).getAttribute("aria-live")).toBe("off");
});

test("one of 500 conversations is found, and what happened in it is read message by message", async () => {
	const { page, agency } = await annaWrote();
	for (let i = 0; i < 499; i++)
		agency.contact(`+4477009${String(10_000 + i)}`, { name: `Contact ${i} of many` }).writes("Hello");
	await page.reload();
	await page.getByRole("searchbox", { name: "Search or new number" }).fill("Contact 321 ");
	const list = page.getByRole("navigation", { name: "Conversations" });
	await expect.poll(() => list.getByRole("listitem").count()).toBe(1);
	await reads(list, /button "Contact 321 of many \S+ Hello open/);
	await page.keyboard.press("Enter");
	await reads(
		page.getByRole("main", { name: "Phone of Contact 321 of many" }),
		/heading "Contact 321 of many"/,
		/log "Messages"/,
		/paragraph: \w+, 5 Jan 2026/,
		/article "Contact 321 of many":\s+- paragraph: Hello\s+- time: /,
		/paragraph: window open for 24 hours/,
	);
});

test("why a text did not arrive is found among 5,000 requests: how many there are, its outcome, and the reasons", async () => {
	const { page, sandbox, anna, messages } = await annaWrote();
	sandbox.clock.advance({ hours: 25 });
	await messages.send({ to: phone, body: "Would Thursday suit you?", operationId: "visit-1" });
	anna.declines();
	for (let i = 0; i < 5_000; i++) await sandbox.request({ method: "GET", path: `/me?${i}` });
	await page.reload();
	await page.getByRole("searchbox", { name: "Text in the log" }).fill("Thursday");
	const panel = page.getByRole("tabpanel", { name: "Requests" });
	await reads(
		panel,
		/status: 1 request found\./,
		/log "Requests"/,
		/listitem:.*2026/,
		/text: messages\.send Anna “Would Thursday suit you\?” 200/,
		/link "held → declined, never sent 10:00"/,
	);
	await open(page, "Would Thursday");
	await reads(
		panel,
		/link "held → declined, never sent 10:00"/,
		/The window was closed since/,
		/button "Rule R113"/,
		/button "Replay"/,
		/POST \/agencies\//,
	);
});

test("a violation leads to its request and its contact", async () => {
	const { page, server } = await annaWrote();
	for (const body of ["Thursday?", "Friday?"])
		await fetch(`${server.baseUrl}/agencies/${server.agencyId}/messages`, {
			method: "POST",
			headers: { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" },
			body: JSON.stringify({ to: phone, body, operationId: "visit-1" }),
		});
	await page.getByRole("button", { name: "1 violation" }).click();
	const dialog = page.getByRole("dialog", { name: "Violations" });
	await reads(dialog, /heading "Violations"/, /button "Rule R134"/, /another text\. First/, /link "POST \/agencies/);
	await dialog.getByRole("link", { name: /^POST/ }).click();
	await page.getByRole("main", { name: "Phone of Anna" }).waitFor();
	await reads(
		requests(page),
		/messages\.send Anna “Friday\?” 500/,
		/another text\. First/,
		/button "Rule R134"/,
		/→ 500/,
	);
});

test("the next answer is lost, and the retry is one line with both answers", async () => {
	const { page, messages, choose } = await annaWrote();
	await choose();
	await page.getByRole("button", { name: "Faults…" }).click();
	const dialog = page.getByRole("dialog", { name: "Faults" });
	await reads(dialog, /heading "The next send to Anna"/, /button "Lose its answer"/, /heading "Armed"/);
	await dialog.getByRole("button", { name: "Lose its answer" }).click();
	await reads(
		dialog,
		/heading "Armed"/,
		/listitem:\s+- text: "messages\.send of \+447700900101: Lose its answer, 1 left"/,
	);
	await page.keyboard.press("Escape");
	await messages.send({ to: phone, body: "It is.", operationId: "note-1" }, { timeoutMs: 500 }).result();
	await messages.send({ to: phone, body: "It is.", operationId: "note-1" });
	await reads(
		requests(page),
		/messages\.send Anna “It is\.” 200/,
		/link "sent"/,
		/\d attempts of one operationId: no answer, /,
	);
});

test("one goes back to before a mistake and branches off, and hears which moment it is", async () => {
	const { page, anna, messages, choose } = await annaWrote();
	await choose();
	await messages.send({ to: phone, body: "A mistake", operationId: "note-1" });
	await open(page, "A mistake");
	await page.getByRole("button", { name: "go back to before this" }).click();
	await reads(
		page.getByRole("region", { name: "Time" }),
		/slider "Go back in time"/,
		/status: "?Mon, 5 Jan 2026, 09:00:00: Anna wrote/,
		/paragraph: "?Since then/,
		/button "Continue from here"/,
		/button "Back to now"/,
	);
	const slider = page.getByRole("slider", { name: "Go back in time" });
	expect(await slider.getAttribute("aria-valuetext")).toMatch(
		/^Mon, 5 Jan 2026, 09:00:00: Anna wrote.*Since then: 1 request/,
	);
	await page.getByRole("region", { name: "Time" }).getByRole("button", { name: "Continue from here" }).click();
	await expect.poll(() => slider.getAttribute("aria-valuetext")).toBe("now");
	await expect.poll(() => anna.state().messages.map(({ body }) => body)).toEqual(["Is the flat free?"]);
	await reads(requests(page), /messages\.send Anna “A mistake” 200/, /undone: restored to before it/);
});

test("a refused key has its true status in its line, and a good one is a button away", async () => {
	const { page, sandbox } = await annaWrote();
	const { apiKey, id } = sandbox.keys.create();
	sandbox.keys.revoke(id);
	await sandbox.request({ method: "GET", path: "/me", apiKey });
	await reads(requests(page), /text: me\.get key revoked 401/, /paragraph: .*revoked/);
	await open(page, "me.get");
	await reads(requests(page), /me\.get key revoked 401/, /listitem: .*revoked/, /button "Replay"/, /→ 401/);
	await page.getByRole("button", { name: "Replay with a good key" }).waitFor();
});

test("a bug is handed over as a file from its request", async () => {
	const { page, messages } = await annaWrote();
	await messages.send({ to: phone, body: "It is.", operationId: "note-1" });
	await open(page, "It is.");
	const download = page.waitForEvent("download");
	await requests(page).getByRole("button", { name: "export" }).click();
	expect((await download).suggestedFilename()).toBe("bug.json");
});

test("the oldest request is the first that is read, and a pressed button says why", async () => {
	const { page, sandbox } = await annaWrote();
	for (let i = 1; i <= 250; i++) await sandbox.request({ method: "GET", path: `/me?${i}`, apiKey: "none" });
	await page.getByRole("button", { name: "Oldest first" }).click();
	await shows(requests(page), "?1");
	await reads(
		page.getByRole("tabpanel", { name: "Requests" }),
		/button "Oldest first" \[pressed\]/,
		/status: 250 requests in the log, the oldest 200 are shown\./,
		/log "Requests"/,
		/text: me\.get \?1 key unknown 401/,
		/text: me\.get \?2 key unknown 401/,
		/button "Load newer"/,
	);
});
