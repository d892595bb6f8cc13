import { expect } from "vitest";
import type { OutboxStore } from "../port.ts";
import { newText } from "../store-suite.ts";

const { agencyId, to } = newText;

/** Stores facts from several sources, and compares the rows: the later time stays, with what told of it. */
export async function checkSources(store: OutboxStore, query: (sql: string) => Promise<unknown[]>): Promise<void> {
	await store.migrate();
	await store.note({ agencyId, to }, { optedOut: { service: 20 }, declined: { own: 5 } }, "reading");
	await store.note({ agencyId, to }, { optedOut: { service: 10, own: 30 } }, "observe");
	await store.note({ agencyId, to }, { optedOut: { own: 40 }, declined: { own: 5 } }, "optOut");
	await store.note({ to }, { optedIn: { own: 7 } }, "optIn");
	await store.stop({ agencyId, to }, "cancelAll");
	await store.stop({ agencyId, to }, "erase");
	await store.suspend({ agencyId, reason: "Wrong price", by: "Ann", since: 50 });
	await store.restored({ from: 1, to: 2 }, "restored");
	await store.erase({ to });
	const rows = await query("select * from outbox_contacts order by agency_id, hash");
	const known = rows.map((row) =>
		Object.fromEntries(
			Object.entries(Object(row)).flatMap(([column, value]): [string, unknown][] => {
				if (value === null || /^(key_id|hash|stopped_at)$/.test(column)) return [];
				return [[column, /^\d+$/.test(String(value)) ? Number(value) : value]];
			}),
		),
	);
	expect(known).toEqual([
		{ agency_id: "", restored_from: 1, restored_to: 2, restored_source: "restored" },
		{ agency_id: "", opted_in_own: 7, opted_in_own_source: "optIn" },
		{ agency_id: agencyId, suspended_since: 50, suspended_reason: "Wrong price", suspended_by: "Ann" },
		{
			agency_id: agencyId,
			opted_out_service: 20,
			opted_out_service_source: "reading",
			opted_out_own: 40,
			opted_out_own_source: "optOut",
			declined_own: 5,
			declined_own_source: "reading",
			stopped_source: "erase",
		},
	]);
}
