import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { createSandbox } from "../../src/sandbox/index.ts";
import { serve } from "../../src/sandbox/server.ts";
import { axeFindings, messages, requests, shows, visit } from "./visit.ts";

const phone = "+447700900101";

test("the root leads a browser to the page, the token leaves the address, and no journal has the visit", async () => {
	const { page, server, sandbox } = await visit();
	expect(page.url()).toBe(`${server.controlUrl}/ui/`);
	await page.goto(new URL("/", server.baseUrl).href);
	await page.getByText("● connected").waitFor();
	expect(page.url()).toBe(`${server.controlUrl}/ui/`);
	expect(sandbox.requests()).toEqual([]);
});

test("without the token the page asks for it, refuses a wrong one, and opens with the right one", async () => {
	const { server, open } = await visit();
	const page = await open();
	await page.evaluate("sessionStorage.clear()");
	await page.reload();
	await page.getByRole("heading", { name: "Sandbox" }).waitFor();
	await page.getByLabel(/Control token/).fill("another");
	await page.keyboard.press("Enter");
	await page.getByRole("heading", { name: "Wrong token" }).waitFor();
	await page.getByLabel(/Control token/).fill(server.token);
	await page.keyboard.press("Enter");
	await page.getByText("● connected").waitFor();
});

test("a message that holds markup is shown as text", async () => {
	const { page, sandbox } = await visit();
	const body = `<img src="x" onerror="document.title = 'hacked'"><script>alert(1)</script>`;
	sandbox.agency().contact(phone, { name: "<b>Anna</b>" }).writes(body);
	await page.getByRole("button", { name: /<b>Anna<\/b>/ }).click();
	await shows(messages(page), body);
	await expect.poll(() => page.locator("img, .chat script, .chat b").count()).toBe(0);
	expect(await page.title()).not.toContain("hacked");
});

test("a page that lost its connection says so, resumes, and shows what happened meanwhile", async () => {
	const { page, server, sandbox } = await visit();
	const anna = sandbox.agency().contact(phone, { name: "Anna" });
	anna.writes("one");
	await page.getByRole("button", { name: /Anna/ }).click();
	await shows(messages(page), "one");
	await server.close();
	await page.getByText("not connected").waitFor();
	anna.writes("two");
	const again = await serve(sandbox, { port: Number(new URL(server.baseUrl).port), token: server.token });
	try {
		await shows(messages(page), "two");
		await page.getByText("● connected").waitFor();
		anna.writes("three");
		await shows(messages(page), "three");
		expect(
			await messages(page)
				.getByText(/^(one|two|three)$/)
				.allTextContents(),
		).toEqual(["one", "two", "three"]);
	} finally {
		await again.close();
	}
});

test("a page shows another sandbox that took the place of the first", async () => {
	const { page, server, sandbox, client } = await visit();
	sandbox.agency().contact(phone, { name: "Anna" }).writes("one");
	await page.getByRole("button", { name: /Anna/ }).waitFor();
	await client.me.get();
	await shows(requests(page), "me.get");
	await server.close();
	const other = createSandbox();
	other.agency().contact("+447700900102", { name: "Bram" }).writes("other");
	const again = await serve(other, { port: Number(new URL(server.baseUrl).port), token: server.token });
	try {
		await page.getByRole("button", { name: /Bram/ }).waitFor();
		await expect.poll(() => page.getByRole("button", { name: /Anna/ }).count()).toBe(0);
		await expect.poll(() => requests(page).getByText("me.get").count()).toBe(0);
	} finally {
		await again.close();
	}
});

test("two pages show the same, and news in a conversation that is not shown are counted", async () => {
	const { page, open, sandbox } = await visit();
	const other = await open();
	await other.getByText("● connected").waitFor();
	sandbox.agency().contact(phone, { name: "Anna" }).writes("Hello");
	for (const each of [page, other]) await shows(each.getByRole("navigation", { name: "Conversations" }), "1 new");
	expect(await page.title()).toMatch(/^\(1\) Sandbox/);
	await page.keyboard.press("j");
	await page.keyboard.press("r");
	await page.keyboard.type("And again");
	await page.keyboard.press("Enter");
	await shows(other.getByRole("navigation", { name: "Conversations" }), "And again");
});

test("ticks, staff, the AI switch, a take-over and reachability are a button each", async () => {
	const { page, sandbox, client } = await visit();
	const agency = sandbox.agency();
	agency.contact(phone, { name: "Anna" }).writes("Hello");
	await client.agency(agency.id).messages.send({ to: phone, body: "Hi Anna" });
	await page.getByRole("button", { name: /Anna/ }).click();
	await messages(page).getByText("sent ✓").click();
	await page.getByRole("button", { name: "failed" }).click();
	await shows(messages(page), "failed 63024");
	await page.getByText("Staff, AI, flows and more").click();
	await page.getByLabel("Text: Send as staff").fill("This is Tom");
	await page.keyboard.press("Enter");
	await shows(messages(page), "This is Tom");
	await page.getByRole("button", { name: "Turn AI on" }).click();
	await page.getByRole("button", { name: "Reply as AI" }).and(page.locator(":enabled")).waitFor();
	await page.getByLabel("Text: Reply as AI").fill("Hello, I am the AI");
	await page.keyboard.press("Enter");
	await shows(messages(page), "Hello, I am the AI");
	await page.getByRole("button", { name: "Take over" }).click();
	await shows(page.getByRole("main"), "next send: 409");
	const sent = await client.agency(agency.id).messages.send({ to: phone, body: "Too late" }).result();
	expect(sent.ok).toBe(false);
	await shows(messages(page), "The CRM's send was answered 409");
	await page.getByRole("button", { name: "Block" }).click();
	await shows(page.getByRole("main"), "cannot be reached");
});

test("scenarios, snapshots, export, import and reset", async () => {
	const { page, sandbox } = await visit();
	await page.getByRole("button", { name: "Scenario…" }).click();
	await page.getByRole("button", { name: "held", exact: true }).click();
	await shows(page.getByRole("dialog"), '{"scenario":"held"}');
	await page.getByRole("button", { name: "Take a snapshot" }).click();
	await page.getByRole("button", { name: /^Restore 1/ }).waitFor();
	await page.getByLabel("Keep numbers, names and texts").check();
	const [file] = await Promise.all([
		page.waitForEvent("download"),
		page.getByRole("button", { name: "Export as a file" }).click(),
	]);
	const saved = join(tmpdir(), `sandbox-${randomUUID()}.json`);
	onTestFinished(() => rmSync(saved));
	await file.saveAs(saved);
	sandbox.agency().contact("+447700900199", { name: "Zoë" }).writes("later");
	await page.getByRole("button", { name: /^Restore 1/ }).click();
	await expect.poll(() => sandbox.agency().conversations().length).toBe(1);
	await page.keyboard.press("Escape");
	await page.getByRole("button", { name: "Reset…" }).click();
	await page.getByRole("dialog").getByRole("button", { name: "Reset" }).click();
	await expect.poll(() => sandbox.agency().conversations().length).toBe(0);
	await page.getByRole("button", { name: "Scenario…" }).click();
	await page.getByLabel("Import a file").setInputFiles(saved);
	await page.getByRole("dialog").waitFor({ state: "detached" });
	await page.getByRole("button", { name: /Anna/ }).click();
	await shows(messages(page), "Held, not sent");
});

test("a file that is imported closes the dialog, and is shown and copied by its name, because its text is too long for a command line", async () => {
	const { page, server } = await visit();
	const buffer = Buffer.from(JSON.stringify(createSandbox({ scenario: "busy" }).bug()));
	await page.getByRole("button", { name: "Scenario…" }).click();
	await page.getByLabel("Import a file").setInputFiles({ name: "busy.json", mimeType: "application/json", buffer });
	await page.getByRole("dialog").waitFor({ state: "detached" });
	const footer = page.getByRole("contentinfo");
	await shows(footer, "→ done");
	await shows(footer, "POST /_sandbox/import @busy.json");
	await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
	await footer.getByRole("button", { name: "curl" }).click();
	await shows(footer, "copied");
	expect(await page.evaluate("navigator.clipboard.readText()")).toBe(
		`curl -g -H 'Authorization: Bearer ${server.token}' -d '@busy.json' '${server.controlUrl}/import'`,
	);
});

test("quick replies and the items of a list are tapped, and links are shown", async () => {
	const { page, sandbox } = await visit();
	const agency = sandbox.agency();
	const anna = agency.contact(phone, { name: "Anna" });
	anna.writes("Hello");
	const items = [
		{ id: "am", title: "Morning", description: "9 to 12" },
		{ id: "pm", title: "Afternoon" },
	];
	const ctaButtons = [{ type: "URL", title: "The flat", url: "https://flats.invalid/1" }];
	const links = { type: "PHONE_NUMBER", title: "Call us", phone: "+447700900000" };
	agency.ai.replies({
		contact: anna,
		text: "When?",
		interactiveContent: { listPicker: { buttonText: "Choose", items } },
	});
	await page.getByRole("button", { name: /Anna/ }).click();
	await messages(page).getByRole("button", { name: "Morning 9 to 12" }).waitFor();
	await messages(page).getByRole("button", { name: "Afternoon" }).click();
	await shows(messages(page), "tapped pm");
	expect(anna.state().lastMessage).toMatchObject({ body: "Afternoon", buttonClicked: "pm" });
	const quickReplies = [{ code: "sure", text: "Are you sure?" }];
	agency.ai.replies({
		contact: anna,
		text: "Noted",
		interactiveContent: { quickReplies, ctaButtons: [...ctaButtons, links] },
	});
	await shows(messages(page), "https://flats.invalid/1");
	await shows(messages(page), "+447700900000");
	expect(await axeFindings(page)).toEqual([]);
	await messages(page).getByRole("button", { name: "Are you sure?" }).click();
	await shows(messages(page), "tapped sure");
});

test("the consent template can be answered after a tap on another message's button", async () => {
	const { page, sandbox } = await visit({ scenario: "held" });
	sandbox.agency().contact(phone).taps("visit_confirm");
	await page.getByRole("button", { name: /Anna/ }).click();
	await shows(messages(page), "tapped visit_confirm");
	await page.getByRole("button", { name: "Accept" }).click();
	await shows(messages(page), "accepted: the held text went out");
});

test("a page that shows an agency which a reset removed goes to the first agency, and stays live", async () => {
	const { page, sandbox } = await visit();
	const other = sandbox.link({ name: "Harbour Homes" });
	other.contact(phone, { name: "Chloé" }).writes("Hello Harbour");
	await page.getByLabel("Agency").selectOption(other.id);
	await page.getByRole("button", { name: /Chloé/ }).click();
	await shows(messages(page), "Hello Harbour");
	sandbox.reset();
	sandbox.agency().contact(phone, { name: "Anna" }).writes("Hello Lakeside");
	await page.getByRole("button", { name: /Anna/ }).waitFor();
	await expect.poll(() => page.getByRole("button", { name: /Chloé/ }).count()).toBe(0);
});

test("a page that shows an agency which another sandbox does not have connects to that sandbox", async () => {
	const { page, server, sandbox } = await visit();
	const other = sandbox.link({ name: "Harbour Homes" });
	other.contact(phone, { name: "Chloé" }).writes("Hello Harbour");
	await page.getByLabel("Agency").selectOption(other.id);
	await page.getByRole("button", { name: /Chloé/ }).waitFor();
	await server.close();
	await page.getByText("not connected").waitFor();
	const again = await serve(createSandbox({ scenario: "held" }), {
		port: Number(new URL(server.baseUrl).port),
		token: server.token,
	});
	try {
		await page.getByRole("button", { name: /Anna/ }).waitFor();
		await page.getByText("● connected").waitFor();
	} finally {
		await again.close();
	}
});

test("contacts without a conversation are all reached, 100 at a time", async () => {
	const { page, sandbox } = await visit();
	for (let i = 0; i < 250; i++) sandbox.agency().contact(`+4477009${10_000 + i}`, { name: `Contact ${i}` });
	await page.reload();
	const listed = () => page.getByRole("button", { name: /^Contact/ }).count();
	for (const count of [100, 200, 250]) {
		await expect.poll(listed).toBe(count);
		if (count < 250) await page.getByRole("button", { name: "Load older" }).click();
	}
	await expect.poll(() => page.getByRole("button", { name: "Load older" }).count()).toBe(0);
});

test("the other agencies are reached by the agency's list, and each call names them", async () => {
	const { page, sandbox } = await visit();
	const other = sandbox.link({ name: "Harbour Homes" });
	other.contact(phone, { name: "Chloé" }).writes("Hello Harbour");
	await page.getByLabel("Agency").selectOption(other.id);
	await page.getByRole("button", { name: /Chloé/ }).click();
	await page.getByLabel("Message from Chloé").fill("Again");
	await page.keyboard.press("Enter");
	await shows(messages(page), "Again");
	await shows(page.getByRole("contentinfo"), `POST /_sandbox/agencies/${other.id}/contacts/${phone}/writes`);
});

test("a request is copied as a curl command that works, whatever its query and body contain", async () => {
	const { page, server, sandbox } = await visit();
	await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
	const url = `${server.baseUrl}/agencies/${sandbox.agency().id}`;
	const headers = { authorization: `Bearer ${server.apiKey}` };
	const command = async () => {
		await requests(page).locator("summary").first().click();
		await requests(page).getByRole("button", { name: "curl" }).first().click();
		await shows(requests(page), "copied");
		return page.evaluate("navigator.clipboard.readText()");
	};
	await fetch(`${url}/conversations?search=it's[1-9]`, { headers });
	const bearer = `curl -g -H 'Authorization: Bearer ${server.apiKey}'`;
	await shows(requests(page), "conversations.list");
	expect(await command()).toBe(`${bearer} '${url}/conversations?search=it%27s[1-9]'`);
	await fetch(`${url}/messages`, { method: "POST", headers, body: "@it's" });
	await shows(requests(page), "messages.send");
	expect(await command()).toBe(
		`${bearer} -H 'content-type: text/plain;charset=UTF-8' --data-raw '@it'\\''s' '${url}/messages'`,
	);
});

test("a fault's numbers take numbers alone, so that no word arms one without end", async () => {
	const { page, sandbox } = await visit();
	await page.getByRole("button", { name: "Faults…" }).click();
	await page.getByLabel("Times").focus();
	await page.keyboard.press("Backspace");
	await page.keyboard.type("e");
	await page.getByRole("button", { name: "Arm the fault" }).click();
	expect(await page.getByLabel("Times").evaluate((input: HTMLInputElement) => input.validity.patternMismatch)).toBe(
		true,
	);
	await page.getByLabel("Times").fill("2");
	await page.getByRole("button", { name: "Arm the fault" }).click();
	await expect.poll(() => sandbox.faults.unused().map(({ remaining }) => remaining)).toEqual([2]);
});

test("axe finds nothing: empty, with every state, in each dialog, and on a small screen", async () => {
	const { page, sandbox, client, server } = await visit();
	expect(await axeFindings(page)).toEqual([]);
	sandbox.loadScenario("held");
	const { messages: texts } = client.agency(sandbox.agency().id);
	await texts.send({ to: phone, body: "Another text" });
	await fetch(`${server.baseUrl}/nowhere`, { headers: { authorization: `Bearer ${server.apiKey}` } });
	const bram = sandbox.agency().contact("+447700900102", { name: "Bram" });
	bram.writes("Hello");
	await texts.send({ to: bram.phoneNumber, body: "Hi" });
	sandbox.faults.add({ operation: "me.get", effect: { status: 503 } });
	sandbox.faults.add({ operation: "me.get", effect: "reset", times: 3 });
	for (const name of [/Bram/, /Anna/]) {
		await page.getByRole("button", { name }).first().click();
		await page.getByText("Staff, AI, flows and more").click();
		await messages(page).locator("summary").last().click();
		expect(await axeFindings(page)).toEqual([]);
	}
	for (const tab of ["Events", "State"]) {
		await page.getByRole("tab", { name: tab }).click();
		expect(await axeFindings(page)).toEqual([]);
	}
	for (const name of ["Settings…", "2 faults armed", "Scenario…", "Reset…", "1 violation"]) {
		await page.getByRole("button", { name, exact: true }).click();
		await page.getByRole("dialog").waitFor();
		expect(await axeFindings(page)).toEqual([]);
		await page.getByRole("button", { name: "Close", exact: true }).click();
	}
	await page.getByTitle("Go to another time").click();
	await page.getByRole("dialog").waitFor();
	expect(await axeFindings(page)).toEqual([]);
	await page.getByRole("button", { name: "Close", exact: true }).click();
	await page.keyboard.press("?");
	await page.getByRole("dialog", { name: "Keys" }).waitFor();
	expect(await axeFindings(page)).toEqual([]);
	await page.keyboard.press("Escape");
	await page.setViewportSize({ width: 360, height: 640 });
	expect(await axeFindings(page)).toEqual([]);
});

test("below 900 px one pane shows at a time, down to 360 px without scrolling sideways", async () => {
	const { page } = await visit({ scenario: "held" }, { viewport: { width: 360, height: 640 } });
	const panes = page.getByRole("navigation", { name: "Panes" });
	const fits = () => page.evaluate("document.documentElement.scrollWidth <= innerWidth");
	await page.getByRole("button", { name: /Anna/ }).click();
	await shows(messages(page), "Held, not sent");
	expect(await page.getByRole("navigation", { name: "Conversations" }).isVisible()).toBe(false);
	expect(await fits()).toBe(true);
	await panes.getByRole("button", { name: "Requests" }).click();
	expect(await messages(page).isVisible()).toBe(false);
	expect(await fits()).toBe(true);
	await panes.getByRole("button", { name: "Conversations" }).click();
	await page.getByRole("navigation", { name: "Conversations" }).waitFor();
	expect(await fits()).toBe(true);
});

test("long names leave room to write, and widen no page", async () => {
	const { page, sandbox } = await visit();
	const long = "Wolfeschlegelsteinhausenbergerdorff".repeat(3);
	sandbox.agency().rename(`${long} and Daughters`);
	sandbox.agency().contact(phone, { name: long }).writes("Hello");
	await page.getByRole("button", { name: /Hello/ }).click();
	const width = async () => (await page.getByLabel("Message from").boundingBox())?.width ?? 0;
	await expect.poll(width).toBeGreaterThan(200);
	await page.setViewportSize({ width: 360, height: 640 });
	expect(await width()).toBeGreaterThan(200);
	for (const pane of await page.getByRole("navigation", { name: "Panes" }).getByRole("button").all()) {
		await pane.click();
		expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
	}
});

test("all that the page is made of is at most 60 kB, compressed", async () => {
	const { server } = await visit();
	const files = await Promise.all(
		["", "page.js", "page.css", "icon.svg"].map((file) => fetch(`${server.controlUrl}/ui/${file}`)),
	);
	const sizes = await Promise.all(files.map(async (file) => gzipSync(await file.text(), { level: 9 }).length));
	expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(60_000);
});
