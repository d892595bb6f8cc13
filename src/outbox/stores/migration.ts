/*
 * What the migrations of the databases have in common.
 */
import type { Row, Value } from "./connection.ts";
import { withoutValues } from "./database-error.ts";

export type Query = (sql: string, values: Value[]) => Promise<Row[]>;

/** Runs statements of a migration. @param find selects a row when the table or index named by `$1` exists */
export function createMigration(query: Query, find: string) {
	const run = (sql: string, values: Value[] = []): Promise<Row[]> =>
		query(sql, values).catch((error: unknown) => Promise.reject(withoutValues(error, values)));
	const exists = async (name: string): Promise<boolean> => (await run(find, [name])).length > 0;
	return {
		run,
		/** Creates what is missing. */
		async create(name: string, statement: string): Promise<void> {
			if (await exists(name)) return;
			// Asked first, because "if not exists" needs the right to create it even when it is there. In PostgreSQL it fails when
			// another process creates the same at that moment. Then it is there.
			await run(statement).catch(() => run(statement));
		},
	};
}

/** How long a change of a table waits for transactions at a time, and enqueues behind it, in milliseconds. */
export const lockMs = 300;
const patienceMs = 10 * 60_000;

/**
 * Repeats a change of a table that gave up waiting for the transactions that use it. It gives up soon, so that later ones don't
 * wait for long.
 */
export async function untilFree<Result>(
	isBusy: (error: unknown) => boolean,
	act: () => Promise<Result>,
): Promise<Result> {
	const end = performance.now() + patienceMs;
	for (;;) {
		try {
			return await act();
		} catch (error) {
			if (!isBusy(error) || performance.now() > end) throw error;
		}
		await new Promise((resolve) => setTimeout(resolve, lockMs * (0.5 + Math.random())));
	}
}
