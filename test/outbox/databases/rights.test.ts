// Roles that may only read, or that may change no table. What is missing is said in a sentence that names it, and nobody goes round.
import { createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { describe, expect, test } from "vitest";
import { mysqlStore, type OutboxStore, postgresStore } from "../port.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";
import { usePostgres } from "./server.ts";

/** A database, and how a role of it is opened. */
interface Place {
	owner: OutboxStore;
	/** A role with some rights for all tables of the outbox. @param seen the statements that it runs */
	open: (rights: string, seen?: string[]) => Promise<OutboxStore>;
}

const postgres = usePostgres(import.meta.url);
const onPostgres = async (): Promise<Place> => {
	const url = await postgres.create();
	const pool = await postgres.openPool(url);
	const role = `role_${crypto.randomUUID().slice(0, 8)}`;
	return {
		owner: postgresStore(pool),
		async open(rights, seen = []) {
			await pool.query(`create role ${role} login; revoke create on schema public from public`);
			await pool.query(
				`grant usage on schema public to ${role}; grant ${rights} on all tables in schema public to ${role}`,
			);
			const other = new URL(url);
			other.username = role;
			const own = await postgres.openPool(other.href);
			const { query } = own;
			own.query = ((...values: Parameters<typeof query>) => {
				seen.push(String(values[0]));
				return Reflect.apply(query, own, values);
			}) as typeof query;
			return postgresStore(own);
		},
	};
};

const onMysql =
	({ create, openPool }: ReturnType<typeof useMysql>) =>
	async (): Promise<Place> => {
		const url = await create();
		const pool = await openPool(url);
		const role = `role_${crypto.randomUUID().slice(0, 8)}`;
		return {
			owner: mysqlStore(pool),
			async open(rights, seen = []) {
				const other = new URL(url);
				await pool.query(`create user ${role}@'%' identified by 'pass'`);
				await pool.query(`grant ${rights} on ${other.pathname.slice(1)}.* to ${role}@'%'`);
				other.username = role;
				other.password = "pass";
				const own = await openPool(other.href);
				const { query } = own;
				own.query = ((...values: Parameters<typeof query>) => {
					seen.push(String(Reflect.get(Object(values[0]), "sql") ?? values[0]));
					return Reflect.apply(query, own, values);
				}) as typeof query;
				return mysqlStore(own);
			},
		};
	};

const mysqls = mysqlKinds.map((kind) => ({ kind, ...useMysql(kind) }));

describe.each<[string, () => Promise<Place>]>([
	["PostgreSQL", onPostgres],
	...mysqls.map((server): [string, () => Promise<Place>] => [server.kind, onMysql(server)]),
])("on %s", (_, create) => {
	function createOffice() {
		const sandbox = createSandbox();
		const agency = sandbox.agency();
		const anna = agency.contact("+447700900101");
		anna.writes("Hello");
		const client = createClient({ ...sandbox.connection });
		const outboxOn = (store: OutboxStore) => createOutbox({ client, store, now: sandbox.clock.now });
		const text = { id: "a", agencyId: agency.id, to: anna.phoneNumber, body: "See you at 14:00." };
		return { sandbox, anna, outboxOn, text };
	}

	test("a role that may only read gets health, status, explain and list, and its worker ends at once", async () => {
		const place = await create();
		const { outboxOn, text, anna, sandbox } = createOffice();
		const owner = outboxOn(place.owner);
		await owner.migrate();
		await owner.enqueue(text);
		const seen: string[] = [];
		const reader = outboxOn(await place.open("select", seen));
		expect((await reader.health()).texts.waiting).toBe(1);
		expect((await reader.status("a"))?.state).toBe("waiting");
		expect((await reader.explain("a"))?.status.state).toBe("waiting");
		expect((await reader.list({ to: text.to })).map(({ id }) => id)).toEqual(["a"]);
		seen.length = 0;
		const right = /denied.*outbox_\w+.*\. The role needs select, insert, update and delete/;
		await expect(reader.work({ signal: AbortSignal.timeout(60_000) })).rejects.toThrow(right);
		await expect(reader.runOnce()).rejects.toThrow(right);
		expect(seen.length).toBeLessThan(30);
		await expect(reader.enqueue({ ...text, id: "b" })).rejects.toThrow(right);
		expect(anna.inbox().map(({ body }) => body)).toEqual([]);
		await owner.runOnce();
		expect(anna.inbox().map(({ body }) => body)).toEqual([text.body]);
		expect(sandbox.violations()).toEqual([]);
	});

	test("a role that changes rows alone works, and migrates what is migrated", async () => {
		const place = await create();
		const { outboxOn, text, anna } = createOffice();
		await outboxOn(place.owner).migrate();
		const worker = outboxOn(await place.open("select, insert, update, delete"));
		await worker.migrate();
		await worker.enqueue(text);
		await worker.runOnce();
		expect(anna.inbox().map(({ body }) => body)).toEqual([text.body]);
	});

	test("a role that may create nothing is told so by migrate, and makes nothing", async () => {
		const place = await create();
		const { outboxOn, text } = createOffice();
		const other = outboxOn(await place.open("select, insert, update, delete"));
		for (const _ of ["first", "again"]) {
			const message = String(await other.migrate().catch((error: unknown) => error));
			expect(message).toMatch(/denied.*create in their schema for outbox\.migrate/);
			expect(message.match(/The role needs/g)).toHaveLength(1);
		}
		await outboxOn(place.owner).migrate();
		expect((await outboxOn(place.owner).enqueue(text)).state).toBe("waiting");
	});
});
