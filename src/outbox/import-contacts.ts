/*
 * Takes in what another outbox knows of contacts. A No stays a No: of two times the later one counts, so that nothing that is older
 * takes the place of what is newer, and everything may be repeated.
 */
import { cancelling } from "./cancel.ts";
import type { ChangeRow } from "./change.ts";
import { checkedRecord, contactOf, factsOf, folded, refuseRecord, schemasAt } from "./contact-records.ts";
import { gate } from "./gate/gate.ts";
import { type Situation, storedSituation } from "./gate/situation.ts";
import { onOptOut } from "./gate/waiting.ts";
import { refuse } from "./input.ts";
import { hasPerhapsDeclined, hasRefused, isNumberWrong, isOptedOut, storedView } from "./policy/contact-view.ts";
import type { Whose } from "./recipient.ts";
import type { OutboxStore } from "./store.ts";
import {
	type Change,
	type ContactFacts,
	isUnfinished,
	type OutboxText,
	type StoredContact,
	type StoredFact,
} from "./text.ts";

/** Options of `importContacts`. */
export interface ImportOptions {
	/**
	 * The agency's id, if another agency becomes part of this one. Pass the export of that agency alone. Each opt-out counts as of the
	 * export, so that only a START to this agency or an `optIn` after it ends it. @default the agencies of the records
	 */
	into?: string | undefined;
}

/** What `importContacts` has done. */
export interface ImportedContacts {
	/** How many contacts the records have. */
	contacts: number;
	/** Ids of texts that ended because their contact has opted out, or was erased. */
	cancelled: string[];
	/** Ids of texts to erased contacts that are `sending` or `held`: they may still be delivered, and are erased when they end. */
	tooLate: string[];
}

/** What an import uses. */
export interface ImportContext {
	store: OutboxStore;
	now: () => number;
	change: ChangeRow;
	/** Checks the id of an agency. */
	agencyOf: (id: string) => string;
	rules: Situation["options"];
	/** Makes the texts of a number due. */
	wake: (whose: Whose) => Promise<void>;
}

const mostStored = 500;
/** Each key costs a hash of every number that is asked about. */
const mostKeys = 100;
/** Texts of a contact that are looked at at once. */
const mostTexts = 500;

export async function importContacts(
	context: ImportContext,
	records: Iterable<unknown> | AsyncIterable<unknown>,
	into: string | undefined,
): Promise<ImportedContacts> {
	const { store, now } = context;
	const keys = new Map(await store.keys());
	const added = new Map<string, string>();
	const used = new Set<string>();
	const batch = new Map<string, StoredContact>();
	let contacts = 0;
	let section: { exportedAt: number; contacts: number } | undefined;
	let isWhole = false;
	let merged: string | null | undefined;

	async function flush(): Promise<void> {
		if (batch.size === 0) return;
		// The keys first: whoever sees a fact has to know its key.
		await store.addKeys(added);
		// In one order, so that two imports do not wait for each other.
		await store.learn([...batch].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, contact]) => contact));
		batch.clear();
	}

	const schemas = schemasAt(now());
	let at = -1;
	for await (const value of records) {
		at++;
		const record = checkedRecord(value, at, schemas);
		if (record.kind === "begin") {
			if (section) refuseRecord(at, "kind", 'must not be "begin" before the "end" of the export before it');
			section = { exportedAt: Date.parse(record.exportedAt), contacts: 0 };
			isWhole = false;
			continue;
		}
		if (!section) refuseRecord(at, "kind", 'must be "begin", with which an export begins');
		if (record.kind === "end") {
			if (record.contacts !== section.contacts)
				refuseRecord(
					at,
					"contacts",
					"differs from the number of contacts before it: some are missing, or there are more",
				);
			section = undefined;
			isWhole = true;
			continue;
		}
		const { keyId } = record;
		if (record.kind === "key") {
			const known = keys.get(keyId);
			if (known !== undefined && known !== record.key)
				refuseRecord(at, "key", "differs from the key of this id that the outbox has");
			if (known === undefined && keys.size >= mostKeys)
				refuseRecord(at, "key", `is one too many: an outbox has at most ${mostKeys} keys`);
			if (known === undefined) added.set(keyId, record.key);
			keys.set(keyId, record.key);
			continue;
		}
		if (!keys.has(keyId))
			refuseRecord(at, "keyId", "has no key in a record before it, so that nobody could tell whose facts these are");
		if (record.agencyId === null && record.facts.some(({ fact }) => fact === "optedIn"))
			refuseRecord(at, "facts", "must not have an opt-in for all agencies: an export has it for each agency");
		if (record.agencyId !== null) agencyIn(context, record.agencyId, at);
		const { exportedAt } = section;
		if (into !== undefined) {
			merged ??= record.agencyId;
			if (record.agencyId === null || record.agencyId !== merged)
				refuseRecord(
					at,
					"agencyId",
					"must be the same in all records, with `into`: export one agency, with its agencyId",
				);
		}
		const isMerged = into !== undefined && into !== record.agencyId;
		const contact = isMerged ? mergedInto(contactOf(record), into, exportedAt) : contactOf(record);
		const name = `${contact.keyId} ${contact.hash} ${contact.agencyId}`;
		const earlier = batch.get(name);
		batch.set(name, folded(contact, earlier ? [contact, earlier] : [contact]));
		used.add(keyId);
		section.contacts++;
		contacts++;
		if (batch.size >= mostStored) await flush();
	}
	await flush();
	if (section || !isWhole)
		refuse(
			"records",
			'must end with an "end", so that nothing is missing: the export was cut off. What it has was imported. Export again, and import that',
			"importContacts",
		);
	return { contacts, ...(await obey(context, used)) };
}

function agencyIn({ agencyOf }: ImportContext, given: string, at: number): void {
	try {
		agencyOf(given);
	} catch {
		refuseRecord(at, "agencyId", "must be the id of an agency, or null for all of them");
	}
}

/**
 * What is known of a contact when their agency becomes part of another one. What they said to the one agency still holds, and what they
 * have said to the other one does not take it back. That they wanted texts again was said to the agency that is no more.
 */
function mergedInto(contact: StoredContact, into: string, exportedAt: number): StoredContact {
	const view = storedView(factsOf(contact));
	/** It holds as of the export, by the clock of the outbox. */
	const renewed = (fact: StoredFact): StoredFact[] => {
		const { at, clock } = fact;
		return [fact, { ...fact, clock: "own", at: Math.max(exportedAt, clock === "own" ? at : 0) }];
	};
	const kept: Record<keyof ContactFacts, (fact: StoredFact) => StoredFact[]> = {
		optedOut: (fact) => (isOptedOut(view) ? renewed(fact) : []),
		optedIn: () => [],
		wrongNumber: (fact) => (isNumberWrong(view) ? renewed(fact) : []),
		refused: (fact) => (hasRefused(view) ? [fact] : []),
		perhapsDeclined: (fact) => (hasPerhapsDeclined(view) ? [fact] : []),
		// It may stop marketing, and ends nothing of another agency.
		declined: (fact) => [{ ...fact, fact: "refused" }],
		declineNoticed: () => [],
		ignored: () => [],
	};
	const facts = contact.facts.flatMap((fact) => kept[fact.fact](fact));
	// What the one agency was asked to erase says nothing of the texts of the other one.
	return folded({ ...contact, agencyId: into }, [{ facts, erasedAt: null }]);
}

/** Erases the texts of contacts who were erased, and ends what waits for those who have opted out, as far as these keys tell of them. */
async function obey(context: ImportContext, keys: ReadonlySet<string>): Promise<Omit<ImportedContacts, "contacts">> {
	const { store } = context;
	const done = { cancelled: [] as string[], tooLate: [] as string[] };
	if (keys.size === 0) return done;
	for (let after = ""; ; ) {
		const numbers = await store.numbers(after);
		const last = numbers.at(-1);
		if (last === undefined) return done;
		for (const { to, contact } of await store.contactsOf(numbers)) {
			if (!keys.has(contact.keyId)) continue;
			const whose: Whose = { to, ...(contact.agencyId !== "" && { agencyId: contact.agencyId }) };
			if (contact.erasedAt !== null) await eraseBefore(context, whose, contact.erasedAt, done);
			if (contact.facts.some(({ fact }) => fact === "optedOut")) await endOptedOut(context, whose, done);
		}
		after = last;
	}
}

/** Erases what was enqueued before the contact was erased. What was enqueued since is of a contact who came back. */
async function eraseBefore(
	context: ImportContext,
	whose: Whose,
	erasedAt: number,
	done: Omit<ImportedContacts, "contacts">,
): Promise<void> {
	const { store, change, rules, now } = context;
	let isOpen = false;
	for (let before: number | undefined; ; ) {
		const texts = await store.search({ ...whose, before }, mostTexts);
		for (const text of texts.filter(({ createdAt }) => createdAt <= erasedAt)) {
			isOpen ||= isUnfinished(text.state);
			const { row } = await change(text, (found) =>
				isUnfinished(found.state) ? cancelling(found, { erase: true }, rules, now()) : undefined,
			);
			if (isUnfinished(text.state)) done[row?.state === "cancelled" ? "cancelled" : "tooLate"].push(text.id);
			if (row && !isUnfinished(row.state)) await store.erase({ id: text.id });
		}
		before = texts.at(-1)?.seq;
		if (texts.length < mostTexts) break;
	}
	if (isOpen) await context.wake(whose);
}

/** As `optOut` does, for what waits now. */
async function endOptedOut(
	{ store, change, rules, now, wake }: ImportContext,
	whose: Whose,
	done: Omit<ImportedContacts, "contacts">,
): Promise<void> {
	async function ending(row: OutboxText): Promise<Change | undefined> {
		const isHeld = row.state === "held" && !row.progress.cancelRequested;
		if (row.state !== "waiting" && !isHeld) return undefined;
		const contact = { ...storedView(await store.facts(row)), isUpToDate: true };
		const answer = gate({ ...storedSituation(row, rules, now()), contact }, onOptOut);
		return answer && "change" in answer ? answer.change : undefined;
	}
	const texts = await store.unfinished(whose);
	for (const text of texts) {
		const { row, isChanged } = await change(text, ending);
		if (isChanged && row?.state === "cancelled") done.cancelled.push(row.id);
	}
	if (texts.length > 0) await wake(whose);
}
