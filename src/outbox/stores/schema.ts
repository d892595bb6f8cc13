/*
 * Which version of the package may do what with the tables. A migration of a later version can end what earlier ones do: the
 * statements of the claim and of the insert ask for it themselves, because a process may have started before it. None of them
 * locks the row that it reads, so that no `enqueue` waits for a migration.
 */
import { PartnerConfigurationError } from "messaging-conversations";
import { version } from "../../../package.json";
import { refuse } from "../input.ts";
import { type AnyQueryable, databaseOf } from "../transaction.ts";
import type { Dialect, Row } from "./connection.ts";
import { isUnmigrated, refusedFile } from "./database-error.ts";
import { isMeta } from "./meta.ts";
import { type Names, namesFrom } from "./names.ts";

/** The migrations that this version knows, and needs. */
const schemaVersion = 1;

/** Whether this version may work, as a condition in SQL. Nobody may while texts are marked that may have been sent in a time that was lost. */
export const mayWork = ({ meta }: Pick<Names, "meta">): string =>
	`exists (select 1 from ${meta} where ${isMeta} and schema_version >= ${schemaVersion} and least_work <= ${schemaVersion} and restore_marked >= restore_number)`;

/**
 * The least version that may enqueue, in SQL: null if this one may, and empty if the row of the outbox is not there yet. A text that
 * came before it would look like one that has lost its keys.
 */
export const enqueueVersion = ({ meta }: Pick<Names, "meta">): string =>
	`(select case when max(id) is null then '' when max(least_enqueue) > ${schemaVersion} then max(enqueue_version) end
		from ${meta} where ${isMeta})`;

const install = (least: unknown): string =>
	`Install messaging-conversations ${least} or later, and start the process again; this is ${version}`;

/** Refuses to work by the row of the outbox. */
export function refuseWork(row: Row | undefined): void {
	if (Number(row?.least_work) > schemaVersion) {
		const rule = `was migrated by a later version, which holds back texts that this one would send. ${install(row?.work_version)}`;
		throw new PartnerConfigurationError({ field: "store", rule, operation: "work" });
	}
	if (!row || Number(row.schema_version) < schemaVersion)
		throw new PartnerConfigurationError({
			field: "store",
			rule: "has tables of an earlier version: call outbox.migrate() first",
			operation: "work",
		});
}

/** The same by the row of the outbox. */
export const refuseChange = (row: Row | undefined, operation: string): void =>
	refuseEnqueue(Number(row?.least_enqueue) > schemaVersion ? row?.enqueue_version : null, operation);

/** Refuses to store a text, or to change one, by what {@link enqueueVersion} gave. */
export function refuseEnqueue(least: unknown, operation: string): void {
	if (typeof least !== "string") return;
	if (least === "")
		throw new PartnerConfigurationError({
			field: "store",
			rule: "has tables that are not complete: call outbox.migrate() first",
			operation,
		});
	const rule = `was migrated by a later version, which no longer reads what this one stores. ${install(least)}`;
	throw new PartnerConfigurationError({ field: "store", rule, operation });
}

const stores = { postgres: "postgresStore", mysql: "mysqlStore", sqlite: "sqliteStore" } as const;

/**
 * The row of an outbox; an empty one if `migrate` has not ended. Undefined if its tables are not there.
 *
 * @throws PartnerInvalidInput for an invalid prefix
 */
async function rowOf(db: unknown, dialect: Dialect, prefix: string): Promise<Row | undefined> {
	const operation = stores[dialect];
	const { texts, meta } = namesFrom({ prefix }, operation);
	const { query } = databaseOf(db as AnyQueryable, dialect, "database", operation);
	const exists = (name: string): Promise<boolean> =>
		query(`select 1 as found from ${name} limit 1`, []).then(
			() => true,
			(error: unknown) => {
				if (isUnmigrated(error)) return false;
				throw refusedFile(error) ?? error;
			},
		);
	if (!(await exists(texts))) return undefined;
	if (!(await exists(meta))) return {};
	const numbers = "schema_version, least_work, work_version, least_enqueue, enqueue_version";
	return (await query(`select ${numbers} from ${meta} where ${isMeta}`, []))[0] ?? {};
}

/**
 * Whether programs of this version may only read.
 *
 * @returns the sentence that says so, if it is so; undefined if the tables are missing
 * @throws PartnerInvalidInput if the tables are not complete
 */
export async function readOnlySince(
	db: unknown,
	dialect: Dialect,
	prefix: string,
): Promise<{ readOnly: string | undefined } | undefined> {
	const found = await rowOf(db, dialect, prefix);
	if (found === undefined) return undefined;
	if (Number(found.schema_version ?? 0) < schemaVersion)
		refuse("prefix", "names tables that are not complete: run outbox.migrate() first", "outbox");
	const [least] = [
		[found.least_work, found.work_version],
		[found.least_enqueue, found.enqueue_version],
	].flatMap(([number, name]) => (Number(number) > schemaVersion ? [name] : []));
	if (least === undefined) return { readOnly: undefined };
	return {
		readOnly: `The tables were migrated by a later version. This command, of ${version}, may read them wrongly, and changes nothing: use that of ${least} or later.`,
	};
}
