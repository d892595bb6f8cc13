/*
 * The words of people who want no more texts, in English, Dutch, French, German, Spanish, Italian, Portuguese and
 * Polish: small letters, without accents, apostrophes and hyphens. The keywords come from
 *
 * - 47 CFR 64.1200(a)(10), CTIA, Twilio, Telnyx, Braze, HubSpot: stop, stopall, quit, end, revoke, opt out, cancel,
 *   unsubscribe. AWS: remove, arret. ActiveCampaign in German: stopp, abmelden, abbestellen
 * - HubSpot's words in other languages: alto, arreter, parar, beenden. The Mobile Marketing Association: baja
 * - Sinch's WhatsApp consent: detener, salir, parar, sair, cancelar, "stop marketing"
 * - WhatsApp's button "Stop promotions" in the languages of its templates
 *
 * Left out is what an office hears about its visits and prices: no, annuler, stornieren, offers. So are e-mails and calls.
 */

/** Left out wherever they stand. */
const please =
	"please|pls|plz|kindly|aub|alstublieft|alsjeblieft|gelieve|svp|stp|se il vous plait|sil (vous|te) plait|veuillez|merci de|priere de|bitte|por favor|porfa|per favore|per piacere|prosze";

/** Each class of words, by the letter that stands for it. In this order, because "stop" may be part of more. */
const classes: [letter: string, words: string][] = [
	// The texts
	[
		"T",
		"((the|these|those|this|your|all|any|such|de|het|deze|die|alle|jullie|uw|les|ces|vos|des|aux|tous|diese[rn]?|ihren?|los|las|estos|sus|i|gli|questi|vostri|as|os|suas|te|tych|wasze|promo) )*(texts?|messages?|msgs?|sms(es|jes|en|y|ow)?|whatsapps?|notification(s|es)?|newsletters?|reminders|updates|marketing|spam|promos?|promotion(s|en)?|berichte?n?|berichtjes|reclame|meldingen|promoties|textos?|pubs?|publicites?|nachricht(en)?|werbung|werbeaktionen|mensajes?|promociones|publicidad|messaggi|promozioni|pubblicita|mensage(m|ns)|promocoes|publicidade|wiadomosci|promocj[ei]|reklamy?|powiadomien(ia)?)",
	],
	// From the list
	[
		"L",
		"((T|off|from|of|the|this|your|all|any|mailing|contact|van|uit|de|deze|uw|jullie|du|des|la|votre|vos|cette|von|aus|dem|der|ihre[rm]|eure[rm]|su|sus|tu|dal|dalla|dalle|vostr[aoe]|da|do|das|sua|vossa|z|tej|waszej|panstwa) )+(mailing|contact|verzend)?(lists?|lijst(en)?|listes?|liste|listas?|listy|database|system|records|bestand|systeem|fichiers?|base( de (donnees|datos|dados))?|verteiler|datenbank|elenco|cadastro|contacts|contactos|contatos|bazy( danych)?)",
	],
	// Complete requests
	[
		"E",
		"(leave|let) (me|us) (alone|in peace)|take me off|(lose|forget) my number|opt me out|(revoke|withdraw) my consent|laat( u| jullie)? (mij|me|ons)( nu| toch| eens| gewoon)* (met rust|gerust)|(mij|me) met rust laten|schrijf (mij|me|ons) uit|meld (mij|me|ons) af|laisse[zr]?( moi| nous|moi) (tranquilles?|en paix)|(desabonne[zr]?|desinscri(vez|s|re)) ?moi|lass(en sie|t|e)? (mich|uns)( endlich| jetzt)? in (ruhe|frieden)|meld(en sie|et|e)? mich ab|dej(a|e|en|ad)(me|nos) (ya )?(en paz|tranquil[oa])|(darme|den?me|da[dn]?me|me den?) de baja|dar de baja|desuscrib(e|an)me|cancelar (mi |la |a |minha )?(suscripcion|inscricao|subscricao)|fou(s|tez) moi la paix|lascia(te)?(mi|ci) (in pace|stare)|mi lasci in pace|(cancella|rimuovi|disiscrivi|cancellate|disiscrivete|rimuovete)mi|(me )?deix(e|em|a)( ?me)? em paz|me descadastr(e|a)m?|sair L|(daj(cie)?|dac) mi (swiety )?spokoj|zostaw(cie)? mnie w spokoju|(wypisac sie|sie wypisac)|o (wypisanie|usuniecie) (mnie|(mojego )?numeru|moich danych)|rezygnuje z T|anuluj subskrypcje",
	],
	// Stop: alone, and before what to stop
	[
		"Z",
		"unsubscribe from|opt out of|((hou|houd|houdt) op|kappen|stopp?en|stop) (met|with|mit)|(arrete[rz]?|cesse[rz]?|stoppe[rz]?) de|horen sie auf|hort? auf|(deja[rn]?|deje[n]?|para[rd]?|pare[nm]?|cesen|deix(e|em|ar)) de|basta (de|di|con)|chega|(smett(i|ete|a|ano|ere)|smettetela|smettila) di|przestan(cie)?|przestac|interromp(i|ere|er)|zatrzymaj|dosc",
	],
	["S", "quit|stopp?( ?all(es)?)?|stopp?en( sie)?|stopzetten|(arrete|stoppe)[rz]?|beenden|detener|parar|pare|basta"],
	// To unsubscribe
	[
		"U",
		"unsub(scribe)?|opt ?out|remove|uitschrijven|uit te schrijven|uitgeschreven (te )?worden|(se )?(desabonner|desinscrire)|desabonnement|desinscription|abmelden|abbestellen|austragen|desuscribir(me|se)?|disiscriver(e|mi)|disiscrivi|descadastrar|wypisz(cie)?|wypisac",
	],
	[
		"K",
		"afmelden|afmelding|uitschrijving|arret|abmeldung|aufhoren|baja|alto|salir|disiscrizione|sair|remover|wypisanie",
	],
	// To delete, and to take off a list
	[
		"D",
		"delete|verwijder(en)?|schrap|wis|supprime[zr]?|efface[zr]?|losch(en sie|en|t|e)|(borr|elimin|suprim)(a|e|en|ad)(me)?|(cancell|elimin)(a|ate)|rimuov(i|ete)|(remov|apagu?|exclu|elimin)(a|am|em|e)( ?me)?|usun(cie|ac)?",
	],
	[
		"G",
		"take|haal|retire[zr]?|enleve[zr]?|raye[zr]?|(streich|nehm|nimm|entfern)(en sie|en|t|e)?|(quit|saqu|sac)(a|e|en|ad)me|togli(ete|e)?(te)?mi|(retir|tir)(e|em|a)( ?me)?|skresl(cie)?",
	],
	// To be contacted
	[
		"B",
		"be (contacted|texted|messaged|bothered)|gecontacteerd (te )?worden|etre (contactee?|sollicitee?|derangee?)|(kontaktiert|angeschrieben|belastigt) werden|que me (escriban|contacten|molesten)|essere (contattat|disturbat)[oa]|ser contact?ad[oa]|kontaktu",
	],
	[
		"R",
		"receiv(e|ing)|get|hear|horen|(te )?ontvangen|krijgen|recevoir|avoir|erhalten|bekommen|haben|recibir|ricevere|receber|otrzymywac|dostawac",
	],
	// To write: as one asks for it, not as one tells of it
	[
		"V",
		"texting|messaging|contact(ing)?|writ(e|ing)|send(ing)?|spamming|bother(ing)?|harassing|disturb(ing)?|(stuur|schrijf|app|contacteer|benader)( u| jullie)?|val(?= (mij|me|ons) niet)|lastig( te)?( vallen)?|lastigvallen|(te )?(sturen|schrijven|smsen|appen|contacteren)|m?ecri(re|vez|s)|m?envoye[zr]|(contact|derang|importun|sollicit)e[zrs]?|harceler|(zu )?(schreib|schick|send|kontaktier|belastig)(en sie|en|t|e)?|anschreiben|(vuelv(an|as|a) a )?((escrib|mand|envi|contact|molest)(ir|ar)(me|nos)?|escrib(as|an|a)|(mand|envi|contact|molest)(es|en|e))|scriv(ete|er|ere|a)(mi|ci)?|(contatt|mand|invi|disturb)(ate|ar|are|i|ino)(mi|ci)?|(escrev(er|am|a)|(envi|mand|contact?|incomod|perturb)(ar|em|e))( ?me)?|(pisz|wysylaj|przysylaj|kontaktuj)(cie)?( sie)?|(sie )?(pisac|wysylac|przysylac|kontaktowac)( sie)?",
	],
	// Me
	[
		"P",
		"me|us|(this|my( phone| mobile)?) number|my (data|details)|mij|ons|mijn (nummer|gegevens)|moi|nous|mon numero|mes (donnees|coordonnees)|mich|mir|uns|meine (handy|telefon)?(nummer|daten)|mi (numero|telefono)|mis datos|nos|il mio numero|i miei dati|mi|ci|(o )?meu numero|(os )?meus dados|mnie|(sie )?ze mna|moj numer( telefonu)?|moje dane",
	],
	[
		"W",
		"((i|ik|ich|je) )?(want|wish|would like|id like|wil|wens|veux|souhaite|desire|voudrais|mochte|will|wunsche|quiero|deseo|quisiera|voglio|desidero|vorrei|quero|desejo|chce|zycze sobie)",
	],
	// Never, no, more
	["X", "never|nooit|plus aucun|niemals|nunca|nigdy"],
	[
		"N",
		"(i )?(do not|dont|no(?= longer))|no(?= (more|mas|P|W))|geen|niet|niets|niks|(je )?ne|pas|kein(e|en)?|nicht|nichts|nie|non|niente|nessun|nao|sem|zadnych",
	],
	["Q", "plus(?= T)"], // "no more" alone, but "more" after a verb
	[
		"M",
		"any ?more|more|again|(any )?longer|meer|plus|jamais|rien|nada|mehr|wieder|weiteren?|mas|piu|altri|mais|wiecej|juz",
	],
	// What changes nothing
	[
		"",
		"to|for|ever|from (you|now on)|by you|so many|these|van (jullie|u)|naar|aan|het|te|de|d|a|votre part|par vous|von (ihnen|euch)|an|zu|damit|ustedes|da voi|do|od was|this",
	],
	[
		"C",
		"hi|hey|hello|(no )?thanks|(no )?thank you|thx|ok|okay|yes|sorry|and|so|just|but|right now|now|immediately|at once|hallo|bedankt|dank (u|je)( wel)?|ja|graag|nu|onmiddellijk|meteen|en|maar|merci|bonjour|oui|et|maintenant|immediatement|danke|sofort|jetzt|endlich|und|aber|hola|gracias|ya|ahora|pero|ciao|buongiorno|grazie|subito|ora|adesso|ma|obrigad[oa]|ola|agora|dziekuje|dzien dobry|natychmiast|teraz",
	],
];

const matchers = classes.map(([letter, words]) => [new RegExp(`\\b(${words}) `, "g"), letter && `${letter} `] as const);

const pleases = new RegExp(`\\b(${please}) `, "g");

export const withoutPlease = (words: string) => words.replace(pleases, "");

/** A clause as the classes of its words, in capitals: "please stop texting me" is SVP. Other words stay in it. */
export const classesOf = (words: string) =>
	matchers
		.reduce((rest, [words, letter]) => rest.replace(words, letter), withoutPlease(words))
		.replace(/ /g, "")
		.replace(/^C+|C+$/g, "");
