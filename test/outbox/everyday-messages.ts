/*
 * What contacts write to an office on ordinary days, from templates: visits, prices, keys, neighbours. Always the same messages.
 */

interface Everyday {
	/** Messages, with slots for the lists below. */
	templates: readonly string[];
	day: readonly string[];
	time: readonly string[];
	place: readonly string[];
	thing: readonly string[];
}

const times = ["9:30", "11:00", "14:00", "17:15", "18:30"];

const everyday: Record<string, Everyday> = {
	English: {
		day: ["on Monday", "on Thursday", "tomorrow", "next week", "on Saturday morning"],
		time: times,
		place: ["the bakery", "the bus stop", "number 14", "the back door", "the car park"],
		thing: ["the garage", "the contract", "the flat on the first floor", "the second bedroom", "the photos"],
		templates: [
			...[
				"Hi, can we visit {thing} {day}?",
				"I'll stop by {day} at {time}",
				"Can we stop the visit {day}?",
				"See you {day} at {time}!",
			],
			...[
				"Please stop at {place}, we are there at {time}",
				"We are not interested in {thing}, is there another one?",
				"Ok, {day} at {time}",
			],
			...[
				"Is {thing} still free?",
				"I don't want {thing}, sorry",
				"We have enough time {day}",
				"Wrong number on {thing}, it should be {place}",
			],
			...[
				"Sorry, I gave you the wrong number for {place}",
				"No thanks, {time} is too late",
				"Please cancel {day}, I'm ill",
				"Yes please",
			],
			...[
				"Could you send me {thing} again?",
				"Don't text {day}, I am at work until {time}",
				"The bell at {place} does not work, please call",
			],
			...[
				"Who has {thing}?",
				"Unsubscribe me from the visit {day} please",
				"My number has changed, use the one in {thing}",
				"Is that enough for {thing}?",
			],
			...[
				"We are running late, {time} at {place}",
				"Thanks for {thing}",
				"End of the street, then {place}",
				"I have to quit early {day}",
			],
			...[
				"Take {thing} off the list {day}",
				"No more questions about {thing}",
				"Ok 👍 {time}",
				"Not sure about {thing} yet",
			],
		],
	},
	Dutch: {
		day: ["maandag", "donderdag", "morgen", "volgende week", "zaterdagochtend"],
		time: times,
		place: ["de bakker", "de bushalte", "nummer 14", "de achterdeur", "de parking"],
		thing: ["de garage", "het contract", "het appartement op de eerste", "de tweede slaapkamer", "de foto's"],
		templates: [
			...[
				"Kunnen we {thing} {day} bezoeken?",
				"Ik kom {day} om {time}",
				"Kunnen we het bezoek {day} stoppen?",
				"Tot {day} om {time}!",
			],
			...[
				"Stop aan {place} aub, wij zijn er om {time}",
				"Geen interesse in {thing}, is er nog iets anders?",
				"Oké, {day} om {time}",
			],
			...[
				"Is {thing} nog vrij?",
				"Ik wil {thing} niet meer",
				"We hebben {day} genoeg tijd",
				"Verkeerd nummer op {thing}, wij zijn aan {place}",
			],
			...[
				"Sorry, ik gaf u het verkeerde nummer voor {place}",
				"Nee bedankt, {time} is te laat",
				"Afmelden voor {day} aub",
				"Ja graag",
			],
			...[
				"Kan u {thing} nog eens sturen?",
				"App me niet {day}, ik werk tot {time}",
				"De bel aan {place} is kapot, bel even",
			],
			...[
				"Wie heeft {thing}?",
				"Ik moet me afmelden voor {day}",
				"Mijn nummer is veranderd, zie {thing}",
				"Is dat genoeg voor {thing}?",
			],
			...[
				"We zijn te laat, {time} aan {place}",
				"Bedankt voor {thing}",
				"Einde van de straat, dan {place}",
				"Ik stop {day} om {time} met werken",
			],
			...[
				"Haal {thing} van de lijst {day}",
				"Geen vragen meer over {thing}",
				"Top 👍 {time}",
				"Nog niet zeker over {thing}",
			],
		],
	},
	French: {
		day: ["lundi", "jeudi", "demain", "la semaine prochaine", "samedi matin"],
		time: ["9h30", "11h", "14h", "17h15", "18h30"],
		place: ["la boulangerie", "l'arrêt de bus", "le numéro 14", "la porte de derrière", "le parking"],
		thing: ["le garage", "le contrat", "l'appartement du premier", "la deuxième chambre", "les photos"],
		templates: [
			...[
				"Peut-on visiter {thing} {day} ?",
				"Je passe {day} à {time}",
				"Peut-on arrêter la visite {day} ?",
				"À {day}, {time} !",
			],
			...[
				"Arrêtez-vous devant {place} svp, on y est à {time}",
				"Pas intéressés par {thing}, avez-vous autre chose ?",
				"Ok, {day} à {time}",
			],
			...[
				"{thing}, c'est encore libre ?",
				"Je ne veux plus {thing}",
				"On a assez de temps {day}",
				"Mauvais numéro sur {thing}, on est à {place}",
			],
			...[
				"Désolé, je vous ai donné le mauvais numéro pour {place}",
				"Non merci, {time} c'est trop tard",
				"Annulez {day} svp",
				"Oui merci",
			],
			...[
				"Pouvez-vous renvoyer {thing} ?",
				"Ne m'écrivez pas {day}, je travaille jusqu'à {time}",
				"Ne pas déranger {place} {day}",
			],
			...[
				"Qui a {thing} ?",
				"Me désinscrire de la visite de {day} svp",
				"Mon numéro a changé, voir {thing}",
				"C'est assez pour {thing} ?",
			],
			...[
				"On est en retard, {time} devant {place}",
				"Merci pour {thing}",
				"Au bout de la rue, puis {place}",
				"J'arrête le travail {day} à {time}",
			],
			...[
				"Retirez {thing} de la liste {day}",
				"Plus de questions sur {thing}",
				"Parfait 👍 {time}",
				"Pas encore sûr pour {thing}",
			],
		],
	},
	German: {
		day: ["am Montag", "am Donnerstag", "morgen", "nächste Woche", "am Samstagvormittag"],
		time: times,
		place: ["beim Bäcker", "an der Haltestelle", "bei Nummer 14", "an der Hintertür", "am Parkplatz"],
		thing: ["die Garage", "den Vertrag", "die Wohnung im ersten Stock", "das zweite Zimmer", "die Fotos"],
		templates: [
			...[
				"Können wir {thing} {day} ansehen?",
				"Ich komme {day} um {time}",
				"Können wir die Besichtigung {day} stoppen?",
				"Bis {day} um {time}!",
			],
			...[
				"Bitte {place} anhalten, wir sind um {time} da",
				"Kein Interesse an {thing}, haben Sie noch etwas?",
				"Ok, {day} um {time}",
			],
			...[
				"Ist {thing} noch frei?",
				"Ich will {thing} nicht mehr",
				"Wir haben {day} genug Zeit",
				"Falsche Nummer auf {thing}, wir sind {place}",
			],
			...[
				"Entschuldigung, ich gab Ihnen die falsche Nummer, {place}",
				"Nein danke, {time} ist zu spät",
				"Abmelden für {day} bitte",
				"Ja bitte",
			],
			...[
				"Können Sie {thing} noch einmal schicken?",
				"Schreiben Sie mir nicht {day} vor {time}",
				"Die Klingel {place} geht nicht, rufen Sie an",
			],
			...[
				"Wer hat {thing}?",
				"Ich muss mich für {day} abmelden",
				"Meine Nummer ist neu, siehe {thing}",
				"Ist das genug für {thing}?",
			],
			...[
				"Wir sind spät dran, {time} {place}",
				"Danke für {thing}",
				"Am Ende der Straße, dann {place}",
				"Ich höre {day} um {time} auf zu arbeiten",
			],
			...[
				"Nehmen Sie {thing} {day} von der Liste",
				"Keine Fragen mehr zu {thing}",
				"Super 👍 {time}",
				"Noch nicht sicher wegen {thing}",
			],
		],
	},
	Spanish: {
		day: ["el lunes", "el jueves", "mañana", "la semana que viene", "el sábado por la mañana"],
		time: times,
		place: ["la panadería", "la parada del autobús", "el número 14", "la puerta de atrás", "el aparcamiento"],
		thing: ["el garaje", "el contrato", "el piso de la primera planta", "la segunda habitación", "las fotos"],
		templates: [
			...[
				"¿Podemos visitar {thing} {day}?",
				"Paso {day} a las {time}",
				"¿Podemos parar la visita {day}?",
				"¡Hasta {day} a las {time}!",
			],
			...[
				"Pare en {place} por favor, estamos a las {time}",
				"No me interesa {thing}, ¿hay otra cosa?",
				"Vale, {day} a las {time}",
			],
			...[
				"¿{thing} sigue libre?",
				"Ya no quiero {thing}",
				"Tenemos suficiente tiempo {day}",
				"Número equivocado en {thing}, estamos en {place}",
			],
			...[
				"Perdón, le di el número equivocado de {place}",
				"No gracias, {time} es tarde",
				"Cancele {day} por favor",
				"Sí por favor",
			],
			...[
				"¿Puede enviarme {thing} otra vez?",
				"No me escriba {day}, trabajo hasta las {time}",
				"El timbre de {place} no funciona, llame",
			],
			...[
				"¿Quién tiene {thing}?",
				"Baja para {day} por favor",
				"Mi número ha cambiado, mire {thing}",
				"¿Es suficiente para {thing}?",
			],
			...[
				"Llegamos tarde, a las {time} en {place}",
				"Gracias por {thing}",
				"Al final de la calle, luego {place}",
				"Paro de trabajar {day} a las {time}",
			],
			...[
				"Quite {thing} de la lista {day}",
				"No más preguntas sobre {thing}",
				"Perfecto 👍 {time}",
				"Aún no sé lo de {thing}",
			],
		],
	},
	Italian: {
		day: ["lunedì", "giovedì", "domani", "la settimana prossima", "sabato mattina"],
		time: times,
		place: ["il panificio", "la fermata", "il numero 14", "la porta sul retro", "il parcheggio"],
		thing: ["il garage", "il contratto", "l'appartamento al primo piano", "la seconda camera", "le foto"],
		templates: [
			...[
				"Possiamo vedere {thing} {day}?",
				"Passo {day} alle {time}",
				"Possiamo fermare la visita {day}?",
				"A {day} alle {time}!",
			],
			...[
				"Si fermi davanti {place} per favore, siamo lì alle {time}",
				"Non mi interessa {thing}, c'è altro?",
				"Ok, {day} alle {time}",
			],
			...[
				"{thing} è ancora libero?",
				"Non voglio più {thing}",
				"Abbiamo abbastanza tempo {day}",
				"Numero sbagliato su {thing}, siamo presso {place}",
			],
			...[
				"Scusi, le ho dato il numero sbagliato per {place}",
				"No grazie, alle {time} è tardi",
				"Annulli {day} per favore",
				"Sì grazie",
			],
			...[
				"Può rimandarmi {thing}?",
				"Non mi scriva {day}, lavoro fino alle {time}",
				"Il citofono presso {place} non va, chiami",
			],
			...[
				"Chi ha {thing}?",
				"Disiscrivermi dalla visita di {day}",
				"Il mio numero è cambiato, veda {thing}",
				"È abbastanza per {thing}?",
			],
			...[
				"Siamo in ritardo, alle {time} davanti {place}",
				"Grazie per {thing}",
				"In fondo alla strada, poi {place}",
				"Smetto di lavorare {day} alle {time}",
			],
			...[
				"Tolga {thing} dalla lista {day}",
				"Niente altre domande su {thing}",
				"Perfetto 👍 {time}",
				"Non ancora sicuro per {thing}",
			],
		],
	},
	Portuguese: {
		day: ["na segunda", "na quinta", "amanhã", "na próxima semana", "no sábado de manhã"],
		time: ["9h30", "11h", "14h", "17h15", "18h30"],
		place: ["a padaria", "a paragem", "o número 14", "a porta das traseiras", "o estacionamento"],
		thing: ["a garagem", "o contrato", "o apartamento do primeiro andar", "o segundo quarto", "as fotos"],
		templates: [
			...[
				"Podemos visitar {thing} {day}?",
				"Passo {day} às {time}",
				"Podemos parar a visita {day}?",
				"Até {day} às {time}!",
			],
			...[
				"Pare junto a {place} por favor, estamos lá às {time}",
				"Não tenho interesse em {thing}, há outra coisa?",
				"Ok, {day} às {time}",
			],
			...[
				"{thing} ainda está livre?",
				"Não quero mais {thing}",
				"Já chega o eletricista {day}?",
				"Número errado em {thing}, estamos junto a {place}",
			],
			...[
				"Desculpe, dei-lhe o número errado de {place}",
				"Não obrigado, {time} é tarde",
				"Cancele {day} por favor",
				"Sim por favor",
			],
			...[
				"Pode enviar {thing} outra vez?",
				"Não me escreva {day}, trabalho até às {time}",
				"A campainha de {place} não funciona, ligue",
			],
			...[
				"Quem tem {thing}?",
				"Vou sair {day} às {time}",
				"O meu número mudou, veja {thing}",
				"É suficiente para {thing}?",
			],
			...[
				"Estamos atrasados, {time} junto a {place}",
				"Obrigada por {thing}",
				"Ao fundo da rua, depois {place}",
				"Chega {day} às {time}?",
			],
			...[
				"Tire {thing} da lista {day}",
				"Sem mais perguntas sobre {thing}",
				"Perfeito 👍 {time}",
				"Ainda não sei de {thing}",
			],
		],
	},
	Polish: {
		day: ["w poniedziałek", "w czwartek", "jutro", "w przyszłym tygodniu", "w sobotę rano"],
		time: times,
		place: ["piekarni", "przystanku", "numerze 14", "tylnych drzwiach", "parkingu"],
		thing: ["garaż", "umowę", "mieszkanie na pierwszym piętrze", "drugi pokój", "zdjęcia"],
		templates: [
			...[
				"Czy możemy zobaczyć {thing} {day}?",
				"Przyjdę {day} o {time}",
				"Czy możemy zatrzymać wizytę {day}?",
				"Do zobaczenia {day} o {time}!",
			],
			...[
				"Proszę stanąć przy {place}, będziemy o {time}",
				"Nie interesuje mnie {thing}, czy jest coś innego?",
				"Ok, {day} o {time}",
			],
			...[
				"Czy {thing} nadal jest wolne?",
				"Nie chcę już {thing}",
				"Mamy dość czasu {day}",
				"Zły numer, {thing}, jesteśmy przy {place}",
			],
			...[
				"Przepraszam, podałem zły numer przy {place}",
				"Nie dziękuję, {time} to za późno",
				"Proszę odwołać {day}",
				"Tak proszę",
			],
			...[
				"Czy może pan wysłać {thing} jeszcze raz?",
				"Proszę nie pisać {day}, pracuję do {time}",
				"Domofon przy {place} nie działa, proszę dzwonić",
			],
			...[
				"Kto ma {thing}?",
				"Proszę wypisać mnie z wizyty {day}",
				"Mój numer się zmienił, proszę zobaczyć {thing}",
				"Czy to wystarczy na {thing}?",
			],
			...[
				"Spóźnimy się, {time} przy {place}",
				"Dziękuję za {thing}",
				"Na końcu ulicy, potem przy {place}",
				"Kończę pracę {day} o {time}",
			],
			...[
				"Proszę zdjąć {thing} z listy {day}",
				"Nie mam więcej pytań o {thing}",
				"Super 👍 {time}",
				"Nie wiem jeszcze co z {thing}",
			],
		],
	},
};

const greetings = ["", "Hello, ", "Hallo, ", "Bonjour, ", "Sorry, "];
const ends = ["", " Thanks!", "\nAnna", " 🙏"];

/** As many different messages, of all languages in turn. */
export function everydayMessages(count: number): string[] {
	const messages = new Set<string>();
	const lists = Object.values(everyday);
	for (let at = 0; messages.size < count && at < count * 20; at++) {
		const { templates, ...slots } = lists[at % lists.length] as Everyday;
		let rest = Math.floor(at / lists.length);
		const take = (list: readonly string[]): string => {
			const taken = list[rest % list.length] ?? "";
			rest = Math.floor(rest / list.length);
			return taken;
		};
		const template = take(templates);
		const filled = template.replace(/\{(day|time|place|thing)\}/g, (_, slot: keyof typeof slots) => take(slots[slot]));
		messages.add(`${take(greetings)}${filled}${take(ends)}`);
	}
	return [...messages];
}
