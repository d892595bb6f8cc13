import { type AgencyClient, PartnerInvalidInput } from "messaging-conversations";
import { longestTimerMs } from "../shared/sleep.ts";
import { fieldsProblem, isAbortSignal, isWhole, ownFields } from "../shared/validation.ts";

/** The functions of this entry that refuse bad input. */
export type SyncFunction = "changes" | "watch" | "reconcile" | "fingerprintOf";

/** A timer of more than 2^31 − 1 ms would fire at once. */

/** Throws `PartnerInvalidInput`. */
export function refuse(operation: SyncFunction, field: string, rule: string): never {
	throw new PartnerInvalidInput({ field, rule, operation });
}

/** The options that all of them take. */
interface CommonOptions {
	concurrency?: number | undefined;
	skip?: ((phoneNumber: string) => boolean | Promise<boolean>) | undefined;
	raw?: boolean | undefined;
	signal?: AbortSignal | undefined;
}

const commonNames = ["concurrency", "skip", "raw", "signal"];

/**
 * Checks the agency and the options that all of them take. No option may have a name outside these and
 * `ownNames`.
 *
 * @returns the options, without what a library has added to `Object.prototype`
 */
export function checkCall<Options extends CommonOptions>(
	operation: SyncFunction,
	agency: AgencyClient,
	options: Options,
	ownNames: readonly string[],
): Options {
	if (!agency?.conversations) refuse(operation, "agency", "must be client.agency(id)");
	const problem = fieldsProblem(options, [...ownNames, ...commonNames]);
	if (problem !== undefined) refuse(operation, "options", problem);
	const own = ownFields(options, [...ownNames, ...commonNames]);
	const { concurrency = 1, skip, raw = false, signal } = own;
	checkWhole(operation, "concurrency", concurrency, 1, 100);
	if (skip !== undefined) checkFunction(operation, "skip", skip);
	if (typeof raw !== "boolean") refuse(operation, "raw", "must be true or false");
	if (signal !== undefined && !isAbortSignal(signal)) refuse(operation, "signal", "must be an AbortSignal");
	return own;
}

export function checkFunction(operation: SyncFunction, field: string, value: unknown): void {
	if (typeof value !== "function") refuse(operation, field, "must be a function");
}

export function checkWhole(
	operation: SyncFunction,
	field: string,
	value: number,
	min: number,
	max = longestTimerMs,
): void {
	if (!isWhole(value, min, max)) refuse(operation, field, `must be a whole number from ${min} to ${max}`);
}
