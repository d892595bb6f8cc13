/**
 * The change feed: mirrors conversations and messages into a CRM.
 *
 * @module messaging-conversations/sync
 */

export { type ChangeFeed, type ChangesOptions, changes, type FeedOptions } from "./changes.ts";
export { fingerprintOf } from "./fingerprint.ts";
export type { Change, UnreadConversation } from "./memory.ts";
export { type Reconciled, type ReconcileOptions, reconcile, type StoredConversation } from "./reconcile.ts";
export { type WatchFeed, type WatchOptions, watch } from "./watch.ts";
