// Tests the demo's CRM without a browser, in this process. Chromium plays its stories in test/page of the repository.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { afterEach, expect, test } from "vitest";
import { openDatabase } from "../database.ts";
import { createPages } from "../demo/pages.ts";
import { openRecords } from "../demo/records.ts";

const anna = "+447700900101";
const body = `<img src=x onerror="alert('Is it free?')">`;
const escaped = "&#60;img src=x onerror=&#34;alert(&#39;Is it free?&#39;)&#34;&#62;";

const closing: (() => unknown)[] = [];
afterEach(async () => {
	for (const close of closing.splice(0).reverse()) await close();
});

async function open() {
	const sandbox = createSandbox({ now: new Date() });
	sandbox.agency().contact(anna, { name: "<b>Anna</b>" }).writes(body);
	const client = createClient({ ...sandbox.connection });
	const database = await openDatabase();
	closing.push(database.close);
	const records = await openRecords(client, client.agency(sandbox.agency().id), database);
	const server = createPages(records).listen(0, "127.0.0.1");
	await once(server, "listening");
	closing.push(() => server.close());
	const stop = new AbortController();
	const working = Promise.all([records.outbox.work({ signal: stop.signal }), records.follow(stop.signal)]);
	closing.push(() => {
		stop.abort();
		return working;
	});
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const read = async (path: string) => (await fetch(url + path)).text();
	const send = (text: Record<string, string>, to = anna) =>
		fetch(`${url}/contacts/${to}/texts`, { method: "POST", body: new URLSearchParams(text), redirect: "manual" });
	return { sandbox, contact: sandbox.agency().contact(anna), read, send };
}
const until = (look: () => Promise<unknown>) => expect.poll(look, { timeout: 60_000, interval: 100 });

test("contacts and messages are listed, and no text of theirs is markup", async () => {
	const { read } = await open();
	await until(() => read("/")).toContain(escaped);
	const chat = await read(`/contacts/${anna}`);
	expect(chat).toContain(`<p dir="auto">${escaped}</p>`);
	expect(chat).toContain("&#60;b&#62;Anna&#60;/b&#62;");
	expect(chat).not.toMatch(/<img|<b>Anna/);
});

test("a text is announced, sent once for a double click, and followed until it is read", async () => {
	const { contact, read, send } = await open();
	expect(await read(`/contacts/${anna}`)).toContain("Goes out now");
	const clicks = await Promise.all([1, 2].map(() => send({ id: "one", body: "It is." })));
	expect(clicks.map(({ status }) => status)).toEqual([303, 303]);
	await until(() => read(`/contacts/${anna}`)).toContain("Sent.");
	expect(contact.inbox().map((entry) => entry.body)).toEqual(["It is."]);
	contact.reads();
	await until(() => read(`/contacts/${anna}`)).toContain("Read.");
});

test("a contact who answers in words, declines, never answers or cannot be reached: the CRM says what is so", async () => {
	const { sandbox, contact, read, send } = await open();
	const chat = () => read(`/contacts/${anna}`);
	sandbox.clock.advance({ hours: 25 });
	expect(await chat()).toContain("Will be held");
	await send({ id: "words", body: "Would Friday suit you?" });
	await until(chat).toContain("still held: «Would Friday suit you?»");
	await until(chat).toContain("Waits for the contact&#39;s consent.");
	contact.writes("Who is this?");
	await until(chat).toContain("Sent. 2 requests.");

	sandbox.clock.advance({ hours: 25 });
	await send({ id: "declined", body: "Or Saturday?" });
	await until(chat).toContain("Waits for the contact&#39;s consent.");
	contact.declines();
	expect(await chat()).toContain("Not held any more.");
	await until(chat).toContain("Not delivered: the contact declined, or did not answer in time.");

	sandbox.clock.advance({ hours: 25 });
	await send({ id: "unanswered", body: "Or Sunday?" });
	await until(async () => (await chat()).match(/Waits for/g)?.length).toBe(1);
	sandbox.clock.advance({ hours: 49 });
	await until(async () => (await chat()).match(/Not delivered: the contact declined/g)?.length).toBe(2);

	contact.setReachable(false);
	contact.writes("Hello?");
	await send({ id: "unreachable", body: "Hello" });
	await until(chat).toContain("Sent, but it did not reach the phone.");
});

test("an agency with two languages of consent: the writer chooses, and the contact is asked in that one", async () => {
	const { sandbox, contact, read, send } = await open();
	sandbox.clock.advance({ hours: 25 });
	expect(await read(`/contacts/${anna}`)).not.toContain("<select");
	sandbox.agency().consent.set({ languages: ["nl", "fr"] });
	expect(await read(`/contacts/${anna}`)).toContain("<option>nl</option><option>fr</option>");
	await send({ id: "french", body: "Bonjour", consentLanguage: "fr" });
	await until(async () => contact.inbox().map(({ language }) => language)).toEqual(["fr"]);
});

test("a wrong number and an unknown one", async () => {
	const { sandbox, read, send } = await open();
	expect((await send({ id: "wrong", body: "Hi" }, "nobody")).status).toBe(400);
	expect(await read("/contacts/nobody")).toContain('role="alert"');
	const stranger = sandbox.agency().contact("+447700900199");
	expect(await read(`/contacts?phone=${encodeURIComponent("+44 7700 900199")}`)).toContain("shows no conversation");
	await send({ id: "stranger", body: "Hello" }, stranger.phoneNumber);
	await until(() => read(`/contacts/${stranger.phoneNumber}`)).toContain("Waits for the contact&#39;s consent.");
	stranger.accepts();
	await until(() => read(`/contacts/${stranger.phoneNumber}`)).toContain("Sent.");
});
