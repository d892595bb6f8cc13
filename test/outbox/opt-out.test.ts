import { isOptIn, isOptOut, type OutboxOptions } from "messaging-conversations/outbox";
import { describe, expect, test } from "vitest";
import { isLong } from "../length.ts";
import { sentences } from "./opt-out-sentences.ts";
import { add, createWorld, stateOf } from "./world.ts";

const all = Object.values(sentences);

describe.each(Object.entries(sentences))("%s", (_language, { stop, other, start }) => {
	test("has two lists of at least 20 sentences", () => {
		expect(new Set(stop).size).toBeGreaterThanOrEqual(20);
		expect(new Set(other).size).toBeGreaterThanOrEqual(20);
	});

	test("knows who asks to stop", () => {
		expect(stop.filter((text) => !isOptOut(text))).toEqual([]);
	});

	test("stops nobody else", () => {
		expect([...other, ...start].filter(isOptOut)).toEqual([]);
	});

	test("knows who wants texts again", () => {
		expect(start.filter((text) => !isOptIn(text))).toEqual([]);
		expect([...stop, ...other].filter(isOptIn)).toEqual([]);
	});
});

/** The same text as other keyboards and people write it. */
const writings: Record<string, (text: string) => string> = {
	"in capitals": (text) => text.toUpperCase(),
	"in small letters": (text) => text.toLowerCase(),
	"without accents": (text) => text.normalize("NFD").replace(/\p{M}/gu, ""),
	decomposed: (text) => text.normalize("NFD"),
	"with curly apostrophes": (text) => text.replaceAll("'", "’"),
	"with other apostrophes": (text) => text.replaceAll("'", "´"),
	"in full-width letters": (text) =>
		text.replace(/[!-~]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0)),
	"with spaces around": (text) => `\u00a0 \n ${text}\t  `,
	"with wide spaces": (text) => text.replaceAll(" ", "  "),
	"with an emoji": (text) => `🙏🏽 ${text} 😡👎`,
	"with more punctuation": (text) => (text.endsWith("?") ? text : `${text}!!!`),
	"in quotes": (text) => `“${text}”`,
	"in bold letters of WhatsApp": (text) => `*${text}*`,
	"with characters that nobody sees": (text) => [...text].join("\u200b"),
	"with a greeting": (text) => `Hello, ${text}`,
};

/** "Hello, cancel" may be about a visit. */
const isAboutVisits = /^\P{L}*(cancel(ar)?|end|revoke)\P{L}*$/iu;

/** A short run tries each writing on every third text, and each text in a third of the writings. */
const part = (at: number) => (_: unknown, index: number) => isLong || index % 3 === at % 3;

test.each(Object.entries(writings).map(([how, write], at) => [how, write, at] as const))(
	"a text is the same %s",
	(_how, write, at) => {
		const readable = all
			.flatMap(({ stop }) => stop)
			.filter(part(at))
			.filter((text) => !text.includes("a.u.b.") && !(write("").startsWith("Hello") && isAboutVisits.test(text)));
		expect(readable.filter((text) => !isOptOut(write(text))).map(write)).toEqual([]);
		expect(
			all
				.flatMap(({ start }) => start)
				.filter(part(at))
				.filter((text) => !isOptIn(write(text))),
		).toEqual([]);
		expect(
			all
				.flatMap(({ other }) => other)
				.filter(part(at))
				.filter((text) => isOptOut(write(text))),
		).toEqual([]);
	},
);

test.each([
	"S T O P",
	"S.T.O.P.",
	"s-t-o-p",
	"STOOOOP",
	"Ｓ Ｔ Ｏ Ｐ",
	"𝗦𝗧𝗢𝗣",
	"🛑STOP🛑",
	"no! stop!",
	"STOP STOP STOP",
	"🛑",
	" 🛑🛑🛑!! ✋",
])("%s is an opt-out", (text) => expect(isOptOut(text)).toBe(true));

/** A request, and what makes it depend on something. */
const conditions: Record<string, [request: string, conditions: string[]]> = {
	English: [
		"take me off your list",
		[
			"if it is sold",
			"when it is sold",
			"once it is sold",
			"as soon as it is sold",
			"until it is free",
			"unless it is free",
			"after Friday",
			"before Friday",
			"in case it is sold",
			"as long as it is free",
			"from Monday",
			"for the moment",
			"assuming it is gone",
			"should it be sold",
		],
	],
	Dutch: [
		"haal mij van jullie lijst",
		[
			"als het verkocht is",
			"zodra het verkocht is",
			"totdat ik terug ben",
			"tot maandag",
			"tenzij het vrij komt",
			"mits het weg is",
		],
	],
	French: [
		"supprimez mon numéro",
		[
			"si c'est vendu",
			"dès que c'est vendu",
			"une fois vendu",
			"jusqu'à lundi",
			"quand c'est vendu",
			"après vendredi",
			"pendant mes vacances",
		],
	],
	German: [
		"löschen Sie meine Nummer",
		[
			"wenn sie weg ist",
			"falls sie weg ist",
			"sobald sie weg ist",
			"bis ich zurück bin",
			"nach Freitag",
			"vorausgesetzt, sie ist weg",
			"ab Montag",
		],
	],
	Spanish: [
		"no me escriban más",
		[
			"si se vende",
			"cuando se venda",
			"en cuanto se venda",
			"hasta septiembre",
			"después del viernes",
			"siempre que se venda",
			"por ahora",
		],
	],
	Italian: [
		"non scrivetemi più",
		[
			"se è venduto",
			"quando è venduto",
			"appena è venduto",
			"finché non torno",
			"dopo venerdì",
			"a patto che sia venduto",
			"fino a lunedì",
		],
	],
	Portuguese: [
		"não me mandem mais mensagens",
		[
			"se vender",
			"quando vender",
			"assim que vender",
			"até setembro",
			"depois de sexta",
			"caso venda",
			"contanto que venda",
		],
	],
	Polish: [
		"usuńcie mój numer",
		[
			"jeśli sprzedane",
			"gdy sprzedacie",
			"jak sprzedane",
			"dopóki nie wrócę",
			"po piątku",
			"pod warunkiem że sprzedane",
			"chyba że jest wolne",
		],
	],
};

test.each(Object.entries(conditions))(
	"%s: a condition or a time, before or after a request",
	(_language, [ask, all]) => {
		expect(isOptOut(ask)).toBe(true);
		const orders = (condition: string) => [
			`${condition}, ${ask}`,
			`Hello, ${condition}, ${ask}`,
			`${ask}, ${condition}`,
			`${ask} ${condition}`,
			`${ask} - ${condition}`,
			`${ask}. ${condition}`,
			`${ask}, thanks, ${condition}`,
		];
		expect(all.flatMap(orders).filter(isOptOut)).toEqual([]);
	},
);

describe("a tap on a button", () => {
	/** Anna taps a button of the AI. */
	function createTap(label: string, options: Partial<OutboxOptions> = {}) {
		const world = createWorld({ onReply: undefined, defaultMaxAgeMs: undefined, ...options });
		const { agency, anna } = world;
		const tap = () => {
			agency.staff.setAi({ contact: anna, on: true });
			agency.ai.replies({
				contact: anna,
				text: "What would you like to do?",
				interactiveContent: { quickReplies: [{ code: "b0", text: label }] },
			});
			anna.taps("b0");
		};
		return { world, tap };
	}

	test.each([
		"Cancel",
		"Cancelar",
		"Afmelden",
		"Abmelden",
		"Remove",
		"End",
		"Annuler",
		"Baja",
		"Sair",
		"Quit",
		"Beenden",
		"Parar",
		"Stop?",
		"Stop by on Friday",
		"Leave me alone with it",
		"No",
	])("%s stops nobody", async (label) => {
		const { world, tap } = createTap(label);
		tap();
		await add(world, "notice");
		await world.pass({ minutes: 1 });
		expect((await world.outbox.status("notice"))?.optOutSid).toBeFalsy();
		expect(world.texts()).toContain("notice");
	});

	test.each([
		"STOP",
		"🛑 Stop",
		"Stop messages",
		"Stop texting me",
		"Stop promotions",
		"Promoties stoppen",
		"Arrêter les promotions",
		"Werbung stoppen",
		"Detener promociones",
		"Interrompi promozioni",
		"Parar promoções",
		"Zatrzymaj promocje",
		"Unsubscribe",
		"Uitschrijven",
		"Se désabonner",
		"Abbestellen",
		"Darme de baja",
		"Disiscrivimi",
		"Descadastrar",
		"Wypisz mnie",
	])("%s is an opt-out", async (label) => {
		const { world, tap } = createTap(label);
		tap();
		await add(world, "notice");
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "notice")).toEqual(["cancelled", "opted_out"]);
	});

	test.each(["Start", "Subscribe", "Anmelden", "Inschrijven", "S'inscrire", "Alta", "Resume promotions"])(
		"%s takes no opt-out back",
		async (label) => {
			const { world, tap } = createTap(label);
			world.anna.writes("STOP");
			world.sandbox.clock.advance({ minutes: 1 });
			tap();
			await add(world, "notice");
			await world.pass({ minutes: 1 });
			expect(await stateOf(world, "notice")).toEqual(["cancelled", "opted_out"]);
		},
	);

	test("a function of the caller still sees it", async () => {
		const { world, tap } = createTap("Cancel", { optOut: ({ body }) => body === "Cancel" });
		tap();
		await add(world, "notice");
		await world.pass({ minutes: 1 });
		expect(await stateOf(world, "notice")).toEqual(["cancelled", "opted_out"]);
	});
});

/** What the same words are part of. */
const frames: Record<string, readonly string[]> = {
	English: [
		"the * is near",
		"can you * at the bakery",
		"* by on Friday at 5?",
		"non-*",
		"is * possible?",
		"I * at 5",
		"*-free",
		"we * on Monday",
		"* that noise in the cellar please",
		"don't *",
		"not *",
		"did he say * or go?",
		"to * it, call us",
		"* the car",
	],
	Dutch: [
		"de * is dichtbij",
		"ik * om 5 uur met werken",
		"kan je * aan de bakker?",
		"niet *",
		"* voor de deur",
		"het *contact is kapot",
		"is * mogelijk?",
		"wij * op maandag",
	],
	French: [
		"* de bus",
		"le * est à côté",
		"je m'* à 5 h",
		"pas de *",
		"* à la boulangerie",
		"peut-on * ici ?",
		"sans * jusqu'à 17 h",
	],
	German: ["der * ist nah", "wir * um 5", "können Sie beim Bäcker *?", "nicht *", "* an der Ampel", "ist * möglich?"],
	Spanish: ["la * está cerca", "planta *", "¿puede * aquí?", "no *", "* a las 5", "sin *", "* de autobús"],
	Italian: ["la * è vicina", "può * qui?", "non *", "* alle 5", "senza *", "* dell'autobus"],
	Portuguese: ["a * fica perto", "pode * aqui?", "não *", "* às 5", "sem *", "* de ônibus"],
	Polish: ["* jest blisko", "czy można * tutaj?", "nie *", "* o 17", "bez *", "* autobusowy"],
};

test("keywords of all languages inside ordinary sentences stop nobody", () => {
	const keywords = all.flatMap(({ stop }) => stop).filter((text) => /^[\p{L}-]+[.!]*$/u.test(text));
	const ordinary = Object.values(frames)
		.flat()
		.flatMap((frame) => keywords.map((keyword) => frame.replace("*", keyword.replace(/[.!]+$/, "").toLowerCase())));
	expect(ordinary.length).toBeGreaterThan(3_000);
	expect(ordinary.filter((text) => isOptOut(text) || isOptIn(text))).toEqual([]);
});

test.each([
	["We have bought a house already. STOP", true],
	["We have bought a house already. Please stop.", true],
	["We have bought a house already. stop", false],
	["We have bought a house already, stop", false],
	["Have you sold the house? STOP", false],
	["STOP. We have bought a house.", true],
	["STOP\nAnna", true],
	["STOP! Don't sign yet", false],
	["After the church, STOP", false],
	["Cancel. I will call you.", false],
	["Cancel?", false],
	["Stop texting me?", false],
	["Leave me alone?", false],
	["Remove me from your list?", false],
	[`${"A long letter. ".repeat(270)}Stop texting me`, true],
	[`${"A long letter. ".repeat(280)}Stop texting me`, false], // more than 4,096 characters
	[`Stop sending me ${"the ".repeat(30)}texts`, false],
	["STOP. But keep the visit", false],
	[`STOP, ${"and more of it ".repeat(20)}`, false],
])("%j, a sentence beside others: %j", (text, isStop) => expect(isOptOut(text)).toBe(isStop));

test("what is quoted or forwarded is not asked", () => {
	const forwarded = [
		"Sale until Sunday! Reply STOP to unsubscribe",
		"To stop texts, txt STOP to 80062",
		"Soldes -50 % ! STOP au 36179",
		"My ex said “leave me alone” yesterday",
		"He wrote: stop texting me",
		"Boooo you always work. Just quit.",
		"https://example.com/unsubscribe",
		"stop@example.com",
	];
	expect(forwarded.filter(isOptOut)).toEqual([]);
});

test("a message without text asks nothing, and another value is a mistake", () => {
	for (const text of ["", "  ", "👍", "✋", "?", "🛑?", "стоп", null, undefined]) {
		expect(isOptOut(text)).toBe(false);
		expect(isOptIn(text)).toBe(false);
	}
	for (const read of [isOptOut, isOptIn])
		for (const value of [{ body: "STOP" }, ["STOP"], 7, true, Symbol("STOP")])
			expect(() => read(value as never)).toThrow(
				expect.objectContaining({ _tag: "PartnerInvalidInput", field: "text", operation: read.name }),
			);
});

/** Each would take seconds if its time grew with the square of its length; the test would run into its limit. */
test.each([
	["one word", "a"],
	["stops", "stop "],
	["clauses", "stop, "],
	["courtesies", "please "],
	["determiners", "the "],
	["prepositions", "from the "],
	["requests that do not end", "stop sending me texts "],
	["requests", "stop texting me, "],
	["vague requests", "take me off the list. "],
	["courteous sentences", "please stop. "],
	["negations", "no more "],
	["accents", "a\u0301\u0316"],
	["letters that stand for many", "ﷺ"],
	["marks", "!?.,"],
	["spaces", " x"],
	["new lines", "\n"],
	["single letters", "s "],
	["hyphens", "a-"],
	["apostrophes", "d'"],
	["links", "http:"],
	["dots", "a."],
])("%s in a text of any length", (_what, part) => {
	for (const length of [3_000, 4_096, 100_000]) {
		const text = part.repeat(length / part.length);
		for (const hostile of [text, `${text}x`, `STOP${text}x`, `stop texting ${text}me`]) {
			expect(isOptIn(hostile)).toBe(false);
			isOptOut(hostile);
		}
	}
	expect(isOptOut(`STOP${" ".repeat(100_000)}`)).toBe(true);
});
