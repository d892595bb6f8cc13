import { limits } from "../../generated/operations.ts";
import type { ConversationSummary } from "../../generated/schemas.ts";
import { type CountryCode, type E164, type PhoneProblem, readPhone } from "../phone/phone.ts";
import type { Facts } from "./errors.ts";
import { createFailure, type Failure } from "./failure.ts";

/** A phone number in any spelling. Null and undefined, as a column of a CRM holds them, count as no number. */
export type PhoneInput = string | null | undefined;

/** The entry of one number in a lookup. Check `phoneNumber` for null to tell the branches apart. */
export type LookedUp<Input extends PhoneInput = string> =
	| {
			/** The number as the caller wrote it. */
			input: Input;
			/** The number in E.164. */
			phoneNumber: E164;
			/** Null when the agency has no conversation with the number. Its `cursor` is null. */
			conversation: ConversationSummary | null;
			/** Absent, because the input is a phone number. */
			reason?: undefined;
	  }
	| {
			/** What the caller wrote. */
			input: Input;
			/** Null, because the input is not a phone number. */
			phoneNumber: null;
			/** Null, because nothing was looked up. */
			conversation: null;
			/** Why the input is not a phone number. */
			reason: PhoneProblem;
	  };

/** Any number of phone numbers. */
export type PhoneInputs<Input extends PhoneInput> = Iterable<Input> | AsyncIterable<Input>;

/** Some of the numbers, which one request looks up. */
export interface Batch<Input extends PhoneInput> {
	ok: true;
	/** In the order of the inputs, as yet without conversations. */
	entries: LookedUp<Input>[];
	/** The numbers to look up. */
	chunk: string[];
	/** The conversation of each number. Null while it is being looked up. */
	found: Map<string, ConversationSummary | null>;
}

/**
 * The entries of a batch with their conversations. Called when the batches before are answered too, because one of them may
 * have looked up the same number.
 */
export function entriesOf<Input extends PhoneInput>({ entries, found }: Batch<Input>): LookedUp<Input>[] {
	for (const entry of entries) {
		if (entry.phoneNumber !== null) entry.conversation = found.get(entry.phoneNumber) ?? null;
	}
	return entries;
}

/** Inputs without a number do not fill a chunk. This limit keeps memory constant. */
const mostEntries = 1000;
/** Reading a number takes some microseconds. After this time timers and sockets have their turn. */
const longestTurnMs = 10;

/**
 * Reads the numbers, up to one that is refused.
 *
 * @param all the conversations of all batches. Without it only the numbers of one batch are compared, in constant memory.
 */
export async function* batches<Input extends PhoneInput>(
	inputs: PhoneInputs<Input>,
	{ facts, defaultCountry }: { facts: Facts; defaultCountry: CountryCode },
	abandon: AbortSignal,
	all?: Batch<Input>["found"],
): AsyncGenerator<Batch<Input> | Failure, void, undefined> {
	const empty = (): Batch<Input> => ({ ok: true, entries: [], chunk: [], found: all ?? new Map() });
	let batch = empty();
	let index = 0;
	let turnMs = 0;
	let resumedAt = performance.now();
	for await (const input of inputs) {
		if (abandon.aborted) return;
		const { entries, chunk, found } = batch;
		if (typeof input !== "string" && input !== null && input !== undefined) {
			const rule = "must be a string, null or undefined";
			yield createFailure("PartnerInvalidInput", rule, { ...facts, field: `phoneNumbers[${index}]`, rule });
			return;
		}
		index++;
		const { phone, reason } = readPhone(input, defaultCountry);
		entries.push(
			reason
				? { input, phoneNumber: null, conversation: null, reason }
				: { input, phoneNumber: phone, conversation: null },
		);
		if (phone !== undefined && !found.has(phone)) {
			found.set(phone, null);
			chunk.push(phone);
		}
		if (chunk.length < limits.phoneNumbers.max && entries.length < mostEntries) continue;
		turnMs += performance.now() - resumedAt;
		if (turnMs > longestTurnMs) {
			await new Promise((resolve) => setTimeout(resolve));
			turnMs = 0;
		}
		yield batch;
		batch = empty();
		resumedAt = performance.now();
	}
	yield batch;
}

/** Reads all batches before the first request, or up to an input that is refused. */
export async function readAll<Input extends PhoneInput>(source: AsyncIterable<Batch<Input> | Failure>) {
	const all: Batch<Input>[] = [];
	for await (const batch of source) {
		if (!batch.ok) return batch;
		all.push(batch);
	}
	return all;
}
