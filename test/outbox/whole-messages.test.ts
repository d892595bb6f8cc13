import { isOptIn, isOptOut, isRefusal, isWrongNumber } from "messaging-conversations/outbox";
import { describe, expect, test } from "vitest";
import { everydayMessages } from "./everyday-messages.ts";
import { sentences } from "./opt-out-sentences.ts";
import { type WholeMessages, wholeMessages } from "./whole-message-sentences.ts";

const kinds = { optOut: isOptOut, wrongNumber: isWrongNumber, refusal: isRefusal } satisfies Record<
	keyof WholeMessages,
	(text: string) => boolean
>;
const names = Object.keys(kinds) as (keyof WholeMessages)[];
const all = Object.values(wholeMessages);
const isAny = (text: string): boolean => Object.values(kinds).some((is) => is(text));

describe.each(Object.entries(wholeMessages))("%s", (_language, lists) => {
	test.each(names)("knows each whole message of the kind %s, and as no other kind", (name) => {
		const { said } = lists[name];
		expect(new Set(said).size).toBeGreaterThanOrEqual(20);
		expect(said.filter((text) => !kinds[name](text))).toEqual([]);
		const others = names.filter((other) => other !== name);
		expect(said.filter((text) => others.some((other) => kinds[other](text)))).toEqual([]);
	});

	test.each(names)("takes other messages with the same words for none: %s", (name) => {
		const { other } = lists[name];
		expect(new Set(other).size).toBeGreaterThanOrEqual(20);
		expect(other.filter(isAny)).toEqual([]);
	});
});

/** The same text as other keyboards and people write it. */
const writings: Record<string, (text: string) => string> = {
	"in capitals": (text) => text.toUpperCase(),
	"in small letters": (text) => text.toLowerCase(),
	"without accents": (text) => text.normalize("NFD").replace(/\p{M}/gu, ""),
	decomposed: (text) => text.normalize("NFD"),
	"with curly apostrophes": (text) => text.replaceAll("'", "’"),
	"with spaces around": (text) => `\u00a0 \n ${text}\t  `,
	"with wide spaces": (text) => text.replaceAll(" ", "  "),
	"with hard spaces": (text) => text.replaceAll(" ", "\u00a0"),
	"with an emoji": (text) => `🙏🏽 ${text} 😡👎`,
	"with more punctuation": (text) => `${text}!!!`,
	"in bold letters of WhatsApp": (text) => `*${text}*`,
	"with characters that nobody sees": (text) => [...text].join("\u200b"),
	"with fillers that nobody sees": (text) => [...text].join("\u3164"),
	"with soft hyphens": (text) => [...text].join("\u00ad"),
	"with a greeting": (text) => `Hello! ${text}`,
	"with a greeting and a name": (text) => `Hi Anna, ${text}`,
	"with thanks": (text) => `${text}. Thank you`,
	"with a name below": (text) => `${text}\nJohn Smith`,
	"with a name after a dash": (text) => `${text} - John`,
	"with a signature": (text) => `${text}. Kind regards, John`,
	"below our text": (text) => `> Your visit is on Friday at 14:00. Reply STOP to end.\n${text}`,
};

/** Without a signature and a greeting of its own. */
const isPlain = (text: string): boolean => /^\p{Lu}[\p{Ll}' ]+$/u.test(text);

test.each(Object.entries(writings))("a whole message is the same %s", (_how, write) => {
	for (const name of names) {
		const plain = all.flatMap((lists) => lists[name].said).filter(isPlain);
		expect(plain.length).toBeGreaterThan(60);
		expect(plain.map(write).filter((text) => !kinds[name](text))).toEqual([]);
		// A line is a quote only if it begins with the mark.
		const other = all.flatMap((lists) => lists[name].other).filter((text) => !text.startsWith(">"));
		expect(other.map(write).filter(isAny)).toEqual([]);
	}
});

test("ordinary messages by the thousand ask for nothing", () => {
	const messages = everydayMessages(10_000);
	expect(messages).toHaveLength(10_000);
	expect(messages.filter((text) => isAny(text) || isOptIn(text))).toEqual([]);
});

test("who asks for no more texts has not written from a wrong number", () => {
	const stop = Object.values(sentences).flatMap((each) => each.stop);
	expect(stop.filter((text) => isWrongNumber(text) || isRefusal(text))).toEqual([]);
});

test.each([
	"Hi stop",
	"Hi please stop. Thanks",
	"Hi Anna, stop",
	"Stop hi",
	"STOP Anna",
	"STOP Anna Peeters",
	"STOP - J. Peeters",
])("%s is an opt-out", (text) => expect(isOptOut(text)).toBe(true));

test.each(["> START\nIs it free?", "> START", "Start - but when?"])("%j is no opt-in", (text) =>
	expect(isOptIn(text)).toBe(false),
);

test.each([
	["Wrong number. STOP", "optOut"],
	["Not interested, stop", "optOut"],
	["Genoeg! Verkeerd nummer", "wrongNumber"],
	["Enough! Not interested", "refusal"],
] as const)("%s is the strongest of what it says", (text, kind) => {
	expect(names.filter((name) => kinds[name](text))).toEqual([kind]);
});

test.each([
	["what somebody else said", "He wrote: wrong number"],
	["what a friend said", "My wife says enough!"],
	["our text, quoted", "> Wrong number? Reply STOP.\nNo, it is right"],
	["our text in quotation marks", "“Reply STOP to unsubscribe”? What for"],
	["a link", "Wrong number https://example.com/14"],
	["two numbers", "Wrong number, ①④"],
	["a greeting with the right number", "Hi flat 14, wrong number"],
	["a correction", "Wrong number, sorry, I meant the tram"],
])("%s is none", (_what, text) => expect(isAny(text)).toBe(false));

test("an empty message says nothing, and another value is a mistake", () => {
	for (const is of [isWrongNumber, isRefusal]) {
		for (const text of ["", " ", "👍", "?", null, undefined]) expect(is(text)).toBe(false);
		for (const value of [{ body: "Wrong number" }, ["Wrong number"], 7, true])
			expect(() => is(value as never)).toThrow(
				expect.objectContaining({ _tag: "PartnerInvalidInput", field: "text", operation: is.name }),
			);
	}
});

/** Each would take seconds if its time grew with the square of its length; the test would run into its limit. */
test.each([
	"sorry ",
	"wrong number ",
	"hi Anna ",
	"mvg ",
	"\n>",
	"> \n",
	" ",
	"\n",
	"- A ",
	"Regards, ",
	"no ",
	"\u3164",
])("%j in a text of any length", (part) => {
	for (const length of [299, 3_000, 4_096, 100_000]) {
		const text = part.repeat(length / part.length);
		for (const hostile of [text, `${text}?`, `Wrong number${text}x`, `${text}wrong number`])
			for (const is of Object.values(kinds)) is(hostile);
	}
});

// As people ask for it: politely, in a question, with a typo. Beside each other, messages with the same words about the flat.
const asked: Record<string, { out: readonly string[]; other: readonly string[] }> = {
	English: {
		out: [
			...[
				"Can I be taken off this list?",
				"May I be removed from your mailing list?",
				"Would you mind not texting me anymore?",
			],
			...[
				"I'd rather not get these texts anymore",
				"Plz stop txting me",
				"Stop textng me",
				"unsuscribe",
				"Unsubcribe please 🙏",
			],
			...["Could you take me off please?", "Can I unsubscribe?", "Hi, could I opt out? Thanks"],
		],
		other: [
			...["Can I be removed from the Saturday viewing?", "May I be removed from the lease?", "How do I unsubscribe?"],
			...[
				"Would you mind not texting me the code?",
				"I'd rather not get the keys before May",
				"Could you stop by the office?",
			],
			...[
				"Can you stop at the house on the way?",
				"No more viewings today please",
				"Stop it at 400k",
				"The heating won't stop",
			],
			...[
				"How do I opt out of the parking space?",
				"Can I unsubscribe from the gas supplier?",
				"Can I opt out of the parking?",
			],
		],
	},
	Dutch: {
		out: [
			...[
				"Stop er maar mee",
				"Stop er mee",
				"Stop er nu toch eens mee!",
				"Hou er maar mee op",
				"Stop maar hoor",
				"Schrijf me maar uit",
			],
			...[
				"Mag ik uitgeschreven worden?",
				"Mag ik aub uitgeschreven worden? 🙏",
				"Kan ik me uitschrijven?",
				"Meld me maar af",
			],
			...[
				"Mag ik van jullie lijst af?",
				"Ik wil van jullie lijst af",
				"Stuur maar niks meer",
				"Ik hoef geen berichten meer",
			],
			...["Ik hoef die berichten niet meer", "Goedemorgen, mag ik uitgeschreven worden? Dank u"],
		],
		other: [
			...[
				"Mag ik uitgeschreven worden uit het register?",
				"Kan ik me uitschrijven op het oude adres?",
				"Kan ik me afmelden?",
			],
			...[
				"Stop er een slot op aub",
				"Stop maar bij nummer 5",
				"Stop maar voor de deur",
				"De verhuurder stopt ermee",
				"Hoe schrijf ik me uit?",
			],
			...[
				"Wij stoppen ermee om 6 uur",
				"Hou er maar rekening mee",
				"Schrijf me maar in",
				"Meld me maar aan",
				"Ik wil van de koop af",
			],
			...[
				"Mag ik van de lijst voor zaterdag af?",
				"Ik hoef geen garage meer",
				"Ik hoef die parking niet meer",
				"Niet meer beschikbaar?",
			],
			...[
				"Meld me maar af voor donderdag",
				"Schrijf me maar uit bij de gemeente",
				"Stuur maar niks meer van de plannen",
			],
		],
	},
	French: {
		out: [
			"Puis-je me désinscrire ?",
			"Est-ce que je peux me désabonner ?",
			"Bonjour, puis-je être désinscrite ? Merci",
		],
		other: [
			"Puis-je me désinscrire de la visite ?",
			"Puis-je annuler la visite ?",
			"Je ne souhaite plus la cave",
			"Comment se désinscrire ?",
		],
	},
	German: {
		out: ["Kann ich mich abmelden?", "Darf ich abgemeldet werden?", "Hallo, kann ich mich bitte austragen lassen?"],
		other: ["Kann ich mich von der Besichtigung abmelden?", "Kann ich den Strom abmelden?", "Wie melde ich mich ab?"],
	},
	Spanish: {
		out: [
			"¿Puedo darme de baja?",
			"¿Me pueden dar de baja?",
			"¿Podrían darme de baja por favor?",
			"Paren ya por favor",
		],
		other: [
			"¿Puedo darme de baja de la luz?",
			"Quiero dar de baja la luz",
			"Para ya",
			"Pare en la puerta por favor",
			"Basta con el DNI",
		],
	},
	Italian: {
		out: ["Posso disiscrivermi?", "Posso cancellarmi?", "Mi potete cancellare?", "Non inviatemi più nulla"],
		other: [
			"Posso cancellarmi dalla visita?",
			"Vorrei cancellare l'appuntamento",
			"Non c'è più nulla da vedere?",
			"Basta il documento",
		],
	},
	Portuguese: {
		out: ["Podem me descadastrar?", "Posso me descadastrar?", "Gostaria de sair da lista"],
		other: [
			"Posso cancelar a inscrição da visita?",
			"Gostaria de sair da casa em maio",
			"Gostaria de receber a mensagem amanhã",
		],
	},
	Polish: {
		out: ["Czy mogę się wypisać?", "Czy mogę zostać wypisana?", "Dzień dobry, czy można się wypisać?"],
		other: ["Czy mogę się wypisać z wizyty?", "Jak się wypisać ze spółdzielni?", "Czy mogę odwołać wizytę?"],
	},
};

test.each(Object.entries(asked))(
	"who asks politely for no more texts is heard, and nobody else: %s",
	(_language, { out, other }) => {
		expect(out.filter((text) => !isOptOut(text))).toEqual([]);
		expect(other.filter((text) => isOptOut(text))).toEqual([]);
	},
);

test.each([
	...[
		"U got the wrong number",
		"ur texting the wrong number",
		"Da haben Sie sich in der Nummer geirrt",
		"Credo abbia sbagliato numero",
	],
	...["Foi engano", "Nummer falsch"],
])("%j says that the number is wrong", (text) => expect(isWrongNumber(text)).toBe(true));
