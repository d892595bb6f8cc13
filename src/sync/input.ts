import { type AgencyClient, PartnerInvalidInput } from "messaging-conversations";
import { abortSignal, anyObject, checkValue, optional, type Schema, whole } from "../validation.ts";

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
	const { concurrency, signal } = check(operation, "options", anyObject, options) as typeof options;
	if (!Object.keys(options).every((name) => names.includes(name)))
		refuse(operation, "options", `must be an object with only ${names.join(", ")}`);
	check(operation, "concurrency", optional(whole(1, 100)), concurrency);
	check(operation, "signal", optional(abortSignal), signal);
}

function check<T>(operation: SyncFunction, field: string, schema: Schema<T>, value: unknown): T {
	return checkValue(
		schema,
		value,
		field,
		(broken, rule) => new PartnerInvalidInput({ field: broken, rule, operation }),
	);
}

export function checkWhole(
	operation: SyncFunction,
	field: string,
	value: number,
	min: number,
	max = longestTimerMs,
): void {
	check(operation, field, whole(min, max), value);
}
