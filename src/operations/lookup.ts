import { limits } from "../../generated/operations.ts";
import type { ConversationSummary, LookupResponse } from "../../generated/schemas.ts";
import { type Facts, isPartnerError, type OperationError, PartnerInvalidInput } from "../errors.ts";
import type { Reply } from "../http/call-context.ts";
import { aborted, toError } from "../http/failure.ts";
import { type CountryCode, type E164, type PhoneProblem, readPhone } from "../input/phone.ts";
import { type Call, createLazyCall, noResponse, readNow } from "./call.ts";
import { checkNumber, groupsOf, untilAborted } from "./lookup-inputs.ts";

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
	/** For errors. */
	facts: Facts;
	/** Looks up a chunk of at most 100 numbers. `deadlineAt` is that of the whole lookup. */
	ask: (chunk: E164[], abandon: AbortSignal, deadlineAt: number | undefined) => Promise<Reply<LookupResponse>>;
	/** Requests at the same time. */
	concurrency: number;
	defaultCountry: CountryCode;
	deadlineMs: number | undefined;
	signal: AbortSignal | undefined;
}

/** @param read checks the options, and throws for bad ones */
export function createLookup<Input extends PhoneInput>(
	inputs: PhoneInputs<Input>,
	read: () => LookupPlan,
): Lookup<Input> {
	const open = readNow(read);
	// The caller may change its array before the lookup is used.
	const numbers = Array.isArray(inputs) ? [...inputs] : inputs;
	let isOpened = false;
	/** A stream of numbers can be read once. */
	const openOnce = (): LookupPlan => {
		const plan = open();
		const rule = "are read once: await the lookup, or iterate over it";
		if (isOpened) throw new PartnerInvalidInput({ ...plan.facts, field: "phoneNumbers", rule });
		isOpened = true;
		return plan;
	};
	const call = createLazyCall<LookedUp<Input>[], OperationError<"conversations.lookup">>(async () =>
		lookupAll(numbers, openOnce()),
	);
	return Object.assign(call, { [Symbol.asyncIterator]: () => iterate(numbers, openOnce) });
}

type Found = Map<string, ConversationSummary | null>;

async function lookupAll<Input extends PhoneInput>(
	inputs: PhoneInputs<Input>,
	plan: LookupPlan,
): Promise<Reply<LookedUp<Input>[]>> {
	const deadlineAt = plan.deadlineMs === undefined ? undefined : performance.now() + plan.deadlineMs;
	// All inputs are read and checked before the first request.
	const given = await untilAborted(readAll(inputs, plan.facts), plan.signal, plan.facts);
	const data: LookedUp<Input>[] = [];
	let attempts = 0;
	let last = noResponse;
	for await (const reply of replies(given, plan, new Map(), deadlineAt)) {
		if (!reply.ok) return reply;
		data.push(...reply.data);
		attempts += reply.response.attempts;
		if (reply.response.attempts > 0) last = reply.response;
	}
	return { ok: true, data, response: { ...last, attempts } };
}

async function readAll<Input extends PhoneInput>(inputs: PhoneInputs<Input>, facts: Facts): Promise<Input[]> {
	const all: Input[] = [];
	for await (const group of groupsOf(inputs, facts)) {
		for (const input of group) all.push(checkNumber(input, all.length, facts));
	}
	return all;
}

async function* iterate<Input extends PhoneInput>(
	inputs: PhoneInputs<Input>,
	open: () => LookupPlan,
): AsyncGenerator<LookedUp<Input>, void, undefined> {
	const plan = open();
	const { facts, signal } = plan;
	let itemsRead = 0;
	try {
		for await (const reply of replies(inputs, plan)) {
			if (!reply.ok) throw toError(reply);
			for (const entry of reply.data) {
				if (signal?.aborted) throw toError(aborted(facts));
				itemsRead++;
				yield entry;
			}
		}
	} catch (error) {
		// Only here it is known how many entries were handed over. An error of the caller's iterable is left as it is.
		const isOwn = isPartnerError(error) && error.operation === facts.operation && error.itemsRead === undefined;
		if (isOwn) Object.assign(error, { itemsRead });
		throw error;
	}
}

/**
 * Looks up several batches at a time, and yields their entries in the order of the inputs.
 *
 * @param found answers of all batches, so that no number is looked up twice. Without it only the numbers of one batch are
 * compared, which takes constant memory.
 */
async function* replies<Input extends PhoneInput>(
	inputs: PhoneInputs<Input>,
	plan: LookupPlan,
	found?: Found,
	deadlineAt?: number,
): AsyncGenerator<Reply<LookedUp<Input>[]>, void, undefined> {
	const abandon = new AbortController();
	const source = batches(inputs, plan, found);
	const ask = async ({ chunk }: Batch<Input>): Promise<Reply<LookupResponse>> =>
		chunk.length > 0 ? plan.ask(chunk, abandon.signal, deadlineAt) : noAnswer;
	/** Reads the next batch; undefined behind the last one. */
	const read = (): Promise<Batch<Input> | undefined> => {
		const next = untilAborted(source.next(), plan.signal, plan.facts).then(({ value }) => value);
		// It may reject while the answers before it are handed over. It is awaited, and throws, after them.
		next.catch(() => {});
		return next;
	};
	const underWay: { batch: Batch<Input>; reply: Promise<Reply<LookupResponse>> }[] = [];
	let coming: ReturnType<typeof read> | undefined = read();
	try {
		for (;;) {
			while (coming && underWay.length < plan.concurrency) {
				// Neither a slow iterable nor one that throws keeps back the answers before it.
				const [first] = underWay;
				if (first && !(await comesBefore(coming, first.reply))) break;
				const batch: Batch<Input> | undefined = await coming;
				// The next batch is read while the requests are under way.
				coming = batch && read();
				if (batch) underWay.push({ batch, reply: ask(batch) });
			}
			const first = underWay.shift();
			if (!first) return;
			const reply = await first.reply;
			yield reply.ok ? { ...reply, data: entriesOf(first.batch, reply.data) } : reply;
		}
	} finally {
		abandon.abort();
		// Closes the caller's iterable, such as the cursor of a database.
		source.return(undefined).catch(() => {});
	}
}

/** Whether a batch is read before the answer to an earlier one is there. False for a batch that cannot be read. */
function comesBefore(batch: Promise<unknown>, answer: Promise<unknown>): Promise<boolean> {
	const isRead = batch.then(
		() => true,
		() => false,
	);
	return Promise.race([isRead, answer.then(() => false)]);
}

const noAnswer: Reply<LookupResponse> = { ok: true, data: { results: [] }, response: noResponse };

function entriesOf<Input extends PhoneInput>(
	{ entries, found }: Batch<Input>,
	{ results }: LookupResponse,
): LookedUp<Input>[] {
	for (const { phoneNumber, conversation } of results) found.set(phoneNumber, conversation);
	return entries.map((entry) =>
		entry.phoneNumber === null ? entry : { ...entry, conversation: found.get(entry.phoneNumber) ?? null },
	);
}

/** Entries in the order of the inputs, as yet without conversations, and the numbers to look up for them. */
interface Batch<Input extends PhoneInput> {
	entries: LookedUp<Input>[];
	chunk: E164[];
	/** Answers by number. A number that is being looked up has null. */
	found: Found;
}

/** Inputs without a number do not fill a chunk. This limit keeps memory constant. */
const mostEntries = 1000;

async function* batches<Input extends PhoneInput>(
	inputs: PhoneInputs<Input>,
	plan: LookupPlan,
	found: Found | undefined,
): AsyncGenerator<Batch<Input>, undefined, undefined> {
	const empty = (): Batch<Input> => ({ entries: [], chunk: [], found: found ?? new Map() });
	let batch = empty();
	let index = 0;
	for await (const group of groupsOf(inputs, plan.facts)) {
		for (const value of group) {
			const input = checkNumber(value, index++, plan.facts);
			const { phone, reason } = readPhone(input, plan.defaultCountry);
			batch.entries.push(
				reason
					? { input, phoneNumber: null, conversation: null, reason }
					: { input, phoneNumber: phone, conversation: null },
			);
			if (phone !== undefined && !batch.found.has(phone)) {
				batch.found.set(phone, null);
				batch.chunk.push(phone);
			}
			if (batch.chunk.length < limits.phoneNumbers.max && batch.entries.length < mostEntries) continue;
			yield batch;
			batch = empty();
		}
	}
	yield batch;
}
