/*
 * Changes of any number of rows, in statements that are short: one over a whole table would hold its locks for minutes, and would
 * never end where the database limits the time of a statement.
 */
import type { Row, Value } from "./connection.ts";
import { atOnce, type Change, type Statements } from "./statements.ts";

interface Run {
	query: (sql: string, values: Value[]) => Promise<Row[]>;
	change: (sql: string, values: Value[]) => Promise<number>;
}

/** The changes of many rows. */
export interface Sweeps {
	/** Changes the texts that fit, and returns their number. */
	changeTexts: (what: Change, values: Value[]) => Promise<number>;
	/** Changes the queues, with a statement whose last two values are the ids that they lie between. */
	changeQueues: (sql: string, values: Value[]) => Promise<void>;
}

/** The statement with a number, or a list of numbers, in place of each `:name`. */
function filled(sql: string, places: Record<string, number | readonly number[]>): string {
	return sql.replace(/(?<!:):(keys|seq|since|last)\b/g, (_, name: string) => [places[name] ?? 0].flat().join(", "));
}

/** The values up to the last one that the statement uses. */
function usedBy(sql: string, values: readonly Value[]): Value[] {
	const numbers = [...sql.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number));
	return values.slice(0, Math.max(0, ...numbers));
}

/**
 * Waits for as long as the work since a time took. So other connections get their turn, of which one writes at a time to SQLite, and so
 * do timers, which a synchronous library keeps from running.
 */
export const pauseSince = (began: number): Promise<void> =>
	new Promise((resolve) => setTimeout(resolve, performance.now() - began));

export function createSweeps({ last, nextQueues }: Statements, { query, change }: Run): Sweeps {
	return {
		async changeTexts(what, values) {
			// Those that come later are not meant, and the sweep ends however many come.
			const end = what.keys.includes(":last") ? Number((await query(last, []))[0]?.seq ?? 0) : 0;
			let place = { seq: 0, since: Number.MIN_SAFE_INTEGER };
			for (let count = 0; ; ) {
				const began = performance.now();
				const sql = filled(what.keys, { ...place, last: end });
				const rows = await query(sql, usedBy(sql, values));
				const keys = rows.flatMap(({ seq, fits }) => (Number(fits) === 1 ? [Number(seq)] : []));
				const changing = filled(what.change, { keys, last: end });
				if (keys.length > 0) count += await change(changing, usedBy(changing, values));
				const latest = rows.at(-1);
				if (!latest || rows.length < atOnce) return count;
				place = { seq: Number(latest.seq), since: Number(latest.since) };
				await pauseSince(began);
			}
		},
		async changeQueues(sql, values) {
			for (let from = 0; ; ) {
				const began = performance.now();
				const [next] = await query(nextQueues, [from, atOnce]);
				const [end, count] = [Number(next?.last ?? 0), Number(next?.count ?? 0)];
				if (count > 0) await change(sql, [...values, from, end]);
				if (count < atOnce) return;
				from = end;
				await pauseSince(began);
			}
		},
	};
}
