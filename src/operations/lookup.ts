import { limits } from "../../generated/operations.ts";
import type { ConversationSummary, LookupResponse } from "../../generated/schemas.ts";
import { type Facts, type OperationError, PartnerInvalidInput } from "../errors.ts";
import { onAbort } from "../http/abort.ts";
import type { CallContext, Reply } from "../http/call-context.ts";
import { aborted, toError } from "../http/failure.ts";
import type { CallOptions } from "../input/call-options.ts";
import { type CountryCode, type E164, type PhoneProblem, readPhone } from "../input/phone.ts";
import { type Call, createLazyCall, noResponse, readNow } from "./call.ts";

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

export interface LookupPlan {
	facts: Facts;
	defaultCountry: CountryCode;
	/** Requests at the same time. */
	concurrency: number;
	call: CallOptions;
	/** Requests the conversations of at most 100 numbers. */
	ask: (phoneNumbers: string[], context: CallContext<LookupResponse>) => Promise<Reply<LookupResponse>>;
}

/** @param read checks the options: see {@link readNow} */
export function createLookup<Input extends PhoneInput>(
	inputs: PhoneInputs<Input>,
	read: () => LookupPlan,
): Lookup<Input> {
	const open = readNow(read);
	// The caller may change its array before the lookup is used.
	const numbers = Array.isArray(inputs) ? [...inputs] : inputs;
	let isOpened = false;
	const openOnce = (): LookupPlan => {
		const plan = open();
		const refuse = (rule: string) => new PartnerInvalidInput({ ...plan.facts, field: "phoneNumbers", rule });
		if (!isIterable(inputs)) throw refuse("must be an iterable of strings, and not a string itself");
		if (isOpened) throw refuse("are read once: await the lookup, or iterate over it");
		isOpened = true;
		return plan;
	};
	const call = createLazyCall<LookedUp<Input>[], OperationError<"conversations.lookup">>(async () => {
		const plan = openOnce();
		const { deadlineMs } = plan.call;
		const deadlineAt = deadlineMs && performance.now() + deadlineMs;
		// One map for all batches, so that no number is looked up twice.
		return collect(answers((abandon) => readAll(batches(numbers, plan, abandon, new Map())), plan, deadlineAt));
	});
	return Object.assign(call, { [Symbol.asyncIterator]: () => iterate(numbers, openOnce) });
}

function isIterable(value: unknown): boolean {
	return typeof value === "object" && value !== null && (Symbol.iterator in value || Symbol.asyncIterator in value);
}

/** Reads all before it yields the first, so that a bad input is refused before there is a request. */
async function* readAll<Item>(source: AsyncIterable<Item>) {
	const all: Item[] = [];
	for await (const item of source) all.push(item);
	yield* all;
}

async function collect<Entry>(replies: AsyncIterable<Reply<Entry[]>>): Promise<Reply<Entry[]>> {
	const data: Entry[] = [];
	let attempts = 0;
	let last = noResponse;
	for await (const reply of replies) {
		if (!reply.ok) return reply;
		data.push(...reply.data);
		attempts += reply.response.attempts;
		if (reply.response.attempts > 0) last = reply.response;
	}
	return { ok: true, data, response: { ...last, attempts } };
}

async function* iterate<Input extends PhoneInput>(inputs: PhoneInputs<Input>, open: () => LookupPlan) {
	const plan = open();
	let itemsRead = 0;
	for await (const reply of answers((abandon) => batches(inputs, plan, abandon), plan)) {
		if (!reply.ok) throw toError({ ...reply, itemsRead });
		for (const entry of reply.data) {
			if (plan.call.signal?.aborted) throw toError({ ...aborted(plan.facts), itemsRead });
			itemsRead++;
			yield entry;
		}
	}
}

/**
 * Looks up several batches at a time, and yields their entries in the order of the inputs. It yields a failure as data,
 * because the consumer makes the error: see {@link createCall}.
 */
async function* answers<Input extends PhoneInput>(
	open: (abandon: AbortSignal) => AsyncGenerator<Batch<Input>>,
	{ facts, concurrency, call, ask }: LookupPlan,
	deadlineAt?: number,
) {
	const abandon = new AbortController();
	const source = open(abandon.signal);
	const context = { ...call, deadlineAt, abandon: abandon.signal };
	/** Reads a batch and looks it up. Undefined behind the last one. */
	const next = async (): Promise<Reply<Batch<Input>> | undefined> => {
		const read = await untilAborted(source.next(), call.signal);
		if (!read) return aborted(facts);
		if (read.done) return undefined;
		const { chunk, found } = read.value;
		if (chunk.length === 0) return { ok: true, data: read.value, response: noResponse };
		const verify = ({ results }: LookupResponse) => mismatch(chunk, results);
		const reply = await ask(chunk, { ...context, secrets: chunk, verify });
		if (!reply.ok) return reply;
		for (const { phoneNumber, conversation } of reply.data.results) found.set(phoneNumber, conversation);
		return { ...reply, data: read.value };
	};
	const underWay: ReturnType<typeof next>[] = [];
	try {
		for (;;) {
			while (underWay.length < concurrency) {
				const coming = next();
				// An iterable that throws does not keep back the answers before. Its error is thrown after them.
				coming.catch(() => {});
				underWay.push(coming);
			}
			const reply = await underWay.shift();
			if (!reply) return;
			yield reply.ok ? { ...reply, data: entriesOf(reply.data) } : reply;
		}
	} finally {
		// Each closes the caller's iterable, such as the cursor of a database: the signal when a batch is being read, and
		// `return` when none is.
		abandon.abort();
		source.return(undefined).catch(() => {});
	}
}

/** Resolves with undefined at the caller's signal, because an iterable may never come back. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
	if (!signal) return work;
	return new Promise((resolve, reject) => {
		const abort = (): void => resolve(undefined);
		const remove = signal.aborted ? abort : onAbort(signal, abort);
		work.then(resolve, reject).finally(remove);
		if (signal.aborted) abort();
	});
}

/** The path of the first result that is for another number than asked at its position: it would show another contact. */
function mismatch(sent: readonly string[], results: readonly { phoneNumber: string }[]): string | undefined {
	const at = results.findIndex(({ phoneNumber }, index) => phoneNumber !== sent[index]);
	if (at >= 0) return `/results/${at}/phoneNumber`;
	return results.length === sent.length ? undefined : "/results";
}

interface Batch<Input extends PhoneInput> {
	/** In the order of the inputs, as yet without conversations. */
	entries: LookedUp<Input>[];
	/** The numbers to look up. */
	chunk: string[];
	/** The conversation of each number. Null while it is being looked up. */
	found: Map<string, ConversationSummary | null>;
}

/** Called when the batches before are answered too, because one of them may have looked up the same number. */
function entriesOf<Input extends PhoneInput>({ entries, found }: Batch<Input>): LookedUp<Input>[] {
	for (const entry of entries) {
		if (entry.phoneNumber !== null) entry.conversation = found.get(entry.phoneNumber) ?? null;
	}
	return entries;
}

/** Inputs without a number do not fill a chunk. This limit keeps memory constant. */
const mostEntries = 1000;

/** @param all the conversations of all batches. Without it only the numbers of one batch are compared, in constant memory. */
async function* batches<Input extends PhoneInput>(
	inputs: PhoneInputs<Input>,
	plan: LookupPlan,
	abandon: AbortSignal,
	all?: Batch<Input>["found"],
) {
	const empty = (): Batch<Input> => ({ entries: [], chunk: [], found: all ?? new Map() });
	let batch = empty();
	let index = 0;
	for await (const input of inputs) {
		if (abandon.aborted) return;
		const { entries, chunk, found } = batch;
		if (typeof input !== "string" && input !== null && input !== undefined) {
			// An iteration has yielded the entries of all batches before.
			const itemsRead = all ? undefined : index - entries.length;
			const rule = "must be a string, null or undefined";
			throw new PartnerInvalidInput({ ...plan.facts, field: `phoneNumbers[${index}]`, rule, itemsRead });
		}
		index++;
		const { phone, reason } = readPhone(input, plan.defaultCountry);
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
		yield batch;
		batch = empty();
	}
	yield batch;
}
