import { checkedLater, fieldsOf } from "../../shared/validation.ts";
import { check, refuse } from "../input.ts";

/** Options of {@link sqliteStore}, {@link postgresStore} and {@link mysqlStore}. */
export interface StoreOptions {
	/**
	 * What the names of the seven tables begin with: `outbox_texts` and so on. PostgreSQL takes a schema before it, and MySQL a
	 * database, as `messaging.outbox`; `migrate` creates it. On PostgreSQL use one: some hosts show `public` to everybody.
	 * @default "outbox"
	 */
	prefix?: string | undefined;
}

/** Names of the tables. */
export interface Names {
	/** The schema, with its dot; empty for the current one. */
	schema: string;
	/** The texts. */
	texts: string;
	/** The processes that work. */
	workers: string;
	/** What is known of contacts and agencies, and survives an erasure. */
	contacts: string;
	/** One row for each recipient with something to do. */
	queues: string;
	/** Which agency's turn it is, and which is paused until it ends by itself. */
	agencies: string;
	/** Which process follows what. */
	leases: string;
	/** One row: what the outbox knows of itself. */
	meta: string;
	/** The prefix without its schema. */
	plain: string;
}

const optionsOfStore = fieldsOf<StoreOptions>({ prefix: checkedLater() });

const qualified = { sqliteStore: "", postgresStore: ", or schema.name", mysqlStore: ", or database.name" };

/** Checks the prefix, because it goes into statements as it is. */
export function namesFrom(options: StoreOptions, operation: "sqliteStore" | "postgresStore" | "mysqlStore"): Names {
	const { prefix = "outbox" } = check(optionsOfStore, "options", options, operation);
	const [, schema = "", name] = /^([a-z_]\w{0,39}\.)?([a-z_]\w{0,39})$/i.exec(String(prefix)) ?? [];
	if (name === undefined || (schema !== "" && operation === "sqliteStore"))
		refuse("prefix", `must be a name of letters, digits and _${qualified[operation]}`, operation);
	return {
		schema,
		texts: `${prefix}_texts`,
		workers: `${prefix}_workers`,
		contacts: `${prefix}_contacts`,
		queues: `${prefix}_queues`,
		agencies: `${prefix}_agencies`,
		leases: `${prefix}_leases`,
		meta: `${prefix}_meta`,
		plain: name,
	};
}
