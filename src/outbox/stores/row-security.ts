/*
 * Row level security of PostgreSQL hides rows without an error: a text would be stored, and no worker would ever see it.
 */
import { refuse } from "../input.ts";
import type { Row } from "./connection.ts";
import { isForbidden } from "./database-error.ts";
import type { Names } from "./names.ts";

/** The tables of an outbox. */
export const tablesIn = ({ texts, workers, contacts, queues, agencies, leases, meta }: Names): string[] => [
	texts,
	workers,
	contacts,
	queues,
	agencies,
	leases,
	meta,
];

/** Their keys in the catalogue of PostgreSQL. One that is not there has none. */
export const keysOf = (tables: readonly string[]): string =>
	`array[${tables.map((table) => `to_regclass('${table}')`).join(", ")}]::oid[]`;

/**
 * What is hidden from the role that runs the statement: null, or a line each for the role, the tables and the statements that change it.
 * It is part of a statement, because a transaction can have another role than the pool, and a policy can come at any time.
 */
export const hiddenIn = (names: Names): string => `(select concat_ws(chr(10), quote_ident(current_user),
		string_agg(c.oid::regclass::text, ', '),
		string_agg(format('alter table %s %s row level security', c.oid::regclass,
			case when pg_has_role(c.relowner, 'usage') then 'no force' else 'disable' end), '; '))
	from pg_class c where c.oid = any (${keysOf(tablesIn(names))}) and row_security_active(c.oid) having count(*) > 0)`;

/** Refuses a role that does not see all rows, by what {@link hiddenIn} gave. */
export function refuseHidden(row: Row | undefined, field: "pool" | "tx", operation: string): void {
	if (typeof row?.hidden !== "string") return;
	const [role = "", tables = "", mend = ""] = row.hidden.split("\n");
	const what = `row level security hides rows of ${tables} from the role ${role}, so its texts would wait for ever`;
	refuse(field, `${what}. Run: ${mend}; or: alter role ${role} bypassrls;`, operation);
}

/** Refuses a transaction with `row_security = off`, in which PostgreSQL refuses each statement whose rows it would hide. */
export function refuseUnreadable(error: unknown, operation: string): never {
	if (isForbidden(error) && /row-level security/.test(String(Object(error).message)))
		refuse(
			"tx",
			"row level security would hide rows of the outbox's tables from its role. Run: alter table … disable row level security for each of them; or give its role bypassrls",
			operation,
		);
	throw error;
}
