import type { OutboxStore } from "../store.ts";
import { type AnyQueryable, databaseOf, refuseEnded, transactionOf } from "../transaction.ts";
import type { PostgresQueryable } from "../transactions/pg.ts";
import type { PostgresJsSql } from "../transactions/postgres-js.ts";
import type { Connection, Row, Value } from "./connection.ts";
import { namesFrom, type StoreOptions } from "./names.ts";
import { createSqlStore, inserted, insertedValues, retryLocked, standard, standardLeases } from "./sql.ts";

/** In microseconds. */
const now = "(extract(epoch from clock_timestamp()) * 1000000)::bigint";

/**
 * Keeps the texts of an outbox in PostgreSQL 13 or later. Takes a Pool of `pg`, PGlite, the `sql` of postgres.js, or a database of Prisma,
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
	return createSqlStore(
		{
			...standard,
			query: (sql, values) => retryLocked(() => database.query(sql, values)),
			async insertIn(tx, { id, names, values }) {
				const connection = transactionOf(tx, "postgres", "enqueue", pool);
				const insert = `insert into ${names.texts} (${inserted}) select ${insertedValues(now, { isTyped: true })} from proof
					where is_open on conflict (id) do nothing returning *`;
				const stored = await proven(
					connection,
					values,
					(proof) => `with ${proof}, stored as (${insert})
					select proof.is_open, stored.* from proof left join stored on true`,
				);
				if (!stored) return refuseEnded("enqueue");
				if (stored.id !== null) return stored;
				const [known] = await connection.query(`select * from ${names.texts} where id = $1`, [id]);
				return known ?? refuseEnded("enqueue");
			},
			async acknowledgeIn(tx, { names, where, values }) {
				const connection = transactionOf(tx, "postgres", "acknowledge", pool);
				const update = `update ${names.texts} set unacknowledged = null from proof where is_open and ${where}`;
				const done = await proven(
					connection,
					values,
					(proof) => `with ${proof}, done as (${update} returning 1)
					select is_open from proof`,
				);
				if (!done) refuseEnded("acknowledge");
			},
			seq: "seq bigint generated always as identity primary key",
			// An update would lock the row until the caller commits, and the worker would wait for it.
			onConflict: "on conflict (id) do nothing returning *",
			begunAt: now,
			begun: "begun_at",
			stopNow: () => now,
			isChangedInWith: true,
			leases: {
				...standardLeases,
				clock: "(extract(epoch from clock_timestamp()) * 1000)::bigint",
				skipLocked: "for update skip locked",
			},
			// "create index if not exists" waits for open transactions that have enqueued, and holds up each enqueue meanwhile.
			// A name without a schema is looked for where it would be created, and not along the whole search path.
			find: `select 1 as found where to_regclass(case when strpos($1, '.') > 0 then $1 else quote_ident(current_schema()) || '.' || $1 end) is not null`,
		},
		namesFrom(options, "postgresStore"),
	);
}

/** Disappears with the transaction that sets it. */
const marks = "current_setting('messaging_conversations.tx', true)";

/**
 * Runs a statement that changes rows only if a transaction is open. A transaction that has written proves itself by its number.
 * One that has not is marked by the statement, which then runs again and looks for the mark: if the first one ran outside of a
 * transaction, or in one that has ended since, the mark is gone. Undefined if no transaction is open.
 */
async function proven(
	connection: Connection,
	given: Value[],
	statement: (proof: string) => string,
): Promise<Row | undefined> {
	const values = [...given, crypto.randomUUID()];
	const mark = `$${values.length}::text`;
	const byNumber = `select is_open, case when not is_open then set_config('messaging_conversations.tx', concat(${marks}, ${mark}), true) end as mark
		from (select pg_current_xact_id_if_assigned() is not null as is_open) as number`;
	const byMark = `select coalesce(strpos(${marks}, ${mark}), 0) > 0 as is_open`;
	for (const proof of [byNumber, byMark]) {
		const [row] = await connection.query(statement(`proof as materialized (${proof})`), values);
		if (row?.is_open === true) return row;
	}
	return undefined;
}
