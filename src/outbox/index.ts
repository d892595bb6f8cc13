/**
 * Durable sends, and the delivery of a text.
 *
 * @module messaging-conversations/outbox
 */

export type { CancelledTexts, CancelOptions } from "./cancel.ts";
export type {
	ContactFact,
	ContactRecord,
	ExportBegin,
	ExportContact,
	ExportEnd,
	ExportKey,
	FactName,
} from "./contact-records.ts";
export type { ExplainedStep, Explanation } from "./explain.ts";
export type { ExportOptions, OptedOutOptions, OptOutStatus, ToldFact } from "./export-contacts.ts";
export type { FollowedChange, FollowOptions } from "./follow.ts";
export type { EnqueuedStatus, EnqueuedText, EnqueueOptions, IgnoredField, ObservedChange } from "./given-text.ts";
export type { OutboxHealth, PauseHealth, RestoreHealth, WorkerHealth } from "./health.ts";
export type { ImportedContacts, ImportOptions } from "./import-contacts.ts";
export type { AgencyLeases, LeasesOptions } from "./leases.ts";
export type {
	ListedText,
	ListOptions,
	ResolveOptions,
	RestoredOptions,
	ResumeOptions,
	SuspendOptions,
} from "./operator.ts";
export type { OutboxOptions } from "./options.ts";
export { createOutbox, type Outbox } from "./outbox.ts";
export { isOptIn, isOptOut, isRefusal, isWrongNumber } from "./policy/opt-out/opt-out.ts";
export type { OnHeld, Purpose } from "./policy/purpose.ts";
export type { QuietHours } from "./policy/quiet-hours.ts";
export type { CancelAllOptions, ContactOptions, EraseOptions, StopOptions } from "./recipient.ts";
export type { ReportOptions, ReportRow } from "./report.ts";
export type { SettledChange } from "./settled.ts";
export type { OutboxStatus } from "./status.ts";
export type { DeclaredRestore, Resumption, Suspension } from "./suspension.ts";
export type { WaitsFor } from "./waits-for.ts";
export type {
	BeforeSend,
	BeforeSendContext,
	BeforeSendVerdict,
	OnReply,
	ReplyVerdict,
	TextToSend,
} from "./work/hooks.ts";
export type { DataLoss, Pause, PauseReason } from "./work/pause.ts";

// The delivery of a text

export { type CheckDeliveryOptions, checkDelivery, type Delivery, type SentText } from "./delivery.ts";

// Stores and engines

export {
	type BullmqEngineOptions,
	type BullmqJob,
	type BullmqJobOptions,
	type BullmqQueueLike,
	type BullmqWorkerLike,
	bullmqEngine,
} from "./engines/bullmq.ts";
export type { OutboxEngine, WakeOptions, WakeUp } from "./engines/engine.ts";
export {
	type PgBossDatabase,
	type PgBossEngineOptions,
	type PgBossLike,
	type PgBossSendOptions,
	pgBossEngine,
} from "./engines/pg-boss.ts";
export type { OutboxReason, WaitsForKind } from "./names.ts";
export type { DatabaseStore, ListedState } from "./store.ts";
export { mysqlStore } from "./stores/mysql.ts";
export type { StoreOptions } from "./stores/names.ts";
export { postgresStore } from "./stores/postgres.ts";
export { sqliteStore } from "./stores/sqlite.ts";
export type { FactSource, OutboxState, TextError } from "./text.ts";
export type { AnyQueryable, Transaction } from "./transaction.ts";
export type { DrizzleQueryable } from "./transactions/drizzle.ts";
export type { KnexQueryable } from "./transactions/knex.ts";
export type { KyselyQueryable } from "./transactions/kysely.ts";
export type { LibsqlClient } from "./transactions/libsql-client.ts";
export type { MikroOrmQueryable } from "./transactions/mikro-orm.ts";
export type { MysqlQueryable } from "./transactions/mysql2.ts";
export type { PostgresQueryable, Rows } from "./transactions/pg.ts";
export type { PostgresJsSql } from "./transactions/postgres-js.ts";
export type { PrismaQueryable } from "./transactions/prisma.ts";
export type { SequelizeQueryable, SequelizeTransaction } from "./transactions/sequelize.ts";
export type { SqliteDatabase, SqliteStatement } from "./transactions/synchronous-sqlite.ts";
export type { TypeOrmQueryable } from "./transactions/typeorm.ts";
