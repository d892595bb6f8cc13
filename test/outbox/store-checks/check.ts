import { type NewText, newProgress, type OutboxStore, type OutboxText, type Recipient } from "../port.ts";
import { equal } from "./assert.ts";

/** Opens an empty store, migrates it, and stores these texts in it. */
export type Given = (...texts: NewText[]) => Promise<OutboxStore>;

/** Something that a store must do. */
export interface Check {
	title: string;
	run: (given: Given) => Promise<void>;
}

export const recipient: Recipient = { agencyId: "agy_1", to: "+447700900101" };
/** The same number at another agency. */
export const otherAgency: Recipient = { agencyId: "agy_2", to: "+447700900101" };
/** Another number at the first agency. */
export const otherNumber: Recipient = { agencyId: "agy_1", to: "+447700900102" };
export const noon: number = Date.parse("2026-01-05T12:00:00Z");

/** The change of a text when its first request begins. */
export const attempted: Partial<OutboxText> = { progress: { ...newProgress, attempts: 1 } };

/** A new text to the recipient above. */
export function textOf(id: string, rest: Partial<NewText> = {}): NewText {
	return {
		...recipient,
		id,
		body: `Text ${id}`,
		subaccountId: null,
		consentLanguage: null,
		byWhom: null,
		why: null,
		notBefore: null,
		notAfter: null,
		purpose: "notice",
		priority: 0,
		given: {},
		createdAt: noon,
		...rest,
	};
}

/** The row of a text that must be there. */
export async function rowOf(store: OutboxStore, id: string): Promise<OutboxText> {
	const row = await store.find(id);
	if (!row) throw new Error(`find("${id}"): expected a row, got undefined`);
	return row;
}

/** Changes a row as the outbox does, and expects it to be stored. Returns the new row. */
export async function change(
	store: OutboxStore,
	id: string,
	changes: Partial<OutboxText>,
	options?: Parameters<OutboxStore["save"]>[1],
): Promise<OutboxText> {
	const row = await rowOf(store, id);
	equal(`save of the current row of "${id}"`, await store.save({ ...row, ...changes }, options), true);
	return { ...row, ...changes, version: row.version + 1 };
}

export function idsOf(rows: readonly { id: string }[]): string[] {
	return rows.map(({ id }) => id);
}

/** Which of these ids have a row. */
export async function stored(store: OutboxStore, ...ids: string[]): Promise<string[]> {
	const found: string[] = [];
	for (const id of ids) if (await store.find(id)) found.push(id);
	return found;
}
