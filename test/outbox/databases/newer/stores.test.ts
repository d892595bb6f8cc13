import { DatabaseSync } from "node:sqlite";
import Database from "better-sqlite3";
import { sqliteStore } from "messaging-conversations/outbox";
import { describe } from "vitest";
import { storeSuite } from "../../store-suite.ts";

describe("node:sqlite", () => storeSuite(async () => sqliteStore(new DatabaseSync(":memory:"))));
describe("better-sqlite3", () => storeSuite(async () => sqliteStore(new Database(":memory:"))));
