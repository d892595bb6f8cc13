// Texts that are long and hostile. A search that tries again at each of their characters takes minutes or hours: the limit of a
// test ends it.
import { createClient, toE164 } from "messaging-conversations";
import { isOptIn, isOptOut } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { expect, test } from "vitest";

const length = 300_000;
const parts = ["a", "あ", "_live", "_live%25", "\\", '"', "1 ", "1-", " ", "%25", "\ue000", "e\u0301", "\ud83d\ude00"];
const texts = parts.map((part) => [part, part.repeat(length / part.length)] as const);
const number = "+447700900101";

test.for(texts)("a bug file of a path, a query, a name and a text of nothing but %j", async ([, long]) => {
	const sandbox = createSandbox();
	const { fetch, baseUrl, apiKey } = sandbox.connection;
	const ask = (path: string, init: RequestInit = {}) =>
		fetch(baseUrl + path, {
			...init,
			headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
		});
	const agency = sandbox.agency();
	await ask(`/agencies/${encodeURIComponent(long).slice(0, length)}`);
	await ask(`/agencies/${agency.id}/conversations?search=${encodeURIComponent(long.slice(0, 50_000))}`);
	await ask(`/agencies/${agency.id}/messages`, {
		method: "POST",
		body: JSON.stringify({ to: number, body: long, contentType: long }),
	});
	// A message of nothing but spaces is refused.
	const body = `${long}!`;
	agency.contact(number).writes(body);
	for (const keepContent of [false, true]) {
		const bug = sandbox.bug({ keepContent });
		const [message] = createSandbox({ from: bug }).agency().contacts()[0]?.state().messages ?? [];
		const kept = message?.body;
		expect([kept === body, kept?.length]).toEqual([keepContent, body.length]);
		expect(bug.requests).toHaveLength(3);
	}
});

test("a bug file of a path with many short segments", async () => {
	const sandbox = createSandbox();
	const { fetch, baseUrl } = sandbox.connection;
	await fetch(`${baseUrl}/agencies${"/1".repeat(length / 2)}`);
	await fetch(`${baseUrl}/agencies${"/0470123456".repeat(length / 11)}`);
	const [first, second] = sandbox.bug().events.flatMap((event) => (event.type === "request" ? [event.path] : []));
	expect(first).toMatch(/^\/agencies(\/\w)+$/);
	expect(second).not.toContain("0470123456");
});

test("a key is removed from the middle of a long word, in any spelling, and the words around it stay", async () => {
	const sandbox = createSandbox();
	const secret = "0123456789abcdef";
	const before = "x".repeat(1000);
	const spelled = [
		`${before}_live.id.${secret}`,
		`_live%252e${secret}`,
		`a "b_live.${secret}" c`,
		`_live._live.${secret}`,
	];
	for (const text of spelled) sandbox.agency().contact(number).writes(`before ${text} after`);
	const bug = JSON.stringify(sandbox.bug({ keepContent: true }));
	expect(bug).not.toContain(secret);
	expect(bug.match(/before [^_]*\{key\}[^_]* after/g)?.length).toBeGreaterThanOrEqual(spelled.length);
});

test.for(texts)(
	"the phone reader, the readers of opt-outs and an error of the client, with nothing but %j",
	async ([, long]) => {
		expect(() => toE164(long)).toThrow("phoneNumber");
		expect(() => toE164(`+32${long}1`)).toThrow("phoneNumber");
		for (const text of [long, `stop ${long}`, `${long} stop`])
			expect([typeof isOptOut(text), isOptIn(text)]).toContain(false);
		const fetch = async () => Response.json({ _tag: "PartnerBadRequest", message: long }, { status: 400 });
		const connection = {
			baseUrl: "https://messaging.example/api/v1",
			apiKey: "test_live.key.secret",
			retry: false as const,
		};
		const client = createClient({ ...connection, fetch });
		const body = long.trim() === "" ? `${long}.` : long;
		const failed = await client.agency("agy_1").messages.send({ to: "+32470123456", body }).result();
		expect(failed).toMatchObject({ ok: false, error: { _tag: "PartnerBadRequest" } });
	},
);

test("a name of many accents on one letter is found, and its conversation is read", async () => {
	const sandbox = createSandbox();
	const name = `e${"\u0301\u0323".repeat(length / 2)}`;
	sandbox.agency().contact(number, { name }).writes(name);
	sandbox.agency().contact("+447700900102", { name: "Rene\u0301e" }).writes("Hello");
	const { conversations } = createClient(sandbox.connection).agency(sandbox.agency().id);
	const found = async (search: string) => (await conversations.list({ search }).page()).conversations.length;
	expect(await found("Renée")).toBe(1);
	expect(await found("nobody")).toBe(0);
});
