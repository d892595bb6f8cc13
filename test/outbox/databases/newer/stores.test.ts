import { DatabaseSync } from "node:sqlite";
import Database from "better-sqlite3";
import { type SqliteDatabase, sqliteStore } from "messaging-conversations/outbox";
import { describe } from "vitest";
import { storeSuite } from "../../store-suite.ts";

describe("node:sqlite", () =>
	storeSuite(async () => sqliteStore(new DatabaseSync(":memory:") as unknown as SqliteDatabase)));
describe("better-sqlite3", () => storeSuite(async () => sqliteStore(new Database(":memory:"))));
