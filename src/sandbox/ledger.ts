import { hourMs } from "./clock.ts";
import type { Agency, LedgerEntry, LedgerResult, World } from "./state.ts";

/*
 * What became of each operationId (§4 send, rules 4 to 6).
 */

/** R139: an id belongs to integration and agency, not to a key, as a rotated key must not break retries. */
export const entryKey = (agency: Agency, operationId: string): string =>
	`${agency.integrationId} ${agency.id} ${operationId}`;

/** R140: never forgotten, unless the policy says so. */
export function recall(world: World, key: string): LedgerEntry | undefined {
	const entry = world.ledger.get(key);
	const ttl = world.policy.operationIdTtlHours;
	if (!entry || ttl === null || world.clock.now() < entry.at + ttl * hourMs) return entry;
	world.ledger.delete(key);
	return undefined;
}

export function enter(world: World, key: string, fingerprint: string): void {
	world.ledger.set(key, { fingerprint, at: world.clock.now(), result: { state: "gone" } });
}

export function settle(world: World, key: string | null, result: LedgerResult): void {
	const entry = key === null ? undefined : world.ledger.get(key);
	if (key !== null && entry) world.ledger.set(key, { ...entry, result });
}
