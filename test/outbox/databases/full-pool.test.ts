// A pool whose connections are all in use: each library says it in its own way, and all of them mean a pause.
import { MikroORM as MikroMysql } from "@mikro-orm/mysql";
import { MikroORM as MikroPostgres } from "@mikro-orm/postgresql";
import { PrismaMariaDb } from "@prisma/adapter-mariadb";
import { PrismaPg } from "@prisma/adapter-pg";
import createKnex from "knex";
import { Kysely, MysqlDialect, PostgresDialect } from "kysely";
import mariadb from "mariadb";
import { createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import callbacks from "mysql2";
import mysql from "mysql2/promise";
import pg from "pg";
import { Sequelize } from "sequelize";
import { DataSource } from "typeorm";
import { afterAll, describe, expect, test } from "vitest";
import { eventually } from "../../eventually.ts";
import { mysqlStore, type OutboxStore, postgresStore } from "../port.ts";
import { prismaClient } from "./libraries.ts";
import { useMysql } from "./mysql-server.ts";
import { usePostgres } from "./server.ts";

/** A store on a pool of one connection, that is waited for only a moment. */
interface Full {
	store: OutboxStore;
	/** Runs `act` while it holds the connection. */
	hold: (act: () => Promise<void>) => PromiseLike<unknown>;
	close: () => Promise<unknown>;
}

const waitMs = 1_500;
const { create: createMysql } = useMysql("MariaDB");
const { create: createPostgres } = usePostgres(import.meta.url);
const opened: Full[] = [];
afterAll(async () => {
	for (const { close } of opened) await close();
});

const forMariadb = (url: string) =>
	`${url.replace(/^mysql/, "mariadb")}?connectionLimit=1&acquireTimeout=${waitMs}&allowPublicKeyRetrieval=true`;

function knex(client: string, connection: string, toStore: typeof mysqlStore): Full {
	const db = createKnex({
		client,
		connection,
		pool: { min: 0, max: 1 },
		acquireConnectionTimeout: waitMs,
		log: { warn: () => {} },
	});
	return { store: toStore(db), hold: (act) => db.transaction(act), close: () => db.destroy() };
}

async function prisma(provider: "mysql" | "postgresql", adapter: object): Promise<Full> {
	const db = new (prismaClient(provider))({ adapter });
	const store = provider === "mysql" ? mysqlStore(db) : postgresStore(db);
	return { store, hold: (act) => db.$transaction(act), close: () => db.$disconnect() };
}

async function mikroOrm(Orm: typeof MikroMysql | typeof MikroPostgres, clientUrl: string): Promise<Full> {
	const orm = await (Orm as typeof MikroMysql).init({
		clientUrl,
		entities: [],
		discovery: { warnWhenNoEntities: false },
		pool: { min: 0, max: 1 },
		driverOptions: { acquireConnectionTimeout: waitMs, log: { warn: () => {} } },
	});
	const hold = (act: () => Promise<void>) =>
		orm.em.fork().transactional(async (em) => {
			await em.execute("select 1");
			await act();
		});
	return { store: (Orm === MikroMysql ? mysqlStore : postgresStore)(orm.em), hold, close: () => orm.close(true) };
}

const pgPool = async () =>
	new pg.Pool({ connectionString: await createPostgres(), max: 1, connectionTimeoutMillis: waitMs });

const libraries: Record<string, () => Promise<Full>> = {
	async mysql2() {
		const db = mysql.createPool({ uri: await createMysql(), connectionLimit: 1, queueLimit: 1 });
		const hold = async (act: () => Promise<void>) => {
			const connection = await db.getConnection();
			// Fills the queue.
			const waiting = Promise.allSettled([db.query("select 1")]);
			await act();
			connection.release();
			await waiting;
		};
		return { store: mysqlStore(db), hold, close: () => db.end() };
	},
	async mariadb() {
		const db = mariadb.createPool(forMariadb(await createMysql()));
		const hold = async (act: () => Promise<void>) => {
			const connection = await db.getConnection();
			await act();
			await connection.release();
		};
		return { store: mysqlStore(db), hold, close: () => db.end() };
	},
	async Sequelize() {
		const db = new Sequelize(await createMysql(), { logging: false, pool: { max: 1, acquire: waitMs } });
		return { store: mysqlStore(db), hold: (act) => db.transaction(act), close: () => db.close() };
	},
	"Knex on MySQL": async () => knex("mysql2", await createMysql(), mysqlStore),
	"Knex on PostgreSQL": async () => knex("pg", await createPostgres(), postgresStore as typeof mysqlStore),
	"Prisma on MySQL": async () => prisma("mysql", new PrismaMariaDb(forMariadb(await createMysql()))),
	"Prisma on PostgreSQL": async () =>
		prisma(
			"postgresql",
			new PrismaPg({ connectionString: await createPostgres(), max: 1, connectionTimeoutMillis: waitMs }),
		),
	"MikroORM on MySQL": async () => mikroOrm(MikroMysql, await createMysql()),
	"MikroORM on PostgreSQL": async () => mikroOrm(MikroPostgres, await createPostgres()),
	async pg() {
		const db = await pgPool();
		const hold = async (act: () => Promise<void>) => {
			const client = await db.connect();
			await act();
			client.release();
		};
		return { store: postgresStore(db), hold, close: () => db.end() };
	},
	async "Kysely on MySQL"() {
		const pool = callbacks.createPool({ uri: await createMysql(), connectionLimit: 1, queueLimit: 1 });
		const db = new Kysely<object>({ dialect: new MysqlDialect({ pool }) });
		const hold = (act: () => Promise<void>) =>
			db.transaction().execute(async () => {
				const waiting = Promise.allSettled([pool.promise().query("select 1")]);
				await act();
				return { waiting };
			});
		return { store: mysqlStore(db), hold, close: () => db.destroy() };
	},
	async "Kysely on PostgreSQL"() {
		const db = new Kysely<object>({ dialect: new PostgresDialect({ pool: await pgPool() }) });
		return {
			store: postgresStore(db),
			hold: (act) => db.transaction().execute(act),
			close: () => db.destroy(),
		};
	},
	async "TypeORM on MySQL"() {
		const options = { connectionLimit: 1, queueLimit: 1 };
		const source = await new DataSource({ type: "mysql", url: await createMysql(), extra: options }).initialize();
		const hold = (act: () => Promise<void>) =>
			source.transaction(async () => {
				const waiting = Promise.allSettled([source.query("select 1")]);
				await act();
				return { waiting };
			});
		return { store: mysqlStore(source.manager), hold, close: () => source.destroy() };
	},
	async "TypeORM on PostgreSQL"() {
		const options = { max: 1, connectionTimeoutMillis: waitMs };
		const source = await new DataSource({ type: "postgres", url: await createPostgres(), extra: options }).initialize();
		const hold = (act: () => Promise<void>) => source.transaction(act);
		return { store: postgresStore(source.manager), hold, close: () => source.destroy() };
	},
};

describe.each(Object.entries(libraries))("%s", (_, open) => {
	test("a full pool pauses the work, which resumes by itself", async () => {
		const full = await open();
		opened.push(full);
		const sandbox = createSandbox();
		const anna = sandbox.agency().contact("+447700900101");
		anna.writes("Hello");
		const errors: (Error | undefined)[] = [];
		const outbox = createOutbox({
			client: createClient({ ...sandbox.connection }),
			store: full.store,
			onPaused: ({ reason, databaseError }) => errors.push(reason === "database" ? databaseError : undefined),
		});
		// On a busy machine even a free pool may need longer to connect.
		await eventually(() => outbox.migrate());
		let release = () => {};
		let released: PromiseLike<unknown> = Promise.resolve();
		await new Promise<void>((isHeld) => {
			released = full.hold(() => {
				isHeld();
				return new Promise((resolve) => {
					release = resolve;
				});
			});
		});
		const stop = new AbortController();
		const working = outbox.work({ signal: stop.signal });
		await Promise.race([working, expect.poll(() => errors.length).toBe(1)]);
		release();
		await released;
		await outbox.enqueue({ id: "a", agencyId: sandbox.agency().id, to: anna.phoneNumber, body: "Hi" });
		await expect.poll(() => anna.inbox().map(({ body }) => body)).toEqual(["Hi"]);
		stop.abort();
		await working;
		expect(errors).toEqual([expect.objectContaining({ message: expect.stringMatching(/pool|connect/) })]);
	});
});
