/*
 * Which outboxes a database has: the prefix of a store is known only to the project's code.
 */
import { namesFrom } from "../../outbox/stores/names.ts";
import { type AnyQueryable, databaseOf } from "../../outbox/transaction.ts";

type Dialect = "postgres" | "mysql" | "sqlite";

/** An outbox of a server. */
export interface FoundTables {
	/** As `--prefix` takes it. */
	readonly prefix: string;
	/** Whether it is in the database of the address: one of MySQL shows those beside it too. */
	readonly isHere: boolean;
}

const stores = { postgres: "postgresStore", mysql: "mysqlStore", sqlite: "sqliteStore" } as const;

/** The ends of the names of an outbox's tables, such as `_texts`. */
const { plain, schema, ...tables } = namesFrom({ prefix: "x" }, "sqliteStore");
const ends = Object.values(tables).map((name) => name.slice(`${schema}${plain}`.length));

const isNamed = ends.map((end) => `name like '%${end.replace("_", "!_")}' escape '!'`).join(" or ");
const within = (columns: string): string =>
	`select * from (select ${columns} from information_schema.tables where table_type = 'BASE TABLE') t where ${isNamed}`;
const statements: Readonly<Record<Dialect, string>> = {
	postgres: within("table_schema as place, table_name as name, current_schema() as here"),
	mysql: within("table_schema as place, table_name as name, database() as here"),
	sqlite: `select '' as place, name, '' as here from sqlite_master where type = 'table' and (${isNamed})`,
};

/** Whether a name can be given as a prefix. On PostgreSQL those of a store are in lower case. */
function isPrefix(prefix: string, dialect: Dialect): boolean {
	if (dialect === "postgres" && prefix !== prefix.toLowerCase()) return false;
	try {
		return namesFrom({ prefix }, stores[dialect]).texts !== "";
	} catch {
		return false;
	}
}

/** The outboxes of a database whose tables are all there, in the order of their names. */
export async function tablesOf(db: unknown, dialect: Dialect): Promise<FoundTables[]> {
	const { query } = databaseOf(db as AnyQueryable, dialect, "database", "outbox");
	const rows = (await query(statements[dialect], [])).map(({ place, name, here }) => ({
		schema: place === here ? "" : `${place}.`,
		name: String(name),
	}));
	const names = new Set(rows.map(({ schema, name }) => `${schema}${name}`));
	return rows
		.filter(({ name }) => name.endsWith("_texts"))
		.map(({ schema, name }) => ({ schema, prefix: `${schema}${name.slice(0, -"_texts".length)}` }))
		.filter(({ prefix }) => ends.every((end) => names.has(`${prefix}${end}`)) && isPrefix(prefix, dialect))
		.map(({ schema, prefix }) => ({ prefix, isHere: schema === "" || dialect !== "mysql" }))
		.sort((one, other) => one.prefix.localeCompare(other.prefix));
}
