/*
 * What people say beside a request for no more texts, in the spelling of `words.ts`. Alone it asks for nothing: the wrong number may
 * be that of the house, and who is not interested in one flat may be in the next.
 */

const wrongNumber = [
	"((sorry|you have|youve got|you got|this is|its) )?(the |a )?wrong (number|person)",
	"((u|je|jullie) (heeft|hebt|hebben) |dit is )?(een |het )?verkeerde? (nummer|persoon)",
	"((vous avez|cest|ceest) )?(le |un )?(faux|mauvais) numero|erreur de numero|vous vous (trompez|etes trompee?s?) de numero",
	"((sie haben|du hast|das ist|hier ist) )?(die |eine )?falsche (nummer|person)|falsch verbunden",
	"((es|este es|tiene|tienen) )?(un |el )?numero equivocado|(se|te) (ha |han )?(equivocado|equivoc(a|an|o|aron|aste)) de numero",
	"((avete|ha|hai) )?(il )?(numero sbagliato|sbagliato numero)",
	"((e|este e|tem) )?(o )?numero errado|(e |foi )?engano",
	"(to )?(zly numer|pomylka)",
];

/** Not "in the flat on the first floor". */
const noInterest = [
	"((im|i am|we are|were) )?(not|no longer) interested( any ?more)?(?! (in|by) )",
	"((ik ben|we zijn) )?niet( meer| langer)? geinteresseerd(?! in )|((ik|we) (heb|hebben) )?geen interesse( meer)?(?! (in|voor) )",
	"(je ne suis |je suis |nous ne sommes )?(pas|plus) interessee?s?(?! par )|pas de ?interet|(ca|cela) ne me interesse (pas|plus)",
	"((ich bin|wir sind) )?nicht( mehr)? interessiert(?! an )|((ich|wir) (habe|haben) )?kein interesse( mehr)?(?! an )",
	"(ya )?no (me|nos) interesa(?! (el|la|los|las|ese|esa|este|esta) )|(ya )?no estoy interesad[oa](?! en )",
	"non (mi|ci) interessa( piu)?(?! (il|la|le|lo|i|quel|quell[ao]|questo|questa) )|non sono( piu)? interessat[oa](?! a )",
	"(ja )?nao (me |nos )?interessa(?! (o|a|os|as|esse|essa) )|(ja )?nao (estou|tenho) (mais )?interes(sad[oa]|se)(?! (em|no|na) )",
	"nie jestem( juz)? zainteresowan[ya]|nie jestesmy zainteresowani|nie interesuje mnie to",
];

const enough = [
	"(thats |that is |this is )?enough( is enough| already| now)?(?! \\S+ings? )",
	"(het is |dat is |nu is het |zo is het )?genoeg( geweest)?",
	"(ca|cela) suffit( maintenant)?|cen est (trop|assez)|(jen|je en|yen|y en) (ai|a) (assez|marre)",
	"(es |das |jetzt |mir )?reicht( es| mir)?( jetzt)?|(jetzt |das |nun )?(ist )?genug( jetzt)?",
	"(ya )?es suficiente|estoy hart[oa]|ya estuvo bueno",
	"ne ho abbastanza|adesso e troppo|sono stuf[oa]|mi sono stufat[oa]",
	"ja (chega|basta)(?! (de|a|o|as|os) )|chega(?= $)|estou fart[oa]( disto| disso)?",
	"(juz )?(wystarczy|dosyc)( tego| juz)?|mam (tego |juz |juz tego )?dosc( tego)?",
];

const askedBefore = [
	"i (have |already |have already )?(told|asked) you( already| before| (so )?\\S+ times)?",
	"dat heb ik( (je|jullie|u))? al (gezegd|gevraagd)|ik heb het( (je|jullie|u))? al (gezegd|gevraagd)",
	"je (vous |te )?le ai deja (dit|demande)",
	"(das habe ich|ich habe( es| das)?)( (ihnen|dir|euch))? (schon|bereits) (mehrmals |mehrfach )?gesagt",
	"ya (se )?(lo|les|te|le) (dije|he dicho|pedi|he pedido)",
	"(ve |te )?le ho gia (detto|chiesto)|ve lo avevo gia detto",
	"(eu )?ja (lhes? |vos |te )?(disse|falei|pedi)( isso)?",
	"juz (to )?(mowil[ae]m|pisal[ae]m|prosil[ae]m)( o to)?",
];

const rude = [
	"(fuck|piss|bugger) off|get lost|go away|go to hell|shut up",
	"rot( toch)? op|(donder|flikker|sodemieter) op|ga weg|hou je (mond|bek)",
	"degagez?|casse toi|cassez vous|foute[zs] le camp|(alle[zr]|va) (vous|te) faire (voir|foutre)",
	"verpiss (dich|euch)|verpissen sie sich|haut? ab|verschwinde(t|n sie)?|halt(et)? die klappe",
	"(vayanse|vete|vayase|idos) a la (mierda|porra)|larguen?se|largate|que (os|te|les) den",
	"vaffanculo|andate(vene)? (affanculo|al diavolo)|vai (affanculo|al diavolo)|andatevene",
	"(va|vai|vao) (se foder|a merda|para o inferno)|sumam|desaparecam",
	"spierdalaj(cie)?|spadaj(cie)?|odczep(cie)? sie|odwal(cie)? sie",
];

export const remarks = [
	...wrongNumber,
	...noInterest,
	...enough,
	...askedBefore,
	...rude,
	// The AI is told so too
	"(you are|youre) (spamming|harassing|bothering) (me|us)",
].join("|");

/** What somebody will do otherwise: "or I will report you", with everything after it. */
const threats: [otherwise: string, deed: string][] = [
	[
		"(or( else)?|otherwise) (i|we|ill|well|im|were|you|youll)",
		"report|block|sue|police|lawyer|solicitor|attorney|legal|complain|complaint|authorities|court",
	],
	[
		"(of( anders)?|anders) (ik|we|meld|doe|dien|bel|blokkeer)",
		"meld|rapporteer|blokkeer|aangifte|politie|klacht|advocaat",
	],
	["(ou|sinon)", "signale\\S*|bloque\\S*|plainte|police|avocat|cnil"],
	["(oder|sonst|ansonsten)", "melde\\S*|zeige|anzeige|blockier\\S*|polizei|anwalt|beschwer\\S*"],
	[
		"(o (los?|las?|les?|te|os|voy|vamos)|o(?= (denunci|report|bloque))|si no|sino|de lo contrario)",
		"denunci\\S*|report\\S*|bloque\\S*|policia|abogado",
	],
	[
		"(o (vi|la|ti|chiamo)|o(?= (denunci|segnal|blocc))|altrimenti|oppure|senno)",
		"denunci\\S*|segnal\\S*|blocc\\S*|polizia|carabinieri|avvocato|garante",
	],
	["(ou|senao|caso contrario)", "denunci\\S*|bloque\\S*|bloquei\\S*|queixa|policia|advogad\\S*"],
	["(albo|bo|inaczej|w przeciwnym razie)", "zglosz\\S*|zglaszam|zablokuj\\S*|policj\\S*|prawnik\\S*|uodo"],
];

const threat = new RegExp(`(^| )(${threats.map(([otherwise, deed]) => `${otherwise} (.* )?(${deed})`).join("|")}) .*$`);

export const withoutThreat = (words: string) => words.replace(threat, " ");
