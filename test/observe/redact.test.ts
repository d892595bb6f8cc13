// What goes out in a call and comes back in words of the service (S14, S20, S23, S24).
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { clientOf, failure, jsonResponse } from "../calls.ts";
import { agencyId, apiKey, operationId, phone, sentNow, text } from "../canned.ts";

const connection = { baseUrl: "https://messaging.example/api/v1" };

function sendingTo(answer: () => Response) {
	return clientOf(connection, { fetch: async () => answer(), retry: false }).agency(agencyId).messages.send;
}

const refusing = (message: string) => jsonResponse({ _tag: "PartnerBadRequest", message }, { status: 400 });

const long = "Café, the visit is at 14:00; call 0470 12 34 56 when you are there. ".repeat(200);

test.for<[what: string, said: (body: string) => string]>([
	["its first words", (body) => body.slice(0, 40)],
	["some of its middle", (body) => body.slice(100, 130)],
	["all of it, which is longer than a message may be", (body) => body],
	["its words with wider gaps", (body) => body.replaceAll(" ", "  ").slice(0, 120)],
	["its words in capitals", (body) => body.toUpperCase().slice(0, 90)],
	["its words as a URL has them", (body) => encodeURIComponent(body).slice(0, 90)],
])("S14 an echo of a text is not told on: %s", async ([, said]) => {
	const error = await failure(() =>
		sendingTo(() => refusing(`Bad: "${said(long)}"`))({ to: phone, body: long, operationId }),
	);
	expect(error.message).toContain('refused with 400: Bad: "');
	expect(inspect(error, { depth: 10, showHidden: true })).not.toMatch(/visit|14:00|when you|0470|café/i);
});

const written =
	"J'ai l'acte d'achat, décédé à Liège; \"0470123456\" geheim   code\nJanssens vrijdag: Ключ под ковриком";
const html = (plain: string) => plain.replace(/['"&]/g, (mark) => `&#${mark.charCodeAt(0)};`);
const ascii = (plain: string) =>
	plain.replace(/[^\0-\x7f]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);

test.for<[what: string, encoded: (plain: string) => string]>([
	["JSON", (plain) => JSON.stringify(plain)],
	["JSON in ASCII", (plain) => ascii(JSON.stringify(plain))],
	["JSON, twice", (plain) => JSON.stringify(JSON.stringify(plain))],
	["HTML", html],
	["a URL", encodeURIComponent],
	["HTML, letter by letter", (plain) => [...plain].map((letter) => `&#${letter.codePointAt(0)};`).join("")],
	[
		"HTML in hexadecimals",
		(plain) => [...plain].map((letter) => `&#x${letter.codePointAt(0)?.toString(16)};`).join(""),
	],
	["HTML by name", (plain) => html(plain).replace(/[éè]/g, (letter) => (letter === "é" ? "&eacute;" : "&egrave;"))],
	["a form", (plain) => new URLSearchParams({ q: plain }).toString().slice(2)],
	["letters and marks apart", (plain) => plain.normalize("NFD")],
])("S14 an echo of a text is not told on, written as %s", async ([, encoded]) => {
	const said = encoded(written);
	const error = await failure(() => sendingTo(() => refusing(`Bad: ${said}`))({ to: phone, body: written }));
	expect(error.message).toMatch(/^messages\.send: refused with 400: Bad: "*\\*"*\[redacted\]["\\]*$/);
});

test("S14 a letter that is longer in lower case hides no key", async () => {
	const error = await failure(() => sendingTo(() => refusing(`İ key ${apiKey}`))({ to: phone, body: text }));
	expect(error.message).toBe("messages.send: refused with 400: İ key [redacted]");
});

test("S14 S17 a key that was rotated away is not told on either", async () => {
	const first = "test_live.key0001.CANARYONE";
	const keys = [first, "test_live.key0002.CANARYTWO"];
	const said = `The key ${first} was revoked.`;
	const answers = [
		jsonResponse({}, { status: 503 }),
		jsonResponse({ _tag: "PartnerUnauthorized", message: said }, { status: 401 }),
	];
	const fetch = async () => answers.shift() ?? jsonResponse({});
	const client = clientOf(connection, { fetch, apiKey: () => keys.shift() ?? "" });
	const error = await failure(() => client.me.get());
	expect(error.message).toBe("me.get: refused with 401: The key [redacted] was revoked.");
});

test.for<[message: string, shown: string]>([
	["operationId: was used with a different body", "operationId: was used with a different body"],
	["body: must not be blank", "body: must not be blank"],
	["to: +32 470 12 34 56 is not a phone number", "to: [redacted] is not a phone number"],
	["sandwich: is not a field", "sandwich: is not a field"],
])("a plain message stays readable: %s", async ([message, shown]) => {
	const body = "sand: the visit is at 14:00, is that a good time?";
	const error = await failure(() => sendingTo(() => refusing(message))({ to: phone, body }));
	expect(error.message).toBe(`messages.send: refused with 400: ${shown}`);
});

test("S14 a part of the key is not told on", async () => {
	const send = sendingTo(() => refusing(`Bad header: Bearer ${apiKey.slice(0, -2)}`));
	const error = await failure(() => send({ to: phone, body: text }));
	expect(error.message).toBe("messages.send: refused with 400: Bad header: Bearer [redacted]");
});

test.for([
	"0470 - 12 - 34 - 56",
	"0470_12_34_56",
	"04–70–12–34–56",
	"0470123456",
	"०४७०१२३४५६",
	"+32 (0) 470, 12.34.56",
])("S14 a number is not told on, however it is written: %s", async (written) => {
	const error = await failure(() => sendingTo(() => refusing(`No: ${written}!`))({ to: phone, body: text }));
	expect(error.message).toMatch(/^messages\.send: refused with 400: No: \[(redacted|number)\]!$/);
});

test.for(["CANARYK", "ANARYKEY", "key0007", "test_live"])(
	"S14 of the key eight letters of its secret tell: %s",
	async (part) => {
		const send = sendingTo(() => refusing(`No such key …${part}.`));
		const error = await failure(() => send({ to: phone, body: text }));
		expect(error.message).toBe(
			`messages.send: refused with 400: No such key …${part === "ANARYKEY" ? "[redacted]" : part}.`,
		);
	},
);

test.for([
	"req-3247012345",
	"47012345-x",
	"req-32470123456",
	"req-0470-12-34-56",
	"+32-470-12-34-56",
	"the-visit-is-at-14-00",
	`id:${phone}`,
])("S24 a correlation id that holds the number is none: %s", async (id) => {
	const send = sendingTo(() => jsonResponse(sentNow, { headers: { "x-correlation-id": id } }));
	const { response } = await send({ to: phone, body: text }).withResponse();
	expect(response.correlationId).toBeUndefined();
});

test.for(["req_01HF7", "1763712345678-abc", "cor-1"])("S24 any other correlation id is told: %s", async (id) => {
	const send = sendingTo(() => jsonResponse(sentNow, { headers: { "x-correlation-id": id } }));
	const { response } = await send({ to: phone, body: text }).withResponse();
	expect(response.correlationId).toBe(id);
});

const holding = "70123456-1234-4234-8234-123456789012";

test("S24 a UUID is an id whatever its digits, and what has one in it is not", async () => {
	const ids = [holding, holding.toUpperCase(), `x-${holding}`, `${holding}-x`];
	const told = await Promise.all(
		ids.map(async (id) => {
			const send = sendingTo(() => jsonResponse(sentNow, { headers: { "x-correlation-id": id } }));
			return (await send({ to: phone, body: text }).withResponse()).response.correlationId;
		}),
	);
	expect(told).toEqual([holding, holding.toUpperCase(), undefined, undefined]);
});

test.for([
	["abc", "No rows for abc."],
	["abcd", "No rows for [redacted]."],
])("S14 a search is taken out of a message, unless it is too short to tell: %s", async ([search, said]) => {
	const fetch = async () => refusing(`No rows for ${search}.`);
	const { conversations } = clientOf(connection, { fetch }).agency(agencyId);
	const error = await failure(() => conversations.list({ search }).page());
	expect(error.message).toBe(`conversations.list: refused with 400: ${said}`);
});

test.for<[search: string, said: string, shown: string]>([
	["Anna", "Annabel, Joanna or Anna?", "Annabel, Joanna or [redacted]?"],
	["Jørgensen", "J&oslash;rgensen or J&Oslash;rgensen?", "[redacted] or [redacted]?"],
	["Weiß", "Wei&szlig; or Weiß?", "[redacted] or [redacted]?"],
	["Peetersen", "VanPeetersenBV or Peeters?", "Van[redacted]BV or Peeters?"],
])(
	"S14 a short search is taken out as a word of its own, a longer one wherever it stands: %s",
	async ([search, said, shown]) => {
		const fetch = async () => refusing(said);
		const { conversations } = clientOf(connection, { fetch }).agency(agencyId);
		const error = await failure(() => conversations.list({ search }).page());
		expect(error.message).toBe(`conversations.list: refused with 400: ${shown}`);
	},
);

test.for<[message: string, shown: string]>([
	["two\n\tlines\u2028and  more", "two lines and more"],
	[`${"x".repeat(600)} end`, "x".repeat(500)],
	[`${"x".repeat(499)}\u{1f600}`, "x".repeat(499)],
])("a message of the service stands on one line of at most 500 characters", async ([message, shown]) => {
	const error = await failure(() => sendingTo(() => refusing(message))({ to: phone, body: text }));
	expect(error.message).toBe(`messages.send: refused with 400: ${shown}`);
});

test.for([null, 5, [], "message", {}, { _tag: "T" }, { _tag: 5, message: "said" }, { _tag: "T", message: ["said"] }])(
	"what is no body of the service has no message: %j",
	async (body) => {
		const error = await failure(() => sendingTo(() => jsonResponse(body, { status: 400 }))({ to: phone, body: text }));
		expect(error.message).toBe("messages.send: refused with 400");
	},
);

test("S14 letters that are longer in lower case put nothing out of its place", async () => {
	const body = "CANARY İİİİ";
	const error = await failure(() => sendingTo(() => refusing(`<İ> ${body} <end>`))({ to: phone, body }));
	expect(error.message).toBe("messages.send: refused with 400: <İ> [redacted] <end>");
});

test.for(["12 rue Haute 34 56 78", "1-2-3 and 4-5-6-7-8"])(
	"S24 a text with digits in it is no number: %s",
	async (body) => {
		const id = `req-${body.replace(/\D/g, "").slice(-8)}`;
		const send = sendingTo(() => jsonResponse(sentNow, { headers: { "x-correlation-id": id } }));
		const { response } = await send({ to: phone, body }).withResponse();
		expect(response.correlationId).toBe(id);
	},
);

test.for([33_000, 1_000_000])(
	"a text of %i characters is sent like any other, and refused like any other",
	async (size) => {
		const body = "д".repeat(size);
		const good = sendingTo(() => jsonResponse(sentNow, { headers: { "x-correlation-id": "req_01HF7" } }));
		await expect(good({ to: phone, body, operationId })).resolves.toMatchObject({ operationId });
		const error = await failure(() => sendingTo(() => refusing("Too long."))({ to: phone, body }));
		expect(error).toMatchObject({ _tag: "PartnerBadRequest", outcome: "not_sent" });
		expect(error.message).toBe("messages.send: refused with 400: Too long.");
	},
);
