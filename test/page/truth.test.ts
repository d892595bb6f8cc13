// What the page says is what the sandbox and the phone have.
import { expect, test } from "vitest";
import { createClient } from "../../src/index.ts";
import { createSandbox } from "../../src/sandbox/index.ts";
import { messages, requests, shows, visit } from "./visit.ts";

const phone = "+447700900101";

test("a thread that began on Thursday 1 January names its day", async () => {
	const { page, sandbox } = await visit({ now: "2026-01-01T09:00:00Z" });
	sandbox.agency().contact(phone, { name: "Anna" }).writes("Happy new year");
	await page.getByRole("button", { name: /Anna/ }).click();
	await shows(messages(page), "Happy new year");
	expect(
		await messages(page)
			.getByText(/^Thu,? 1 Jan/)
			.count(),
	).toBe(1);
});

test("a consent template that did not reach the phone has no buttons there, and the held text says so", async () => {
	const { page, sandbox, client } = await visit({ scenario: "closed" });
	const anna = sandbox.agency().contact(phone);
	anna.setReachable(false);
	await client.agency(sandbox.agency().id).messages.send({ to: phone, body: "Are you there?" });
	await page.getByRole("button", { name: /Anna/ }).click();
	await shows(messages(page), "Held, not sent");
	await expect.poll(() => page.getByRole("button", { name: "Accept" }).count()).toBe(0);
	await expect.poll(() => messages(page).getByText("goes out if Anna accepts").count()).toBe(0);
	anna.setReachable(true);
	sandbox.clock.advance({ hours: 49 });
	await client.agency(sandbox.agency().id).messages.send({ to: phone, body: "Are you there now?" });
	await shows(messages(page), "goes out if Anna accepts");
	await page.getByRole("button", { name: "Accept" }).waitFor();
});

test("the requests of only one contact are not those of another agency's contact with the same number", async () => {
	const { page, sandbox, client } = await visit();
	const other = sandbox.link({ name: "Second" });
	for (const agency of [sandbox.agency(), other]) {
		agency.contact(phone, { name: "Anna" }).writes("Hello");
		await client.agency(agency.id).messages.send({ to: phone, body: `from ${agency.name}` });
	}
	await page.getByRole("button", { name: /Anna/ }).click();
	await page.getByLabel("only Anna").check();
	await expect.poll(() => requests(page).locator("details").count()).toBe(1);
});

test("a send that another agency's CRM makes into a shared conversation, and that is refused, is shown on the phone", async () => {
	const { page, sandbox, client } = await visit();
	const other = sandbox.link({ name: "Second" });
	const anna = sandbox.agency().contact(phone, { name: "Anna" });
	anna.writes("Hello");
	sandbox.agency().conversation(anna).shareWith(other);
	sandbox.agency().conversation(anna).takeOver();
	await client.agency(other.id).messages.send({ to: phone, body: "Hi" }).result();
	await page.getByRole("button", { name: /Anna/ }).click();
	await shows(messages(page), "The CRM's send was answered 409");
});

test("a contact whom a control makes without an event of its own is listed", async () => {
	const { page, sandbox } = await visit();
	expect(() => sandbox.agency().ai.replies({ contact: phone, text: "Hello" })).toThrow("window is closed");
	sandbox.agency().contact("+447700900102").setReachable(true);
	sandbox.agency().contact("+447700900103", { name: null });
	sandbox.agency().staff.setAi({ contact: "+447700900104", on: true });
	const listed = () => page.getByRole("navigation", { name: "Conversations" }).getByRole("listitem").count();
	await expect.poll(listed).toBe(sandbox.agency().contacts().length);
});

test("a held text that its retry sends, because the contact wrote, is not said to follow consent", async () => {
	const { page, sandbox, client } = await visit({ scenario: "closed" });
	const text = { to: phone, body: "It is!", operationId: "reply-1" };
	const { messages } = client.agency(sandbox.agency().id);
	expect((await messages.send(text)).queued).toBe(true);
	sandbox.agency().contact(phone).writes("Hello?");
	expect((await messages.send(text)).queued).toBe(false);
	await requests(page).getByText("messages.send").click();
	await shows(requests(page), "sent to Anna by API, after it was held");
	await expect.poll(() => requests(page).getByText("after consent").count()).toBe(0);
});

test("a message that failed stands out, with an error code and without one, and a long text is cut between letters", async () => {
	const { page, sandbox, client } = await visit();
	const anna = sandbox.agency().contact(phone, { name: "Anna" });
	anna.writes("😀".repeat(100));
	anna.setReachable(false);
	await client.agency(sandbox.agency().id).messages.send({ to: phone, body: "Are you there?" });
	await requests(page).getByText("messages.send").click();
	const failure = requests(page)
		.getByRole("listitem")
		.filter({ hasText: /^message 2: failed$/ });
	await failure.waitFor();
	expect(await failure.getAttribute("class")).toBe("bad");
	await page.getByRole("tab", { name: "Events" }).click();
	const wrote = await page.getByText("Anna wrote: ").textContent();
	expect(wrote).toBe(`Anna wrote: “${"😀".repeat(29)}…”`);
});

test("a fault that only delays the answer hides no reason of a refusal, on the phone and among the requests", async () => {
	const { page, sandbox, server, client } = await visit();
	const { messages: api } = client.agency(server.agencyId);
	sandbox.agency().contact(phone, { name: "Anna" }).writes("Hello");
	await api.send({ to: phone, body: "At two", operationId: "visit" });
	sandbox.faults.add({ operation: "messages.send", times: 9, effect: { latencyMs: 5 } });
	// A process that has begun anew, because a client remembers its own ids.
	const other = createClient({ baseUrl: server.baseUrl, apiKey: server.apiKey, retry: false }).agency(server.agencyId);
	await other.messages.send({ to: phone, body: "At three", operationId: "visit" }).result();
	await page.getByRole("button", { name: /Anna/ }).click();
	for (const place of [messages(page), requests(page)]) {
		await shows(place, "an answer 5 ms late");
		await shows(place, 'another text. First: "At two". Now: "At three".');
	}
});

test("a held text that a retry lets out was not accepted, whatever another contact did", async () => {
	const { page, sandbox, client } = await visit();
	const other = "+447700900102";
	const text = { to: phone, body: "At two", operationId: "visit" };
	const { messages: api } = client.agency(sandbox.agency().id);
	await api.send(text);
	sandbox.agency().contact(phone).writes("Hello?");
	sandbox.agency().contact(other).accepts();
	await api.send(text);
	await shows(requests(page), "held → sent");
	await api.send({ to: other, body: "At three" });
	await expect.poll(() => requests(page).getByText("accepted, sent").count()).toBe(0);
});

test("a restore keeps what was there at the snapshot: a text that was never sent, its badge, and that the AI is off", async () => {
	const { page, sandbox, client } = await visit();
	const { messages: api } = client.agency(sandbox.agency().id);
	const anna = sandbox.agency().contact(phone, { name: "Anna" });
	const send = async (body: string) => {
		await api.send({ to: phone, body });
		await shows(requests(page), `Anna “${body}”`);
	};
	await send("One");
	await send("Two");
	const [before, other] = [sandbox.snapshot(), createSandbox().snapshot()];
	await send("Three");
	anna.accepts();
	await page.getByRole("button", { name: /Anna.*2 never sent/ }).click();
	const gone = () => messages(page).locator("s").allTextContents();
	await expect.poll(gone).toEqual(["One", "Two"]);
	sandbox.restore(before);
	await expect.poll(gone).toEqual(["One"]);
	await page.getByRole("button", { name: /Anna.*1 never sent/ }).waitFor();
	await shows(messages(page), "AI off: a message was sent");
	expect(await messages(page).getByText("Anna accepted").count()).toBe(0);
	await requests(page).getByRole("link", { name: "held", exact: true }).waitFor();
	// What came before a later snapshot is there again, though a restore to the earlier one had undone it.
	await send("Four");
	const later = sandbox.snapshot();
	sandbox.restore(before);
	await expect.poll(gone).toEqual(["One"]);
	sandbox.restore(later);
	await expect.poll(gone).toEqual(["One", "Two"]);
	sandbox.restore(other);
	sandbox.agency().contact(phone, { name: "Anna" });
	await expect.poll(gone).toEqual([]);
});

test("a violation that comes while the page reads the others is shown", async () => {
	const { page, sandbox, server, client } = await visit();
	const headers = { authorization: `Bearer ${server.apiKey}` };
	let late: Promise<void> | undefined;
	await page.route("**/violations", async (route) => {
		const response = await route.fetch();
		const answer = async () => {
			await fetch(`${server.baseUrl}/nowhere`, { headers });
			await shows(requests(page), "/nowhere");
			await route.fulfill({ response });
		};
		if (late) await route.fulfill({ response });
		else await (late = answer());
	});
	sandbox.loadScenario("held");
	await expect.poll(() => late !== undefined).toBe(true);
	await late;
	await client.me.get();
	await shows(requests(page), "me.get");
	await page.getByRole("button", { name: "1 violation", exact: true }).waitFor();
});

test("an agency that is linked while the page reads the others stays chosen", async () => {
	const { page, sandbox } = await visit();
	const dialog = page.getByRole("dialog");
	await page.getByRole("button", { name: "Settings…" }).click();
	const held: (() => Promise<void>)[] = [];
	await page.route("**/agencies", async (route) => {
		const response = await route.fetch();
		const answer = () => route.fulfill({ response });
		if (sandbox.agencies().length > 1) await answer();
		else held.push(answer);
	});
	sandbox.agency().rename("First");
	await expect.poll(() => held).toHaveLength(1);
	await dialog.getByLabel("Name: Link a new agency").fill("Second");
	await page.keyboard.press("Enter");
	await expect.poll(() => sandbox.agencies()).toHaveLength(2);
	await expect.poll(() => page.url()).toContain(`agency=${sandbox.agencies()[1]?.id}`);
	for (const answer of held) await answer();
	await expect.poll(() => page.title()).toBe("Sandbox · Second");
	await dialog.getByLabel("Name: Rename the agency").waitFor();
});
