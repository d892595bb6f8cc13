/*
 * Leases by name: which process follows an agency, and which one stores what has become of texts. They end by the clock of the
 * database. A lease that ends later than one that is taken now was taken before that clock was set back, and is over too.
 */
import type { NamedLease, OutboxStore } from "../store.ts";
import { inChunks, type Row, type Value } from "./connection.ts";
import type { Names } from "./names.ts";

/** How long a lease lasts, in milliseconds, unless it is prolonged. */
export const namedLeaseMs = 30_000;
const dayMs = 86_400_000;
const mostNames = 200;

/** The statements of leases, each with its values. */
export interface LeaseStatements {
	/** topic, name, owner: whether it is theirs, and whether it is over */
	findLease: string;
	/** topic, name, owner */
	addLease: string;
	takeLease: string;
	/** topic, owner, names */
	prolongLeases: (count: number) => string;
	/** topic, owner */
	ownLeases: string;
	/** topic, name, owner */
	endLease: string;
	/** topic */
	countLeases: string;
	forgetLeases: string;
}

interface Dialect {
	/** The clock of the database, in milliseconds. */
	clock: string;
	/** What comes behind the table of an update, so that it reads no other row. */
	hint?: string;
	/** The end of an insert of a row that may be there. */
	unlessThere: string;
	/** The end of a change whose rows are counted. */
	counted: string;
}

export function leaseStatements(
	{ leases }: Pick<Names, "leases">,
	{ clock, hint = "", unlessThere, counted }: Dialect,
): LeaseStatements {
	const isOver = `(lease_until <= ${clock} or lease_until > ${clock} + ${namedLeaseMs})`;
	const isOne = "topic = $1 and name = $2";
	// It always changes something, because MySQL does not count a row that stays as it is.
	const longer = `lease_until = ${clock} + ${namedLeaseMs}, revision = revision + 1`;
	return {
		findLease: `select case when owner = $3 then 1 else 0 end as is_own, case when ${isOver} then 1 else 0 end as is_over
			from ${leases} where ${isOne}`,
		addLease: `insert into ${leases} (topic, name, owner, lease_until) values ($1, $2, $3, ${clock} + ${namedLeaseMs}) ${unlessThere}`,
		takeLease: `update ${leases} ${hint} set owner = $3, ${longer} where ${isOne} and (owner = $3 or ${isOver}) ${counted}`,
		// Nobody has had it since, so that it may be prolonged although it is over.
		prolongLeases: (count) =>
			`update ${leases} ${hint} set ${longer} where topic = $1 and owner = $2 and name in (${Array.from({ length: count }, (_, at) => `$${at + 3}`).join(", ")}) ${counted}`,
		ownLeases: `select name from ${leases} where topic = $1 and owner = $2`,
		endLease: `delete from ${leases} where ${isOne} and owner = $3 ${counted}`,
		countLeases: `select count(*) as count from ${leases} where topic = $1 and not ${isOver}`,
		forgetLeases: `delete from ${leases} where lease_until < ${clock} - ${dayMs} ${counted}`,
	};
}

type Leases = Pick<OutboxStore, "takeLease" | "prolongLeases" | "confirmLease" | "endLease" | "countLeases">;

interface Run {
	query: (sql: string, values: Value[]) => Promise<Row[]>;
	change: (sql: string, values: Value[]) => Promise<number>;
	changeIn: (tx: unknown, sql: string, values: Value[]) => Promise<number>;
}

export function createNamedLeases(statements: LeaseStatements, { query, change, changeIn }: Run): Leases {
	const valuesOf = ({ topic, name, owner }: NamedLease): Value[] => [topic, name, owner];
	return {
		async takeLease(lease) {
			const values = valuesOf(lease);
			// A lease of another process is read alone, because that one may hold its row in a transaction.
			const find = async (): Promise<Row | undefined> => (await query(statements.findLease, values))[0];
			if (!(await find())) {
				await change(statements.forgetLeases, []);
				await query(statements.addLease, values);
			}
			const found = await find();
			if (!found || (Number(found.is_own) === 0 && Number(found.is_over) === 0)) return false;
			return (await change(statements.takeLease, values)) > 0;
		},
		async prolongLeases(topic, owner, names) {
			for (const some of inChunks(names, mostNames))
				await change(statements.prolongLeases(some.length), [topic, owner, ...some]);
			const own = new Set((await query(statements.ownLeases, [topic, owner])).map(({ name }) => String(name)));
			return names.filter((name) => own.has(name));
		},
		confirmLease: async ({ topic, name, owner }, tx) =>
			(await changeIn(tx, statements.prolongLeases(1), [topic, owner, name])) > 0,
		async endLease(lease) {
			await change(statements.endLease, valuesOf(lease));
		},
		countLeases: async (topic) => Number((await query(statements.countLeases, [topic]))[0]?.count ?? 0),
	};
}
