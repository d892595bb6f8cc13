/*
 * Who else may use the tables on PostgreSQL. Some hosts grant each new table to the roles of a key that is public: Supabase shows all
 * tables of the schema `public` to `anon` and `authenticated` by its REST API.
 */
import { refuse } from "../input.ts";
import { isRefusedTable, refusedTable } from "./database-error.ts";
import type { Query } from "./migration.ts";
import type { Names } from "./names.ts";
import { keysOf, tablesIn } from "./row-security.ts";

/** Everybody, and the roles as which strangers come, each with the roles that it can take. */
const strangers = `(select 'public' as stranger, 'public'::name as role, 0::oid as oid, false as is_member
	union all select s.rolname, r.rolname, r.oid,
		exists (select 1 from pg_auth_members m where m.roleid = r.oid and m.member = s.oid)
	from pg_roles s join pg_roles r on pg_has_role(s.oid, r.oid, 'member') where s.rolname in ('anon', 'authenticated'))`;

/** Whether a table is granted to a role itself, or some of its columns. */
const granted = (role: string): string => `(exists (select 1 from aclexplode(o.relacl) g where g.grantee = ${role})
	or exists (select 1 from pg_attribute a, aclexplode(a.attacl) g where a.attrelid = o.oid and g.grantee = ${role}))`;

/**
 * The views of some tables, and the views of those. They read what is in a closed schema too, with the rights of their owner, unless
 * they ask for those of the reader.
 */
const viewsOf = (keys: string): string => `(with recursive seen (oid) as (select unnest(${keys}) union
		select v.oid from seen join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = seen.oid
			and d.classid = 'pg_rewrite'::regclass join pg_rewrite r on r.oid = d.objid
			join pg_class v on v.oid = r.ev_class and v.relkind in ('v', 'm') and not exists (
				select 1 from pg_options_to_table(v.reloptions) where option_name = 'security_invoker' and option_value::boolean))
	select oid from seen)`;

/** What strangers can reach of some tables, of their views, and of the sequences of their keys. */
const reached = (tables: readonly string[]): string => {
	const keys = keysOf(tables);
	return `select s.stranger, quote_ident(s.role) as role, s.is_member, o.oid::regclass::text as object, o.relkind = 'S' as is_sequence, o.relkind in ('v', 'm') as is_view,
			${granted("s.oid")} as is_granted, ${granted("0")} as is_granted_to_all
		from ${strangers} s, pg_class o
		where (o.oid in ${viewsOf(keys)} or o.oid in (select d.objid from pg_depend d join pg_class c on c.oid = d.objid and c.relkind = 'S'
				where d.classid = 'pg_class'::regclass and d.refobjid = any (${keys})))
			and has_schema_privilege(s.role, o.relnamespace, 'usage')
			and case when o.relkind = 'S' then has_sequence_privilege(s.role, o.oid, 'usage, select, update')
				else has_table_privilege(s.role, o.oid, 'select, insert, update, delete, truncate, references, trigger')
					or has_any_column_privilege(s.role, o.oid, 'select, insert, update, references') end`;
};

/** Undoes the block of PL/pgSQL that has created some tables, if strangers could reach one of them. */
export const unlessReached = (tables: readonly string[]): string =>
	`if exists (${reached(tables)}) then raise exception '${refusedTable}'; end if`;

/** What the role that migrates grants to strangers on each table that it creates. */
const defaults = (schema: string): string => `select distinct d.defaclobjtype = 'S' as is_sequence,
		coalesce('in schema ' || quote_ident(n.nspname) || ' ', '') as place,
		case when g.grantee = 0 then 'public' else g.grantee::regrole::text end as role
	from pg_default_acl d left join pg_namespace n on n.oid = d.defaclnamespace, aclexplode(d.defaclacl) g
	where d.defaclrole = current_user::regrole and d.defaclobjtype in ('r', 'S')
		and (d.defaclnamespace = 0 or n.nspname = ${schema === "" ? "current_schema()" : `lower('${schema.slice(0, -1)}')`})
		and g.grantee in (select oid from ${strangers} s)
	order by 1, 2, 3`;

const isTrue = (value: unknown): boolean => value === true;
const listed = (all: readonly unknown[]): string => [...new Set(all.map(String))].sort().join(", ");

/** The statements after which no stranger reaches the tables. */
function revokesOf(rows: readonly Record<string, unknown>[]): string[] {
	const isStranger = (role: unknown): boolean => ["public", "anon", "authenticated"].includes(String(role));
	const grants = rows.flatMap(({ role, object, is_sequence, is_granted, is_granted_to_all }) => [
		...(isStranger(role) && isTrue(is_granted) ? [{ role, object, isSequence: isTrue(is_sequence) }] : []),
		...(isTrue(is_granted_to_all) ? [{ role: "public", object, isSequence: isTrue(is_sequence) }] : []),
	]);
	const revokes = [false, true].flatMap((isSequence) => {
		const some = grants.filter((each) => each.isSequence === isSequence);
		const [objects, roles] = [listed(some.map(({ object }) => object)), listed(some.map(({ role }) => role))];
		return some.length > 0 ? [`revoke all on ${isSequence ? "sequence" : "table"} ${objects} from ${roles}`] : [];
	});
	const memberships = rows.filter(
		({ role, is_member, is_granted, is_granted_to_all }) =>
			isTrue(is_member) && !isStranger(role) && (isTrue(is_granted) || !isTrue(is_granted_to_all)),
	);
	return [...revokes, ...new Set(memberships.map(({ role, stranger }) => `revoke ${role} from ${stranger}`))];
}

/** Refuses tables that strangers can reach, with the statements that close them. */
export async function refuseReached(run: Query, names: Names): Promise<void> {
	const rows = await run(reached(tablesIn(names)), []);
	if (rows.length === 0) return;
	const who = listed(rows.map(({ stranger }) => stranger));
	const what = listed(rows.map(({ object, is_view }) => `${isTrue(is_view) ? "the view " : ""}${object}`));
	const isView = rows.some(({ is_view }) => isTrue(is_view));
	refuseTable(names, `${what} can be read or changed by ${who}`, revokesOf(rows), isView);
}

/** Says why a table was not created, or throws any other error. */
export async function refuseOpenTable(run: Query, names: Names, error: unknown): Promise<never> {
	if (!isRefusedTable(error)) throw error;
	const rows = await run(defaults(names.schema), []);
	const who = rows.length > 0 ? listed(rows.map(({ role }) => role)) : "public, anon or authenticated";
	const revokes = rows.map(
		({ place, is_sequence, role }) =>
			`alter default privileges ${place}revoke all on ${isTrue(is_sequence) ? "sequences" : "tables"} from ${role}`,
	);
	return refuseTable(names, `a table that is created there could be read or changed by ${who}`, revokes);
}

/** @param isView a view shows the tables of any schema */
function refuseTable({ schema, plain }: Names, what: string, revokes: readonly string[], isView = false): never {
	const run = revokes.length > 0 ? [`Run: ${revokes.join("; ")};`] : [];
	const own = `Keep the tables in a schema of their own: postgresStore(pool, { prefix: "messaging.${plain}" })`;
	const how = (schema === "" && !isView) || run.length === 0 ? [...run, own] : run;
	return refuse("prefix", `${what}. ${how.join(" Or: ")}`, "migrate");
}
