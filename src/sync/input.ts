import { type AgencyClient, PartnerInvalidInput } from "messaging-conversations";

/** The functions of this entry that refuse bad input. */
export type SyncFunction = "changes" | "watch" | "reconcile" | "fingerprintOf";

/** A timer of more than 2^31 − 1 ms would fire at once. */
export const longestTimerMs: number = 2 ** 31 - 1;

/** Throws `PartnerInvalidInput`. */
export function refuse(operation: SyncFunction, field: string, rule: string): never {
	throw new PartnerInvalidInput({ field, rule, operation });
}

export function checkAgency(operation: SyncFunction, agency: AgencyClient): void {
	const given = typeof agency === "object" && agency !== null && typeof agency.id === "string" && agency.conversations;
	if (!given) refuse(operation, "agency", "must be what client.agency(id) gives");
}

/** Refuses options that are no object, or have a field that is not among `names`. */
export function checkNames(operation: SyncFunction, options: unknown, names: readonly string[]): void {
	if (typeof options !== "object" || options === null) refuse(operation, "options", "must be an object");
	const unknown = Object.keys(options).find((name) => !names.includes(name));
	if (unknown !== undefined)
		refuse(operation, "options", `has a field that it does not take, beside ${names.join(", ")}`);
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

export function checkSignal(operation: SyncFunction, signal: AbortSignal | undefined): void {
	if (signal !== undefined && typeof signal?.addEventListener !== "function") {
		refuse(operation, "signal", "must be an AbortSignal");
	}
}
