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

import { remarks } from "./remarks.ts";

/** Left out wherever they occur. */
const please =
	"please|pls|plz|kindly|aub|alstublieft|alsjeblieft|gelieve|svp|stp|se il vous plait|sil (vous|te) plait|veuillez|merci de|priere de|je vous prie de|bitte|por favor|porfa|favor de|favor(?= (nao|parar|remover|retirar|excluir) )|per favore|per piacere|(vi|la|ti) prego di|prosze";

/** Each class of words, by its letter. In this order, because "stop" may be part of more. */
const classes: [letter: string, words: string][] = [
	["I", remarks],
	// In Spanish. "No contact me" is something else
	["N", "no(?= (me |nos )?(escrib(an|as|a)|(envi|mand|molest|contact)(en|es|e)) )"],
	// What is sent, as angry people call it
	[
		"O",
		"(?<=\\bsend(ing)? (me |us )?)((these |your |all |any |this |that |such )*(things|stuff|crap|shit|bullshit|junk|garbage|rubbish|nonsense))|(?<=\\bsend(ing)? (me |us ))(this|that)|(die |al die |jullie |zulke )*(dingen|troep|rommel|zooi|onzin|brol)|((des|vos|tes|ces|tous|d|de) )*(choses|trucs|conneries|betises|bazar)|so ?etwas|sowas|(so(lche[ns]?| einen)? |dieses? |diesen |ihren? |den |das )*(zeug|sachen|mull|mist|quatsch|schrott)|(estas |sus |esas |tantas )*(cosas|tonterias|basura|porquerias|chorradas)|(queste |questa |le |delle |della )*(cose|roba|robaccia|schifezze|stupidaggini)|(essas |estas |as |suas )*(coisas|porcarias|lixo|tretas|besteiras|bobagens)|(te |tych |tego |takich |takie |te wszystkie )*(rzeczy|bzdur[y]?|smieci|glupot[y]?)",
	],
	// The verb, which is written like the noun
	["V", "(?<=\\b(not|dont|never|stop) )(text|message|msg|sms|whatsapp)(?= (me|us|this number|my number|here) )"],
	["Z", "chega(?= de )"], // before "de" becomes a part of the texts
	// The texts
	[
		"T",
		"((the|these|those|this|your|all|any|such|de|het|deze|die|alle|jullie|uw|les|ces|vos|des|aux|tous|den|diese[rn]?|ihren?|los|las|estos|sus|i|gli|questi|vostri|as|os|suas|te|tych|takich|wasze|promo) )*(texts?|messages?|msgs?|sms(es|jes|en|y|ow)?|whatsapps?|notification(s|es)?|newsletters?|reminders|updates|marketing|spam|promos?|promotion(s|en)?|berichte?n?|berichtjes|reclame|meldingen|promoties|textos?|pubs?|publicites?|nachricht(en)?|werbung|werbeaktionen|mensajes?|promociones|publicidad|messaggi|promozioni|pubblicita|mensage(m|ns)|promocoes|publicidade|wiadomosci|wiadomosciami|smsami|reklamami|promocj[ei]|reklamy?|powiadomien(ia)?)",
	],
	// From the list: of those who get texts, or of those who visit on Friday
	[
		"J",
		"((off|from|of|the|this|van|uit|de|deze|du|des|la|cette|von|aus|dem|der|dal|dalla|dalle|da|do|das|z|tej) )+(lists?|lijst(en)?|listes?|listas?|listy)",
	],
	// From your list
	[
		"L",
		"((T|off|from|of|the|this|your|all|any|mailing|contact|van|uit|het|de|deze|uw|jullie|du|des|la|votre|vos|cette|von|aus|dem|der|ihre[rm]|eure[rm]|su|sus|tu|dal|dalla|dalle|vostr[aoe]|da|do|das|sua|vossa|z|tej|waszej|panstwa) )+(mailing|contact|verzend)?(lists?|lijst(en)?|listes?|liste|listas?|listy|database|system|records|bestand|systeem|fichiers?|base( de (donnees|datos|dados))?|verteiler|datenbank|elenco|cadastro|contacts|contactos|contatos|bazy( danych)?)|dallelenco",
	],
	// Complete requests
	[
		"E",
		"(leave|let) (me|us) (alone|in peace)|take me off|(take|get) (my|this|our)( phone| mobile)? number (off|out)|(haal|gooi) (mijn|dit|ons) nummer (eraf|eruit|weg)|(nehmen|schmeissen) sie (meine|diese) nummer (raus|heraus)|(lose|forget) my number|opt me out|(i )?(hereby )?(revoke|withdraw) my consent|ik trek mijn toestemming in|je retire mon consentement|(ich )?widerrufe (hiermit )?meine (einwilligung|zustimmung)|(retiro|revoco) mi consentimiento|(revoco|ritiro) il mio consenso|(retiro|revogo) o meu consentimento|(wycofuje|cofam) (moja )?zgode|neem( met (mij|me|ons))? geen contact meer( met (mij|me|ons))? op|nao entr(e|em) mais em contac?to( comigo| conosco)?|laat( u| jullie)? (mij|me|ons)( nu| toch| eens| gewoon)* (met rust|gerust)|(mij|me) met rust laten|schrijf (mij|me|ons)( (maar|nu|dan|toch))* uit|meld (mij|me|ons)( (maar|nu|dan|toch))* af|laisse[zr]?( moi| nous|moi) (tranquilles?|en paix)|(desabonne[zr]?|desinscri(vez|s|re)) ?moi|lass(en sie|t|e)? (mich|uns)( endlich| jetzt)? in (ruhe|frieden)|meld(en sie|et|e)? mich ab|dej(a|e|en|ad)(me|nos) (ya )?(en paz|tranquil[oa])|(darme|den?me|da[dn]?me|me den?) de baja|dar de baja|desuscrib(e|an)me|cancelar (mi |la |a |minha )?(suscripcion|inscricao|subscricao)|(fou(s|tez)|fiche[zr]?) moi la paix|lache[zr]? moi|lascia(te)?(mi|ci) (in pace|stare)|mi lasci in pace|(cancella|rimuovi|disiscrivi|cancellate|disiscrivete|rimuovete|cancellar|rimuover)mi|(me )?deix(e|em|a)( ?me)? em paz|me descadastr(e|a)m?|(daj(cie)?|dac) mi (swiety )?spokoj|zostaw(cie)? mnie w spokoju|(wypisac sie|sie wypisac)|o (wypisanie|usuniecie) ((mojego )?numeru|moich danych)|rezygnuje z T|anuluj subskrypcje",
	],
	// Stop it
	[
		"S",
		"(stop|quit|cease) (it|that)|(stop|stopp?en|kap|kappen)( (nu|nou|toch|eens|maar))* (er|daar|hier)( (nu|nou|toch|eens|maar|gewoon))* ?mee|houd?t?( (nu|nou|toch|eens|maar))* (er|daar|hier)( (nu|nou|toch|eens|maar|gewoon))* ?mee op|(arrete|stoppe|cesse)[rz]? (tout )?(ca|cela)|(horen sie|hort|hor)( (jetzt|endlich))? (da|hier)mit auf|schluss( jetzt)? damit|(par[ae]n?|basta|acaben) con (esto|eso)|basta con questo|smettila(?! di)|piantatela|(par[ae]m?|chega|basta|acabem)( ja)? (com )?(isso|isto|disso|disto)|(przestan(cie)?|skoncz(cie)?|koniec|dosc) (z tym|tego)",
	],
	// Stop: alone, and before what to stop
	[
		"Z",
		"unsubscribe from|opt out of|((hou|houd|houdt) op|kap|kappen|stopp?en|stop) (met|with|mit)|aufhoren( mit)?(?= (mir|mich|uns|T) )|aufhoren mit|koniec( z)?(?= T )|(par[ae][nm]?|parar|basta|acabem) com|(par[ae]n|basta|acaben) con|(arrete[rz]?|cesse[rz]?|stoppe[rz]?) (de|avec)|schluss mit|hor auf(?= \\S)|(deja[rn]?|deje[n]?|para[rd]?|pare[nm]?|cesen|deix(e|em|ar)) de|basta (de|di|con)|(smett(i|ete|a|ano|ere)|smettetela|smettila) di|przestan|przestac|interromp(i|ere|er)|zatrzymaj|dosc",
	],
	[
		"S",
		"quit|cease( and desist)?|houd?( (nu|nou|toch|eens))* op(?= $)|hor( (jetzt|endlich))? auf(?= $)|stopp?( ?all(es)?)?|stoppt|stopp?en( sie)?|stopzetten|(arrete|stoppe)[rz]?|beenden|detener|parar|parem?|basta(?! \\S+[aei]r(e|mi|ci|me|nos)? )|horen sie auf|hort auf|smettetela|przestancie",
	],
	// To unsubscribe
	[
		"U",
		"(unsub(scribe|cribe|scibe|sribe)?|unsuscribe)( all)?|opt ?out|remove(?= from )|be (removed|unsubscribed|taken)|(verwijderd|geschrapt) (te )?worden|etre (retire|supprime|desinscrit|desabonne|raye)e?|(gestrichen|geloscht|entfernt|abgemeldet) werden|que me (borren|eliminen|quiten)|essere (cancellat|rimoss|tolt)[oa]|ser (removid|retirad)[oa]|zostac usuniet[ya]|o usuniecie(?= (mnie )?[LJ] )|sair(?= [LJ] )|uitschrijven|uit te schrijven|uitgeschreven (te )?worden|(se )?(desabonner|desinscrire)|desabonnement|desinscription|abmelden|abbestellen|austragen|desuscribir(me|se)?|disiscriver(e|mi)|disiscrivi|descadastrar|wypisz(cie)?|wypisac",
	],
	[
		"K",
		"(?<=^(I )*)nie pisac(?= $)|afmelden|afmelding|uitschrijving|arret|abmeldung|aufhoren|baja|alto|salir|disiscrizione|sair|^remove(?= $)|remover(?= $)|wypisanie",
	],
	// To delete, and to take off a list
	[
		"D",
		"(retire|enleve|raye)[zr]?(?= (mon|ce) numero)|(retir|tir|quit|saqu|sac)(e|em|en|a|ar)(?= (o )?(meu|mi|este) numero)|(togli|leva)(ete|te|ere|re)?(?= (il mio|questo) numero)|(streich|entfern)(en sie|en|t|e)?(?= (meine|diese) (handy|telefon)?nummer)|(wy)?(kresl|skresl)(cie|ic)?(?= (moj|ten) numer)|delete|erase|wipe|remove|verwijder(en)?|schrap(pen)?|wis|supprime[zr]?|efface[zr]?|losch(en sie|en|t|e)?|(vergeet|oublie[zr]?|vergiss|vergess(t|en sie)|olvid(a|e|en|ad)|dimentic(a|hi|ate)|esque(ce|ca|cam)|zapomnij(cie)?)(?= (mijn|dit|mon|ce|meine|diese|mi|este|il mio|questo|(o )?meu|moj|ten) ((handy|telefoon|telefon)?nummer|numero|numer) )|(borr|elimin|suprim)(a|e|en|ad|ar|ir)|(cancell|elimin)(a|ate|are)|rimuov(i|ete|ere)|(remov|apagu?|exclu|elimin)(a|am|em|e|er|ar|ir)|usun(cie|ac)?",
	],
	[
		"G",
		"take|ha(al|len)|retire[zr]?|enleve[zr]?|raye[zr]?|(streich|nehm|nimm|entfern)(en sie|en|t|e)?|(retir|tir|quit|sac)(e|em|en|a|ar)|toglie(re|te)|(wy)?(kresl|skresl)(cie|ic)?",
	],
	["F", "(borr|elimin|suprim|quit|saqu|sac)(a|e|en|ad)me|togli(ete|e)?(te)?mi"], // with "me"
	// To be contacted
	[
		"B",
		"be (contacted|texted|messaged|bothered)|gecontacteerd (te )?worden|etre (contactee?|sollicitee?|derangee?)|(kontaktiert|angeschrieben|belastigt) werden|que me (escriban|contacten|molesten)|essere (contattat|disturbat)[oa]|ser contac?tad[oa]|kontaktu|hear from you|van (jullie|u) horen|von ihnen horen",
	],
	["R", "receiv(e|ing)|(te )?ontvangen|recevoir|erhalten|recibir|ricevere|receber|otrzymywac|dostawac"],
	["A", "get|hear|horen|krijgen|avoir|bekommen|haben"], // anything
	// To send: a text, or a photo
	[
		"H",
		"send(ing)?|stuur( u| jullie)?|(te )?sturen|m?envoye[zr]|(zu )?(schick|send)(en sie|en|t|e)?|(mand|envi)(ir|ar)(me|nos)?|(mand|envi)(es|en|e)|(mand|invi)(ate|ar|are|i|ino)(mi|ci)?|(envi|mand)(ar|em|e)( ?me)?|(wysylaj|przysylaj)(cie)?|(wysylac|przysylac)",
	],
	// To write: as one asks for it, not as one tells of it
	[
		"V",
		"texting|txting|textng|texing|messaging|contact(ing)?|writ(e|ing)|spamming|bother(ing)?|harassing|disturb(ing)?|(schrijf|app|contacteer|benader)( u| jullie)?|val(?= (mij|me|ons) niet)|lastig( te)?( vallen)?|lastigvallen|(te )?(schrijven|smsen|appen|contacteren)|m?ecri(re|vez|s)|(contact|derang|importun|sollicit)e[zrs]?|harceler|(zu )?(schreib|kontaktier|belastig)(en sie|en|t|e)?|anschreiben|(escrib|contact|molest)(ir|ar)(me|nos)?|escrib(as|an|a)|(contact|molest)(es|en|e)|scriv(ete|er|ere|a)(mi|ci)?|(contatt|disturb)(ate|ar|are|i|ino)(mi|ci)?|(escrev(er|am|a)|(contac?t|incomod|perturb)(ar|em|e))( ?me)?|(pisz|kontaktuj)(cie)?( sie)?|(sie )?(pisac|kontaktowac)( sie)?",
	],
	// Me
	[
		"P",
		"me|us|(dit|diese) nummer|(ce|este|esse|questo) numero|ten numer|(this|my( phone| mobile)?) number|my (data|details)|mij|ons|mijn (nummer|gegevens)|moi|nous|mon numero|mes (donnees|coordonnees)|mich|mir|uns|meine (handy|telefon)?(nummer|daten)|mi (numero|telefono)|mis datos|nos|il mio numero|i miei dati|mi|ci|(o )?meu numero|(os )?meus dados|mnie|(sie )?ze mna|moj numer( telefonu)?|moje dane",
	],
	[
		"W",
		"((i|ik|ich|je) )?(want|wish|would like|id like|wil|wens|veux|souhaite|desire|voudrais|mochte|(?<=ich )will|will(?= (kein|nicht|nie))|wunsche|quiero|deseo|quisiera|voglio|desidero|vorrei|quero|desejo|gostaria de|chce|zycze sobie)",
	],
	// Never, no, more
	["X", "never|nooit|niemals|nunca|nigdy"],
	[
		"N",
		"(i )?(do not|dont|no(?= longer))|no(?= (more|further|mas|vuelv|P|W))|geen|niet|niets|niks|(je )?ne|pas|kein(e|en)?|nicht|nichts|nie|non|niente|nulla|nessun|nao|sem|zadnych",
	],
	["Q", "plus(?= T)|plus aucun"], // "no more" alone, but "more" after a verb
	[
		"M",
		"any ?more|more|further|(?<!^)again|(any )?longer|meer|plus|jamais|rien|nada|mehr|(?<=(N|mehr) )wieder|weiteren?|vuelv(an|as|a) a|volt(em|e) a|mas|piu|altri|mais|wiecej|juz",
	],
	[
		"Y",
		"from you|van (jullie|u)|(de )?votre part|von (ihnen|euch)|(de |d)?(ustedes|usted|voces)|da (voi|lei)|od (was|panstwa)",
	],
	// What changes nothing
	[
		"",
		"tout de suite|(?<=I )[eiy]|to|for|ever|from now on|by you|so many|these|any|anything|naar|aan|het|te|de|d|a|par vous|an|zu|damit|do|(?<=[SZ] )this|from(?= T )",
	],
	[
		"",
		"hi|hey|hello|(no )?thanks|(no )?thank you|thx|hallo|bedankt|dank (u|je)( wel)?|merci|bonjour|danke|hola|gracias|ciao|buongiorno|grazie|obrigad[oa]|ola|dziekuje|dzien dobry",
	],
	[
		"C",
		"ok|okay|yes|sorry|and|so|just|but|right now|now|immediately|at once|ja|graag|hoor|nu|onmiddellijk|meteen|en|maar|oui|et|maintenant|immediatement|sofort|jetzt|endlich|und|aber|ya|ahora|pero|subito|ora|adesso|ma|agora|natychmiast|teraz",
	],
];

const matchers = classes.map(([letter, words]) => [new RegExp(`\\b(${words}) `, "g"), letter && `${letter} `] as const);

const pleases = new RegExp(`\\b(${please}) `, "g");

export const withoutPlease = (words: string) => words.replace(pleases, "");

export const hasPlease = (words: string) => words !== withoutPlease(words);

/** A clause as the classes of its words, in capitals: "please stop texting me" is SVP. Other words stay in it. */
export const allClassesOf = (words: string) =>
	matchers.reduce((rest, [words, letter]) => rest.replace(words, letter), withoutPlease(words)).replace(/ /g, "");

/** The same without "now", "and" and remarks at its ends. */
export const classesOf = (words: string) => allClassesOf(words).replace(/^[CI]+|[CI]+$/g, "");
