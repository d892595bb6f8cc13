import { createSqlStore, namesFrom, retryLocked, type StoreOptions, standard } from "./sql-store.ts";
import type { OutboxStore } from "./store.ts";
import {
	type AnyQueryable,
	databaseOf,
	operationOf,
	type PostgresJsSql,
	type PostgresQueryable,
	transactionOf,
	withOpenTransactions,
} from "./transaction.ts";

/**
 * Keeps the texts of an outbox in PostgreSQL. Takes a Pool of `pg`, PGlite, the `sql` of postgres.js, or a database of Prisma,
 * Drizzle, Knex, Kysely, TypeORM (a manager) or MikroORM (an entity manager). The `tx` of `enqueue` is a transaction of any of them.
 * One process works on it, or any number with {@link pgBossEngine}.
 *
 * @throws PartnerInvalidInput if `pool` is not one of these, or for an invalid table name
 * @example
 * const crmOutbox = createOutbox({ client, store: postgresStore(pool) });
 * await crmOutbox.migrate();
 */
export function postgresStore(
	pool: PostgresQueryable | PostgresJsSql | AnyQueryable,
	options: StoreOptions = {},
): OutboxStore {
	const database = databaseOf(pool, "postgres", "pool", "postgresStore");
	const store = createSqlStore(
		{
			...standard,
			query(sql, values, tx) {
				if (tx === undefined) return retryLocked(() => database.query(sql, values));
				return transactionOf(tx, "postgres", operationOf(sql), pool).query(sql, values);
			},
			seq: "seq bigint generated always as identity primary key",
			// An update would lock the row until the caller commits, and the worker would wait for it.
			onConflict: "on conflict (id) do nothing returning *",
			// In microseconds. The first is that of the transaction, the second that of the statement.
			begunAt: "(extract(epoch from now()) * 1000000)::bigint",
			begun: "begun_at",
			stopNow: () => "(extract(epoch from clock_timestamp()) * 1000000)::bigint",
			// "create index if not exists" waits for open transactions that have enqueued, and holds up each enqueue meanwhile.
			// A name without a schema is looked for where it would be created, and not along the whole search path.
			find: `select 1 as found where to_regclass(case when strpos($1, '.') > 0 then $1 else quote_ident(current_schema()) || '.' || $1 end) is not null`,
		},
		namesFrom(options, "postgresStore"),
	);
	return withOpenTransactions(store, "postgres", pool);
}
