// Tests the demo's CRM without a browser, in this process. Each test has a contact of its own. Chromium plays the demo's
// stories in test/page of the repository.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { afterAll, beforeAll, expect, test } from "vitest";
import { longestWaitMs } from "../../../test/patience.ts";
import { openDatabase } from "../database.ts";
import { createPages } from "../demo/pages.ts";
import { openRecords } from "../demo/records.ts";

const sandbox = createSandbox({ now: new Date() });
const closing: (() => unknown)[] = [];
let url: string;
/** Why the worker and the mirror ended before the tests did. */
let failure: unknown;

beforeAll(async () => {
	const client = createClient({ ...sandbox.connection });
	const database = await openDatabase();
	closing.push(database.close);
	const records = await openRecords(client, client.agency(sandbox.agency().id), database);
	const server = createPages(records).listen(0, "127.0.0.1");
	await once(server, "listening");
	url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	closing.push(() => server.close());
	const stop = new AbortController();
	const working = Promise.all([records.outbox.work({ signal: stop.signal }), records.follow(stop.signal)]);
	working.catch((error: unknown) => {
		failure = error;
	});
	closing.push(() => {
		stop.abort();
		return working;
	});
});
afterAll(async () => {
	for (const close of closing.reverse()) await close();
});

/** A contact and the CRM's page of them. */
function meet(phone: string, name?: string) {
	const contact = sandbox.agency().contact(phone, name === undefined ? {} : { name });
	const chat = async () => (await fetch(`${url}/contacts/${phone}`)).text();
	const send = (id: string, body: string, more: Record<string, string> = {}) =>
		fetch(`${url}/contacts/${phone}/texts`, {
			method: "POST",
			body: new URLSearchParams({ id, body, ...more }),
			redirect: "manual",
		});
	return { contact, chat, send };
}
const until = (look: () => Promise<unknown>) => expect.poll(look, { interval: 100 });

test("contacts and messages are listed, and no text of theirs is markup", async () => {
	const { contact, chat } = meet("+447700900101", "<b>Anna</b>");
	contact.writes(`<img src=x onerror="alert('Is it free?')">`);
	const escaped = "&#60;img src=x onerror=&#34;alert(&#39;Is it free?&#39;)&#34;&#62;";
	await until(async () => (await fetch(url)).text()).toContain(escaped);
	expect(await chat()).toContain(`<p dir="auto">${escaped}</p>`);
	expect(await chat()).toContain("&#60;b&#62;Anna&#60;/b&#62;");
	expect(await chat()).not.toMatch(/<img|<b>Anna/);
});

test("a text is announced, sent once for a double click, and followed until it is read", async () => {
	const { contact, chat, send } = meet("+447700900102");
	contact.writes("Is it free?");
	expect(await chat()).toContain("Goes out now");
	const clicks = await Promise.all([send("one", "It is."), send("one", "It is.")]);
	expect(clicks.map(({ status }) => status)).toEqual([303, 303]);
	await until(chat).toContain("Sent.");
	expect(contact.inbox().map(({ body }) => body)).toEqual(["It is."]);
	contact.reads();
	await until(chat).toContain("Read.");
});

test("a contact who answers in words, declines, never answers or cannot be reached: the CRM says what is so", async () => {
	const { contact, chat, send } = meet("+447700900103");
	contact.writes("Hello");
	sandbox.clock.advance({ hours: 25 });
	expect(await chat()).toContain("Will be held");
	await send("words", "Would Friday suit you?");
	await until(chat).toContain("still held: «Would Friday suit you?»");
	await until(chat).toContain("Waits for the contact&#39;s consent.");
	// An answer in words does not count as consent.
	contact.writes("Who is this?");
	await until(chat).toContain("Who is this?");
	expect(await chat()).toContain("Waits for the contact&#39;s consent.");
	contact.accepts();
	await until(chat).toContain("Sent.");

	sandbox.clock.advance({ hours: 25 });
	await send("declined", "Or Saturday?");
	await until(chat).toContain("Waits for the contact&#39;s consent.");
	contact.declines();
	expect(await chat()).toContain("Not held any more.");
	await until(chat).toContain("Not delivered: the contact seems to have declined.");

	sandbox.clock.advance({ hours: 25 });
	await send("unanswered", "Or Sunday?");
	await until(chat).toContain("Waits for the contact&#39;s consent.");
	sandbox.clock.advance({ hours: 49 });
	await until(chat).toContain("Not delivered: the contact did not answer in time.");

	contact.setReachable(false);
	contact.writes("Hello?");
	await send("unreachable", "Hello");
	await until(chat).toContain("Sent, but it did not reach the phone.");
});

test("a held text that is accepted, and one whose answer is lost, are in the chat once at each moment", async () => {
	const { contact, chat, send } = meet("+447700900111");
	/** The most copies of a text that the chat shows until it is sent. */
	const mostCopies = async (body: string): Promise<number> => {
		let most = 0;
		for (const end = Date.now() + longestWaitMs; Date.now() < end; ) {
			const lines = (await chat()).split("<article").filter((line) => line.includes(`<p dir="auto">${body}</p>`));
			most = Math.max(most, lines.length);
			if (lines.some((line) => line.includes("Sent."))) return most;
		}
		throw new Error(`The chat never shows "${body}" as sent.`);
	};
	contact.writes("Hello");
	sandbox.clock.advance({ hours: 25 });
	// Several times, because the mirror is not always ahead of the outbox.
	for (const hour of ["one", "two", "three"]) {
		await send(`accepted-${hour}`, `At ${hour}?`);
		await until(chat).toContain("Waits for the contact&#39;s consent.");
		contact.accepts();
		expect(await mostCopies(`At ${hour}?`)).toBe(1);
		sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
		await send(`lost-${hour}`, `Or after ${hour}?`);
		expect(await mostCopies(`Or after ${hour}?`)).toBe(1);
		sandbox.clock.advance({ hours: 25 });
	}
	const texts = contact.inbox().filter(({ kind }) => kind === "text");
	expect(texts.map(({ body }) => body)).toHaveLength(6);
});

test("a wrong number is refused, and a stranger is asked for consent", async () => {
	expect((await meet("+447700900104").send("empty", "")).status).toBe(400);
	expect(await (await fetch(`${url}/contacts/nobody`)).text()).toContain('role="alert"');
	const found = await fetch(`${url}/contacts?phone=${encodeURIComponent("+44 7700 900104")}`);
	expect(await found.text()).toContain("shows no conversation");
	const { contact, chat, send } = meet("+447700900104");
	await send("stranger", "Hello");
	await until(chat).toContain("Waits for the contact&#39;s consent.");
	contact.accepts();
	await until(chat).toContain("Sent.");
});

test("the list stays beside what is refused, and an address that is not well formed is", async () => {
	const { contact } = meet("+447700900108", "Hanne");
	contact.writes("Hello");
	await until(async () => (await fetch(url)).text()).toContain("Hanne");
	for (const path of ["/contacts/nobody", "/contacts/%E0%A4%A"]) {
		const refused = await fetch(`${url}${path}`);
		const page = await refused.text();
		expect(refused.status).toBe(400);
		expect(page).toContain('role="alert"');
		expect(page).toContain("Hanne");
		expect(page).not.toContain("decodeURIComponent");
	}
});

test("a text to a stranger has the service's time, though the CRM's own clock is behind", async () => {
	sandbox.clock.advance({ hours: 80 });
	meet("+447700900109").contact.writes("Hello");
	await meet("+447700900109").chat();
	const { chat, send } = meet("+447700900110");
	expect(await chat()).toContain("shows no conversation");
	await send("stranger-later", "Nice to meet you.");
	await until(chat).toContain("Nice to meet you.");
	const [, at = ""] = (await chat()).match(/Nice to meet you[\s\S]*?datetime="([^"]+)"/) ?? [];
	expect(Math.abs(Date.parse(at) - sandbox.clock.now().getTime())).toBeLessThan(3_600_000);
});

test("a form without fields is refused, and a long text of emojis is sent", async () => {
	const { contact, send } = meet("+447700900106");
	contact.writes("Hello");
	const bare = await fetch(`${url}/contacts/${contact.phoneNumber}/texts`, { method: "POST" });
	expect(bare.status).toBe(400);
	const emojis = "😀".repeat(10_000);
	expect((await send("emojis", emojis)).status).toBe(303);
	await until(async () => contact.inbox().map(({ body }) => body)).toEqual([emojis]);
});

test("the mirror goes on when an agency that was unlinked is linked again", async () => {
	const { contact } = meet("+447700900107");
	sandbox.agency().unlink();
	const refusals = () =>
		sandbox.requests().filter(({ operation, status }) => operation === "conversations.list" && status === 403);
	await until(async () => refusals().length).toBeGreaterThan(0);
	contact.writes("Are you there?");
	sandbox.agency().link();
	await until(async () => (await fetch(url)).text()).toContain("Are you there?");
	expect(failure).toBeUndefined();
});

test("an agency with two languages of consent: the writer chooses, and the contact is asked in that one", async () => {
	const { contact, chat, send } = meet("+447700900105");
	contact.writes("Bonjour");
	sandbox.clock.advance({ hours: 25 });
	expect(await chat()).not.toContain("<select");
	sandbox.agency().consent.set({ languages: ["nl", "fr"] });
	expect(await chat()).toContain("<option>nl</option><option>fr</option>");
	await send("french", "Bonjour", { consentLanguage: "fr" });
	await until(async () => contact.inbox().map(({ language }) => language)).toEqual(["fr"]);
});
