// The libraries that teams reach MySQL with, each with its own way to begin a transaction.
import { MikroORM } from "@mikro-orm/mysql";
import { PrismaMariaDb } from "@prisma/adapter-mariadb";
import { drizzle } from "drizzle-orm/mysql2";
import createKnex from "knex";
import { CamelCasePlugin, Kysely, MysqlDialect } from "kysely";
import mariadb from "mariadb";
import type { AnyQueryable, MysqlQueryable, SequelizeQueryable, Transaction } from "messaging-conversations/outbox";
import mysql from "mysql2";
import promised from "mysql2/promise";
import { Sequelize } from "sequelize";
import { DataSource } from "typeorm";
import { prismaClient } from "./libraries.ts";

/** A library that is connected. */
export interface MysqlLibrary {
	/** What `mysqlStore` takes. */
	db: MysqlQueryable | SequelizeQueryable | AnyQueryable;
	/** Runs in a transaction, which is rolled back if `act` throws. */
	transaction: (act: (tx: Transaction) => Promise<void>) => Promise<unknown>;
	/** The same inside of an outer transaction, as far as the library has it. */
	nested?: (act: (tx: Transaction) => Promise<void>) => Promise<unknown>;
	close: () => Promise<unknown>;
}

export const mysqlLibraries: [name: string, open: (url: string) => Promise<MysqlLibrary>][] = [
	["mysql2, promises", openPromised],
	["mysql2, callbacks", openCallbacks],
	["mariadb", openMariadb],
	["Prisma", openPrisma],
	["Drizzle", openDrizzle],
	["Knex", openKnex],
	["Kysely", openKysely],
	["TypeORM", openTypeOrm],
	["Sequelize", openSequelize],
	["MikroORM", openMikroOrm],
];

async function openPromised(uri: string): Promise<MysqlLibrary> {
	// Options that change what a query gives change nothing for the outbox.
	const pool = promised.createPool({
		uri,
		connectionLimit: 4,
		rowsAsArray: true,
		namedPlaceholders: true,
		supportBigNumbers: true,
		bigNumberStrings: true,
		flags: ["-FOUND_ROWS"],
	});
	return {
		db: pool,
		async transaction(act) {
			const connection = await pool.getConnection();
			try {
				await connection.beginTransaction();
				await act(connection);
				await connection.commit();
			} catch (error) {
				await connection.rollback();
				throw error;
			} finally {
				connection.release();
			}
		},
		close: () => pool.end(),
	};
}

async function openCallbacks(uri: string): Promise<MysqlLibrary> {
	const pool = mysql.createPool({ uri, connectionLimit: 4, typeCast: false });
	const run = (connection: mysql.PoolConnection, sql: string) => connection.promise().query(sql);
	return {
		db: pool,
		async transaction(act) {
			const connection = await new Promise<mysql.PoolConnection>((resolve, reject) =>
				pool.getConnection((error, found) => (error ? reject(error) : resolve(found))),
			);
			try {
				await run(connection, "start transaction");
				await act(connection);
				await run(connection, "commit");
			} catch (error) {
				await run(connection, "rollback");
				throw error;
			} finally {
				connection.release();
			}
		},
		close: () => pool.promise().end(),
	};
}

async function openMariadb(url: string): Promise<MysqlLibrary> {
	const pool = mariadb.createPool(
		`${url.replace(/^mysql/, "mariadb")}?connectionLimit=4&allowPublicKeyRetrieval=true&rowsAsArray=true`,
	);
	return {
		db: pool,
		async transaction(act) {
			const connection = await pool.getConnection();
			try {
				await connection.beginTransaction();
				await act(connection);
				await connection.commit();
			} catch (error) {
				await connection.rollback();
				throw error;
			} finally {
				await connection.release();
			}
		},
		close: () => pool.end(),
	};
}

async function openPrisma(url: string): Promise<MysqlLibrary> {
	const adapter = new PrismaMariaDb(
		`${url.replace(/^mysql/, "mariadb")}?connectionLimit=4&allowPublicKeyRetrieval=true`,
		// MySQL prepares no savepoint. MariaDB does.
		{ useTextProtocol: true },
	);
	const prisma = new (prismaClient("mysql"))({ adapter });
	return {
		db: prisma,
		transaction: (act) => prisma.$transaction((tx) => act(tx)),
		close: () => prisma.$disconnect(),
	};
}

async function openDrizzle(uri: string): Promise<MysqlLibrary> {
	const pool = promised.createPool({ uri, connectionLimit: 4 });
	const db = drizzle(pool);
	return {
		db,
		transaction: (act) => db.transaction((tx) => act(tx)),
		nested: (act) => db.transaction((tx) => tx.transaction((inner) => act(inner))),
		close: () => pool.end(),
	};
}

async function openKnex(connection: string): Promise<MysqlLibrary> {
	const knex = createKnex({ client: "mysql2", connection });
	return {
		db: knex,
		transaction: (act) => knex.transaction((tx) => act(tx)),
		nested: (act) => knex.transaction((tx) => tx.transaction((inner) => act(inner))),
		close: () => knex.destroy(),
	};
}

async function openKysely(uri: string): Promise<MysqlLibrary> {
	const dialect = new MysqlDialect({ pool: mysql.createPool({ uri, connectionLimit: 4 }) });
	const db = new Kysely<object>({ dialect, plugins: [new CamelCasePlugin()] });
	return { db, transaction: (act) => db.transaction().execute((tx) => act(tx)), close: () => db.destroy() };
}

async function openTypeOrm(url: string): Promise<MysqlLibrary> {
	const source = await new DataSource({ type: "mysql", url }).initialize();
	return {
		db: source.manager,
		transaction: (act) => source.transaction((manager) => act(manager)),
		nested: (act) => source.transaction((manager) => manager.transaction((inner) => act(inner))),
		close: () => source.destroy(),
	};
}

async function openSequelize(url: string): Promise<MysqlLibrary> {
	const sequelize = new Sequelize(url, { logging: false });
	return {
		db: sequelize,
		transaction: (act) => sequelize.transaction((tx) => act(tx)),
		nested: (act) =>
			sequelize.transaction((transaction) => sequelize.transaction({ transaction }, (inner) => act(inner))),
		close: () => sequelize.close(),
	};
}

async function openMikroOrm(clientUrl: string): Promise<MysqlLibrary> {
	const orm = await MikroORM.init({ clientUrl, entities: [], discovery: { warnWhenNoEntities: false } });
	return {
		db: orm.em,
		transaction: (act) => orm.em.transactional((em) => act(em)),
		nested: (act) => orm.em.transactional((em) => em.transactional((inner) => act(inner))),
		close: () => orm.close(true),
	};
}
