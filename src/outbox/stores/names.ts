import { checkedLater, fieldsOf } from "../../shared/validation.ts";
import { check, refuse } from "../input.ts";

/** Options of {@link sqliteStore}, {@link postgresStore} and {@link mysqlStore}. */
export interface StoreOptions {
	/**
	 * Name of the table of texts. The names of the others begin with it. PostgreSQL takes a schema before it, and MySQL a
	 * database, as `messaging.outbox_text`; `migrate` creates it. On PostgreSQL use one: some hosts show `public` to everybody.
	 * @default "outbox_text"
	 */
	table?: string | undefined;
}

/** Names of the tables. */
export interface Names {
	/** The schema, with its dot; empty for the current one. */
	schema: string;
	/** The texts. */
	texts: string;
	/** The processes that work. */
	workers: string;
	/** When recipients were stopped. */
	stops: string;
	/** One row for each recipient with something to do. */
	queues: string;
	/** Which agency's turn it is, and which is paused. */
	agencies: string;
	/** The name without its schema. */
	index: string;
}

const optionsOfStore = fieldsOf<StoreOptions>({ table: checkedLater() });

const qualified = { sqliteStore: "", postgresStore: ", or schema.name", mysqlStore: ", or database.name" };

/** Checks the table's name, because it goes into statements as it is. */
export function namesFrom(options: StoreOptions, operation: "sqliteStore" | "postgresStore" | "mysqlStore"): Names {
	const { table = "outbox_text" } = check(optionsOfStore, "options", options, operation);
	const [, schema = "", name] = /^([a-z_]\w{0,39}\.)?([a-z_]\w{0,39})$/i.exec(String(table)) ?? [];
	if (name === undefined || (schema !== "" && operation === "sqliteStore"))
		refuse("table", `must be a name of letters, digits and _${qualified[operation]}`, operation);
	return {
		schema,
		texts: table,
		workers: `${table}_workers`,
		stops: `${table}_stop`,
		queues: `${table}_queues`,
		agencies: `${table}_agencies`,
		index: name,
	};
}
