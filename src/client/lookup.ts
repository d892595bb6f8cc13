import type { LookupResponse } from "../../generated/schemas.ts";
import type { CountryCode } from "../phone/phone.ts";
import { onAbort } from "./abort.ts";
import { type Call, createLazyCall, noResponse, readNow } from "./call.ts";
import type { CallContext, Reply } from "./call-context.ts";
import type { CallOptions } from "./call-options.ts";
import { type Facts, type OperationError, PartnerInvalidInput } from "./errors.ts";
import { aborted, type Failure, toError } from "./failure.ts";
import {
	type Batch,
	batches,
	entriesOf,
	type LookedUp,
	type PhoneInput,
	type PhoneInputs,
	readAll,
} from "./lookup-entries.ts";

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
		const { deadlineMs, signal } = plan.call;
		const deadlineAt = deadlineMs && performance.now() + deadlineMs;
		const abandon = new AbortController();
		try {
			// One map for all batches, so that no number is looked up twice.
			const all = await untilAborted(readAll(batches(numbers, plan, abandon.signal, new Map())), signal);
			if (!Array.isArray(all)) return all ?? aborted(plan.facts);
			return await collect(answers(all.values(), plan, abandon.signal, deadlineAt));
		} finally {
			abandon.abort();
		}
	});
	return Object.assign(call, { [Symbol.asyncIterator]: () => iterate(numbers, openOnce) });
}

function isIterable(value: unknown): boolean {
	return typeof value === "object" && value !== null && (Symbol.iterator in value || Symbol.asyncIterator in value);
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
	const abandon = new AbortController();
	const source = batches(inputs, plan, abandon.signal);
	let itemsRead = 0;
	try {
		for await (const reply of answers(source, plan, abandon.signal)) {
			if (!reply.ok) throw toError({ ...reply, itemsRead });
			for (const entry of reply.data) {
				if (plan.call.signal?.aborted) throw toError({ ...aborted(plan.facts), itemsRead });
				itemsRead++;
				yield entry;
			}
		}
	} finally {
		// Each closes the caller's iterable, such as the cursor of a database: the signal when a batch is being read, and
		// `return` when none is.
		abandon.abort();
		source.return(undefined).catch(() => {});
	}
}

/**
 * Looks up several batches at a time, and yields their entries in the order of the inputs. It yields a failure as data,
 * because the consumer makes the error: see {@link createCall}.
 */
async function* answers<Input extends PhoneInput>(
	source: Iterator<Batch<Input>> | AsyncIterator<Batch<Input> | Failure>,
	{ facts, concurrency, call, ask }: LookupPlan,
	abandon: AbortSignal,
	deadlineAt?: number,
) {
	const context = { deadlineAt, abandon, ...call };
	/** Reads a batch and looks it up. Undefined behind the last one. */
	const next = async (): Promise<Reply<Batch<Input>> | undefined> => {
		const read = await untilAborted(Promise.resolve(source.next()), call.signal);
		if (!read) return aborted(facts);
		if (read.done) return undefined;
		const batch = read.value;
		if (!batch.ok) return batch;
		const { chunk, found } = batch;
		if (chunk.length === 0) return { ok: true, data: batch, response: noResponse };
		const verify = ({ results }: LookupResponse) => mismatch(chunk, results);
		const reply = await ask(chunk, { secrets: chunk, verify, ...context });
		if (!reply.ok) return reply;
		for (const { phoneNumber, conversation } of reply.data.results) found.set(phoneNumber, conversation);
		return { ...reply, data: batch };
	};
	const underWay: ReturnType<typeof next>[] = [];
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
