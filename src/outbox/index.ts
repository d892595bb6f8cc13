/**
 * Durable sends, and the delivery of a text.
 *
 * @module messaging-conversations/outbox
 */

export type { EnqueuedText, EnqueueOptions, ObservedChange } from "./enqueue.ts";
export type { BeforeSend, BeforeSendContext, BeforeSendVerdict, OnReply, ReplyVerdict, TextToSend } from "./hooks.ts";
export type { OutboxOptions } from "./options.ts";
export { type CancelledTexts, createOutbox, type Outbox, type SettledChange } from "./outbox.ts";
export type { Pause, PauseReason } from "./pauses.ts";
export type { OutboxStatus } from "./status.ts";

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
} from "./bullmq.ts";
export type { OutboxEngine, WakeUp } from "./engine.ts";
export { mysqlStore } from "./mysql.ts";
export type { SequelizeQueryable } from "./mysql-libraries.ts";
export {
	type PgBossEngineOptions,
	type PgBossLike,
	type PgBossSendOptions,
	pgBossEngine,
} from "./pg-boss.ts";
export { postgresStore } from "./postgres.ts";
export type { StoreOptions } from "./sql-store.ts";
export { sqliteStore } from "./sqlite.ts";
export type { DueRecipient, OutboxStore, Worker } from "./store.ts";
export type {
	Baseline,
	NewText,
	OpenText,
	OutboxReason,
	OutboxState,
	OutboxText,
	Progress,
	Recipient,
	RequestRecord,
	TextError,
} from "./text.ts";
export type {
	AnyQueryable,
	DrizzleQueryable,
	KnexQueryable,
	KyselyQueryable,
	LibsqlClient,
	MikroOrmQueryable,
	MysqlQueryable,
	PostgresJsSql,
	PostgresQueryable,
	PrismaQueryable,
	Rows,
	SequelizeTransaction,
	SqliteDatabase,
	SqliteStatement,
	Transaction,
	TypeOrmQueryable,
} from "./transaction.ts";
