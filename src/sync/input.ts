import { type AgencyClient, PartnerConfigurationError, PartnerInvalidInput } from "messaging-conversations";
import { longestTimerMs } from "../shared/sleep.ts";
import { fieldsProblem, isAbortSignal, isWhole, ownFields } from "../shared/validation.ts";

/** The functions of this entry that refuse bad input. */
export type SyncFunction = "changes" | "watch" | "watchAgencies" | "reconcile" | "fingerprintOf" | "forget" | "batches";

/** Throws `PartnerInvalidInput`. */
export function refuse(operation: SyncFunction, field: string, rule: string): never {
	throw new PartnerInvalidInput({ field, rule, operation });
}

/** The error of a function that the caller gave. It names the error that was thrown, whose message may hold a number. */
export function ofCaller(
	operation: SyncFunction,
	field: string,
	thrown: unknown,
	agencyId?: string,
): PartnerConfigurationError {
	const { name, code, cause: inner } = Object(thrown);
	// A library of a database has the code of the server or of the system in its cause.
	const shown = [code, Object(inner).code].find(isWord);
	const cause = { name: isWord(name) ? name : "Error", ...(shown !== undefined && { code: shown }) };
	const rule = `its function failed${shown === undefined ? "" : ` (${shown})`}`;
	return new PartnerConfigurationError({ operation, field, rule, agencyId, retryable: true, cause });
}

/** Such as ECONNREFUSED or 57P01. Anything else may quote a number. */
const isWord = (value: unknown): value is string =>
	typeof value === "string" && /^\w{1,64}$/.test(value) && !/\d{6}/.test(value);

/** The options that all of them take. */
interface CommonOptions {
	concurrency?: number | undefined;
	skip?: ((phoneNumber: string) => boolean | Promise<boolean>) | undefined;
	raw?: boolean | undefined;
	signal?: AbortSignal | undefined;
}

const commonNames = ["concurrency", "skip", "raw", "signal"];

/** Throws unless it is an agency of a client. */
export function checkAgency(operation: SyncFunction, agency: AgencyClient): void {
	if (!agency?.conversations) refuse(operation, "agency", "must be client.agency(id)");
}

/**
 * Checks the options that all of them take. No option may have a name outside these and `ownNames`.
 *
 * @returns the options, without what a library has added to `Object.prototype`
 */
export function checkOptions<Options extends CommonOptions>(
	operation: SyncFunction,
	options: Options,
	ownNames: readonly string[],
): Options {
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

/** A number in the form in which the feed delivers it. */
export function checkPhoneNumber(phoneNumber: string): void {
	if (typeof phoneNumber !== "string" || !/^\+\d{5,15}$/.test(phoneNumber))
		refuse("forget", "phoneNumber", "must be a number in E.164, as the feed delivers it, such as +447700900123");
}

interface Pauses {
	minMs: number;
	maxMs: number;
}

/** The shortest and the longest pause. One that is not given keeps to the other. */
export function pausesFrom(
	operation: SyncFunction,
	given: { [Field in keyof Pauses]?: Pauses[Field] | undefined },
	defaults: Pauses,
): Pauses {
	const { maxMs = Math.max(defaults.maxMs, given.minMs ?? 0) } = given;
	const { minMs = Math.min(defaults.minMs, maxMs) } = given;
	checkWhole(operation, given.minMs === undefined ? "maxMs" : "minMs", minMs, 1);
	checkWhole(operation, "maxMs", maxMs, minMs);
	return { minMs, maxMs };
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
