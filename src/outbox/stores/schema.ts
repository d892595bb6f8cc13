/*
 * Which tables a database has, for programs that did not create them.
 */
import { refuse } from "../input.ts";
import { type AnyQueryable, databaseOf } from "../transaction.ts";
import type { Dialect } from "./connection.ts";
import { isUnmigrated } from "./database-error.ts";
import { isMeta } from "./meta.ts";
import { namesFrom } from "./names.ts";

/** Grows with each change of the tables that this version must not work with. */
export const schemaVersion = 1;

const stores = { postgres: "postgresStore", mysql: "mysqlStore", sqlite: "sqliteStore" } as const;

/**
 * The version of the tables; 0 if `migrate` has not ended. Undefined if they are not there.
 *
 * @throws PartnerInvalidInput for an invalid prefix
 */
async function schemaOf(db: unknown, dialect: Dialect, prefix: string): Promise<number | undefined> {
	const operation = stores[dialect];
	const { texts, meta } = namesFrom({ prefix }, operation);
	const { query } = databaseOf(db as AnyQueryable, dialect, "database", operation);
	const exists = (name: string): Promise<boolean> =>
		query(`select 1 as found from ${name} limit 1`, []).then(
			() => true,
			(error: unknown) => {
				if (isUnmigrated(error)) return false;
				throw error;
			},
		);
	if (!(await exists(texts))) return undefined;
	if (!(await exists(meta))) return 0;
	const [row] = await query(`select schema_version from ${meta} where ${isMeta}`, []);
	return Number(row?.schema_version ?? 0);
}

/** @throws PartnerInvalidInput if the tables are not of this version */
export async function refuseOtherSchema(db: unknown, dialect: Dialect, prefix: string): Promise<void> {
	const found = await schemaOf(db, dialect, prefix);
	if (found === undefined)
		refuse(
			"prefix",
			"names no tables of this database: are the database and --prefix the right ones, and has outbox.migrate() run?",
			"outbox",
		);
	if (found < schemaVersion)
		refuse("prefix", "names tables that are not complete: run outbox.migrate() first", "outbox");
	if (found > schemaVersion)
		refuse("prefix", "names tables of a later version of the package: use the command of that version", "outbox");
}
