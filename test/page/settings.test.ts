// Everything that a test needs is a button or a field: keys, agencies, consent, flows, names, the time.
import { expect, test } from "vitest";
import { messages, shows, visit } from "./visit.ts";

const phone = "+447700900101";

test("a key loses a scope, is revoked, and another takes its place", async () => {
	const { page, sandbox } = await visit({ scenario: "held" });
	await page.getByRole("button", { name: "Settings…" }).click();
	await page.getByRole("button", { name: "messages:write", pressed: true }).click();
	await expect.poll(() => sandbox.keys.list()[0]?.scopes).toEqual(["conversations:read"]);
	await page.keyboard.press("Escape");
	await page.getByRole("button", { name: /Anna/ }).click();
	const send = async () => {
		await page.getByLabel("Text from the CRM").fill("Hello");
		await page.getByLabel("Text from the CRM").press("Enter");
	};
	await send();
	await page.getByRole("alert").getByText("403: The key lacks the scope messages:write").waitFor();
	await page.getByRole("button", { name: "Settings…" }).click();
	await page.getByRole("button", { name: /^Revoke/ }).click();
	await page.getByRole("button", { name: /^Revoke/, disabled: true }).waitFor();
	await page.keyboard.press("Escape");
	await send();
	await page.getByRole("alert").getByText("401: ").waitFor();
	await page.getByRole("button", { name: "Settings…" }).click();
	await page.getByRole("button", { name: "New key" }).click();
	await shows(page.getByRole("dialog"), '"apiKey"');
	await page.getByRole("button", { name: /^Revoke/, disabled: false }).waitFor();
	await page.keyboard.press("Escape");
	await send();
	await shows(messages(page), "Hello");
	expect(sandbox.requests().map(({ status }) => status)).toEqual([403, 401, 200]);
});

test("an agency is renamed, unlinked and linked again, its CRM is hidden, and another agency is made", async () => {
	const { page, sandbox, client } = await visit();
	const agency = sandbox.agency();
	const dialog = page.getByRole("dialog");
	const list = () => client.agency(agency.id).conversations.list().page().result();
	await page.getByRole("button", { name: "Settings…" }).click();
	await dialog.getByLabel("Name: Rename the agency").fill("Harbour Homes");
	await page.keyboard.press("Enter");
	await expect.poll(() => agency.name).toBe("Harbour Homes");
	await dialog.getByRole("button", { name: "Unlink" }).click();
	await dialog.getByRole("button", { name: "Link again" }).waitFor();
	expect(await list()).toMatchObject({ ok: false, error: { _tag: "PartnerForbidden" } });
	await dialog.getByRole("button", { name: "Link again" }).click();
	await dialog.getByRole("button", { name: "Unlink" }).waitFor();
	expect(await list()).toMatchObject({ ok: true });
	await dialog.getByRole("button", { name: "Hide the CRM" }).click();
	await dialog.getByRole("button", { name: "Show the CRM again" }).waitFor();
	expect(await client.me.get().result()).toMatchObject({ ok: false, error: { _tag: "PartnerNotFound" } });
	await dialog.getByRole("button", { name: "Show the CRM again" }).click();
	await dialog.getByLabel("Name: Link a new agency").fill("Second");
	await page.keyboard.press("Enter");
	await expect.poll(() => sandbox.agencies().map(({ name }) => name)).toEqual(["Harbour Homes", "Second"]);
	await expect.poll(() => page.title()).toBe("Sandbox · Second");
	await page.keyboard.press("Escape");
});

test("the consent flow is changed, only by what was edited, and a refusal is shown in its form", async () => {
	const { page, sandbox } = await visit();
	const dialog = page.getByRole("dialog");
	const form = dialog.getByRole("form", { name: "Consent flow" });
	const consent = () => sandbox.agency().state().consent;
	await page.getByRole("button", { name: "Settings…" }).click();
	await form.getByLabel("Hours to answer").fill("0");
	await page.keyboard.press("Enter");
	await form.getByRole("alert").getByText("answerWithinHours must be above 0").waitFor();
	await page.keyboard.press("Escape");
	await page.getByRole("button", { name: "Faults…" }).click();
	await expect.poll(() => dialog.getByText("answerWithinHours").count()).toBe(0);
	await page.keyboard.press("Escape");
	await page.getByRole("button", { name: "Settings…" }).click();
	expect(await form.getByLabel("Hours to answer").inputValue()).toBe("0");
	await form.getByLabel("Hours to answer").fill("12");
	await form.getByLabel("Languages").fill("nl, fr");
	await form.getByLabel("Templates not approved").fill("window_reopen_consent");
	await form.getByRole("button", { name: "Save" }).click();
	await shows(dialog, "refused with a 400");
	expect(consent()).toMatchObject({
		configured: true,
		languages: ["nl", "fr"],
		defaultLanguage: "nl",
		answerWithinHours: 12,
		unapprovedTemplates: [{ templateCode: "window_reopen_consent", status: "pending" }],
	});
	await form.getByLabel("Templates not approved").fill("");
	await form.getByRole("button", { name: "Save" }).click();
	await shows(dialog, "is held");
	await form.getByLabel("Turned on").uncheck();
	await form.getByRole("button", { name: "Save" }).click();
	await shows(dialog, "refused with a 400");
	expect(consent()).toMatchObject({ configured: false, languages: ["nl", "fr"], unapprovedTemplates: [] });
});

test("a contact is renamed and hidden, and a flow takes any of its states", async () => {
	const { page, sandbox, client } = await visit();
	const agency = sandbox.agency();
	agency.contact(phone, { name: "Anna" }).writes("Hello");
	await page.getByRole("button", { name: /Anna/ }).click();
	await page.getByText("Staff, AI, flows and more").click();
	await page.getByRole("button", { name: "Start a flow" }).click();
	for (const status of ["waiting", "timeout", "active"]) {
		await page.getByRole("button", { name: status, exact: true }).click();
		await expect.poll(() => agency.conversation(phone).state().flows).toEqual([{ id: "1", status }]);
	}
	await page.getByLabel("Name: Rename the contact").fill("Anna Peeters");
	await page.keyboard.press("Enter");
	await page.getByRole("heading", { name: "Anna Peeters" }).waitFor();
	const get = () => client.agency(agency.id).conversations.get(phone).result();
	await page.getByRole("button", { name: "Hide from the agency" }).click();
	await page.getByRole("button", { name: "Show to the agency" }).waitFor();
	expect(await get()).toMatchObject({ ok: false, error: { _tag: "PartnerNotFound" } });
	await page.getByRole("button", { name: "Show to the agency" }).click();
	await page.getByRole("button", { name: "Hide from the agency" }).waitFor();
	expect(await get()).toMatchObject({ ok: true });
});

test("the clock goes to a time of the reader's choice, and an earlier one is refused beside the field", async () => {
	const { page, sandbox } = await visit();
	await page.getByTitle("Go to another time").click();
	const dialog = page.getByRole("dialog", { name: "Go to another time" });
	await dialog.getByLabel("Date and time, UTC").fill("2025-01-01T10:00");
	await page.keyboard.press("Enter");
	await dialog.getByRole("alert").getByText("goes forward only").waitFor();
	await dialog.getByLabel("Date and time, UTC").fill("2026-02-01T10:30");
	await dialog.getByRole("button", { name: "Go there" }).click();
	await dialog.waitFor({ state: "detached" });
	expect(sandbox.clock.now().toISOString()).toBe("2026-02-01T10:30:00.000Z");
});
