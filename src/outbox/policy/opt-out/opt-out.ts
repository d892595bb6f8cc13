import { refuse } from "../../input.ts";
import { type Clause, clausesOf } from "./clauses.ts";
import { classesOf, withoutPlease } from "./words.ts";

/** How classes of words, see `classesOf`, make a request, wherever it stands in a message. */
const request = new RegExp(
	[
		"P?W?E[MPL]*", // leave me alone
		"W?[SZ](?=.*[VT])[VTPMR]+|T+S", // stop texting me, stop promotions
		"(?=.*[NX])(?=.*[MXQ])(?=.*[VT])[NXMQVTP]+|QT", // no more messages, don't text me again
		"(?=.*W)(?=.*N)(?=.*[TB]|.*R.*M|.*M.*R)[WNMQTBRP]+", // I don't want to receive texts
		"(?=.*[DU].*)(?=.*[PLW])[WPLDU]+|(?=.*G)(?=.*L)[WPLG]+", // unsubscribe me, take me off your list
	]
		.map((form) => `^(${form})$`)
		.join("|"),
);

const keyword = /^([KSU]+|NVP|PNV)$/;
/** Of the carriers, and what people say of a visit. So nothing may stand beside them. */
const lone = /^(cancel|cancelar|end|revoke) $/;
const remark =
	/^(no|nee|non|nein|nao|nie|(im |i am )?not interested|wrong number|geen interesse|verkeerd nummer|pas interesse|faux numero|kein interesse|falsche nummer|no me interesa|numero (equivocado|sbagliato|errado)) $/;
const returns =
	/^(start|unstop|(re)?subscribe|resume|opt ?in|(start|resume) (promotions|marketing|messages)|(you can )?(text|message) me again|aanmelden|inschrijven|s?(re)?abonner|s?(re)?inscrire|anmelden|alta|(re)?suscribir(me)?|darme de alta|iscrivimi|iscriviti|inscrever|zapisz( mnie)?|wznow) $/;

/** A question that is a request begins like this. */
const polite =
	/^(i (asked|told) you to|(can|could|would|will) you|(kan|kun|wil|zou) (je|jij|u)|(kunt|wilt) u|(kunnen|willen) jullie|(pouvez|pourriez) ?vous|(peux|pourrais) ?tu|(konnen|konnten|wurden) sie|(kannst|konntest) du|konnt ihr|(pued|podri)(es|en|a|as|an|e)|puo|puoi|potete|potrebbe|potreste|(pode|poderia)(m|s)?|czy (moze(cie|sz)?|mogl[a-z]+|moga)( panstwo| pan| pani)?) /;
/** About another case, or how to do it. */
const condition = /^(to|if|when|unless|als|wanneer|si|quand|wenn|falls|cuando|se|quando|jesli|gdy|kiedy) \S/;
/** What follows takes some of it back. */
const exception =
	/^(but|except|only|unless|if|until|maar|behalve|tenzij|mais|sauf|aber|ausser|sondern|pero|salvo|ma|tranne|mas|exceto|ale|oprocz) /;

function read(text: unknown, operation: string): Clause[] {
	if (text === null || text === undefined) return [];
	if (typeof text !== "string") refuse("text", "must be a string, such as message.body", operation);
	return clausesOf(text);
}

/** Whether nothing else is said. */
const isOnly = (clauses: readonly Clause[], isWanted: (clause: Clause) => boolean) =>
	clauses.every(
		(clause) =>
			clause.after !== "?" && (isWanted(clause) || remark.test(clause.words) || classesOf(clause.words) === ""),
	) && clauses.some(isWanted);

const isKeyword = ({ words }: Clause) => keyword.test(classesOf(words));
const isReturn = ({ words }: Clause) => returns.test(withoutPlease(words));

/** "STOP" or "Please stop" as a sentence of its own: "We have bought a house. STOP" */
const isSentence = ({ written, words, before, after }: Clause) =>
	before !== "," &&
	after === "." &&
	(/^STOPP? $/.test(written) || (/ ./.test(words) && /^(stopp?(en)?|arretez) $/.test(withoutPlease(words))));

/** Whether one of them asks to stop, without a condition or an exception. */
function hasRequest(clauses: readonly Clause[]): boolean {
	let isConditional = false;
	return clauses.some(({ words, before, after }, index) => {
		isConditional = condition.test(words) || (isConditional && before === ",");
		if (isConditional || exception.test(clauses[index + 1]?.words ?? "")) return false;
		const asked = words.replace(polite, "");
		return (after !== "?" || asked !== words) && request.test(classesOf(asked));
	});
}

/**
 * Whether a message asks for no more texts, in English, Dutch, French, German, Spanish, Italian, Portuguese or Polish.
 *
 * True for a keyword of the carriers as the whole message ("STOP", "Uitschrijven", "¡Baja!"), for WhatsApp's button
 * "Stop promotions" and its translations, and for a clear sentence anywhere in it: "Please stop texting me", "Arrêtez de
 * m'écrire", "Wrong number, don't text again". Capitals, accents, punctuation, emoji and kinds of apostrophes make no
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
	const clauses = read(text, "isOptOut");
	return (
		hasRequest(clauses) ||
		isOnly(clauses, isKeyword) ||
		(clauses.length === 1 && clauses[0]?.after !== "?" && lone.test(clauses[0]?.words ?? "")) ||
		(clauses.some(isSentence) && clauses.every(({ words, after }) => after !== "?" && !exception.test(words)))
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
	return isOnly(read(text, "isOptIn"), isReturn);
}
