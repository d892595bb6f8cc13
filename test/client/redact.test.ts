// A service or a gateway that repeats the request in its error message (S14, S20, S23, S24).
import { inspect } from "node:util";
import type { AttemptEvent } from "messaging-conversations";
import { expect, onTestFinished, test } from "vitest";
import { callOf, clientOf, failure, jsonResponse } from "../calls.ts";
import { agencyId, apiKey, operationId, phone, sentNow, spelledPhone, text } from "../canned.ts";

const connection = { baseUrl: "https://messaging.example/api/v1" };

function sendingTo(answer: () => Response) {
	return clientOf(connection, { fetch: async () => answer(), retry: false }).agency(agencyId).messages.send;
}

const refusing = (message: string) => jsonResponse({ _tag: "PartnerBadRequest", message }, { status: 400 });

/** The part of the error's message that comes from the service. */
async function shownOf(message: string, body: string = text): Promise<string> {
	const error = await failure(() => sendingTo(() => refusing(message))({ to: phone, body, operationId }));
	expect(error).toMatchObject({ _tag: "PartnerBadRequest", correlationId: "cor-1" });
	const shown = error.message.replace("messages.send: refused with 400: ", "");
	expect(inspect(error, { depth: 10, showHidden: true }).includes(message)).toBe(shown === message);
	return shown;
}

const texts = {
	English: "The visit to the flat is at two, call Anna when you are there",
	French: "Décédé à Liège, l'acte d'achat est prêt, où êtes-vous à présent",
	Arabic: "موعد زيارة الشقة في الساعة الثانية بعد الظهر يوم الجمعة",
	"two lines": 'First line,\nsecond "line"',
	"patterns of replacement": "Costs $& or $1 or $$ here",
};
const forms: Record<string, (plain: string) => string> = {
	"as it is": (plain) => plain.replace("\n", " "),
	"as JSON": (plain) => JSON.stringify(plain),
	"in a URL": encodeURIComponent,
};

test.for(Object.keys(texts).flatMap((name) => Object.keys(forms).map((form) => [name, form] as const)))(
	"S14 S23 a text of the request is masked where the service repeats it: %s, %s",
	async ([name, form]) => {
		const body: string = Reflect.get(texts, name);
		const shown = await shownOf(`Bad: ${form === "as it is" ? body : forms[form]?.(body)} (body)`, body);
		expect(shown).toMatch(/^Bad: "?\[hidden\]"? \(body\)$/);
	},
);

test.for([
	["the key", apiKey, "[hidden]"],
	["the header", `Authorization: Bearer ${apiKey}`, "Authorization: Bearer [hidden]"],
	["the key's secret", "CANARYKEY", "[hidden]"],
	["the number", phone, "[hidden]"],
	["the number without its plus", phone.slice(1), "[hidden]"],
	["the number in a URL", encodeURIComponent(phone), "[hidden]"],
	["the number, twice", `${phone} or ${phone}`, "[hidden] or [hidden]"],
	["the number with spaces", "+32 470 12 34 56", "[hidden]"],
	["the number as in its country", "0470/12.34.56", "[hidden]"],
])("S14 S23 %s is masked", async ([, said, shown]) => {
	await expect(shownOf(`No such thing: ${said}!`)).resolves.toBe(`No such thing: ${shown}!`);
});

test.for([
	"+32 470\u201112\u201134\u201156",
	"0470\u201312\u201334\u201356",
	"+32\u2212470\u2212123456",
	"0470_12_34_56",
	"+32,470,12,34,56",
	"0470:12:34:56",
	"+32 470\u00b712\u00b734\u00b756",
	"0470~12~34~56",
	"0470+12+34+56",
	"4\u200b7\u200b0\u200b1\u200b2\u200b3\u200b4\u200b5\u200b6",
	"0470&nbsp;12&nbsp;34&nbsp;56",
	"+32470<b>123</b>456",
	"\u0664\u0667\u0660\u0661\u0662\u0663\u0664\u0665\u0666",
])("S21 S23 the number is masked in the spelling %j", async (said) => {
	const shown = await shownOf(`No such thing: ${said}!`);
	expect(shown).toContain("[hidden]");
	expect(shown.replace(/[^\p{Nd}]/gu, "")).not.toMatch(/\p{Nd}{3}/u);
});

test("S21 another number in the message stays", async () => {
	await expect(shownOf("Call 0800 55 44 33, case 2026-11-27.")).resolves.toBe("Call 0800 55 44 33, case 2026-11-27.");
});

test.for(["conversations.lookup", "conversations.get", "conversations.listMessages", "messages.send"] as const)(
	"S14 S23 the number is masked in an error of %s, as it was given and in E.164",
	async (operation) => {
		const fetch = async () => refusing(`No ${phone}, no ${spelledPhone}`);
		const client = clientOf(connection, { fetch, retry: false });
		const error = await failure(() => callOf(operation).run(client));
		expect(error.message).toBe(`${operation}: refused with 400: No [hidden], no [hidden]`);
	},
);

test("S14 S23 a text is masked where it is the whole message, and from four characters on", async () => {
	await expect(shownOf(text)).resolves.toBe("[hidden]");
	await expect(shownOf("No Anna here", "Anna")).resolves.toBe("No [hidden] here");
});

test("S14 S23 a text is masked inside of a longer text in JSON", async () => {
	const body = texts["two lines"];
	await expect(shownOf(JSON.stringify(`You said: ${body} today`), body)).resolves.toBe('"You said: [hidden] today"');
});

test("S14 S23 the number in another spelling is masked where the text has a number too", async () => {
	const shown = await shownOf("Bad: 0470/12.34.56", "Please call 02 512 34 56");
	expect(shown).toBe("Bad: [hidden]");
});

test("S14 S23 a text that contains another text of the request is masked as a whole", async () => {
	const client = clientOf(connection, { fetch: async () => refusing("Bad: Anna is ill") });
	const body = { name: "Anna", note: "Anna is ill" };
	const error = await failure(() => client.request({ method: "POST", path: "/notes", body }));
	expect(error.message).toBe("request: refused with 400: Bad: [hidden]");
});

test("S14 S23 the number as the caller wrote it is masked", async () => {
	const send = sendingTo(() => refusing(`No such number: ${spelledPhone}.`));
	const error = await failure(() => send({ to: spelledPhone, body: text }));
	expect(error.message).toBe("messages.send: refused with 400: No such number: [hidden].");
});

test("S14 S17 a key that was rotated away is masked too", async () => {
	const first = "test_live.key0001.CANARYONE";
	const keys = [first, "test_live.key0002.CANARYTWO"];
	const answers = [
		jsonResponse({}, { status: 503 }),
		jsonResponse({ _tag: "PartnerUnauthorized", message: `The key ${first} was revoked.` }, { status: 401 }),
	];
	const fetch = async () => answers.shift() ?? jsonResponse({});
	const client = clientOf(connection, { fetch, apiKey: () => keys.shift() ?? "" });
	const error = await failure(() => client.me.get({ retry: { attempts: 2 } }));
	expect(error.message).toBe("me.get: refused with 401: The key [hidden] was revoked.");
	expect(inspect(error, { depth: 10, showHidden: true })).not.toContain("CANARY");
});

test.for(["search", "cursor"] as const)("S14 a %s is masked, unless it is too short to tell", async (field) => {
	const fetch = async () => refusing("No rows for Peetersen or abc.");
	const { conversations } = clientOf(connection, { fetch }).agency(agencyId);
	const long = await failure(() => conversations.list({ [field]: "Peetersen" }).page());
	expect(long.message).toBe("conversations.list: refused with 400: No rows for [hidden] or abc.");
	const short = await failure(() => conversations.list({ [field]: "abc" }).page());
	expect(short.message).toBe("conversations.list: refused with 400: No rows for Peetersen or abc.");
});

test.for<[message: string, shown?: string]>([
	["operationId: was used with a different body"],
	["Le numéro n'est pas valide: ça ne va pas"],
	["to: +32 479 98 76 54 is not a phone number"],
	["to: +32 479 98 74 56 is not a phone number"],
	[`A key that begins with ${apiKey.split(".")[0]} is old`],
	["50% of the quota is used, a = b &amp; c%20d \\d"],
	["The request of 2026-01-05 was refused"],
	["two\n\tlines", "two lines"],
	["  around  ", "around"],
	["\u0000a\u001b[31mb\u007fc", "a [31mb c"],
	["one\u2028two \u202eevil", "one two  evil"],
])("S23 the message of the service is shown in one line: %j", async ([message, shown = message]) => {
	const error = await failure(() => sendingTo(() => refusing(message))({ to: phone, body: text }));
	expect(error.message).toBe(`messages.send: refused with 400: ${shown}`);
});

test("S23 a message of the service is cut at 500 characters, after what it repeats is masked", async () => {
	const error = await failure(() => sendingTo(() => refusing("long ".repeat(400)))({ to: phone, body: text }));
	const shown = error.message.replace("messages.send: refused with 400: ", "");
	expect(shown).toBe("long ".repeat(100));
	const body = "x1".repeat(10_000);
	await expect(shownOf(`${"a".repeat(490)} ${body}`, body)).resolves.toBe(`${"a".repeat(490)} [hidden]`);
});

test.for([null, 5, [], "message", {}, { _tag: "T" }, { _tag: 5, message: "said" }, { _tag: "T", message: ["said"] }])(
	"what is not an error body of the service has no message: %j",
	async (body) => {
		const error = await failure(() => sendingTo(() => jsonResponse(body, { status: 400 }))({ to: phone, body: text }));
		expect(error.message).toBe("messages.send: 400 from something in front of the service");
	},
);

test.for<[form: string, said: (text: string) => string]>([
	["as it is", (said) => said],
	["in capitals", (said) => said.toUpperCase()],
	["in small letters", (said) => said.toLowerCase()],
	["as NFC", (said) => said.normalize("NFC")],
	["as NFD", (said) => said.normalize("NFD")],
	["as NFKC", (said) => said.normalize("NFKC")],
	["as NFD in a URL", (said) => encodeURIComponent(said.normalize("NFD"))],
	["as a form", (said) => encodeURIComponent(said).toLowerCase()],
	["with each byte encoded", (said) => [...Buffer.from(said)].map((byte) => `%${byte.toString(16)}`).join("")],
	["as JSON", (said) => JSON.stringify(said).slice(1, -1)],
	[
		"as JSON in ASCII",
		(said) => said.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
	],
])("S14 S23 a text, a header and a key are masked %s", async ([, form]) => {
	const body = 'Straße 5, ŌSAKA, ﬁn de l\'été, Ω ΟΔΟΣ \ud83d\ude00: 100%41 “x” "y"';
	const header = 'Tenant-7"9/%41?';
	const fetch = async () => refusing(`a ${form(body)} b ${form(header)} c ${form(apiKey)} d`);
	const { messages } = clientOf(connection, { fetch, headers: { "x-tenant": header } }).agency(agencyId);
	const error = await failure(() => messages.send({ to: phone, body }));
	expect(error.message).toBe("messages.send: refused with 400: a [hidden] b [hidden] c [hidden] d");
});

test("S14 S23 a header of one call is masked, and not one of another call", async () => {
	const fetch = async () => refusing("Trace abc-123 is unknown");
	const { conversations } = clientOf(connection, { fetch }).agency(agencyId);
	const hidden = await failure(() => conversations.get(phone, { headers: { "x-trace": " abc-123" } }));
	expect(hidden.message).toBe("conversations.get: refused with 400: Trace [hidden] is unknown");
	const other = await failure(() => conversations.get(phone, { headers: { "x-trace": "abc-124" } }));
	expect(other.message).toBe("conversations.get: refused with 400: Trace abc-123 is unknown");
});

test.for(Array.from({ length: 24 }, (_, more) => more))(
	"S23 a message that is cut leaves no part of a secret at its end: %i",
	async (more) => {
		const body = "Éva is ill";
		for (const part of [body, phone, "+32 470 12 34 56", encodeURIComponent(body), "\\u00c9va is ill", apiKey]) {
			const shown = await shownOf(`${"-".repeat(more)}${part.repeat(5000)}`, body);
			expect(shown.replaceAll("[hidden]", "")).toMatch(/^-*$/);
		}
		const long = `${"y".repeat(more)}${"x1".repeat(10_000)}`;
		await expect(shownOf(`Bad: ${long}`, long)).resolves.toBe("Bad: [hidden]");
	},
);

test("S23 S30 a message is cut before anything is looked for in it", async () => {
	const read: number[] = [];
	const { normalize } = String.prototype;
	onTestFinished(() => void Object.assign(String.prototype, { normalize }));
	String.prototype.normalize = function (this: string, form?: string) {
		read.push(this.length);
		return normalize.call(this, form);
	};
	const numbers = Array.from({ length: 100 }, (_, at) => `+4477009000${at.toString().padStart(2, "0")}`);
	const fetch = async () => refusing("0470 12 34 5 ".repeat(80_000));
	const { conversations } = clientOf(connection, { fetch }).agency(agencyId);
	const error = await failure(() => conversations.lookup(numbers));
	expect(error._tag).toBe("PartnerBadRequest");
	expect(read.length).toBeGreaterThan(100);
	expect(read.reduce((sum, length) => sum + length, 0)).toBeLessThan(50_000);
});

// The correlation id

const answerWith = (id: string) => jsonResponse(sentNow, { headers: { "x-correlation-id": id } });

test.for([
	"req.01HF7",
	"1763712345678-abc",
	"cor-1",
	"req_01HF7",
	"70123450-1234-4234-8234-123456789012",
	"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	"x".repeat(64),
	"32479987654",
	"See-you-at-1",
])("S24 a correlation id is shown by its form: %s", async (id) => {
	const { response } = await sendingTo(() => answerWith(id))({
		to: phone,
		body: "The visit is at 14:00, on Mon.",
	}).withResponse();
	expect(response.correlationId).toBe(id);
});

const unshown = [
	...["two words", "x".repeat(65), "a,b", "a/b", "a=b", "a@b", "a%20b", 'a"b', "é", ""],
	...[phone, phone.slice(1), "0470123456", `req-${phone.slice(1)}`, `00000000-0000-4000-8000-0${phone.slice(1)}`],
	...[apiKey, `x-${apiKey}`, "CANARYKEY-1", "visit-1", "70123456-1234-4234-8234-1234visit", "at.tomorrow", "pin:4711"],
];

test.for(unshown)("S24 no other correlation id is shown of a success or of an error: %j", async (id) => {
	const reported: unknown[] = [];
	const onAttempt = (event: AttemptEvent) => void reported.push(event);
	const tell = (line: string) => void reported.push(line);
	const logger = { debug: tell, info: tell, warn: tell, error: tell };
	for (const status of [200, 400]) {
		const json = status === 200 ? sentNow : {};
		const fetch = async () => jsonResponse(json, { status, headers: { "x-correlation-id": id } });
		const { messages } = clientOf(connection, { fetch, onAttempt, logger }).agency(agencyId);
		const result = await messages.send({ to: spelledPhone, body: "The visit is tomorrow. PIN 4711" }).result();
		expect(result.ok ? result.correlationId : result.error.correlationId).toBeUndefined();
	}
	expect(reported).toHaveLength(4);
	for (const event of reported) expect(event).not.toHaveProperty("correlationId");
	expect(reported.filter((line) => id.length > 4 && inspect(line).includes(id))).toEqual([]);
});
