/*
 * What is known of contacts, for people who ask and for another outbox.
 */
import { type ContactRecord, factsOf, folded, recordOf, recordVersion } from "./contact-records.ts";
import type { OwnClock } from "./own-clock.ts";
import { hasPerhapsDeclined, hasRefused, isNumberWrong, isOptedOut, storedView } from "./policy/contact-view.ts";
import { isAlert, type OutboxStore } from "./store.ts";
import type { FactSource, FactTime, StoredContact, StoredFact } from "./text.ts";

/** Options of `optedOut`. */
export interface OptedOutOptions {
	/** Contact phone number, as written. */
	to: string;
	/** The agency's id. What was said about all agencies counts for it too. */
	agencyId: string;
}

/** When a contact asked for no more texts, or for texts again. */
export interface ToldFact {
	/** When. */
	at: Date;
	/** Whose clock that is by: the service's for a message, the outbox's for a telephone call. */
	clock: "service" | "outbox";
	/** What told of it: a reading of the conversation (`reading`), or a method of the outbox. */
	source: FactSource;
	/** Who told it, as `optOut` and `optIn` got it; null if they did not say, or once `erase` has erased it. */
	by: string | null;
}

/** Whether a contact has opted out of the texts of an agency, as far as the outbox knows. */
export interface OptOutStatus {
	/** Whether they get no notices and no marketing now. */
	isOptedOut: boolean;
	/**
	 * Whether a worker has seen a text of the agency, or something is stored of the contact there. If not, look at the id: what this
	 * says is true only of all agencies.
	 */
	isAgencyKnown: boolean;
	/** When they last asked for no more texts; null if they never did. */
	optOut: ToldFact | null;
	/** When they last asked for texts again, or a person said so; null if never. */
	optIn: ToldFact | null;
}

/** Which contacts `exportContacts` exports. */
export interface ExportOptions {
	/**
	 * The agency's id: what is known of its contacts, with what was said about all agencies, as facts of this one. @default all agencies
	 */
	agencyId?: string | undefined;
}

export async function optedOutOf(store: OutboxStore, to: string, agencyId: string): Promise<OptOutStatus> {
	const rows = (await store.contactsOf([to])).map(({ contact }) => contact);
	const known = folded(
		{ keyId: "", hash: "", agencyId },
		rows.filter((row) => row.agencyId === "" || row.agencyId === agencyId),
	);
	const isAgencyKnown = rows.some((row) => row.agencyId === agencyId) || (await store.consent(agencyId)).isKnown;
	return {
		isOptedOut: isOptedOut(storedView(factsOf(known))),
		isAgencyKnown,
		optOut: newest(known.facts, "optedOut"),
		optIn: newest(known.facts, "optedIn"),
	};
}

const clocks = { service: "service", own: "outbox" } as const satisfies Record<keyof FactTime, string>;

function newest(facts: readonly StoredFact[], name: StoredFact["fact"]): ToldFact | null {
	const [first, ...others] = facts.filter(({ fact }) => fact === name);
	if (!first) return null;
	const { at, clock, source, by } = others.reduce((one, other) => (other.at > one.at ? other : one), first);
	return { at: new Date(at), clock: clocks[clock], source, by };
}

/** The records of an export, of one agency or of all of them. */
export async function* exported({
	store,
	clock,
	agencyId,
}: {
	store: OutboxStore;
	clock: OwnClock;
	agencyId: string | undefined;
}): AsyncGenerator<ContactRecord, void, undefined> {
	const version = recordVersion;
	await store.checkKeys("exportContacts");
	await clock.measure();
	const { now } = clock;
	yield { version, kind: "begin", exportedAt: new Date(now()).toISOString() };
	const agencies = (await store.agencies()).filter((id) => !isAlert(id));
	let keyId = "";
	let contacts = 0;
	for await (const known of numbersIn(store)) {
		const found = agencyId === undefined ? ofAll(known, agencies) : [ofAgency(known, agencyId)];
		for (const contact of found) {
			if (contact.facts.length === 0 && contact.erasedAt === null) continue;
			if (contact.keyId !== keyId) {
				keyId = contact.keyId;
				yield { version, kind: "key", keyId, key: await keyOf(store, keyId) };
			}
			contacts++;
			yield recordOf(contact);
		}
	}
	yield { version, kind: "end", contacts };
}

async function keyOf(store: OutboxStore, keyId: string): Promise<string> {
	const key = (await store.keys()).get(keyId);
	if (key === undefined) throw new Error("Facts of contacts came without their key while they were exported.");
	return key;
}

/** What is known of each number, by one key: its rows of all agencies. */
async function* numbersIn(store: OutboxStore): AsyncGenerator<StoredContact[], void, undefined> {
	let known: StoredContact[] = [];
	for (let page = await store.contacts(); page.length > 0; page = await store.contacts(page.at(-1))) {
		for (const contact of page) {
			const [first] = known;
			if (first && (first.keyId !== contact.keyId || first.hash !== contact.hash)) {
				yield known;
				known = [];
			}
			known.push(contact);
		}
	}
	if (known.length > 0) yield known;
}

const nameOf = (known: readonly StoredContact[], agencyId: string) => {
	const { keyId = "", hash = "" } = known[0] ?? {};
	return { keyId, hash, agencyId };
};

/** What counts for an agency. */
function ofAgency(known: readonly StoredContact[], agencyId: string): StoredContact {
	return folded(
		nameOf(known, agencyId),
		known.filter((each) => each.agencyId === "" || each.agencyId === agencyId),
	);
}

/**
 * What is known in all agencies, and in each. That somebody wants texts again is said to the agencies of this outbox alone, and not to
 * others that the records come to. So it goes along with each of them.
 */
function ofAll(known: readonly StoredContact[], agencies: readonly string[]): StoredContact[] {
	const all = known.find(({ agencyId }) => agencyId === "");
	const others = known.filter((each) => each !== all);
	if (!all?.facts.some(({ fact }) => fact === "optedIn")) return [...known];
	const view = storedView(factsOf(all));
	const ended = new Set<StoredFact["fact"]>(["optedIn"]);
	if (!isOptedOut(view)) ended.add("optedOut");
	if (!isNumberWrong(view)) ended.add("wrongNumber");
	if (!hasRefused(view)) ended.add("refused");
	if (!hasPerhapsDeclined(view)) ended.add("perhapsDeclined");
	const { facts } = all;
	const each = new Set([...agencies, ...others.map(({ agencyId }) => agencyId)]);
	return [
		{ ...all, facts: facts.filter(({ fact }) => !ended.has(fact)) },
		...[...each].map((agencyId) => {
			const own = others.filter((other) => other.agencyId === agencyId);
			return folded(nameOf(known, agencyId), [{ facts, erasedAt: null }, ...own]);
		}),
	];
}
