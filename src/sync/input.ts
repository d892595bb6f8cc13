import { type AgencyClient, PartnerInvalidInput } from "messaging-conversations";

/** The functions of this entry that refuse bad input. */
export type SyncFunction = "changes" | "watch" | "reconcile" | "fingerprintOf";

/** A timer of more than 2^31 − 1 ms would fire at once. */
export const longestTimerMs: number = 2 ** 31 - 1;

/** Throws `PartnerInvalidInput`. */
export function refuse(operation: SyncFunction, field: string, rule: string): never {
	throw new PartnerInvalidInput({ field, rule, operation });
}

/** Checks the agency and the options that all of them take. No option may have a name outside `names`. */
export function checkCall(
	operation: SyncFunction,
	agency: AgencyClient,
	options: { concurrency?: number | undefined; signal?: AbortSignal | undefined },
	names: readonly string[],
): void {
	if (!agency?.conversations) refuse(operation, "agency", "must be client.agency(id)");
	if (Object(options) !== options || !Object.keys(options).every((name) => names.includes(name)))
		refuse(operation, "options", `must be an object with only ${names.join(", ")}`);
	const { concurrency = 1, signal } = options;
	checkWhole(operation, "concurrency", concurrency, 1, 100);
	if (signal !== undefined && !signal?.addEventListener) refuse(operation, "signal", "must be an AbortSignal");
}

export function checkWhole(
	operation: SyncFunction,
	field: string,
	value: number,
	min: number,
	max = longestTimerMs,
): void {
	if (Number.isInteger(value) && value >= min && value <= max) return;
	refuse(operation, field, `must be a whole number from ${min} to ${max}`);
}
