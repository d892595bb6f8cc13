import type { AddressInfo } from "node:net";
import { type AgencyClient, createClient } from "messaging-conversations";
import type { SentText } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { afterEach, expect, test } from "vitest";
import type { PageOptions } from "../contact-page/contact.ts";
import { createApp } from "../contact-page/express.ts";
import { createRoute } from "../contact-page/route.ts";

type Get = (path: string, init?: RequestInit) => Promise<Response>;

const closing: (() => void)[] = [];
afterEach(() => {
	for (const close of closing.splice(0)) close();
});

async function overExpress(agency: AgencyClient, options: PageOptions): Promise<Get> {
	const server = createApp(agency, options).listen(0, "127.0.0.1");
	await new Promise((resolve) => server.once("listening", resolve));
	closing.push(() => {
		server.close();
		server.closeAllConnections();
	});
	const { port } = server.address() as AddressInfo;
	return (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init);
}

async function overRoute(agency: AgencyClient, options: PageOptions): Promise<Get> {
	const GET = createRoute(agency, options);
	return (path, init) => GET(new Request(`https://crm.example/api${path}`, init));
}

const entries = [
	["Express", overExpress],
	["a route handler", overRoute],
] as const;

async function open(serve: (agency: AgencyClient, options: PageOptions) => Promise<Get>) {
	const sandbox = createSandbox({ now: "2026-01-05T09:00:00Z" });
	const endings: (string | undefined)[] = [];
	const client = createClient({
		...sandbox.connection,
		retry: { attempts: 2, baseDelayMs: 1 },
		onAttempt: ({ errorTag }) => endings.push(errorTag),
	});
	const agency = client.agency(sandbox.agency().id);
	const sent: SentText[] = [];
	const get = await serve(agency, {
		now: sandbox.clock.now,
		lastTextTo: (phone) => sent.find(({ to }) => to === phone),
	});
	const anna = sandbox.agency().contact("+447700900101", { name: "Anna" });
	const page = async (phone: string) => (await get(`/contacts/${encodeURIComponent(phone)}`)).json();
	return { sandbox, agency, anna, get, page, endings, sent };
}

test.each(entries)("over %s the page says what would become of a text", async (_, serve) => {
	const { sandbox, agency, anna, page } = await open(serve);
	expect(await page("+44 7700 900101")).toMatchObject({
		phoneNumber: "+447700900101",
		forecast: "probably waits for consent",
	});
	anna.writes("Is the flat still free?");
	expect(await page("+447700900101")).toMatchObject({
		name: "Anna",
		forecast: "goes out at once",
		windowExpiresAt: "2026-01-06T09:00:00.000Z",
		aiWouldStop: true,
		messages: [{ direction: "inbound", body: "Is the flat still free?" }],
	});
	sandbox.clock.advance({ hours: 25 });
	expect(await page("+447700900101")).toMatchObject({ forecast: "waits for consent", waitingText: null });
	await agency.messages.send({ to: anna.phoneNumber, body: "It is!" });
	expect(await page("+447700900101")).toMatchObject({
		forecast: "replaces the text that waits",
		waitingText: "It is!",
		aiWouldStop: false,
	});
	sandbox.agency().consent.set({ unapprovedTemplates: [{ templateCode: "consent", status: "pending" }] });
	expect(await page("+447700900101")).toMatchObject({ forecast: "is refused" });
});

test.each(entries)(
	"over %s the page says what became of the last text, and what another would drop",
	async (_, serve) => {
		const { sandbox, agency, anna, page, sent } = await open(serve);
		const text = { to: anna.phoneNumber, body: "It is!", since: sandbox.clock.now() };
		sent.push({ ...text, ...(await agency.messages.send({ to: text.to, body: text.body })) });
		expect(await page(anna.phoneNumber)).toMatchObject({ lastText: { body: "It is!", status: "held" } });
		anna.writes("What is it?");
		expect(await page(anna.phoneNumber)).toMatchObject({
			forecast: "goes out at once, and may drop the text that waits",
			waitingText: "It is!",
		});
		anna.accepts();
		const { messages } = await page(anna.phoneNumber);
		sandbox.message(messages[0].id).undelivered();
		expect(await page(anna.phoneNumber)).toMatchObject({
			forecast: "goes out at once",
			lastText: { status: "failed" },
		});
		expect((await page(anna.phoneNumber)).messages[0]).toMatchObject({ body: "It is!", status: "undelivered" });
	},
);

test.each(entries)("over %s the page says when the request for consent cannot reach the phone", async (_, serve) => {
	const { agency, anna, page, sent } = await open(serve);
	anna.setReachable(false);
	const text = { to: anna.phoneNumber, body: "It is!" };
	sent.push(await agency.messages.send(text));
	const status = "held, but the request for consent did not reach the phone";
	expect(await page(anna.phoneNumber)).toMatchObject({ lastText: { body: "It is!", status } });
});

test.each(entries)("over %s a bad number is the visitor's fault, an outage is not", async (_, serve) => {
	const { sandbox, get } = await open(serve);
	expect((await get("/contacts/nobody")).status).toBe(422);
	expect((await get("/contacts/%E0%A4%A")).status).toBe(400);
	expect(sandbox.requests()).toHaveLength(0);
	sandbox.faults.add({ operation: "conversations.get", times: 2, effect: { status: 503, retryAfter: 0 } });
	const answer = await get("/contacts/%2B447700900101");
	expect([answer.status, answer.headers.get("cache-control")]).toEqual([503, "no-store"]);
	expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(0);
	sandbox.keys.setScopes(sandbox.keys.list()[0]?.id ?? "", ["messages:write"]);
	const refused = await get("/contacts/%2B447700900101");
	expect([refused.status, JSON.stringify(await refused.json())]).toEqual([502, expect.not.stringContaining("77009")]);
});

test.each(entries)("over %s a visitor who leaves ends the call to the service", async (_, serve) => {
	const { sandbox, get, endings } = await open(serve);
	sandbox.faults.add({ operation: "conversations.get", times: 1, effect: "hang" });
	const leaving = new AbortController();
	const answer = get("/contacts/%2B447700900101", { signal: leaving.signal }).catch(() => "left");
	while (sandbox.requests().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
	leaving.abort();
	await answer;
	await expect.poll(() => endings).toEqual(["PartnerAbortError"]);
});

test.each(entries)("over %s an address that is not well formed is refused without a stack trace", async (_, serve) => {
	const { get } = await open(serve);
	const response = await get("/contacts/%E0%A4%A");
	expect(response.status).toBe(400);
	expect(await response.json()).toEqual({ error: "The address is not well formed." });
});
