import { type AgencyClient, PartnerConfigurationError, PartnerInvalidInput } from "messaging-conversations";
import { protocolProblem } from "../shared/protocol.ts";
import { longestTimerMs } from "../shared/sleep.ts";
import {
	abortSignal,
	callable,
	checkValue,
	type FieldsOf,
	flag,
	isWhole,
	optional,
	type Schema,
	whole,
} from "../shared/validation.ts";

/** The functions of this entry that refuse bad input. */
export type SyncFunction = "changes" | "watch" | "watchAgencies" | "reconcile" | "fingerprintOf" | "erase" | "batches";

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
export interface CommonOptions {
	concurrency?: number | undefined;
	skip?: ((phoneNumber: string) => boolean | Promise<boolean>) | undefined;
	raw?: boolean | undefined;
	signal?: AbortSignal | undefined;
}

export const commonFields: FieldsOf<CommonOptions> = {
	concurrency: optional(whole(1, 100)),
	skip: optional(callable<CommonOptions["skip"]>()),
	raw: optional(flag),
	signal: optional(abortSignal),
};

/** A length of time, which may be nothing where `min` is 0. */
export const timerMs = (min: 0 | 1): Schema<number> => whole(min, longestTimerMs);

/** Throws if a client or an agency is of another protocol than this feed. */
export function checkProtocol(operation: SyncFunction, field: string, value: unknown): void {
	const rule = protocolProblem(value);
	if (rule !== undefined) throw new PartnerConfigurationError({ operation, field, rule });
}

/** Throws unless it is an agency of a client. */
export function checkAgency(operation: SyncFunction, agency: AgencyClient): void {
	if (!agency?.conversations) refuse(operation, "agency", "must be client.agency(id)");
	checkProtocol(operation, "agency", agency);
}

/** A copy of the options that has each field of the schema, or an error that names the field. */
export function checkOptions<Options>(operation: SyncFunction, schema: Schema<Options>, options: unknown): Options {
	return checkValue(schema, options, "options", (field, rule) => new PartnerInvalidInput({ field, rule, operation }));
}

/** A number in the form in which the feed delivers it. */
export function checkPhoneNumber(phoneNumber: string): void {
	if (typeof phoneNumber !== "string" || !/^\+\d{5,15}$/.test(phoneNumber))
		refuse("erase", "phoneNumber", "must be a number in E.164, as the feed delivers it, such as +447700900123");
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
	checkWhole(operation, "maxMs", maxMs, minMs);
	return { minMs, maxMs };
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
