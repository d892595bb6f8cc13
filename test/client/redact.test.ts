// A service or a gateway that repeats the request in its error message (S14, S20, S23, S24).
import { inspect } from "node:util";
import type { AttemptEvent } from "messaging-conversations";
import { expect, onTestFinished, test, vi } from "vitest";
import { clientOf, failure, jsonResponse } from "../calls.ts";
import { agencyId, apiKey, operationId, phone, sentNow, text } from "../canned.ts";

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

const notice = /withheld.*correlation id/;

// Encodings

const utf8 = (plain: string) => [...new TextEncoder().encode(plain)];
const hex = (byte: number) => byte.toString(16).padStart(2, "0");
const encodings: [what: string, encoded: (plain: string) => string][] = [
	["itself", (plain) => plain],
	["UTF-8 read as Latin-1", (plain) => String.fromCharCode(...utf8(plain))],
	["UTF-8 read as Latin-1, twice", (plain) => String.fromCharCode(...utf8(String.fromCharCode(...utf8(plain))))],
	["a part of a URL", encodeURIComponent],
	["a part of a URL, twice", (plain) => encodeURIComponent(encodeURIComponent(plain))],
	["a form", (plain) => new URLSearchParams({ q: plain }).toString().slice(2)],
	[
		"\\xHH",
		(plain) =>
			utf8(plain)
				.map((byte) => (byte < 0x80 ? String.fromCharCode(byte) : `\\x${hex(byte)}`))
				.join(""),
	],
	["\\uHHHH", (plain) => JSON.stringify(plain).replace(/[^\0-\x7f]/g, (one) => `\\u${one.charCodeAt(0).toString(16)}`)],
	["\\u{H}", (plain) => plain.replace(/[^\0-\x7f]/gu, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`)],
	["JSON, twice", (plain) => JSON.stringify(JSON.stringify(plain))],
	[
		"quoted-printable",
		(plain) =>
			utf8(plain)
				.map((byte) => `=${hex(byte).toUpperCase()}`)
				.join(""),
	],
	["HTML in hexadecimals", (plain) => plain.replace(/./gu, (one) => `&#x${one.codePointAt(0)?.toString(16)};`)],
	["HTML, twice", (plain) => plain.replace(/[^ ]/gu, (one) => `&amp;#x${one.codePointAt(0)?.toString(16)};`)],
	["HTML in decimals, twice", (plain) => plain.replace(/[^ ]/gu, (one) => `&amp;#${one.codePointAt(0)};`)],
	["base64", (plain) => btoa(String.fromCharCode(...utf8(plain)))],
	["hexadecimal bytes", (plain) => utf8(plain).map(hex).join("")],
	["letters and marks apart", (plain) => plain.normalize("NFD")],
	["capitals", (plain) => plain.toUpperCase()],
	["wider gaps", (plain) => plain.replaceAll(" ", "   ")],
	["letters with spaces between", (plain) => [...plain].join(" ")],
	["a part of its middle", (plain) => plain.slice(10, 40)],
];
const texts = {
	English: "The visit to the flat is at two, call Anna when you are there",
	French: "Décédé à Liège, l'acte d'achat est prêt, où êtes-vous à présent",
	Greek: "Το ραντεβού για το διαμέρισμα είναι στις δύο το μεσημέρι",
	Arabic: "موعد زيارة الشقة في الساعة الثانية بعد الظهر يوم الجمعة",
	Russian: "Ключ под ковриком, встреча в два часа дня у подъезда",
};

test.for(Object.keys(texts).flatMap((language) => encodings.map(([what]) => [language, what] as const)))(
	"S14 a %s text that comes back is withheld, written as %s",
	async ([language, what]) => {
		const body = Reflect.get(texts, language);
		const said = encodings.find(([name]) => name === what)?.[1](body) ?? "";
		await expect(shownOf(`Bad: ${said}`, body)).resolves.toMatch(notice);
	},
);

test.for([
	["base64 of the key", btoa(apiKey)],
	["base64 of the header", btoa(`Bearer ${apiKey}`)],
	["the key", apiKey],
	["the header", `Authorization: Bearer ${apiKey}`],
	["the key without its end", apiKey.slice(0, -2)],
	["the key's secret", "CANARYKEY"],
	["the key's secret in small letters", "canarykey"],
	["the key with its dots encoded", apiKey.replaceAll(".", "%2E")],
	["the key as JSON", JSON.stringify({ authorization: apiKey })],
	["the key's UTF-16", [...apiKey].join("\0")],
])("S14 %s is withheld", async ([, said]) => {
	await expect(shownOf(`No such key: ${said}!`)).resolves.toMatch(notice);
});

test("S14 S17 a key that was rotated away is withheld too", async () => {
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
	expect(error.message).toMatch(/^me\.get: refused with 401: .*withheld/);
	expect(inspect(error, { depth: 10, showHidden: true })).not.toContain("CANARY");
});

test.for([
	phone,
	"0470123456",
	"0470 - 12 - 34 - 56",
	"0470_12_34_56",
	"+32 (0) 470, 12.34.56",
	"04–70–12–34–56",
	"०४७०१२३४५६",
	"٠٤٧٠١٢٣٤٥٦",
	encodeURIComponent(phone),
	"&#48;470123456",
])("S14 a number is masked or withheld, however it is written: %s", async (written) => {
	const shown = await shownOf(`No: ${written}!`);
	expect(shown).not.toContain(written);
	expect(shown).not.toMatch(/\p{Nd}[\s\S]?\p{Nd}[\s\S]?\p{Nd}/u);
	expect(shown).toMatch(/withheld|\[number\]/);
});

test.for(["search", "cursor"] as const)(
	"S14 a %s that comes back is withheld, unless it is too short to tell",
	async (field) => {
		const fetch = async () => refusing("No rows for Peetersen or abc.");
		const { conversations } = clientOf(connection, { fetch }).agency(agencyId);
		const long = await failure(() => conversations.list({ [field]: "Peetersen" }).page());
		expect(long.message).toMatch(/^conversations\.list: refused with 400: .*withheld/);
		const short = await failure(() => conversations.list({ [field]: "abc" }).page());
		expect(short.message).toBe("conversations.list: refused with 400: No rows for Peetersen or abc.");
	},
);

// Ordinary words

test.for<[message: string, shown?: string]>([
	["operationId: was used with a different body"],
	["body: must not be blank"],
	["pageSize must be 1 to 100, not 12345"],
	["consentLanguage is required; one of: nl, fr (see availableLanguages)"],
	["The conversation is handled by another party at the moment. Read it & try again."],
	["50% of the quota is used, a = b"],
	["to: +32 479 98 76 54 is not a phone number", "to: [number] is not a phone number"],
	["0479987654 and 0032 479/98.76.54", "[number] and [number]"],
	[`${phone} is blocked`, "[number] is blocked"],
	["5%a day or x=b", "5%a day or x=b"],
	["The request of 2026-01-05 was refused", "The request of [number] was refused"],
	["two\n\tlines", "two lines"],
	["  around  ", "around"],
	["\u0000a\u001b[31mb\u007fc", "a [31mb c"],
])("a message of ordinary words is shown, in one line, its numbers masked: %j", async ([message, shown = message]) => {
	const error = await failure(() => sendingTo(() => refusing(message))({ to: phone, body: text }));
	expect(error.message).toBe(`messages.send: refused with 400: ${shown}`);
});

test.for([
	["a word of 25 letters", `Bad ${"x".repeat(25)}`],
	["a letter outside ASCII", "Le numéro n'est pas valide"],
	["a backslash", "Bad \\d"],
	["an entity", "a &amp; b"],
	["an escape of URLs", "a%20b"],
	["an escape of mails", "a=3Db"],
	["a direction mark", "abc\u202edef"],
	["an emoji", "no \u{1f600}"],
] as [string, string][])("a message with %s is withheld", async ([, message]) => {
	const body = "Something else altogether";
	await expect(shownOf(message, body)).resolves.toMatch(notice);
});

test("a word of 24 letters is shown", async () => {
	const message = `Bad ${"x".repeat(24)}`;
	await expect(shownOf(message)).resolves.toBe(message);
});

test("a message of the service is cut at 500 characters", async () => {
	const error = await failure(() => sendingTo(() => refusing("long ".repeat(400)))({ to: phone, body: text }));
	const shown = error.message.replace("messages.send: refused with 400: ", "");
	expect(shown).toMatch(/^(long ?)+$/);
	expect(shown.length).toBeLessThanOrEqual(500);
	expect(shown.length).toBeGreaterThan(490);
});

test.for([
	["eleven", "The visit is at noon", "No: the visit is axed", true],
	["twelve", "The visit is at noon", "No: the visit is at one", false],
	["a short text as a whole", "Yes sir", "No: yes, sir!", false],
	["a text of three", "Yes", "No: yes", true],
	["a text of four", "Zuid", "No: zuid", false],
	["a text of twelve, and a part of it", "Appartements", "No: appartement", true],
] as const)(
	"a run of twelve letters of the text, or a short one as a whole, is withheld: %s",
	async ([, body, message, isShown]) => {
		const shown = await shownOf(message, body);
		if (isShown) expect(shown).toBe(message);
		else expect(shown).toMatch(notice);
	},
);

test.for([null, 5, [], "message", {}, { _tag: "T" }, { _tag: 5, message: "said" }, { _tag: "T", message: ["said"] }])(
	"what is no error body of the service has no message: %j",
	async (body) => {
		const error = await failure(() => sendingTo(() => jsonResponse(body, { status: 400 }))({ to: phone, body: text }));
		expect(error.message).toBe("messages.send: refused with 400");
	},
);

// The correlation id

const answerWith = (id: string) => jsonResponse(sentNow, { headers: { "x-correlation-id": id } });

test.for([
	"req_01HF7",
	"1763712345678-abc",
	"cor-1",
	"70123456-1234-4234-8234-123456789012",
	"70123456-1234-4234-8234-12345678901A",
	"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	"Root=1-67891233-abcdef012345678912345678",
	"a/b.c:d@e",
])("S24 a correlation id is taken by its form: %s", async (id) => {
	const { response } = await sendingTo(() => answerWith(id))({ to: phone, body: text }).withResponse();
	expect(response.correlationId).toBe(id);
});

test.for([
	phone,
	"32470123456",
	"0470-12-34-56",
	"0470/12.34.56",
	apiKey,
	`x-${apiKey}`,
	"two words",
	"x".repeat(129),
	"a,b",
	"a%20b",
	'a"b',
	"",
])("S24 what has not the form of a correlation id is none: %j", async (id) => {
	const seen: AttemptEvent[] = [];
	const onAttempt = (event: AttemptEvent) => void seen.push(event);
	const { messages } = clientOf(connection, { fetch: async () => answerWith(id), onAttempt }).agency(agencyId);
	const { response } = await messages.send({ to: phone, body: text }).withResponse();
	expect(response.correlationId).toBeUndefined();
	expect(seen).toHaveLength(1);
	expect(seen[0]).not.toHaveProperty("correlationId");
});

test.for(["req-32470123456", "CANARYKEY-1", "the-visit-is-at-14-00"])(
	"S24 the correlation id of a failed call is left out when it repeats the request: %s",
	async (id) => {
		const answer = () => jsonResponse({}, { status: 400, headers: { "x-correlation-id": id } });
		const error = await failure(() => sendingTo(answer)({ to: phone, body: text }));
		expect(error).not.toHaveProperty("correlationId");
	},
);

// Large input. How long it takes is measured by the benchmark; here it is how much of it is looked at.

test("a success looks at nothing of the text, whatever its correlation id", async () => {
	const body = "д".repeat(1_000_000);
	for (const id of ["req_01HF7", "70123456-1234-4234-8234-123456789012"]) {
		const normalized = countNormalized();
		await sendingTo(() => answerWith(id))({ to: phone, body, operationId });
		expect(normalized.longest()).toBeLessThan(1000);
	}
});

test("a failure looks at no text of more than 20,000 characters: its service message is withheld", async () => {
	const normalized = countNormalized();
	await expect(shownOf("Too long.", "д".repeat(1_000_000))).resolves.toMatch(notice);
	expect(normalized.longest()).toBeLessThanOrEqual(20_000);
	await expect(shownOf("Too long.", "д".repeat(20_000))).resolves.toBe("Too long.");
	await expect(shownOf("x".repeat(1_000_000))).resolves.toMatch(notice);
	expect(normalized.longest()).toBeLessThanOrEqual(20_000);
});

/** Notes the longest text that is compared: each text is normalised first. */
function countNormalized(): { longest: () => number } {
	let longest = 0;
	const spy = vi.spyOn(String.prototype, "normalize").mockImplementation(function (this: string, form?: string) {
		longest = Math.max(longest, this.length);
		return normalize.call(this, form);
	});
	onTestFinished(() => spy.mockRestore());
	return { longest: () => longest };
}

const { normalize } = String.prototype;

test("S14 a text with long numbers in it is not shown in pieces between masked digits", async () => {
	const body = "code 123456 ok 654321 go";
	expect(await shownOf(`Bad: ${body}`, body)).toContain("withheld");
	expect(await shownOf("no +32 470 98 76 54 here", body)).toContain("no [number] here");
});
