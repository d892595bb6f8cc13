/*
 * What people write as a whole message, language by language. The carriers and Twilio read their keywords so: "STOP" alone
 * counts, and "stop by at 14:00" does not. Nothing may stand beside a phrase but what is in `asides`, and a name at the end.
 *
 * They are spelt as people spell them. `whole.ts` compares them without accents, capitals, punctuation and emoji.
 */

import { wordsOf } from "./clauses.ts";

/** As parts of regular expressions. */
interface Phrases {
	/** Greetings, apologies, thanks, "I think" and "that's not me": they change nothing. */
	asides: string[];
	/** As a sentence of its own, in languages whose "no" also means "not": "No es suficiente". */
	no: string[];
	/** Before a name at the end of a message. */
	closings: string[];
	/** No more texts, please: beside the keywords of `words.ts`. */
	optOut: string[];
	/** The same, which may be a question too: "May I be taken off your list?" */
	asked: string[];
	/** The text has reached somebody else. Not "I have the wrong number", which is about the writer. */
	wrongNumber: string[];
	/** It may be the texts that they want no more, or the flat. */
	refusal: string[];
}

const listOf = (list: string): string[] => list.split("|").map((phrase) => phrase.trim());

/** The phrases of a list. An empty one says that nothing need stand there. */
const of = (list: string): string[] => listOf(list).map(wordsOf);

/** Each of the first with each of the second, and so on. */
const each = (...parts: string[][]): string => parts.map((part) => `(${part.join("|")})`).join("");

const english: Phrases = {
	asides: of(`
			hi | hi there | hello | hello there | hey | oh | good morning | good afternoon | good evening | dear | sir
			| madam | mate | buddy | bro | lol | sorry | no sorry | so sorry | I'm sorry | I am sorry | sorry but | I'm sorry but | apologies | apologies but
			| excuse me | thanks | thanks a lot | thanks anyway | many thanks | thank you | thx | cheers
			| thank you very much | thank you anyway | I think | I believe | I guess | I'm afraid | I am afraid
			| unfortunately | have a nice day | have a good day | kind regards | best regards | regards | who is this | who are you
			| not me | that's not me | that isn't me | it's not me | this is not me | this isn't me | it isn't me | I don't know you
			| never heard of you | no idea who you are
		`),
	no: of("no | nope | no thanks | no thank you"),
	closings: listOf("kind regards | best regards | best wishes | regards | cheers | sincerely"),
	optOut: [
		each(of("please"), of("unsubscribe | opt out")),
		each(of("unsubscribe | opt out"), of("please")),
		each(of("I'd like to | I would like to | I wish to | I want to | please let me"), of("opt out | unsubscribe")),
		each(of("unsubscribe | opt-out"), of("request | requested | me from this | me from all")),
		...of(`
			please unsubscribe us | requesting unsubscribe | stop messaging | stop texting | no more texts | no ads
			| no adverts | no advertising | no spam | no marketing | no promotions
		`),
	],
	asked: [
		each(
			of("can I | could I | may I | can you let me"),
			of(`
			unsubscribe | opt out | be unsubscribed | be taken off this list | be taken off your list | be removed from this list
			| be removed from your list | be removed from your mailing list | be taken off your mailing list
		`),
		),
		each(
			of("would you mind"),
			of("not texting me | not messaging me | not writing to me"),
			of("| any more | anymore | again"),
		),
		each(
			of("I'd rather not | I would rather not"),
			of("get | receive"),
			of("these texts | these messages | your texts | your messages | any texts | any messages"),
			of("| any more | anymore"),
		),
	],
	wrongNumber: [
		each(
			of(`
			| you have | you've | you've got | you got | you must have | you seem to have | you may have | you have got | this is
			| that's | that is | it's | it is | this must be | you are texting | you're texting | you texted
			| you are messaging | you're messaging | you messaged | you have reached | you reached | u have | u got | u've got | ur texting
		`),
			of(`
			wrong number | the wrong number | a wrong number | wrong person | the wrong person | wrong nr
			| wrong contact
		`),
		),
		each(of("| this is | you have"), of("not the right number | not the right person")),
		...of(`
			this isn't the right number | you don't have the right number | I'm not the person you are looking for
			| I am not the person you are looking for | this number belongs to someone else | wrongnumber
		`),
	],
	refusal: [
		each(of("| that's | that is | this is"), of("enough | enough now")),
		...of(`
			enough is enough | enough already | I've had enough | I have had enough | we've had enough | no more
		`),
		each(
			of("I don't want | I do not want | we don't want | we do not want | don't want | I never wanted"),
			of("this | that | it | any of this"),
			of("| any more | anymore | any longer"),
		),
		each(of("I | we"), of("no longer want"), of("this | that | it")),
		each(
			of("| I'm | I am | we're | we are"),
			of("not interested | no longer interested | not interested any more | not interested anymore"),
		),
		...of(`
			no interest | I have no interest | we have no interest | I'm done with this | I am done with this
			| do not disturb | don't disturb | please leave it
		`),
	],
};

const dutch: Phrases = {
	asides: of(`
			hallo | hoi | hey | dag | goeiedag | goedendag | goedemorgen | goedemiddag | goedenavond | goeiemorgen
			| goeiemiddag | goeienavond | beste | mevrouw | meneer | sorry | sorry maar | het spijt me | spijtig
			| excuseer | excuses | pardon | helaas | bedankt | alvast bedankt | dank u | dank je | dank u wel
			| dank je wel | dankjewel | dankuwel | merci | nee | neen | ik denk | ik denk dat | ik vrees | volgens mij
			| denk ik | vrees ik | geloof ik | lijkt me | dat ben ik niet | ben ik niet | ik ben dat niet | ik ken u niet
			| ik ken je niet | ik ken jullie niet | nooit van u gehoord | nooit van jullie gehoord
			| hoor | fijne dag | fijne dag nog | prettige dag | nog een fijne dag | wie is dit | wie ben je | wie bent u | mvg | groeten | groetjes
		`),
	no: [],
	closings: listOf(`
			met vriendelijke groet | met vriendelijke groeten | vriendelijke groet | vriendelijke groeten | mvg
			| groeten | groetjes | groet | gr
		`),
	optOut: [
		each(
			of("afmelden | afmelding | uitschrijven | uitschrijving"),
			of("aub | a.u.b. | alstublieft | alsjeblieft | svp"),
		),
		each(of("graag | gelieve"), of("afmelden | afmelding | uitschrijven | uitschrijving")),
		each(of("afmelden | afmelding | uitschrijven | uitschrijving"), of("graag | gewenst")),
		each(of("gelieve | graag zou ik | verzoek om"), of("me | mij | ons"), of("af te melden | uit te schrijven")),
		each(of("meld | schrijf"), of("me | mij | ons"), of("graag"), of("af | uit")),
		each(
			of("liever | graag | voortaan | voortaan graag"),
			of("geen"),
			of("berichten | berichtjes | reclame | sms | whatsapps"),
			of("| meer"),
		),
		...of("ik wil graag uitgeschreven worden"),
		each(of("geen"), of("reclame | spam | publiciteit | promoties | marketing")),
	],
	asked: [
		each(of("mag ik | mogen wij | kan ik | kunnen wij | zou ik mogen"), of("uitgeschreven worden")),
		each(of("mag ik | kan ik | kunnen wij | mogen wij"), of("me | mij | ons"), of("uitschrijven")),
		each(
			of("mag ik | kan ik | ik wil | ik wil graag"),
			of("van jullie lijst | van uw lijst | van de mailinglijst"),
			of("af"),
		),
		each(of("stuur"), of("| me | mij | ons"), of("maar"), of("niks meer | niets meer | geen berichten meer")),
		each(of("ik hoef | wij hoeven"), of("geen berichten meer | geen berichtjes meer | geen reclame meer")),
		each(of("ik hoef | wij hoeven"), of("die berichten | deze berichten | jullie berichten"), of("niet | niet meer")),
	],
	wrongNumber: [
		each(
			of(`
			| u heeft | u hebt | je hebt | je heeft | jullie hebben | dit is | dat is | het is | 't is | u stuurt naar
			| volgens mij heeft u | volgens mij hebt u | volgens mij heb je | u appt naar | je stuurt naar | je appt naar | jullie sturen naar
		`),
			of(`
			verkeerd nummer | een verkeerd nummer | verkeerde nummer | het verkeerde nummer | fout nummer
			| een fout nummer | het foute nummer | verkeerd nr | een verkeerd nr | het verkeerde nr | foutief nummer | een foutief nummer | verkeerde persoon
			| de verkeerde persoon | de foute persoon
		`),
		),
		each(of("u | je | jullie"), of("het verkeerde nummer | een verkeerd nummer"), of("heeft | hebt | hebben")),
		each(of("| dit is | dat is"), of("niet het juiste nummer | niet de juiste persoon")),
		...of(`
			verkeerd verbonden | u bent verkeerd verbonden | u vergist zich van nummer | je vergist je van nummer
			| dit nummer is van iemand anders
		`),
	],
	refusal: [
		each(
			of("| nu is het | het is | dit is | dat is | zo is het | 't is | nu is 't"),
			of("genoeg | genoeg geweest | genoeg nu"),
		),
		...of(`
			ik heb er genoeg van | we hebben er genoeg van | ik ben het beu | ik ben dit beu | genoeg is genoeg
		`),
		each(
			of("ik wil | wij willen | we willen | ik hoef | wij hoeven | wil"),
			of("dit | dat | het | dit allemaal"),
			of("niet | niet meer | niet langer"),
		),
		each(of("dit | dat"), of("wil ik | willen wij | willen we | hoef ik"), of("niet | niet meer")),
		...of(`
			ik wil niet meer | hoeft niet meer | het hoeft niet meer | dit hoeft niet meer
			| voor mij hoeft het niet meer
		`),
		each(
			of("| ik heb | wij hebben | we hebben | heb"),
			of("geen interesse | geen interesse meer | geen belangstelling"),
		),
		each(of("| ik ben | wij zijn | we zijn | ben"), of("niet | niet meer | niet langer"), of("geïnteresseerd")),
		each(of("ik wil | ik wens"), of("me | mij"), of("afmelden | graag afmelden")), // or for the visit
		...of("ik wil me graag afmelden | ik wil mij graag afmelden | niet storen | gelieve niet te storen"),
	],
};

const french: Phrases = {
	asides: of(`
			bonjour | bonsoir | salut | coucou | madame | monsieur | désolé | désolée | désolé mais | désolée mais
			| je suis désolé | je suis désolée | pardon | navré | navrée | excusez-moi | excuse-moi | toutes mes excuses
			| mes excuses | merci | merci beaucoup | merci d'avance | merci bien | malheureusement | je crois
			| je crois que | je pense | je pense que | je crains que | il me semble que | qui êtes-vous | c'est qui
			| je crains | il me semble | ce n'est pas moi | c'est pas moi | pas moi | je ne vous connais pas
			| je vous connais pas | je ne te connais pas
			| cordialement | bien à vous | bonne journée | bonne soirée
		`),
	no: of("non | non merci"), // "not" in Italian
	closings: listOf("bien cordialement | cordialement | cdlt | bien à vous | sincères salutations"),
	optOut: [
		each(of("désabonner | désabonnement | désinscription | me désabonner | arrêt"), of("svp | s'il vous plaît | stp")),
		each(
			of("je souhaiterais | j'aimerais | je désire | je tiens à"),
			of(`
			me désabonner | me désinscrire | être désabonné | être désabonnée | être désinscrit | être désinscrite
		`),
		),
		...of("je me désabonne | je me désinscris | nous désabonner | nous désinscrire"),
		each(of("pas de | aucune"), of("pub | pubs | publicité | publicités | spam | promotions")),
		each(of("demande de | je demande le | je demande la"), of("désabonnement | désinscription")),
		each(of("désabonnement | désinscription"), of("souhaité | souhaitée | demandé | demandée | immédiat | immédiate")),
	],
	asked: [
		each(
			of("puis-je | je peux | est-ce que je peux | pourrais-je | est-il possible de"),
			of(`
			me désinscrire | me désabonner | être désinscrit | être désinscrite | être désabonné | être désabonnée
		`),
		),
	],
	wrongNumber: [
		each(
			of(`
			| vous avez | vous devez avoir | tu as | c'est | cest | vous avez fait | vous écrivez | vous écrivez à | vous contactez
			| vous êtes sur
		`),
			of(`
			mauvais numéro | mauvais num | le mauvais numéro | un mauvais numéro | faux numéro | le faux numéro | un faux numéro
			| mauvaise personne | la mauvaise personne | au mauvais numéro | mauvais destinataire
		`),
		),
		each(of("| c'est une | il y a | il y a une"), of("erreur"), of("de numéro | de personne | de destinataire")),
		each(
			of(`
			vous vous trompez | vous vous êtes trompé | vous vous êtes trompée | vous vous êtes trompés | tu te trompes
			| tu t'es trompé | tu t'es trompée | vous faites erreur | vous devez vous tromper
		`),
			of("de numéro | de personne"),
		),
		each(of("| ce n'est | c'est | vous n'avez | ce n'est vraiment"), of("pas le bon numéro | pas la bonne personne")),
		...of("erreur sur la personne | il y a erreur sur la personne"),
	],
	refusal: [
		...of(`
			assez | c'est assez | ça suffit | cela suffit | ca suffit maintenant | ça suffit comme ça | trop c'est trop
			| c'en est trop | j'en ai assez | j'en ai marre | y en a marre | on en a assez | nous en avons assez
		`),
		each(of("je ne veux | on ne veut | nous ne voulons"), of("plus | pas"), of("| de ça | de cela | de tout ça | ça")),
		...of(`
			je ne le veux plus | je n'en veux plus | on n'en veut plus | nous n'en voulons plus | je n'en veux pas
		`),
		each(
			of("| je ne suis | je suis | nous ne sommes | on n'est"),
			of("pas | plus | pas du tout"),
			of("intéressé | intéressée | intéressés"),
		),
		each(of("ça | cela"), of("ne m'intéresse | ne nous intéresse"), of("pas | plus")),
		...of(`
			pas d'intérêt | aucun intérêt | ça m'intéresse pas | ne pas déranger | merci de ne pas déranger
		`),
	],
};

const german: Phrases = {
	asides: of(`
			hallo | hi | guten Tag | guten Morgen | guten Abend | moin | servus | grüß Gott | sorry | sorry aber
			| entschuldigung | entschuldigen Sie | Verzeihung | tut mir leid | tut mir leid aber | es tut mir leid
			| danke | danke schön | vielen Dank | schönen Tag | schönen Tag noch | danke trotzdem | nein | nee | leider | ich glaube | ich denke | ich fürchte
			| wer ist das | wer sind Sie | wer bist du | mfg | viele Grüße | liebe Grüße
			| glaube ich | denke ich | fürchte ich | das bin ich nicht | bin ich nicht | das bin nicht ich
			| ich kenne Sie nicht | ich kenne euch nicht | ich kenn Sie nicht | ich kenne dich nicht
		`),
	no: [],
	closings: listOf(`
			mit freundlichen Grüßen | freundliche Grüße | viele Grüße | liebe Grüße | beste Grüße | schöne Grüße | Gruß
			| Grüße | mfg | lg | vg
		`),
	optOut: [
		each(of("bitte"), of("abmelden | Abmeldung | abbestellen | austragen")),
		each(of("abmelden | Abmeldung | abbestellen | austragen"), of("bitte")),
		each(of("| ich | wir"), of("bitte um | bitten um"), of("Abmeldung | Abbestellung | Austragung")),
		each(of("abmelden | Abmeldung | abbestellen"), of("gewünscht | erwünscht | erbeten")),
		each(of("ich möchte | ich will | möchte | ich würde gern"), of("mich"), of("abmelden | austragen")),
		...of("bitte mich abmelden | gerne abmelden | ich melde mich ab | hiermit melde ich mich ab"),
		each(of("keine | kein"), of("Werbung | Reklame | Spam | Werbenachrichten")),
	],
	asked: [
		each(of("kann ich | darf ich | könnte ich"), of("mich"), of("abmelden | austragen | austragen lassen")),
		each(of("kann ich | darf ich"), of("abgemeldet werden | ausgetragen werden")),
	],
	wrongNumber: [
		each(
			of(`
			| Sie haben | du hast | ihr habt | das ist | hier ist | dies ist | das ist hier | Sie haben leider
			| das ist leider | da haben Sie | Sie schreiben | Sie schreiben an | du schreibst an | da hast du
		`),
			of(`
			falsche Nummer | die falsche Nummer | eine falsche Nummer | falsche Rufnummer | die falsche Rufnummer
			| falsche Handynummer | die falsche Handynummer | falsche Person | die falsche Person | falscher Kontakt
			| der falsche Kontakt
		`),
		),
		each(of("Sie haben | du hast"), of("die falsche Nummer"), of("erwischt | gewählt | angeschrieben")),
		each(of("| Sie sind | da sind Sie | du bist | hier sind Sie"), of("falsch verbunden")),
		...of(`
			Sie haben sich verwählt | da haben Sie sich verwählt | du hast dich verwählt | nicht die richtige Nummer
			| das ist nicht die richtige Nummer | Sie haben sich in der Nummer geirrt
			| da haben Sie sich in der Nummer geirrt | Nummer falsch
			| diese Nummer gehört jemand anderem
		`),
	],
	refusal: [
		each(of("| jetzt ist | jetzt ist es | das ist | es ist | nun ist"), of("genug | genug jetzt")),
		...of(`
			genug ist genug | es reicht | jetzt reicht es | jetzt reicht's | das reicht | das reicht jetzt
			| mir reicht es | mir reicht's | es reicht jetzt | reicht jetzt | ich habe genug | ich habe genug davon
			| ich hab genug davon
		`),
		each(
			of("ich will | ich möchte | wir wollen | wir möchten"),
			of("| das | dies | das alles | es"),
			of("nicht mehr | nicht länger"),
		),
		each(of("ich will | ich möchte | wir wollen | wir möchten"), of("das nicht")),
		each(of("das"), of("will ich | möchte ich | wollen wir | möchten wir"), of("nicht | nicht mehr")),
		each(of("| ich habe | wir haben | habe"), of("kein Interesse | kein Interesse mehr | keinerlei Interesse")),
		each(of("| ich bin | wir sind | bin"), of("nicht interessiert | nicht mehr interessiert")),
		each(of("das interessiert"), of("mich | uns"), of("nicht | nicht mehr")),
		...of("Schluss | Schluss jetzt | jetzt ist Schluss | bitte nicht stören | nicht stören"),
	],
};

const spanish: Phrases = {
	asides: of(`
			hola | buenos días | buenas tardes | buenas noches | buenas | buen día | señor | señora | perdón | perdone
			| perdona | disculpe | disculpa | disculpen | lo siento | lo siento pero | lo sentimos | gracias
			| muchas gracias | gracias igualmente | creo que | me parece que | me temo que | lamentablemente | quién es
			| creo | me parece | me temo | no soy yo | ese no soy yo | yo no soy | no le conozco | no lo conozco
			| no los conozco | no os conozco | no te conozco
			| quién eres | un saludo | saludos
		`),
	no: of("no | no gracias"),
	closings: listOf("un cordial saludo | cordiales saludos | un saludo | saludos | atentamente | atte"),
	optOut: [
		each(of("por favor"), of("baja")),
		each(of("baja | darme de baja"), of("por favor")),
		each(of("solicito | pido | quiero | deseo"), of("la baja | mi baja")),
		each(
			of("quiero | quisiera | deseo | me gustaría | solicito | pido"),
			of("darme de baja | desuscribirme | cancelar la suscripción"),
		),
		...of(`
			me doy de baja | me quiero dar de baja | nos damos de baja | baja inmediata | solicitud de baja
		`),
		each(of("sin | no | nada de | no quiero"), of("publicidad | spam | promociones | propaganda")),
	],
	asked: [
		each(of("puedo | podría | se puede"), of("darme de baja | desuscribirme")),
		each(of("me"), of("puedo | pueden | puede | podrían | podría"), of("dar de baja")),
		each(of("pueden | puede | podrían | podría"), of("darme de baja | desuscribirme")),
		each(of("paren | pare | parad"), of("ya")),
	],
	wrongNumber: [
		each(
			of(`
			| es | es un | este es | tiene | tiene un | tiene el | tienes | tienes el | tienen | tienen el
			| está llamando al
		`),
			of(`
			número equivocado | el número equivocado | número incorrecto | número erróneo | teléfono equivocado
			| persona equivocada | la persona equivocada
		`),
		),
		each(
			of(`
			se ha equivocado | se equivocó | te has equivocado | te equivocaste | se equivocaron | se han equivocado
			| se equivoca | te equivocas | está equivocado | está equivocada | estás equivocado | están equivocados
			| os habéis equivocado
		`),
			of("de número | de persona | de teléfono"),
		),
		each(of("| este"), of("no es el número correcto | no es mi número")),
		...of("este número es de otra persona | número equivocado señor"),
	],
	refusal: [
		...of(`
			suficiente | es suficiente | ya es suficiente | ya está bien | ya estuvo bueno | ya fue suficiente
		`),
		each(of("estoy | ya estoy"), of("harto | harta"), of("| de esto | de todo esto")),
		each(of("ya no | no"), of("quiero | queremos | deseo"), of("esto | eso | esto más | más esto | nada de esto")),
		each(of("ya no"), of("quiero | queremos | lo quiero | la quiero | lo queremos")),
		...of(`
			no lo quiero más | no la quiero más | no quiero más | no queremos más | no quiero saber nada más
		`),
		each(of("no | ya no"), of("me interesa | nos interesa | tengo interés | tenemos interés"), of("| más")),
		each(of("no | ya no"), of("estoy interesado | estoy interesada | estamos interesados | estamos interesadas")),
		...of("sin interés | no molestar | por favor no molestar | no interesado | no interesada"),
	],
};

const italian: Phrases = {
	asides: of(`
			ciao | buongiorno | buonasera | buon pomeriggio | salve | signora | signore | scusi | scusa | scusate
			| mi scusi | mi scusi ma | mi dispiace | mi dispiace ma | spiacente | spiacenti | purtroppo | grazie
			| grazie mille | grazie lo stesso | credo | credo che | penso che | temo che | mi sa che | chi è
			| mi sa | penso | temo | non sono io | non la conosco | non vi conosco | non ti conosco
			| chi sei | saluti | cordiali saluti
		`),
	no: of("no | no grazie"),
	closings: listOf("cordiali saluti | distinti saluti | un saluto | saluti"),
	optOut: [
		each(of("disiscrizione | disiscrivimi | disiscrivetemi"), of("per favore | per piacere")),
		each(
			of("richiedo | chiedo | desidero | richiesta di"),
			of(`
			la disiscrizione | disiscrizione | disiscrivermi | di essere disiscritto | di essere disiscritta
		`),
		),
		...of(`
			mi disiscrivo | mi voglio disiscrivere | mi vorrei disiscrivere | vorrei essere disiscritto
			| vorrei essere disiscritta | voglio essere disiscritto | disiscrizione immediata | ci disiscriviamo
		`),
		each(of("niente | no | nessuna"), of("pubblicità | spam | promozioni")),
	],
	asked: [
		each(of("posso | potrei | si può"), of("disiscrivermi | cancellarmi | disiscriversi")),
		each(of("mi"), of("potete | può | puoi"), of("disiscrivere | cancellare")),
	],
	wrongNumber: [
		each(
			of(`
			| ha | ha il | hai | hai il | avete | avete il | abbia | abbia il | abbiate | è | è il | è un | questo è il | sta scrivendo al
			| scrive al
		`),
			of(`
			numero sbagliato | numero errato | sbagliato numero | persona sbagliata | la persona sbagliata
		`),
		),
		each(of("ha | hai | avete"), of("sbagliato"), of("il numero | persona | numero di telefono")),
		each(of("| questo | questo numero"), of("non è il numero giusto | non è quello giusto | è di un'altra persona")),
		...of(`
			errore di numero | numero sbagliato signora | non sono la persona che cercate
			| non sono la persona che cerca
		`),
	],
	refusal: [
		...of(`
			ne ho abbastanza | ne abbiamo abbastanza | adesso è troppo | ora è troppo | è abbastanza
			| quando è troppo è troppo
		`),
		each(of("sono | ne sono | sono proprio"), of("stufo | stufa"), of("| di questo")),
		...of("mi sono stufato | mi sono stufata | siamo stufi"),
		each(
			of("non lo | non la | non ne | non | questo non lo | questo non"),
			of("voglio | vogliamo"),
			of("più | più sapere"),
		),
		...of(`
			non voglio più questo | non voglio questo | non vogliamo più questo | non voglio più niente | non lo voglio
		`),
		each(of("non"), of("mi interessa | ci interessa | mi interessa più | ci interessa più | ho interesse")),
		each(
			of("non"),
			of("sono | sono più | siamo | siamo più"),
			of("interessato | interessata | interessati | interessate"),
		),
		...of(`
			nessun interesse | non interessato | non interessata | non ho più interesse | non disturbare
			| si prega di non disturbare
		`),
	],
};

const portuguese: Phrases = {
	asides: of(`
			olá | oi | bom dia | boa tarde | boa noite | senhor | senhora | desculpe | desculpa | desculpem
			| desculpe mas | peço desculpa | perdão | lamento | sinto muito | infelizmente | obrigado | obrigada
			| muito obrigado | muito obrigada | acho que | creio que | penso que | quem é
			| acho | acho eu | creio | penso | não sou eu | não o conheço | não vos conheço | não conheço vocês
			| não te conheço | não os conheço
			| quem fala | cumprimentos | atenciosamente
		`),
	no: of("não | não obrigado | não obrigada"),
	closings: listOf(`
			com os melhores cumprimentos | melhores cumprimentos | cumprimentos | atenciosamente | att | abraço
		`),
	optOut: [
		each(of("descadastrar | sair | remover"), of("por favor")),
		each(of("peço | solicito | quero | pedido de"), of("o descadastro | descadastro | meu descadastro")),
		each(
			of("quero | gostaria de | desejo | queria"),
			of(`
			me descadastrar | descadastrar-me | cancelar a subscrição | ser descadastrado | ser descadastrada
		`),
		),
		...of("descadastro | descadastro imediato | descadastre-me | me descadastrem | quero sair da lista"),
		each(of("sem | nada de | não quero"), of("publicidade | spam | promoções | propaganda")),
	],
	asked: [
		each(of("posso | poderia | como posso"), of("me descadastrar | descadastrar-me | sair da lista de mensagens")),
		each(of("podem | pode | poderiam"), of("me descadastrar")),
	],
	wrongNumber: [
		each(
			of(`
			| é | é o | este é o | esse é o | tem | tem o | você tem o | vocês têm o | está com o | você está com o
		`),
			of(`
			número errado | um número errado | número incorreto | telefone errado | pessoa errada | contato errado
		`),
		),
		each(of("| é a | falou com a | está falando com a"), of("pessoa errada")),
		each(
			of(`
			ligou para o | escreveu para o | mandou mensagem para o | enviou para o | estão a escrever para o
		`),
			of("número errado"),
		),
		...of(`
			engano | foi engano | é engano | isso é engano | isto é engano | deve ser engano | enganou-se no número
			| engano de número | você se enganou de número | enganaram-se no número | errou o número
			| você errou o número | este não é o número certo | não é o número certo | este número é de outra pessoa
		`),
	],
	refusal: [
		...of("chega | já chega | agora chega | já é suficiente | é suficiente | já deu"),
		each(of("estou | já estou"), of("farto | farta"), of("| disto | disso")),
		each(of("não"), of("quero | queremos"), of("mais | mais isso | mais isto | isso mais | isto mais | isso | isto")),
		each(of("já não"), of("quero | queremos"), of("| isso | isto | mais")),
		each(of("não | já não"), of("me interessa | nos interessa | tenho interesse | temos interesse"), of("| mais")),
		each(of("não"), of("tenho | temos"), of("mais interesse")),
		each(of("não estou | já não estou | não estou mais"), of("interessado | interessada")),
		each(of("não estamos | já não estamos | não estamos mais"), of("interessados")),
		...of("sem interesse | não interessado | não interessada | não perturbar | não incomodar"),
	],
};

const polish: Phrases = {
	asides: of(`
			cześć | hej | dzień dobry | dobry wieczór | witam | proszę pana | proszę pani | przepraszam | sorry
			| przepraszam ale | przykro mi | przykro mi ale | wybaczcie | niestety | dziękuję | dziękuję bardzo | dzięki
			| chyba | myślę że | obawiam się że | wydaje mi się że | kto to | pozdrawiam
			| tak myślę | obawiam się | wydaje mi się | to nie ja | nie znam pana | nie znam pani | nie znam państwa
			| nie znam was | nie znam cię
		`),
	no: of("nie | nie dziękuję"),
	closings: listOf(`
			z poważaniem | serdecznie pozdrawiam | pozdrawiam serdecznie | pozdrawiam | pozdrowienia | pozdro
		`),
	optOut: [
		each(of("wypisanie | wypisać | wypisz mnie"), of("proszę")),
		each(of("proszę"), of("wypisać mnie | mnie wypisać | o wypisanie")),
		each(of("| poproszę | bardzo proszę"), of("o wypisanie | o wypisanie mnie | o wypisanie nas")),
		each(of("rezygnuję | chcę zrezygnować | rezygnujemy"), of("z subskrypcji | z otrzymywania wiadomości")),
		...of(`
			wypisuję się | chcę zostać wypisany | chcę zostać wypisana | o wykreślenie z listy wysyłkowej | wypisanie
			| wypisanie natychmiast | proszę mnie wypisać z listy | chciałbym się wypisać | chciałabym się wypisać
			| chcielibyśmy się wypisać
		`),
		each(of("bez | żadnych | nie chcę"), of("reklam | spamu | promocji")),
	],
	asked: [
		each(
			of("czy mogę | czy można | czy mógłbym | czy mogłabym"),
			of("się wypisać | wypisać się | zostać wypisany | zostać wypisana"),
		),
	],
	wrongNumber: [
		each(
			of("| to | to jest | ma pan | ma pani | masz | macie | mają państwo | ma pan chyba | to chyba"),
			of(`
			zły numer | błędny numer | nieprawidłowy numer | niewłaściwy numer | zła osoba | niewłaściwa osoba
		`),
		),
		each(of("| to | to chyba | to jakaś"), of("pomyłka | pomyłka telefoniczna")),
		each(
			of(`
			pomylił pan | pomyliła pani | pomylili państwo | pomyliłeś | pomyliłaś | pomyliliście | pomylono
		`),
			of("numer | numery | osobę | osoby"),
		),
		...of(`
			nie ten numer | to nie ten numer | nie ta osoba | to nie ta osoba | to nie jest właściwy numer
			| to numer innej osoby | ten numer należy do kogoś innego | pomyłka numeru
		`),
	],
	refusal: [
		...of(`
			dość | dosyć | już dość | mam dość | mam już dość | mam dosyć | wystarczy | już wystarczy | wystarczy już
			| mamy dość | mam tego dość | mam tego dosyć
		`),
		each(of("nie chcę | nie chcemy"), of("tego | tego więcej | tego już | już tego | już | więcej")),
		each(of("już"), of("tego nie | nie"), of("chcę | chcemy")),
		each(of("nie jestem | nie jestem już | już nie jestem"), of("zainteresowany | zainteresowana")),
		each(of("nie jesteśmy | nie jesteśmy już | już nie jesteśmy"), of("zainteresowani")),
		...of(`
			nie interesuje mnie to | nie interesuje nas to | to mnie nie interesuje | to nas nie interesuje
			| już mnie to nie interesuje | nie interesuje mnie to już | brak zainteresowania | niezainteresowany
			| niezainteresowana | nie zainteresowany | nie zainteresowana | rezygnuję | rezygnujemy | nie przeszkadzać
		`),
	],
};

export const languages: readonly Phrases[] = [english, dutch, french, german, spanish, italian, portuguese, polish];
