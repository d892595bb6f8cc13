import { refuse } from "../../input.ts";
import { type Clause, clausesOf } from "./clauses.ts";
import { withoutThreat } from "./remarks.ts";
import { isWhole, withoutQuotes, withoutSignature } from "./whole.ts";
import { allClassesOf, classesOf, hasPlease, withoutPlease } from "./words.ts";

const anyOf = (...forms: string[]) => new RegExp(`^(${forms.join("|")})$`);

/** How classes of words, see `classesOf`, make a request, anywhere in a message. */
const request = anyOf(
	"P?W?E[MPLJ]*", // leave me alone
	"W?[SZ](?=.*[VHT])[VHTPMRAO]+|T+S", // stop texting me, stop promotions
	"(?=.*[NX])(?=.*[MXQ])(?=.*[VH])[NXMQVHTPO]+", // don't text me again
	"(?=.*W)(?=.*N)(?=.*[TB]|.*R.*M|.*M.*R)[WNMQTBRPA]+", // I don't want to receive texts
	"(?=.*U)(?=.*[PWLJ])[WPLJUT]+", // unsubscribe me
	"(?=.*D)(?=.*P)[WPLJD]+|P?W?F[PLJ]*[LJ]", // delete my number
	"(?=.*G)(?=.*P)(?=.*[LJ])[WPLJG]+", // take me off your list
);
/** It may be a complaint: "No more messages". */
const noMore = anyOf("(?=.*[NX])(?=.*M)(?=.*T)[NXMT]+|QT");
const none = anyOf("[NM]+[HP]*T");
/** Nobody means anything else. */
const unmistakable = /[LU]|D.*P|P.*D/;
/** The list may be that of Friday's visitors, and what is not to be sent a photo. */
const vague = /J|^[^TBVE]*[HR][^TBVE]*$/;

const keyword = anyOf("[SU]+", "NVP|PNV|VPN|NPVN?|N[HP]{2}N?T|HPNT");
/** A complaint in Italian, and what stops a car or ends a visit. */
const doubtful = /(?<!favore )\bnon (mi|ci) |\b(pare|parar|detener|beenden|quit|austragen) /;
/** Said of many things. So no "ok" and no "now" may stand beside them. */
const ambiguous = anyOf("[KSU]+");
/** Of the carriers, and what people say of a visit. So they must be the whole message. */
const lone = /^(cancel|cancelar|end|revoke) $/;
/** A list of nothing but numbers. */
const forTexts =
	/\b((mailing|verzend)\S*|mailing lists?|verteiler|database|databank|datenbank|bestand|fichier|base de (donnees|datos|dados)|(dall)?elenco|cadastro|baz[ay]|contact(s|os)) /;
/** On a button, where "Cancel" ends a booking. */
const button =
	/^(stopp?(en)?|stopp? ?all(es)?|(se )?(desabonner|desinscrire)|desabonnement|unsub(scribe)?( me)?|opt ?out|uitschrijven|schrijf (mij|me) uit|abbestellen|(darme|dar|darse) de baja|desuscribir(me|se)?|cancelar (la |mi )?suscripcion|disiscriver(e|mi)|disiscrivi(mi|ti)|descadastrar|wypisz( mnie)?|anuluj subskrypcje) $/;
const stopTexts = anyOf("[SZ](?=.*T)[HTPV]+|[SZ]VP|T+S|U+[PLT]+");
const answer =
	/^(no|nee|non|nein|nao|nie|yes|ja|oui|si|sim|tak)( thanks| thank you| bedankt| dank (u|je)| merci| danke| gracias| grazie| obrigad[oa]| dziekuje)? $/;
const returns =
	/^(start|unstop|(re)?subscribe|resume|opt ?in|(start|resume) (promotions|marketing|messages)|(you can )?(text|message) me again|aanmelden|inschrijven|s?(re)?abonner|s?(re)?inscrire|anmelden|alta|(re)?suscribir(me)?|darme de alta|iscrivimi|iscriviti|inscrever|zapisz( mnie)?|wznow) $/;

/** A question that is a request begins like this. */
const polite =
	/^((can|could|would|will) you|(kan|kun|wil|zou) (je|jij|u)|(kunt|wilt) u|(kunnen|willen) jullie|(pouvez|pourriez) ?vous|(peux|pourrais) ?tu|(konnen|konnten|wurden) sie|(kannst|konntest) du|konn?te?t ihr|wurdet ihr|(pued|podri)(es|en|a|as|an|e)|puo|puoi|potete|potrebbe|potreste|(pode|poderia)(m|s)?|czy (moze(cie|sz)?|mogl[a-z]+|moga)( panstwo| pan| pani)?) /;
/** What somebody has to do, or may. */
const duty =
	/^((jullie|je|jij|u) (moet(en)?|mag|mogen|kan|kunt|kunnen)|you (can|may|must|should|need to|have to)|vous (devez|pouvez)|tu peux|il faut|sie (mussen|sollen|sollten|konnen|durfen)|du (kannst|darfst)|ihr (konnt|durft)|tienen? que|(ya )?pued(e|es|en|eis)|devono|dovete|deve|potete|puo|puoi|tem que|(ja )?pode[ms]?|(musicie|macie|mozecie|mozesz|moze pani?|moga panstwo)) /;
/** Somebody who has asked before. */
const again =
	/^(i (have )?(already )?(said|asked|told)( you)?( already)?( to)?|ik (zei|heb( al)? gezegd)|je (vous )?ai( deja)? dit( de)?|ich (sagte|habe( schon)? gesagt)|(ya )?(he dicho|dije)( que)?|ho( gia)? detto( di)?|(eu )?(ja )?disse( isso)?|powiedzial[ae]m) /;
/** About another case, another time, or how to do it. */
const condition =
	/^((and|but|or|hi|hello|en|maar|et|mais|und|aber|y|pero|e|ma|mas|i|ale) )?(to|if|when(ever)?|unless|until|till|once|as (soon|long) as|after|before|in case|while|at least|tenminste|au moins|zumindest|(al|por lo|pelo) menos|almeno|przynajmniej|provided|should (it|you|the|this)|mocht(en)?|sollten?|assuming|supposing|from(?! now on)|starting|for (now|the (moment|time being))|today|tonight|tomorrow|als|wanneer|zodra|tot(dat)?(?! (ziens|nooit))|tenzij|nadat|voordat|zolang|indien|vanaf(?! nu)|voorlopig|mits|op voorwaarde|si(?! $)|quand|des que|une fois|jusqu\S*|lorsqu\S*|apres|avant|tant qu\S*|au cas ou|(a )?condition|pourvu|pendant|a (moins|menos)|a partir(?! d\S* (maintenant|ahora|agora))|pour le (moment|instant)|wenn|falls|sobald|bis(?! (bald|dann))|solange|nachdem|sofern|vorausgesetzt|angenommen|wahrend|nach|ab(?! (sofort|jetzt))|vorerst|cuando|en (cuanto|caso)|hasta(?! (luego|nunca|pronto))|mientras|siempre que|con tal|durante|despues|tras|una (vez|volta)|desde(?! (ahora|ya))|apenas|por (ahora|enquanto)|se(?! (lo|faz|des\S+|(han? )?equivoc\S+))|quando|(non )?appena|finche|fin[oa]|dopo|nel caso|qualora|a patto|purche|per ora|assim que|ate(?! (logo|breve|nunca))|logo que|depois|apos|uma vez|enquanto|caso|contanto|jesli|jezeli|jak|gdy(by)?|kiedy|dopoki|az|po|zanim|chyba|w razie|pod warunkiem|podczas|o ile|na razie|od(?! (teraz|dzis))) /;
/** What follows takes some of it back. */
const exception =
	/^(but|except|only|unless|if|until|maar|behalve|tenzij|mais|sauf|aber|ausser|es sei denn|sondern|pero|salvo|ma|tranne|mas|exceto|ale|oprocz) /;
/** A person who writes to the agency, and not to somebody else, says why. */
const reason =
	/^(you|youre|jullie|vous|du|ihr|sie (sind|haben|nerven)|ustedes|voces) |\b((bought|found|rented) (a|an|another|one|something)|moved|not (looking|interested)|no longer (looking|interested)|wrong (number|person)|annoying|enough|(told|asked|know) you|who you are|signed|report|kenn?e? (sie|euch|u|jullie)|vous connais|conozco|vi conosco|vos conheco|znam|for the \S+ time|gdpr|rgpd|dsgvo|rodo|spam\S*|harass\S*|gekocht|gevonden|gehuurd|verhuisd|niet (meer )?geinteresseerd|(geen|pas|plus|kein|zero|nao tenho|nao temos) inter\S+|verkeerd nummer|achete|trouve (un|autre)\S*|demenage|faux numero|gekauft|(etwas|wohnung|haus) gefunden|gemietet|umgezogen|nicht (mehr )?interessiert|falsche nummer|comprado|compramos|encontrado (casa|piso|otr[oa]|algo)|no (me|nos) interesa|equivocad[oa]|comprato|trovato (casa|un|altro)|non (mi|ci) interessa|sbagliato|comprei|aluguei|encontrei (casa|outr[oa])|errado|kupil\S*|znalazl\S*|wynaj\S*|zly numer|pomylka) /;
/** What somebody else has heard, and what will pass. */
const elsewhere =
	/\b((?<!\bi( have| already)* )(told|said|wrote)(?! you)|says|lol|haha\S*|driving|drive|meeting|at work|sleeping|zei|schreef|rijd?|auto|vergadering|slaap|a dit|ecrit|conduis|volant|reunion|dors|sagte|gesagt|schrieb|fahre|fahren|besprechung|schlafe|dijo|dije|escribio|jaja\S*|condu[cz]\S*|manejando|ha detto|ho detto|scritto|guid[oa]\S*|riunione|dormo|disse|escreveu|kk+|dirig\S*|durmo|powiedzial\S*|napisal\S*|prowadze|jade|spotkaniu|spie) /;
/** "Dear Ms Jansen" */
const opening =
	/^(hi|hello|hey|dear|good (morning|day|evening)|hallo|dag|beste|geachte|goede\S*|bonjour|bonsoir|cher|chere|madame|monsieur|liebe[rs]?|sehr|guten|hola|buen[oa]s|estimad[oa]s?|ciao|buon\S+|gentile|ola|bom|boa|prezad[oa]|car[oa]|dzien|szanown[aiy]|witam) (\S+ ){0,3}$/;

/** Somebody who does not know the agency. */
const asksWho =
	/^(whos?( is| are)? (this|that|it|you)|wie (is|ben|bent|zijn) (dit|dat|je|jij|u|jullie)|qui etes ?vous|(cest )?qui( ?est ?ce)?|wer (ist das|ist da|sind sie|bist du|seid ihr)|quien(es)? (es|eres|son)( usted(es)?| este)?|chi (e|sei|siete)|quem (e|fala)( voce| este)?|kto to( jest)?) $/;

const isCondition = (words: string) => condition.test(withoutPlease(words));

function read(text: unknown, operation: string): string {
	if (text === null || text === undefined) return "";
	if (typeof text !== "string") refuse("text", "must be a string, such as message.body", operation);
	return text;
}

const isSaid = (words: string) => /^I+$/.test(allClassesOf(words));
const isRemark = ({ words }: Pick<Clause, "words">) =>
	isSaid(words) || answer.test(words) || withoutThreat(words).trim() === "";

/** Whether nothing else is said, or asked. */
const isOnly = (clauses: readonly Clause[], isWanted: (clause: Clause) => boolean) =>
	clauses.every((clause) =>
		clause.after === "?"
			? asksWho.test(clause.words)
			: isWanted(clause) || isRemark(clause) || classesOf(clause.words) === "",
	) && clauses.some((clause) => clause.after !== "?" && isWanted(clause));

const isKeyword = ({ words }: Clause) => {
	const asked = withoutThreat(words).replace(again, "");
	return keyword.test(classesOf(asked)) && !doubtful.test(asked);
};
/** Nothing but such words, a greeting and a remark. "Afmelden, graag" is "Afmelden graag". */
const isAmbiguous = (clauses: readonly Clause[]) =>
	ambiguous.test(
		clauses
			.filter(({ words }) => words !== "graag ")
			.map(({ words }) => allClassesOf(withoutThreat(words)).replace(/I/g, ""))
			.join(""),
	) && clauses.every(({ after }) => after !== "?");
/** "STOP, Anna" and "STOP Anna". In capitals it is no part of a sentence. */
const isNamedKeyword = (text: string) =>
	/^\P{L}*STOPP?[ ,]+\p{Lu}\p{Ll}+( \p{Lu}\p{Ll}+)?\P{L}*$/u.test(text) && !/[\p{N}?]/u.test(text);
const isReturn = ({ words }: Clause) => returns.test(withoutPlease(words));

/** The classes of a request, if a clause is one. */
function requestOf({ words, after }: Pick<Clause, "words" | "after">): string | undefined {
	const asked = withoutThreat(words).replace(polite, "");
	if (after === "?" && !polite.test(words)) return undefined;
	const classes = classesOf(asked.replace(again, "").replace(duty, ""));
	const plain = classes.replace(/Y/g, "");
	if (request.test(plain)) return plain;
	// "Bitte aus dem Verteiler nehmen" leaves out whom.
	if (hasPlease(words) && /^([GD]L|L[GD])$/.test(plain) && forTexts.test(words)) return plain;
	// "No more messages from you" may be a complaint, unless it says please.
	const isNone = hasPlease(words)
		? noMore.test(plain) || none.test(plain)
		: noMore.test(classes) && !/^M/.test(classes);
	return isNone ? plain : undefined;
}

/** Whether it is no other matter, beside which a request would be doubtful. */
const isRelated = ({ words, before }: Clause, index: number) =>
	/^[CKSU]*$/.test(classesOf(words)) ||
	isRemark({ words }) ||
	reason.test(words) ||
	opening.test(words) ||
	(index > 0 && before !== "?" && /^\S+ $/.test(words)); // a name

/** "STOP" or "Please stop" as a sentence of its own: "We have bought a house. STOP" */
function hasSentence(clauses: readonly Clause[]): boolean {
	const isSentence = (wanted: (clause: Clause) => boolean) =>
		clauses.some((clause) => clause.before !== "," && clause.after === "." && wanted(clause));
	return (
		clauses.every(({ words, after }) => after !== "?" && !exception.test(words) && !isCondition(words)) &&
		(isSentence(({ written }) => /^STOPP? $/.test(written)) ||
			(isSentence(({ words }) => hasPlease(words) && /^(stopp?(en)?|arretez) $/.test(withoutPlease(words))) &&
				clauses.every(isRelated)))
	);
}

/** Whether one of them asks to stop, without a condition, a time or an exception. */
function hasRequest(clauses: readonly Clause[]): boolean {
	const requests = clauses.map(requestOf);
	if (requests.every((classes) => classes === undefined)) return false;
	const hasQuestion = clauses.some(({ after }) => after === "?");
	const conditions = clauses.map(({ words }) => isCondition(words));
	const others = clauses.map((clause, index) => requests[index] === undefined && !isRelated(clause, index));
	const reports = clauses.map(
		({ words }, index) => requests[index] === undefined && !isSaid(words) && elsewhere.test(words),
	);
	let first = 0;
	return clauses.some(({ words, before }, index) => {
		if (before !== ",") first = index;
		const classes = requests[index];
		if (classes === undefined) return false;
		if (hasQuestion && !hasPlease(words) && noMore.test(classes)) return false;
		if (conditions[index + 1] || exception.test(clauses[index + 1]?.words ?? "")) return false;
		const end = clauses.findIndex(({ before }, at) => at > index && before !== ",");
		const isInSentence = (flags: boolean[]) => flags.slice(first, end < 0 ? undefined : end).includes(true);
		if (isInSentence(conditions)) return false;
		if (vague.test(classes)) return !others.includes(true);
		// What somebody else was told, and what will pass, is not meant for good.
		return unmistakable.test(classes) || !isInSentence(reports);
	});
}

/**
 * Whether a message asks for no more texts, in English, Dutch, French, German, Spanish, Italian, Portuguese or Polish.
 *
 * True for a keyword of the carriers as the whole message ("STOP", "Uitschrijven", "Afmelden graag", "¡Baja!"), and for WhatsApp's
 * button "Stop promotions" and its translations. Also true for a clear sentence anywhere in it: "Please stop texting me",
 * "Arrêtez de m'écrire", "Wrong number, don't text again", and for a stop sign 🛑 alone. Capitals, accents, punctuation, emoji and kinds of apostrophes make no
 * difference.
 *
 * In doubt it is false: "Stop by on Friday at 5?", "No thanks", "Annuler", "Stop texting me after 8pm". So it does not
 * find every refusal. Show a person what it leaves. "Cancel" alone is true, because the law of the USA and the carriers
 * say so.
 *
 * @param text a message's `body`. Null and undefined, as of a photo, are false, and so is a text of more than 4,096
 * characters
 * @throws PartnerInvalidInput for anything else than a text, such as the whole message
 *
 * @example
 * const { messagePage } = await agency.conversations.get("+447700900101");
 * const optedOut = messagePage.messages.some(({ direction, body }) => direction === "inbound" && isOptOut(body));
 */
export function isOptOut(text: string | null | undefined): boolean {
	const all = read(text, "isOptOut");
	const own = withoutQuotes(all) || all;
	const clauses = clausesOf(own);
	const unsigned = clausesOf(withoutSignature(own));
	const isOpened = opening.test(unsigned[0]?.words ?? ""); // "Dear Ms Jansen, …"
	const ways = isOpened ? [unsigned, unsigned.slice(1)] : [unsigned];
	return (
		hasRequest(clauses) ||
		ways.some((way) => isOnly(way, isKeyword) || isAmbiguous(way)) ||
		(clauses.length === 1 && clauses[0]?.after !== "?" && lone.test(clauses[0]?.words ?? "")) ||
		hasSentence(clauses) ||
		isNamedKeyword(own) ||
		isWhole(own, "optOut")
	);
}

/**
 * Whether a message asks for texts again, in the languages of {@link isOptOut}: "START", "Unstop", "Aanmelden", "Alta",
 * "You can text me again".
 *
 * Only as a whole message, and not for "yes", which answers many questions. In doubt it is false. It is never true for a
 * text for which `isOptOut` is.
 *
 * @param text a message's `body`. Null and undefined are false
 * @throws PartnerInvalidInput for anything else than a text
 */
export function isOptIn(text: string | null | undefined): boolean {
	return isOnly(clausesOf(withoutQuotes(read(text, "isOptIn"))), isReturn);
}

/**
 * Whether a message says that its writer is somebody else: "Wrong number", "Sorry, verkeerd nummer", "Vous vous trompez de
 * numéro", in the languages of {@link isOptOut}.
 *
 * Only as a whole message, beside a greeting, an apology, thanks and a name: not for "Wrong number on the door", and not for "I
 * gave you the wrong number". It is false for a question, and for anything with a digit, which may be the right number.
 *
 * @param text a message's `body`. Null and undefined are false
 * @throws PartnerInvalidInput for anything else than a text
 */
export function isWrongNumber(text: string | null | undefined): boolean {
	return isWhole(read(text, "isWrongNumber"), "wrongNumber");
}

/**
 * Whether a message refuses something that may be the texts or the flat: "Enough!", "Ik wil dit niet meer", "Kein Interesse", in
 * the languages of {@link isOptOut}. Only as a whole message. It is never true for a text for which `isOptOut` is, and not for "No
 * thanks", which answers many questions.
 *
 * @param text a message's `body`. Null and undefined are false
 * @throws PartnerInvalidInput for anything else than a text
 */
export function isRefusal(text: string | null | undefined): boolean {
	return isWhole(read(text, "isRefusal"), "refusal");
}

/**
 * Whether the label of a button says so, and nothing else: WhatsApp's "Stop promotions", "Unsubscribe". The contact has not
 * written it, and "Cancel" may end a booking.
 */
export function isOptOutButton(label: string | null): boolean {
	const clauses = clausesOf(label ?? "");
	const words = withoutPlease(clauses[0]?.words ?? "");
	return clauses.length === 1 && clauses[0]?.after !== "?" && (button.test(words) || stopTexts.test(classesOf(words)));
}
