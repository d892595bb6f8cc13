/**
 * Durable sends, and what became of a text.
 *
 * @module messaging-conversations/outbox
 */

export type { EnqueuedText, EnqueueOptions, ObservedChange } from "./enqueued.ts";
export type { OutboxOptions } from "./options.ts";
export { createOutbox, type Outbox } from "./outbox.ts";
export type { OutboxStatus } from "./status.ts";
export type { Trouble } from "./trouble.ts";

// The fate of a text

export { type Fate, type FateOptions, fateOf, type SentText } from "./fate.ts";

// Stores and engines

export {
	type OutboxEngine,
	type PgBossEngineOptions,
	type PgBossLike,
	type PgBossSendOptions,
	pgBossEngine,
} from "./pg-boss.ts";
export { type PostgresQueryable, postgresStore } from "./postgres.ts";
export type { Rows, StoreOptions } from "./sql.ts";
export { type LibsqlClient, type SqliteDatabase, type SqliteStatement, sqliteStore } from "./sqlite.ts";
export type { OutboxStore, Worker } from "./store.ts";
export type { Baseline, Lane, NewText, OutboxState, OutboxText, Progress, TextError } from "./text.ts";
