import type { PartnerError } from "messaging-conversations";
import { allSends, type OutboxStore, type StoredPause } from "../store.ts";
import type { Recipient } from "../text.ts";
import { type Access, isExplained } from "./access.ts";
import type { Alerts } from "./alerts.ts";
import type { Pause, PauseReason } from "./pause.ts";

/** The pauses of now. What concerns an agency or everybody is in the store, so that all workers obey it, even after a restart. */
export interface Pauses {
	/**
	 * Notes an error of a text that would wait for `waitMs`. Returns the time before which the text is not tried. What is unclear is not
	 * told yet: it will soon be known whom it concerns.
	 */
	met: (
		error: PartnerError,
		text: Recipient & { id?: string },
		waitMs: number,
		options?: { isUnclear?: boolean },
	) => Promise<number>;
	/** Pauses all texts of the client because something in front of the service refuses them. Returns the time of the next try. */
	holdAll: (reason: PauseReason, error: PartnerError) => Promise<number>;
	/** Reports that an agency cannot ask for consent. Returns the time until which texts that need it wait; other texts are sent. */
	holdConsent: (agencyId: string) => Promise<number>;
	/** Reports what keeps a text waiting: a hook that fails, or a setting of its agency. */
	report: (id: string, pause: Omit<Pause, "id">) => Promise<void>;
	/** Notes a call that succeeded. A read ends no pause of sends, and a send none of reads. */
	passed: (recipient: Recipient, operation: "read" | "send" | "settings") => Promise<void>;
	/** Reports that the database or Redis is down. */
	outage: (databaseError: Error, retryAt: number) => void;
	/** Notes that a text does not wait any more. */
	cleared: (id: string) => Promise<void>;
	/** Whether calls of the agency, or of everybody, have failed, and none of their kind has succeeded since. */
	isFailing: (agencyId: string) => boolean;
	/** Returns the time until which an agency's texts wait, as far as this process knows. */
	pausedUntil: (agencyId: string) => number;
	/** Whether the refusal that made a pause holds still, as `me.get` says. Then the pause goes on, and nothing is tried. */
	isForbidden: (pause: StoredPause) => Promise<boolean>;
	/** Takes in that a pause is over. */
	allowed: (agencyId: string) => Promise<void>;
	/** Takes in a pause whose end in the store is over, for one queue to try. Whatever this process knows of other pauses is older. */
	resumed: (pause: StoredPause) => void;
	/** Takes in that the store knew no pause of these agencies, nor of everybody, when it was asked, by `performance.now()`. */
	ended: (agencyIds: Iterable<string>, askedAt: number) => void;
	/** Ends all pauses, because the clock they were measured by was set back. */
	forget: () => void;
}

interface Scope {
	until: number;
	/** Pauses in a row. */
	times: number;
	/** Whether it is in the store. */
	isStored: boolean;
	/** Since when it is, by `performance.now()`. */
	storedAt: number;
}

const longestPauseMs = 60_000;
/** While some calls succeed, one of several nodes may be the one that fails. It must not hold everybody back. */
const longestPartialMs = 5_000;
const partialMs = 60_000;
/** Somebody has to change a rule of the firewall, so it is asked less often. */
const longestGatewayPauseMs = 15 * 60_000;
const hourMs = 3_600_000;

/** A text that needs no consent is sent while the settings do not allow asking for it. */
const pausing = ["read", "send", "key", "gateway"] as const;
type Operation = (typeof pausing)[number] | "settings";

export function createPauses(
	{ alerts, tell }: { alerts: Alerts; tell: (pause: Pause) => void },
	now: () => number,
	store: Pick<OutboxStore, "pause" | "resume">,
	access: Access,
): Pauses {
	const scopes = new Map<string, Scope>();
	/** Without an agency the scope is every text of the client. */
	const nameOf = (operation: Operation, agencyId = ""): string => `${operation} ${agencyId}`;
	const scopeOf = (name: string): Scope => {
		const scope = scopes.get(name) ?? { until: 0, times: 0, isStored: false, storedAt: 0 };
		scopes.set(name, scope);
		return scope;
	};
	/** When a read or a send last succeeded. */
	let passedAt = Number.NEGATIVE_INFINITY;
	/** Calls that failed together make one pause. */
	const extend = (scope: Scope, longestMs = longestPauseMs): void => {
		if (scope.until <= now()) scope.until = now() + Math.min(longestMs, 500 * 2 ** scope.times++);
	};
	const keep = async (name: string, scope: Scope, cause: PauseReason): Promise<void> => {
		const [operation = "", agencyId = ""] = name.split(" ");
		scope.isStored = true;
		scope.storedAt = Number.POSITIVE_INFINITY;
		const { until, times: failures } = scope;
		await store.pause({ agencyId, until, failures, reason: operation, cause, since: now() });
		scope.storedAt = performance.now();
	};
	/**
	 * Pauses whatever a 403 concerns. Returns the time of the next try. While it is not known whom it concerns, each agency waits for
	 * itself. It is not reported within the minute in which that will be known.
	 */
	async function forbid(operation: "read" | "send", agencyId: string, error?: PartnerError): Promise<number> {
		const refused = await access.refused(operation, agencyId);
		const whose = refused === "everybody" ? "" : refused === "sends" ? allSends : agencyId;
		const scope = scopeOf(nameOf(operation, whose));
		extend(scope);
		if (isExplained(refused)) scope.until = Math.max(now() + 1, access.askedAgainAt());
		const concerned = whose === agencyId && agencyId !== "" ? { agencyId } : {};
		await alerts.met({
			name: `forbidden ${isExplained(refused) ? whose || "everybody" : "unexplained"}`,
			call: operation,
			agencyId,
			pause: { reason: "forbidden", ...(error && { error }), ...concerned, retryAt: new Date(scope.until) },
			counts: isExplained(refused) ? undefined : "agencies",
			isCertain: isExplained(refused),
			isShared: refused === "everybody" || refused === "sends",
			isUnclear: refused === "stale",
		});
		await keep(nameOf(operation, whose), scope, "forbidden");
		return scope.until;
	}
	return {
		async met(error, { id, agencyId, to }, waitMs, { isUnclear } = {}) {
			const at = now();
			if (error._tag === "PartnerConflict") return at + waitMs;
			const { reason, extent } = concernedBy(error);
			const operation = error.operation === "messages.send" ? "send" : "read";
			if (reason === "forbidden")
				return Math.max(await forbid(operation, agencyId, error), at + Math.min(longestPauseMs, waitMs));
			// A bad key fails reads and sends alike.
			const isKey = reason === "key";
			const name = nameOf(isKey ? "key" : operation, extent === "client" ? undefined : agencyId);
			const scope = scopeOf(name);
			let until = at + Math.min(error.retryAfterMs ?? 0, hourMs);
			if (extent !== "text") {
				extend(scope, now() - passedAt < partialMs ? longestPartialMs : longestPauseMs);
				until = scope.until = Math.max(until, scope.until);
				waitMs = Math.min(longestPauseMs, waitMs);
			}
			const retryAt = Math.max(until, at + waitMs);
			const call = isKey ? "key" : operation;
			const isAll = extent === "client";
			const whose = isAll ? {} : { agencyId, ...(id !== undefined && { id }) };
			// Reads and sends that meet the same outage have one cause.
			await alerts.met({
				name: isAll ? reason : `${reason} ${error._tag}`,
				call,
				agencyId,
				who: to,
				pause: { reason, error, ...whose, retryAt: new Date(isAll ? until : retryAt) },
				isShared: isAll,
				isUnclear,
				counts: isAll ? undefined : "agencies",
			});
			if (extent !== "text") await keep(name, scope, reason);
			return retryAt;
		},
		async holdAll(reason, error) {
			const name = nameOf("gateway");
			const scope = scopeOf(name);
			extend(scope, longestGatewayPauseMs);
			scope.until = Math.max(scope.until, now() + Math.min(error.retryAfterMs ?? 0, hourMs));
			const pause = { reason, error, retryAt: new Date(scope.until) };
			await alerts.met({ name: reason, call: "gateway", agencyId: "", pause, isShared: true });
			await keep(name, scope, reason);
			return scope.until;
		},
		async holdConsent(agencyId) {
			const reason = "consent_unavailable";
			const scope = scopeOf(nameOf("settings", agencyId));
			extend(scope);
			await alerts.met({
				name: `${reason} ${agencyId}`,
				call: "settings",
				agencyId,
				pause: { reason, agencyId, retryAt: new Date(scope.until) },
				isCertain: true,
			});
			return scope.until;
		},
		async report(id, pause) {
			const { reason, agencyId = "", error } = pause;
			const isHook = reason === "hook_failed";
			await alerts.met({
				name: `${reason} ${isHook ? error?.field : agencyId}`,
				call: "text",
				agencyId: "",
				who: id,
				pause: Object.assign(pause, { id }),
				// A hook may fail for one contact alone. So that this hides no failure for all, it is told again for more texts.
				counts: isHook ? "texts" : undefined,
				isCertain: true,
			});
		},
		outage: (databaseError, retryAt) => tell({ reason: "database", databaseError, retryAt: new Date(retryAt) }),
		cleared: (id) => alerts.passed(["text"], { agencyId: "", who: id }),
		async passed({ agencyId, to }, operation) {
			const calls: Operation[] = [operation];
			if (operation !== "settings") passedAt = now();
			if (operation !== "settings") calls.push("key");
			if (operation === "send") calls.push("gateway");
			await alerts.passed(calls, { agencyId, who: to });
			const names = [nameOf(operation), nameOf(operation, agencyId), ...calls.slice(1).map((call) => nameOf(call))];
			for (const name of names) {
				const scope = scopes.get(name);
				if (!scope) continue;
				scope.times = 0;
				// A call that ends in a pause began before it, and does not end it.
				if (scope.until > now()) continue;
				scopes.delete(name);
				if (scope.isStored) await store.resume(name.split(" ")[1] ?? "", now());
			}
		},
		isFailing: (agencyId) => pausing.some((each) => scopes.has(nameOf(each)) || scopes.has(nameOf(each, agencyId))),
		pausedUntil(agencyId) {
			const all = pausing.flatMap((each) => [nameOf(each), nameOf(each, agencyId)]);
			return Math.max(...all.map((name) => scopes.get(name)?.until ?? 0));
		},
		async isForbidden({ agencyId, reason, cause }) {
			if (cause !== "forbidden") return false;
			const operation = reason === "send" ? "send" : "read";
			const isSends = agencyId === allSends;
			const refused = await access.refused(operation, isSends ? "" : agencyId);
			// Nothing is tried while everybody's sends are paused, so that only a clear answer ends that.
			if (!isExplained(refused)) return isSends && !(await access.maySend());
			await forbid(operation, isSends ? "" : agencyId);
			// It was a part of what concerns everybody.
			if (!isSends && agencyId !== "" && refused !== "agency") await store.resume(agencyId, now());
			return true;
		},
		async allowed(agencyId) {
			for (const each of pausing) scopes.delete(nameOf(each, agencyId));
			await alerts.over(`forbidden ${agencyId}`);
		},
		resumed({ agencyId, until, failures, reason }) {
			for (const each of pausing) {
				const other = scopes.get(nameOf(each, agencyId));
				if (other) other.until = Math.min(other.until, until);
			}
			const scope = scopeOf(nameOf(reason as Operation, agencyId));
			scope.until = until;
			scope.times = Math.max(scope.times, failures);
			scope.isStored = true;
		},
		ended(agencyIds, askedAt) {
			for (const agencyId of ["", ...agencyIds])
				for (const each of pausing) {
					const scope = scopes.get(nameOf(each, agencyId));
					// One that began since is not in the answer.
					if (scope?.isStored && scope.storedAt < askedAt && scope.until > now()) scopes.delete(nameOf(each, agencyId));
				}
		},
		forget: () => scopes.clear(),
	};
}

/** Whether an error concerns every text of the client, every text of the agency, or only the one that met it. */
function concernedBy(error: PartnerError): { reason: PauseReason; extent: "client" | "agency" | "text" } {
	const { _tag, field, status, outcome } = error;
	if (_tag === "PartnerForbidden") return { reason: "forbidden", extent: "agency" };
	if (
		_tag === "PartnerUnauthorized" ||
		_tag === "PartnerConfigurationError" ||
		(_tag === "PartnerTimeoutError" && field === "apiKey")
	)
		return { reason: "key", extent: "client" };
	if (status === 429) return { reason: "rate_limited", extent: "client" };
	// A response that cannot be read may be that of one conversation alone.
	if (_tag === "PartnerConnectionError" && status === undefined && outcome !== "unknown")
		return { reason: "unreachable", extent: "client" };
	return { reason: "failing", extent: "text" };
}
