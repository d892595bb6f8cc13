/*
 * What a 403 means. It is the same for a key without a scope, a key of another integration, an integration that is gone, and an
 * agency that is not linked, and only `me.get` tells them apart.
 */
import type { Client } from "messaging-conversations";
import type { OutboxStore } from "../store.ts";
import { failureOf } from "./failure.ts";

/**
 * Whom a refusal concerns.
 * - `sends`: everybody, because the key lacks `messages:write`. What is there can still be read
 * - `everybody`: the key may not read, or reaches no agency of the outbox
 * - `agency`: the agency is not linked
 * - `unexplained`: `me.get` shows no reason
 * - `stale`: it showed none less than a minute ago, before the refusal
 * - `unanswered`: it failed
 */
export type Refused = "sends" | "everybody" | "agency" | "unexplained" | "stale" | "unanswered";

/** Whether `me.get` shows the reason of a refusal. */
export function isExplained(refused: Refused): boolean {
	return refused === "sends" || refused === "everybody" || refused === "agency";
}

/** What the key may do, as `me.get` says. It is asked only after a refusal, and at most once a minute for all agencies. */
export interface Access {
	/** Whom a refusal of an agency's call concerns. */
	refused: (operation: "read" | "send", agencyId: string) => Promise<Refused>;
	/** Whether the key may send, as far as is known. */
	maySend: () => Promise<boolean>;
	/** When `me.get` is asked again, in milliseconds. */
	askedAgainAt: () => number;
}

interface Known {
	scopes: readonly string[];
	linked: ReadonlySet<string>;
	/** Whether some agency of this outbox is linked. */
	isOurs: boolean;
}

const askAgainMs = 60_000;
const askingMs = 30_000;

export function createAccess(client: Client, store: Pick<OutboxStore, "agencies">, now: () => number): Access {
	let asking: Promise<Known | undefined> | undefined;
	let askedAt = Number.NEGATIVE_INFINITY;
	let isAnswered = false;
	const nobody: Known = { scopes: [], linked: new Set(), isOurs: false };

	async function ask(): Promise<Known | undefined> {
		try {
			const { agencies, scopes } = await client.me.get({ retry: false, deadline: askingMs });
			const linked = new Set(agencies.map(({ id }) => id));
			const own = await store.agencies();
			// A single one that is not linked says nothing of the key.
			return { scopes, linked, isOurs: own.length < 2 || own.some((id) => linked.has(id)) };
		} catch (thrown) {
			const { _tag } = failureOf(thrown, "me.get");
			return _tag === "PartnerNotFound" || _tag === "PartnerForbidden" ? nobody : undefined;
		}
	}

	const isDue = (): boolean => !asking || Math.abs(now() - askedAt) >= askAgainMs;

	/** All that meet a refusal at the same time share one answer. */
	function known(): Promise<Known | undefined> {
		if (asking && !isDue()) return asking;
		askedAt = now();
		isAnswered = false;
		asking = ask().finally(() => {
			isAnswered = true;
		});
		return asking;
	}

	return {
		async refused(operation, agencyId) {
			const isStale = isAnswered && !isDue();
			const found = await known();
			if (!found) return "unanswered";
			if (!found.isOurs || !found.scopes.includes("conversations:read")) return "everybody";
			if (operation === "send" && !found.scopes.includes("messages:write")) return "sends";
			if (agencyId !== "" && !found.linked.has(agencyId)) return "agency";
			return isStale ? "stale" : "unexplained";
		},
		maySend: async () => (await known())?.scopes.includes("messages:write") ?? false,
		askedAgainAt: () => askedAt + askAgainMs,
	};
}
