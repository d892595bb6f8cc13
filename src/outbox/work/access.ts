/*
 * What a 403 means. It is the same for a key without a scope, a key of another integration, an integration that is gone, and an
 * agency that is not linked, and only `me.get` tells them apart.
 */
import type { Client, PartnerError } from "messaging-conversations";
import { isAged } from "../../shared/copies.ts";
import { staleError } from "../match.ts";
import { isAlert, type OutboxStore } from "../store.ts";
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

/** What `me.get` says. It is asked only after a refusal, and at most once a minute, whoever refused whom. */
export interface Access {
	/** Whom a refusal of an agency's call concerns. */
	refused: (operation: "read" | "send", agencyId: string) => Promise<Refused>;
	/** Whether the key may send, as far as is known. */
	maySend: () => Promise<boolean>;
	/** The error of `me.get`, if it fails, and whether it was asked before. */
	failure: () => Promise<{ failed: PartnerError | undefined; isStale: boolean }>;
	/** When `me.get` is asked again, in milliseconds. */
	askedAgainAt: () => number;
}

interface Known {
	error?: PartnerError;
	/** Whether the service has answered. */
	isAnswer: boolean;
	scopes: readonly string[];
	linked: ReadonlySet<string>;
	/** Whether some agency of this outbox is linked. */
	isOurs: boolean;
}

const askAgainMs = 60_000;
const askingMs = 30_000;

export function createAccess(client: Client, store: Pick<OutboxStore, "agencies">, now: () => number): Access {
	let asking: Promise<Known> | undefined;
	let askedAt = Number.NEGATIVE_INFINITY;
	let isAnswered = false;
	const nobody = { scopes: [], linked: new Set<string>(), isOurs: false };

	async function ask(): Promise<Known> {
		try {
			const { data, response } = await client.me.get({ retry: false, deadline: askingMs }).withResponse();
			if (isAged(response.headers)) return { ...nobody, isAnswer: false, error: staleError("me.get") };
			const { agencies, scopes } = data;
			const linked = new Set(agencies.map(({ id }) => id));
			const own = (await store.agencies()).filter((id) => !isAlert(id));
			// A single one that is not linked says nothing of the key.
			return { isAnswer: true, scopes, linked, isOurs: own.length < 2 || own.some((id) => linked.has(id)) };
		} catch (thrown) {
			const error = failureOf(thrown, "me.get");
			const isAnswer = error._tag === "PartnerNotFound" || error._tag === "PartnerForbidden";
			return { ...nobody, error, isAnswer };
		}
	}

	const isDue = (): boolean => !asking || Math.abs(now() - askedAt) >= askAgainMs;

	/** All that meet a refusal at the same time share one answer. */
	function known(): Promise<Known> {
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
			if (!found.isAnswer) return "unanswered";
			if (!found.isOurs || !found.scopes.includes("conversations:read")) return "everybody";
			if (operation === "send" && !found.scopes.includes("messages:write")) return "sends";
			if (agencyId !== "" && !found.linked.has(agencyId)) return "agency";
			return isStale ? "stale" : "unexplained";
		},
		maySend: async () => (await known()).scopes.includes("messages:write"),
		async failure() {
			const isStale = isAnswered && !isDue();
			return { failed: (await known()).error, isStale };
		},
		askedAgainAt: () => askedAt + askAgainMs,
	};
}
