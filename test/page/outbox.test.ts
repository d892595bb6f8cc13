// The tab beside the phone shows the texts of an outbox and the polls of a feed, as they change.
import { createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { watch } from "messaging-conversations/sync";
import { expect, onTestFinished, test } from "vitest";
import { memoryStore } from "../outbox/memory.ts";
import { axeFindings, messages, openPage, picture, requests, shows, visit } from "./visit.ts";

const anna = "+447700900101";
const bram = "+447700900102";

test("texts show state, reason and next attempt, and polls what they delivered and left", async () => {
	const { page, sandbox, server } = await visit({}, { viewport: { width: 1440, height: 900 } });
	const agency = sandbox.agency();
	const client = createClient({ ...server.connection, retry: { attempts: 1 } });
	const outbox = createOutbox({ client, store: memoryStore(), now: sandbox.clock.now });
	const enqueue = (id: string, to: string, body: string) => outbox.enqueue({ id, agencyId: agency.id, to, body });
	await page.getByRole("tab", { name: "Outbox" }).click();
	await shows(page.getByRole("tabpanel"), "No text waits");
	agency.contact(bram, { name: "Bram" }).writes("Is the flat still free?");
	agency.contact(anna, { name: "Anna" });
	await enqueue("visit-1", anna, "Would Thursday at 14:00 suit you?");
	await outbox.runOnce();
	await enqueue("visit-2", anna, "Please bring your papers.");
	sandbox.faults.add({ operation: "messages.send", effect: { status: 503 } });
	await enqueue("answer-1", bram, "It is. Would you like to see it?");
	await outbox.runOnce();
	const texts = page.getByRole("list", { name: "Texts of the outbox" });
	const text = (id: string) => texts.getByRole("listitem").filter({ has: page.locator("b", { hasText: id }) });
	await shows(text("visit-1"), "held");
	await shows(text("visit-2"), "which the service holds until they consent");
	await shows(text("answer-1"), "next attempt");
	await shows(text("answer-1"), "last error PartnerInternalError");
	const stop = new AbortController();
	onTestFinished(() => stop.abort());
	const feed = watch(client.agency(agency.id), { since: "beginning", minMs: 200, maxMs: 200, signal: stop.signal });
	const followed = (async () => {
		for await (const _ of feed);
	})().catch(() => {});
	const polls = page.getByRole("list", { name: "Polls of the feed" });
	await shows(polls, "nothing new");
	await polls
		.getByText(/delivered/)
		.first()
		.waitFor();
	await page.getByRole("button", { name: /Anna/ }).first().click();
	await shows(messages(page), "Held, not sent");
	stop.abort();
	await followed;
	expect(await axeFindings(page)).toEqual([]);
	await page.emulateMedia({ colorScheme: "light" });
	await picture(page, "outbox");
	// What the contact does shows in the lane, without a click.
	await page.getByRole("button", { name: "Accept" }).click();
	await expect.poll(() => agency.contact(anna).state().held).toBeNull();
	sandbox.clock.advance({ minutes: 15 });
	await outbox.runOnce();
	await shows(text("answer-1"), "sent since");
	await shows(text("visit-2"), "sent since");
	await text("visit-2").getByRole("link", { name: "its newest request" }).click();
	await page.getByRole("tab", { name: "Requests", selected: true }).waitFor();
	await shows(requests(page), "X-Correlation-Id");
	await page.getByRole("tab", { name: "Outbox" }).click();
	await text("answer-1").getByRole("link", { name: "Bram" }).click();
	await page.getByRole("heading", { name: "Bram" }).waitFor();
	const bodies = sandbox.requests().map(({ operation }) => operation);
	expect(bodies).not.toContain(null);
});

test("an outbox that cannot be read says so, and what a stranger reports is shown as text", async () => {
	const { page, sandbox, server } = await visit({}, { viewport: { width: 390, height: 844 } });
	const client = createClient(sandbox.connection);
	const store = { ...memoryStore(), list: () => Promise.reject(new Error("closed")) };
	createOutbox({ client, store });
	const markup = "<img src=x onerror=alert(1)>";
	const report = {
		source: "stranger-1",
		outboxes: 1,
		unreadable: 0,
		texts: [
			{
				id: markup,
				agencyId: markup,
				to: anna,
				body: markup,
				state: "waiting",
				reason: markup,
				description: markup,
				since: "2026-01-05T09:00:00.000Z",
				nextAttemptAt: null,
				attempts: 0,
				operationId: null,
				error: null,
			},
		],
		polls: [],
	};
	const reported = await fetch(`${server.controlUrl}/observed`, {
		method: "POST",
		headers: { "x-sandbox-token": server.token },
		body: JSON.stringify(report),
	});
	expect(reported.status).toBe(200);
	await page.getByRole("navigation", { name: "Panes" }).getByRole("button", { name: "Requests" }).click();
	await page.getByRole("tab", { name: "Outbox" }).click();
	await shows(page.getByRole("tabpanel"), "1 of 2 outboxes cannot be read");
	await shows(page.getByRole("tabpanel"), markup);
	expect(await page.locator("img").count()).toBe(0);
	expect(await axeFindings(page)).toEqual([]);
	expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
});

test("a sandbox that observes nothing says how that came", async () => {
	const sandbox = createSandbox({ observe: false });
	const server = await serve(sandbox);
	onTestFinished(() => server.close());
	const wrong: string[] = [];
	const page = await openPage(`${server.controlUrl}/ui/#/?tab=Outbox&token=${server.token}`, wrong);
	await shows(page.getByRole("tabpanel"), "This sandbox was made with observe: false.");
	expect(wrong).toEqual([]);
});
