import type { ContactRecord, Outbox } from "messaging-conversations/outbox";
import { expect } from "vitest";

const stranger = {
	...{ version: 1, agencyId: "agy_0a", keyId: "0a".repeat(16) },
	hash: "00000000-0000-4000-8000-00000000000a",
} as const;

/** Takes in what another outbox knows, and gives it back with what it knows itself. */
export async function carries(outbox: Outbox, { agencyId, to }: { agencyId: string; to: string }): Promise<void> {
	await outbox.optOut({ agencyId, to, by: "Ann" });
	const { version, ...contact } = stranger;
	const fact = { fact: "optedOut", clock: "service", at: "2026-01-05T09:00:00.000Z", source: "reading", by: null };
	const facts = [fact, { ...fact, fact: "declined", clock: "outbox", at: "2026-01-05T10:00:00.000Z" }];
	const given = [
		{ version, kind: "begin", exportedAt: "2026-01-05T12:00:00.000Z" },
		{ version, kind: "key", keyId: contact.keyId, key: "0b".repeat(32) },
		{ version, kind: "contact", ...contact, facts, erasedAt: null },
		{ version, kind: "contact", ...contact, agencyId: null, facts: [], erasedAt: "2026-01-05T11:00:00.000Z" },
		{ version, kind: "end", contacts: 2 },
	] as ContactRecord[];
	for (let round = 0; round < 2; round++)
		expect(await outbox.importContacts(given)).toMatchObject({ contacts: 2, tooLate: [] });
	const records: ContactRecord[] = [];
	for await (const record of outbox.exportContacts()) records.push(record);
	for (const record of given.slice(1, -1)) expect(records).toContainEqual(record);
	await outbox.importContacts(records);
	expect(await outbox.optedOut({ agencyId, to })).toMatchObject({ isOptedOut: true, optOut: { by: "Ann" } });
	await outbox.erase({ to, everyAgency: true });
	expect(await outbox.optedOut({ agencyId, to })).toMatchObject({ isOptedOut: true, optOut: { by: null } });
}
