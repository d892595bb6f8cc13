import { can, refuse } from "./input.ts";
import { createSqlStore, namesFrom, type Row, type Rows, retryLocked, type StoreOptions } from "./sql-store.ts";
import type { OutboxStore } from "./store.ts";

/** A `pg` Pool or Client, or a PGlite database or transaction: whatever has their `query`. */
export interface PostgresQueryable {
	/** Runs one statement. */
	query: (sql: string, values?: unknown[]) => PromiseLike<Rows>;
}

/**
 * Keeps the texts of an outbox in PostgreSQL: a `pg` Pool or PGlite. The `tx` of `enqueue` is a client of the database, or any
 * object whose `query` runs a statement in the transaction and gives `{ rows }`: docs/durable-sends.md has that of each ORM.
 * One process works on it, or any number with {@link pgBossEngine}.
 *
 * @throws PartnerInvalidInput when `pool` has no `query` that gives `{ rows }`, or for a table's name that is no name
 * @example
 * const crmOutbox = createOutbox({ client, store: postgresStore(pool) });
 * await crmOutbox.migrate();
 */
export function postgresStore(pool: PostgresQueryable, options: StoreOptions = {}): OutboxStore {
	if (!isQueryable(pool)) refuseQuery();
	return createSqlStore(
		{
			query(sql, values, tx) {
				const run = async (): Promise<Row[]> => {
					const { rows } = await (tx === undefined ? pool : clientFrom(tx)).query(sql, values);
					// The query of an ORM may give the rows alone.
					return Array.isArray(rows) ? (rows as Row[]) : refuseQuery(tx);
				};
				return tx === undefined ? retryLocked(run) : run();
			},
			seq: "seq bigint generated always as identity primary key",
			// In microseconds. The first is that of the transaction, the second that of the statement.
			begunAt: "(extract(epoch from now()) * 1000000)::bigint",
			begun: "begun_at",
			stopNow: () => "(extract(epoch from clock_timestamp()) * 1000000)::bigint",
			// "create index if not exists" waits for open transactions that have enqueued, and holds up each enqueue meanwhile.
			// A name without a schema is looked for where it would be created, and not along the whole search path.
			find: `select 1 where to_regclass(case when strpos($1, '.') > 0 then $1 else quote_ident(current_schema()) || '.' || $1 end) is not null`,
		},
		namesFrom(options, "postgresStore"),
	);
}

/** Checks the `tx` of `enqueue`. */
export function clientFrom(tx: unknown): PostgresQueryable {
	return isQueryable(tx) ? tx : refuseQuery(tx);
}

/** Without a `tx` the store's own pool is refused. */
function refuseQuery(tx?: unknown): never {
	const isPool = tx === undefined;
	const rule = "must have query that gives { rows }, as pg gives it";
	return refuse(isPool ? "pool" : "tx", rule, isPool ? "postgresStore" : "enqueue");
}

function isQueryable(value: unknown): value is PostgresQueryable {
	return can(value, "query");
}
