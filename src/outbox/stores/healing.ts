/*
 * The queues and the rows of the agencies follow from the texts. So they may be deleted or restored at any time, or be missing because
 * the texts of an agency were copied from another database: what is missing is found here, and is put back. A clock that was in the
 * future for a while, or a hand that slipped, has stored times that nobody should wait for: they are found here too.
 */
import type { OutboxStore } from "../store.ts";
import type { Row, Value } from "./connection.ts";
import { atOnce, type Statements } from "./statements.ts";
import { pauseSince } from "./sweep.ts";

interface Run {
	query: (sql: string, values: Value[]) => Promise<Row[]>;
	change: (sql: string, values: Value[]) => Promise<number>;
	/** Lets new rows have keys that no row has. */
	moveKeys: () => Promise<void>;
	/** Puts texts into their queues, and adds the rows of their agencies. */
	putBack: (texts: readonly Row[]) => Promise<void>;
}

/** Of all workers one looks through the unfinished texts in this time, so that each is in its queue within a minute. */
const turnMs = 40_000;

export function createHealing(
	{ addAgencies, takeHealing, astray, putForward, endFarPauses }: Statements,
	run: Run,
): Pick<OutboxStore, "heal"> {
	const { query, change, moveKeys, putBack } = run;
	return {
		async heal(now, signal) {
			// The turn is in the row of everybody, which may be missing too.
			await query(addAgencies(1), [""]);
			if ((await change(takeHealing, [now, turnMs])) === 0) return 0;
			await moveKeys();
			let count = await change(endFarPauses, [now]);
			for (let place: Value[] = astray.first; !signal?.aborted; ) {
				const began = performance.now();
				const rows = await query(astray.sql, [now, ...place]);
				const far = rows.filter(({ is_far_off }) => Number(is_far_off) === 1);
				if (far.length > 0) await change(putForward(far.map(({ seq }) => Number(seq)).join(", ")), [now]);
				const found = rows.flatMap((row) => {
					if (far.includes(row)) return [{ ...row, next_at: now }];
					return Number(row.is_astray) === 1 ? [row] : [];
				});
				if (found.length > 0) await putBack(found);
				count += found.length;
				const last = rows.at(-1);
				if (!last || rows.length < atOnce) break;
				place = astray.place.map((column) => last[column] as Value);
				await pauseSince(began);
			}
			return count;
		},
	};
}
