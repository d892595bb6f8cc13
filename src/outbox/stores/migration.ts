/*
 * What the migrations of the databases have in common.
 */
import type { Row, Value } from "./connection.ts";
import { isMadeBefore, isUnmigrated, withoutValues } from "./database-error.ts";
import { isMeta } from "./meta.ts";

export type Query = (sql: string, values: Value[]) => Promise<Row[]>;
/** Runs an update, and gives the number of rows. */
export type Update = (sql: string) => Promise<number>;

/**
 * One change of the tables. Its number is its place in the list, from 1 on, and the same on every database. What has been
 * published is never changed: a later one is added.
 */
export interface Migration {
	/** The first version of the package that has it, which programs of earlier versions are told to install. */
	version: string;
	/**
	 * What programs of earlier versions may not do from its beginning on. Without it they do everything as before: it only adds
	 * what they need not know.
	 */
	ends?: readonly ("work" | "enqueue")[];
	/** The statements that create its tables, each with the name of the table. */
	tables?: Readonly<Record<string, string>>;
	/** What it does then. Where a database does not undo a migration that was cut off, each of them runs again unless it was made before. */
	changes?: readonly string[];
}

/** Runs statements of a migration. @param find selects a row when the table or index named by `$1` exists */
export function createMigration(query: Query, find: string) {
	const run = (sql: string, values: Value[] = []): Promise<Row[]> =>
		query(sql, values).catch((error: unknown) => Promise.reject(withoutValues(error, values)));
	const exists = async (name: string): Promise<boolean> => (await run(find, [name])).length > 0;
	return {
		run,
		exists,
		/** Creates what is missing. */
		async create(name: string, statement: string): Promise<void> {
			if (await exists(name)) return;
			// Asked first, because "if not exists" needs the right to create it even when it is there. In PostgreSQL it fails when
			// another process creates the same at that moment. Then it is there.
			await run(statement).catch(() => run(statement));
		},
	};
}

/** How many migrations are done. */
export async function migrationsDone(query: Query, meta: string): Promise<number> {
	const rows = await query(`select schema_version from ${meta} where ${isMeta}`, []).catch((error: unknown) => {
		if (isUnmigrated(error)) return [];
		throw error;
	});
	return Number(rows[0]?.schema_version ?? 0);
}

/** The columns of the row of an outbox that a migration sets at its beginning: who may not go on. Empty if everybody may. */
export function numbersOf({ ends = [], version }: Migration, number: number): string {
	return ends.map((what) => `least_${what} = ${number}, ${what}_version = '${version}'`).join(", ");
}

/**
 * Runs those after the first one where no transaction holds their statements together. What they end, ends before their first
 * change, and each counts as done after its last.
 */
export async function migrateInSteps(
	all: readonly Migration[],
	{ run, update, meta }: { run: (sql: string) => Promise<unknown>; update: Update; meta: string },
	done: () => Promise<number>,
): Promise<void> {
	for (let number = await done(); number < all.length; number = await done()) {
		const next = all[number] as Migration;
		const numbers = numbersOf(next, number + 1);
		if (numbers !== "") await update(`update ${meta} set ${numbers} where ${isMeta} and schema_version = ${number}`);
		for (const sql of [...Object.values(next.tables ?? {}), ...(next.changes ?? [])])
			await run(sql).catch((error: unknown) => {
				if (!isMadeBefore(error)) throw error;
			});
		await update(`update ${meta} set schema_version = ${number + 1} where ${isMeta} and schema_version = ${number}`);
	}
}

/** After this time without a sign of it, a process that migrates is taken for dead, in milliseconds. */
const turnMs = 30_000;

/**
 * Runs it while no other process does. Who has the turn says so every few seconds, by the clock of the database. No row is
 * locked meanwhile.
 *
 * @param now the time of the database in milliseconds
 */
export async function alone(update: Update, meta: string, now: string, act: () => Promise<void>): Promise<void> {
	const begin = `update ${meta} set migrating_at = ${now} where ${isMeta}
		and (migrating_at is null or migrating_at < ${now} - ${turnMs} or migrating_at > ${now} + ${turnMs})`;
	const renew = `update ${meta} set migrating_at = ${now} where ${isMeta}`;
	while ((await update(begin)) === 0) await new Promise((resolve) => setTimeout(resolve, turnMs / 60));
	const renewing = setInterval(() => update(renew).catch(() => {}), turnMs / 6);
	try {
		await act();
	} finally {
		clearInterval(renewing);
		await update(`update ${meta} set migrating_at = null where ${isMeta}`);
	}
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
