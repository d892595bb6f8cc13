import type { ConversationSummary, LookupResponse } from "../../generated/openapi.ts";
import { limits } from "../../generated/operations.ts";
import { type CountryCode, type E164, type PhoneProblem, readPhone } from "../phone/phone.ts";
import { thisMoment } from "../shared/freshness.ts";
import { untilAborted } from "../shared/signals.ts";
import { type Call, LazyCall, noReply, orThrowLater } from "./call.ts";
import type { CallPlan } from "./call-state.ts";
import type { CallOptions } from "./client-options.ts";
import { endable } from "./endable.ts";
import {
	abortError,
	type Facts,
	isPartnerError,
	type OperationError,
	PartnerInvalidInput,
	withProgress,
} from "./errors.ts";
import type { Reply } from "./execute.ts";

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

/**
 * A lookup: await it for all entries, or iterate over it for one entry after the other in constant memory. It makes no
 * request before that, and reads the numbers once: await it, or iterate over it.
 *
 * The entries of an iteration come in the order of the numbers. When it fails, its error says by `itemsRead` how many it
 * yielded.
 */
export interface Lookup<Input extends PhoneInput = string>
	extends Call<LookedUp<Input>[], OperationError<"conversations.lookup">>,
		AsyncIterable<LookedUp<Input>> {}

/** A lookup with its checked options. */
export interface LookupSource {
	plan: CallPlan<LookupResponse>;
	options: CallOptions;
	/** Requests at the same time. */
	concurrency: number;
	defaultCountry: CountryCode;
	/** Requests the conversations of at most 100 numbers. */
	ask: (plan: CallPlan<LookupResponse>, phoneNumbers: string[]) => Promise<Reply<LookupResponse>>;
}

/** @param check checks the options: see {@link orThrowLater} */
export function createLookup<Input extends PhoneInput>(
	inputs: PhoneInputs<Input>,
	check: () => LookupSource,
): Lookup<Input> {
	const open = orThrowLater(check);
	// The caller may change its array before the lookup is used.
	const numbers = Array.isArray(inputs) ? [...inputs] : inputs;
	let isOpened = false;
	const openOnce = (): LookupSource => {
		const source = open();
		const refuse = (rule: string) => new PartnerInvalidInput({ ...factsOf(source), field: "phoneNumbers", rule });
		if (!isIterable(inputs)) throw refuse("must be an iterable of strings: put one number into a list");
		if (isOpened) throw refuse("are read once: await the lookup or iterate over it, or make another one");
		isOpened = true;
		return source;
	};
	const call = new LazyCall<LookedUp<Input>[], OperationError<"conversations.lookup">>(() =>
		collect(numbers, openOnce()),
	);
	return Object.assign(call, {
		[Symbol.asyncIterator]: () => endable((abandon) => iterate(numbers, openOnce, abandon)),
	});
}

function isIterable(value: unknown): boolean {
	return typeof value === "object" && value !== null && (Symbol.iterator in value || Symbol.asyncIterator in value);
}

function factsOf({ plan: { operation, agencyId } }: LookupSource): Facts {
	return { operation, agencyId };
}

/** All entries. The numbers are read before the first request, so that one that is refused makes none. */
async function collect<Input extends PhoneInput>(
	inputs: PhoneInputs<Input>,
	source: LookupSource,
): Promise<Reply<LookedUp<Input>[]>> {
	const { deadline } = source.options;
	const begun = deadline === undefined ? undefined : thisMoment();
	const abandon = new AbortController();
	const entries: LookedUp<Input>[] = [];
	let attempts = 0;
	let last = noReply;
	try {
		// One map for all batches, so that no number is looked up twice.
		const batches = await orAbort(readAll(batchesOf(inputs, source, abandon.signal, new Map())), source);
		const plan = { ...source.plan, begun, abandon: abandon.signal };
		for await (const answer of answersTo(batches.values(), { ...source, plan })) {
			entries.push(...answer.entries);
			attempts += answer.reply.attempts;
			if (answer.reply.attempts > 0) last = answer.reply;
		}
		return { ...last, data: entries, attempts };
	} catch (error) {
		throw isOwn(error, source) ? withProgress(error, {}, collect) : error;
	} finally {
		abandon.abort();
	}
}

/** Whether an error is one of this lookup. The caller's iterable may throw others, of this package too. */
function isOwn(error: unknown, { plan }: LookupSource): boolean {
	return isPartnerError(error) && error.operation === plan.operation;
}

async function readAll<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
	const all: Item[] = [];
	for await (const item of items) all.push(item);
	return all;
}

/** One entry after the other. Numbers are read as they are needed. */
async function* iterate<Input extends PhoneInput>(
	inputs: PhoneInputs<Input>,
	open: () => LookupSource,
	abandon: AbortSignal,
) {
	const source = open();
	const { signal } = source.options;
	const end = new AbortController();
	abandon.addEventListener("abort", () => end.abort());
	const batches = batchesOf(inputs, source, end.signal);
	let itemsRead = 0;
	try {
		const plan = { ...source.plan, abandon: end.signal };
		for await (const { entries } of answersTo(batches, { ...source, plan })) {
			for (const entry of entries) {
				if (signal?.aborted) throw abortError(factsOf(source), signal);
				itemsRead++;
				yield entry;
			}
		}
	} catch (error) {
		// The consumer has left.
		if (abandon.aborted) return;
		throw isOwn(error, source) ? withProgress(error, { itemsRead }, iterate) : error;
	} finally {
		// Each closes the caller's iterable, such as the cursor of a database: the signal while a batch is being read, and
		// `return` otherwise.
		end.abort();
		batches.return().catch(() => {});
	}
}

/** Looks up several batches at a time, and yields their entries in the order of the numbers. */
async function* answersTo<Input extends PhoneInput>(
	batches: Iterator<Batch<Input>, unknown> | AsyncIterator<Batch<Input>, unknown>,
	source: LookupSource,
): AsyncGenerator<{ entries: LookedUp<Input>[]; reply: typeof noReply }, void, undefined> {
	const { plan, concurrency, ask } = source;
	/** Reads a batch and looks it up. Undefined behind the last one. */
	const next = async () => {
		const { value, done } = await orAbort(Promise.resolve(batches.next()), source);
		if (done) return undefined;
		const batch: Batch<Input> = value;
		const { chunk, found } = batch;
		if (chunk.length === 0) return { batch, reply: noReply };
		const verify = ({ results }: LookupResponse) => mismatch(chunk, results);
		const reply = await ask({ ...plan, secrets: chunk, verify }, chunk);
		for (const { phoneNumber, conversation } of reply.data.results) found.set(phoneNumber, conversation);
		return { batch, reply };
	};
	const underWay: ReturnType<typeof next>[] = [];
	for (;;) {
		while (underWay.length < concurrency) {
			const coming = next();
			// It is awaited later, after the entries before it, and may fail before.
			coming.catch(() => {});
			underWay.push(coming);
		}
		const answer = await underWay.shift();
		if (!answer) return;
		yield { entries: entriesOf(answer.batch), reply: answer.reply };
	}
}

/** Some of the numbers, which one request looks up. */
interface Batch<Input extends PhoneInput> {
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
function entriesOf<Input extends PhoneInput>({ entries, found }: Batch<Input>): LookedUp<Input>[] {
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
 * Cuts the numbers into batches.
 *
 * @param all the conversations of all batches. Without it only the numbers of one batch are compared, in constant memory.
 */
async function* batchesOf<Input extends PhoneInput>(
	inputs: PhoneInputs<Input>,
	source: LookupSource,
	abandon: AbortSignal,
	all?: Batch<Input>["found"],
): AsyncGenerator<Batch<Input>, void, undefined> {
	const empty = (): Batch<Input> => ({ entries: [], chunk: [], found: all ?? new Map() });
	let batch = empty();
	let index = 0;
	let turnMs = 0;
	let resumedAt = performance.now();
	for await (const input of inputs) {
		if (abandon.aborted) return;
		const { entries, chunk, found } = batch;
		if (typeof input !== "string" && input !== null && input !== undefined) {
			const rule = "must be a string, null or undefined";
			throw new PartnerInvalidInput({ ...factsOf(source), field: `phoneNumbers[${index}]`, rule });
		}
		index++;
		const { phone, reason } = readPhone(input, source.defaultCountry);
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

/** Rejects at the caller's signal, because an iterable may never come back. */
async function orAbort<T>(work: Promise<T>, source: LookupSource): Promise<T> {
	const { signal } = source.options;
	if (!signal) return work;
	try {
		return await untilAborted(work, signal);
	} catch (error) {
		throw signal.aborted ? abortError(factsOf(source), signal) : error;
	}
}

/** The path of the first result that is for another number than asked at its position: it would show another contact. */
export function mismatch(sent: readonly string[], results: readonly { phoneNumber: string }[]): string | undefined {
	const at = results.findIndex(({ phoneNumber }, index) => phoneNumber !== sent[index]);
	if (at >= 0) return `/results/${at}/phoneNumber`;
	return results.length === sent.length ? undefined : "/results";
}
