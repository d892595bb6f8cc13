import { can, fields, refuse } from "./check.ts";
import { columns, createSqlStore, namesOf, type Row, workerColumns } from "./sql.ts";
import type { OutboxStore } from "./store.ts";

/** A `pg` Pool or Client, or a PGlite database or transaction: whatever has their `query`. */
export interface PostgresQueryable {
	/** Runs one statement. */
	query: (sql: string, values?: unknown[]) => PromiseLike<Rows>;
}

/** What a statement gives. */
export interface Rows {
	/** Its rows. */
	rows: unknown[];
}

/** Options of {@link sqliteStore} and {@link postgresStore}. */
export interface StoreOptions {
	/**
	 * Name of the table of texts; the worker's begins with it. PostgreSQL takes a schema before it, as `crm.outbox_text`.
	 * @default "outbox_text"
	 */
	table?: string | undefined;
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
	const isTransaction = (tx: unknown): tx is PostgresQueryable => can(tx, "query");
	return createSqlStore(
		{
			async query(sql, values, tx) {
				if (tx !== undefined && !isTransaction(tx)) refuse("tx", "must have query, as a pg client has", "enqueue");
				const { rows } = await (tx ?? pool).query(sql, [...values]);
				return rows as Row[];
			},
			tables: ({ texts, worker }) => [
				`create table if not exists ${texts} (seq bigint generated always as identity primary key, ${columns})`,
				`create table if not exists ${worker} (${workerColumns})`,
			],
		},
		namesOf(checkedTable(options, "postgresStore")),
	);
}

/** The name goes into statements as it is. */
export function checkedTable(options: StoreOptions, operation: "sqliteStore" | "postgresStore"): string {
	fields("options", options, ["table"], operation);
	const { table = "outbox_text" } = options;
	if (typeof table === "string" && /^([a-z_]\w{0,39}\.)?[a-z_]\w{0,39}$/i.test(table)) return table;
	return refuse("table", "must be a name of letters, digits and _, with a schema before it or without", operation);
}
