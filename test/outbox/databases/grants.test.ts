// Tables that strangers can read or change are refused on PostgreSQL: Supabase, for one, grants each new table to its public keys.

import type pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Server, startServer } from "../../postgres.ts";
import { type OutboxStore, postgresStore } from "../port.ts";
import { newText } from "../store-suite.ts";
import { usePostgres } from "./server.ts";

const { openPool } = usePostgres(import.meta.url);

// Roles belong to a server, and those of DATABASE_URL may be somebody's own.
const roles = ["anon", "authenticated", "authenticator", "reader"];
let server: Server | undefined;
let url = "";
let owner: pg.Pool;
beforeAll(async () => {
	server = await startServer(import.meta.url);
});
afterAll(async () => server?.close());
beforeEach(async () => {
	url = (await server?.create()) ?? "";
	owner = await openPool(url);
	for (const role of roles) {
		const { rows } = await owner.query(`select 1 from pg_roles where rolname = '${role}'`);
		if (rows.length === 0)
			await owner.query(`create role ${role} ${role === "authenticator" ? "login" : "nologin"} noinherit`);
	}
	await owner.query("grant anon, authenticated to authenticator; revoke reader from anon");
	await owner.query("grant usage on schema public to anon, authenticated");
});

/** What each project of Supabase has. */
const supabase = `alter default privileges in schema public grant all on tables to anon, authenticated;
	alter default privileges in schema public grant all on sequences to anon, authenticated`;

/** Runs a statement as a stranger. */
async function as(role: string, sql: string): Promise<unknown[]> {
	const client = new URL(url);
	client.username = "authenticator";
	const pool = await openPool(client.href);
	const connection = await pool.connect();
	try {
		await connection.query(`set role ${role}`);
		return (await connection.query(sql)).rows;
	} finally {
		connection.release(true);
	}
}

const refusal = { _tag: "PartnerInvalidInput", field: "prefix" };

/** The message of the refusal, and the statements that mend it. */
async function refused(store: OutboxStore): Promise<{ message: string; mend: string }> {
	const error = await store.migrate().then(
		() => undefined,
		(thrown: unknown) => thrown,
	);
	expect(error).toMatchObject(refusal);
	const message = String(Object(error).message);
	return { message, mend: /Run: (.*;)/.exec(message)?.[1] ?? "" };
}

const create = async (store: OutboxStore): Promise<void> => {
	await store.migrate();
	await store.insert({ ...newText, id: "a" }, undefined);
};

test("by default privileges strangers would reach the tables, so none is created", async () => {
	await owner.query(supabase);
	const store = postgresStore(owner);
	const { message, mend } = await refused(store);
	expect(message).toMatch(/anon, authenticated.*"messaging\.outbox"/);
	// Nothing that is half done is open meanwhile.
	expect((await owner.query("select 1 from pg_class where relname like 'outbox%'")).rows).toEqual([]);
	await refused(store);
	await owner.query(mend);
	await create(store);
	for (const role of ["anon", "authenticated"])
		await expect(as(role, "select * from outbox_texts")).rejects.toMatchObject({ code: "42501" });
});

test("a private schema is the way on Supabase: all is there, and strangers see nothing of it", async () => {
	await owner.query(supabase);
	await owner.query(
		"alter default privileges grant all on tables to anon; alter default privileges grant all on sequences to public",
	);
	const store = postgresStore(owner, { prefix: "messaging.outbox" });
	await create(store);
	await store.migrate();
	await store.beat({ id: "a", version: "1.0.0", runsOnce: false, at: 0 });
	const [lease] = await store.claim({ now: Date.now(), limit: 1, each: 1, leaseMs: 60_000, isReading: false });
	expect(lease?.to).toBe(newText.to);
	await expect(as("anon", "select * from messaging.outbox_texts")).rejects.toMatchObject({ code: "42501" });
	// Who opens the schema opens the tables.
	await owner.query("grant usage on schema messaging to anon");
	const { mend } = await refused(store);
	await owner.query(mend);
	await store.migrate();
	await expect(as("anon", "select * from messaging.outbox_texts")).rejects.toMatchObject({ code: "42501" });
});

test("default privileges of no schema are found too, and those of public", async () => {
	await owner.query("alter default privileges grant select on tables to public");
	const { message, mend } = await refused(postgresStore(owner));
	expect(message).toContain("public");
	expect(mend).toBe("alter default privileges revoke all on tables from public;");
	await owner.query(mend);
	await create(postgresStore(owner));
});

test.each([
	["all of a table to everybody", "grant select on outbox_texts to public", "anon", "select body from outbox_texts"],
	["a table beside it", "grant update on outbox_meta to anon", "anon", "update outbox_meta set hash_keys = ''"],
	[
		"one column",
		"grant select (body) on outbox_texts to authenticated",
		"authenticated",
		"select body from outbox_texts",
	],
	[
		"one column to change",
		"grant update (body) on outbox_texts to anon",
		"anon",
		"update outbox_texts set body = 'Pay'",
	],
	[
		"the right to empty it",
		"grant truncate on outbox_queues to authenticated",
		"authenticated",
		"truncate outbox_queues",
	],
	[
		"a role that it can take",
		"grant select on outbox_texts to reader; grant reader to anon",
		"reader",
		"select body from outbox_texts",
	],
	[
		"the sequence of the keys",
		"grant update on sequence outbox_texts_seq_seq to anon",
		"anon",
		"select setval('outbox_texts_seq_seq', 1)",
	],
])("tables that are there are refused, with what closes them: %s", async (_, grant, role, sql) => {
	const store = postgresStore(owner);
	await create(store);
	await owner.query("grant select on outbox_texts to reader");
	await owner.query(grant);
	if (role === "reader") await owner.query("grant reader to authenticator");
	await as(role, sql);
	const { mend } = await refused(store);
	await owner.query(mend);
	await store.migrate();
	if (role === "reader") {
		// The role keeps its rights, for those who should have them.
		expect(mend).toBe("revoke reader from anon;");
		await owner.query("revoke reader from authenticator");
	} else await expect(as(role, sql)).rejects.toMatchObject({ code: "42501" });
	expect((await store.find("a"))?.id).toBe("a");
});

test.each([
	["a view", "create view shown as select id, body from outbox_texts", "shown"],
	[
		"a view of a view in another schema",
		"create schema reports; create view reports.inner_texts as select * from outbox_texts; create view shown as select body from reports.inner_texts",
		"shown",
	],
	["a materialized view", "create materialized view shown as select recipient from outbox_queues", "shown"],
	[
		"a view of a part of a query",
		"create view shown as select 1 as one where exists (select 1 from outbox_contacts)",
		"shown",
	],
])("a view that strangers can read is refused, with what closes it: %s", async (_, create_, view) => {
	const store = postgresStore(owner);
	await create(store);
	await owner.query(`${create_}; grant select on ${view} to anon`);
	await as("anon", `select * from ${view}`);
	const { message, mend } = await refused(store);
	expect(message).toContain(`the view ${view} can be read or changed by anon`);
	expect(message).not.toContain("schema of their own");
	expect(mend).toBe(`revoke all on table ${view} from anon;`);
	await owner.query(mend);
	await store.migrate();
	await expect(as("anon", `select * from ${view}`)).rejects.toMatchObject({ code: "42501" });
});

test("a view of tables in a closed schema is refused on Supabase, where strangers get each new view of public", async () => {
	await owner.query(supabase);
	const store = postgresStore(owner, { prefix: "messaging.outbox" });
	await create(store);
	await owner.query("create view last_texts as select id, body from messaging.outbox_texts");
	expect(await as("anon", "select body from last_texts")).toHaveLength(1);
	const { message, mend } = await refused(store);
	expect(message).toContain("the view last_texts can be read or changed by anon, authenticated");
	await owner.query(mend);
	await store.migrate();
});

test("views that strangers can't read, or that ask for the reader's rights, are none of this", async () => {
	const store = postgresStore(owner);
	await create(store);
	await owner.query(`create view closed as select * from outbox_texts;
		create view asking with (security_invoker = on) as select * from outbox_texts; create view outer_view as select * from asking; grant select on asking, outer_view to anon;
		create table visits (id int); create view visited as select * from visits; grant select on visits, visited to anon;
		grant select on closed to reader`);
	for (const view of ["asking", "outer_view"])
		await expect(as("anon", `select * from ${view}`)).rejects.toMatchObject({ code: "42501" });
	await store.migrate();
});

test("what strangers reach by the right to read everything is refused", async () => {
	const store = postgresStore(owner);
	await create(store);
	await owner.query("grant pg_read_all_data to anon");
	const { mend } = await refused(store);
	expect(mend).toBe("revoke pg_read_all_data from anon;");
	await owner.query(mend);
	await store.migrate();
});

test("a trigger that grants each new table leaves none open", async () => {
	await owner.query(`create function open_all() returns event_trigger language plpgsql as
		$$ begin execute 'grant all on all tables in schema public to anon'; end $$;
		create event trigger open_all on ddl_command_end when tag in ('CREATE TABLE') execute function open_all()`);
	const { message } = await refused(postgresStore(owner));
	expect(message).toContain("in a schema of their own");
	expect((await owner.query("select 1 from pg_class where relname like 'outbox%'")).rows).toEqual([]);
	await create(postgresStore(owner, { prefix: "messaging.outbox" }));
});

test("other roles may have any rights", async () => {
	const store = postgresStore(owner);
	await create(store);
	await owner.query("grant all on outbox_texts to reader, authenticator");
	await store.migrate();
});
