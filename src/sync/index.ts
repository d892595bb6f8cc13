/**
 * The change feed: mirrors conversations and messages into a CRM.
 *
 * @module messaging-conversations/sync
 */

export type { AgencyChange, AgencyLease, AgencyPoll, WatchAgenciesOptions } from "./agencies.ts";
export { changes } from "./changes.ts";
export type { ChangeFeed, ChangesOptions, UnreadConversation } from "./feed.ts";
export { fingerprintOf } from "./fingerprint.ts";
export type { Change } from "./memory.ts";
export { type Reconciled, type ReconcileOptions, reconcile, type StoredConversation } from "./reconcile.ts";
export { type WatchFeed, type WatchOptions, watch } from "./watch.ts";
export {
	type AgenciesFeed,
	watchAgencies,
} from "./watch-agencies.ts";
