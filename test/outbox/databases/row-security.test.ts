// Row level security of PostgreSQL hides rows without an error. Nothing is stored then, and no worker works on what is left.
import { createClient } from "messaging-conversations";
import { type ContactRecord, createOutbox, type Outbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import type pg from "pg";
import { expect, test } from "vitest";
import { postgresStore } from "../port.ts";
import { newText } from "../store-suite.ts";
import { usePostgres } from "./server.ts";

const { create, openPool } = usePostgres(import.meta.url);

const tables = ["texts", "contacts", "queues", "agencies", "workers", "meta"].map((end) => `outbox_${end}`);

/** A database with tables, and roles with all rights on them: one of the application and one of the worker. */
async function open() {
	const url = await create();
	const owner = await openPool(url);
	const sandbox = createSandbox({ now: "2026-01-05T09:00:00Z" });
	const client = createClient({ ...sandbox.connection });
	const outboxOn = (pool: pg.Pool): Outbox =>
		createOutbox({ client, store: postgresStore(pool), now: sandbox.clock.now });
	await outboxOn(owner).migrate();
	const suffix = crypto.randomUUID().slice(0, 8);
	async function roleOf(name: string, rights = "") {
		const role = `${name}_${suffix}`;
		await owner.query(`create role ${role} login ${rights}`);
		await owner.query(`grant all on ${tables.join(", ")} to ${role}`);
		const as = new URL(url);
		as.username = role;
		const pool = await openPool(as.href);
		return { role, pool, outbox: outboxOn(pool) };
	}
	const hide = async (table = "outbox_texts") => {
		await owner.query(`alter table ${table} enable row level security`);
		await owner.query(
			`create policy tenant on ${table} using (current_setting('app.agency', true) = 'a') with check (current_setting('app.agency', true) = 'a')`,
		);
	};
	const text = { agencyId: sandbox.agency().id, to: "+447700900101", body: "Visit at 14:00" };
	const stored = async () => (await owner.query("select id, state from outbox_texts order by id")).rows;
	return { owner, sandbox, outboxOn, roleOf, hide, text, stored };
}

const refusal = (field: string, role: string) => ({
	_tag: "PartnerInvalidInput",
	field,
	message: expect.stringMatching(new RegExp(`outbox_.* ${role}\\b.*alter table .*row level security`)),
});

test("a role to which rows are hidden stores nothing, and its worker and runOnce end with what mends it", async () => {
	const { owner, roleOf, hide, text, stored } = await open();
	const [app, worker] = [await roleOf("app"), await roleOf("worker")];
	await hide();
	const tx = await app.pool.connect();
	// A policy may let a role store a text that the worker does not see.
	for (const write of ["", "create table mine (n int)", "select 1"]) {
		await tx.query("begin");
		await tx.query("select set_config('app.agency', 'a', true)");
		if (write.startsWith("create")) await owner.query(`grant create on schema public to ${app.role}`);
		if (write !== "") await tx.query(write);
		await expect(app.outbox.enqueue({ ...text, id: "tx" }, { tx })).rejects.toMatchObject(refusal("tx", app.role));
		await expect(app.outbox.enqueue({ ...text, id: "tx", supersedes: "old" }, { tx })).rejects.toMatchObject(
			refusal("tx", app.role),
		);
		await expect(app.outbox.cancel("tx", { tx })).rejects.toMatchObject(refusal("tx", app.role));
		await expect(app.outbox.acknowledge([{ id: "tx", revision: 1 }], { tx })).rejects.toMatchObject(
			refusal("tx", app.role),
		);
		await tx.query("rollback");
	}
	tx.release();
	await expect(app.outbox.enqueue({ ...text, id: "a" })).rejects.toMatchObject(refusal("pool", app.role));
	await expect(app.outbox.enqueueMany([{ ...text, id: "b" }])).rejects.toMatchObject(refusal("pool", app.role));
	await expect(worker.outbox.runOnce()).rejects.toMatchObject(refusal("pool", worker.role));
	await expect(worker.outbox.work()).rejects.toMatchObject(refusal("pool", worker.role));
	await expect(worker.outbox.migrate()).rejects.toMatchObject(refusal("pool", worker.role));
	expect(await stored()).toEqual([]);
	// By what the message says.
	const refused: unknown = await app.outbox.enqueue({ ...text, id: "a" }).catch((error: unknown) => error);
	const { message } = Object(refused);
	const [, mend = ""] = /Run: (.*?); or/.exec(String(message)) ?? [];
	await owner.query(mend);
	expect((await app.outbox.enqueue({ ...text, id: "a" })).state).toBe("waiting");
	await worker.outbox.runOnce();
	expect((await stored()).map(({ id }) => id)).toEqual(["a"]);
	expect((await app.outbox.status("a"))?.state).toBe("held");
});

test.each(["outbox_texts", ...tables.slice(1)])(
	"a worker ends when rows of %s are hidden while it works",
	async (table) => {
		const { roleOf, hide, sandbox } = await open();
		const worker = await roleOf("worker");
		const working = worker.outbox.work();
		working.catch(() => {});
		await expect.poll(async () => (await worker.outbox.health()).workers.length, { timeout: 60_000 }).toBe(1);
		await hide(table);
		await expect(working).rejects.toMatchObject(refusal("pool", worker.role));
		expect(sandbox.requests()).toEqual([]);
	},
);

test("no request begins once a stop may be hidden, until the worker ends", async () => {
	const { roleOf, hide, text } = await open();
	const { pool } = await roleOf("worker");
	const store = postgresStore(pool);
	const row = await store.insert({ ...newText, ...text, id: "a", createdAt: 1 }, undefined);
	const [lease] = await store.claim({ now: 2, limit: 1, each: 1, leaseMs: 60_000, isReading: false });
	expect(await store.open(row, 1, 2)).toMatchObject([{ id: "a", isStopped: false }]);
	await hide("outbox_contacts");
	const begin = { unlessStopped: true, lease, leaseMs: 60_000 };
	expect(await store.save({ ...row, state: "sending" }, begin)).toBe(false);
	await expect(store.beat({ id: "a", version: "1.0.0", runsOnce: false, at: 0 })).rejects.toMatchObject({
		_tag: "PartnerInvalidInput",
		field: "pool",
	});
});

test("nobody is told that a text is not there, or was erased, by a role to which rows are hidden", async () => {
	const { owner, outboxOn, roleOf, hide, text, stored } = await open();
	await outboxOn(owner).enqueue({ ...text, id: "a" });
	const { outbox, role } = await roleOf("support");
	const { to } = text;
	await outboxOn(owner).optOut({ to: "+447700900199" });
	const exported: ContactRecord[] = [];
	for await (const record of outboxOn(owner).exportContacts()) exported.push(record);
	await hide();
	const calls: (() => Promise<unknown>)[] = [
		() => outbox.status("a"),
		() => outbox.explain("a"),
		() => outbox.cancel("a"),
		() => outbox.cancelAll({ to }),
		() => outbox.erase({ to, everyAgency: true }),
		() => outbox.optOut({ to }),
		() => outbox.suspend({ reason: "Stop" }),
		() => outbox.resume(),
		() => outbox.health(),
		() => outbox.settled(),
		() => outbox.purge({ before: new Date("2026-01-05") }),
		() => outbox.restored({ backupAt: new Date("2026-01-05") }),
		() => outbox.optedOut({ agencyId: text.agencyId, to }),
		async () => {
			for await (const record of outbox.exportContacts()) expect(record.kind).toBe("begin");
		},
		() => outbox.importContacts(exported),
	];
	for (const call of calls) await expect(call()).rejects.toMatchObject(refusal("pool", role));
	expect(await stored()).toEqual([{ id: "a", state: "waiting" }]);
});

test("what counts is the role of the moment: bypassrls sees all rows, until set role in the transaction", async () => {
	const { owner, roleOf, hide, text, stored } = await open();
	const { pool, outbox, role } = await roleOf("app", "bypassrls");
	const tenant = await roleOf("tenant");
	await owner.query(`grant ${tenant.role} to ${role}`);
	await hide();
	await outbox.enqueue({ ...text, id: "a" });
	const tx = await pool.connect();
	try {
		await tx.query("begin");
		await outbox.enqueue({ ...text, id: "b" }, { tx });
		await tx.query(`set local role ${tenant.role}`);
		await expect(outbox.enqueue({ ...text, id: "c" }, { tx })).rejects.toMatchObject(refusal("tx", tenant.role));
		await tx.query("commit");
		// It ends with the transaction.
		await tx.query("begin");
		await outbox.enqueue({ ...text, id: "d" }, { tx });
		await tx.query("commit");
		// On one connection of a pool it stays.
		await tx.query(`set role ${tenant.role}`);
	} finally {
		tx.release();
	}
	await expect(outbox.enqueue({ ...text, id: "e" })).rejects.toMatchObject(refusal("pool", tenant.role));
	expect((await stored()).map(({ id }) => id)).toEqual(["a", "b", "d"]);
});

test("the owner sees all rows, unless row level security is forced", async () => {
	const { owner, roleOf, text } = await open();
	const { role, pool, outbox } = await roleOf("owner");
	for (const table of tables) await owner.query(`alter table ${table} owner to ${role}`);
	await owner.query("alter table outbox_queues enable row level security");
	await outbox.migrate();
	await outbox.enqueue({ ...text, id: "a" });
	await owner.query("alter table outbox_queues force row level security");
	const calls = [() => outbox.migrate(), () => outbox.enqueue({ ...text, id: "b" }), () => outbox.runOnce()];
	for (const call of calls) await expect(call()).rejects.toMatchObject(refusal("pool", role));
	const refused: unknown = await outbox.migrate().catch((error: unknown) => error);
	const { message } = Object(refused);
	const [, mend = ""] = /Run: (.*?); or/.exec(String(message)) ?? [];
	expect(mend).toBe("alter table outbox_queues no force row level security");
	await pool.query(mend);
	await outbox.runOnce();
	expect((await outbox.status("a"))?.state).toBe("held");
});

test("row_security = off is refused by name, instead of by the database's error", async () => {
	const { owner, roleOf, hide, text, stored } = await open();
	const { role, pool, outbox } = await roleOf("app");
	await hide();
	await owner.query(`alter role ${role} set row_security = off`);
	const tx = await pool.connect();
	try {
		await tx.query("begin");
		await tx.query("set local row_security = off");
		const inTransaction = outbox.enqueue({ ...text, id: "a" }, { tx });
		await expect(inTransaction).rejects.toMatchObject({ _tag: "PartnerInvalidInput", field: "tx" });
		await tx.query("rollback");
		await tx.query("set row_security = off");
	} finally {
		tx.release();
	}
	const calls = [() => outbox.enqueue({ ...text, id: "a" }), () => outbox.runOnce(), () => outbox.status("a")];
	for (const call of calls) await expect(call()).rejects.toMatchObject(refusal("pool", role));
	expect(await stored()).toEqual([]);
});
