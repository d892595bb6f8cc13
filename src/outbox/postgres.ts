import { can, refuse } from "./check.ts";
import { columns, createSqlStore, namesFrom, type Row, type Rows, type StoreOptions, workerColumns } from "./sql.ts";
import type { OutboxStore } from "./store.ts";

/** A `pg` Pool or Client, or a PGlite database or transaction: whatever has their `query`. */
export interface PostgresQueryable {
	/** Runs one statement. */
	query: (sql: string, values?: unknown[]) => PromiseLike<Rows>;
}

/**
 * Keeps the texts of an outbox in PostgreSQL: a `pg` Pool or PGlite. Any client of the database with `query` can be the
 * `tx` of `enqueue`. One process works on it, or any number with {@link pgBossEngine}.
 *
 * @throws PartnerInvalidInput when `pool` has no `query`, or for a table's name that is no name
 * @example
 * const crmOutbox = createOutbox({ client, store: postgresStore(pool) });
 * await crmOutbox.migrate();
 */
export function postgresStore(pool: PostgresQueryable, options: StoreOptions = {}): OutboxStore {
	if (!can(pool, "query")) refuse("pool", "must be a pg Pool or a PGlite database", "postgresStore");
	return createSqlStore(
		{
			async query(sql, values, tx) {
				const { rows } = await (tx === undefined ? pool : clientFrom(tx)).query(sql, [...values]);
				return rows as Row[];
			},
			tables: ({ texts, worker }) => [
				`create table if not exists ${texts} (seq bigint generated always as identity primary key, ${columns})`,
				`create table if not exists ${worker} (${workerColumns})`,
			],
		},
		namesFrom(options, "postgresStore"),
	);
}

/** Checks the `tx` of `enqueue`. */
export function clientFrom(tx: unknown): PostgresQueryable {
	return isQueryable(tx) ? tx : refuse("tx", "must have query, as a pg client has", "enqueue");
}

function isQueryable(value: unknown): value is PostgresQueryable {
	return can(value, "query");
}
