// The stores of this package with what is behind them, which tests ask too.
import * as outbox from "messaging-conversations/outbox";
import { isPort, type OutboxStore, storeMark } from "../../src/outbox/store.ts";
import { newProgress } from "../../src/outbox/text.ts";

export type * from "../../src/outbox/store.ts";
export type * from "../../src/outbox/text.ts";
export { newProgress, storeMark };

function portOf(store: outbox.DatabaseStore): OutboxStore {
	if (!isPort(store)) throw new Error("a store of another version");
	return store;
}

export const sqliteStore = (...given: Parameters<typeof outbox.sqliteStore>): OutboxStore =>
	portOf(outbox.sqliteStore(...given));
export const postgresStore = (...given: Parameters<typeof outbox.postgresStore>): OutboxStore =>
	portOf(outbox.postgresStore(...given));
export const mysqlStore = (...given: Parameters<typeof outbox.mysqlStore>): OutboxStore =>
	portOf(outbox.mysqlStore(...given));

/** A store of which some methods do something else. */
export const changed = (store: OutboxStore, changes: Partial<OutboxStore>): OutboxStore => ({ ...store, ...changes });
