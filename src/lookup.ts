import { limits } from "../generated/operations.ts";
import type { Answered } from "./call.ts";
import { PartnerInvalidInput, reading } from "./errors.ts";
import { type CountryCode, type E164, readPhone } from "./input/phone.ts";
import type { ConversationSummary, LookupResponse } from "./types.ts";

/** What the agency has for one of the numbers asked about. */
export interface LookedUp {
	/** The caller's own spelling. */
	input: string;
	/** The number in E.164; null when the input is no phone number, and then it was not asked about. */
	phoneNumber: E164 | null;
	/** Null when the agency has no conversation with the number. Its `cursor` is null. */
	conversation: ConversationSummary | null;
}

export interface LookupPlan {
	/** Asks about one chunk. */
	ask: (chunk: E164[], abandon: AbortSignal) => Promise<Answered<LookupResponse>>;
	/** Chunks under way at once. */
	concurrency: number;
	defaultCountry: CountryCode;
}

const operation = "conversations.lookup";

/** Any number of numbers: each asked about once, in chunks, a few at a time; answered one entry an input, in order. */
export async function lookupAll(inputs: Iterable<string>, plan: LookupPlan): Promise<Answered<LookedUp[]>> {
	const { ask, concurrency, defaultCountry } = plan;
	const given = reading("phoneNumbers", operation, () => [...texts(inputs)]);
	const asked: Pick<LookedUp, "input" | "phoneNumber">[] = [];

	function* chunks(): Generator<E164[]> {
		const seen = new Set<E164>();
		let chunk: E164[] = [];
		for (const input of given) {
			const phoneNumber = readPhone(input, defaultCountry).phone ?? null;
			asked.push({ input, phoneNumber });
			if (phoneNumber === null || seen.has(phoneNumber)) continue;
			seen.add(phoneNumber);
			if (chunk.push(phoneNumber) < limits.phoneNumbers.max) continue;
			yield chunk;
			chunk = [];
		}
		if (chunk.length > 0) yield chunk;
	}

	const found = new Map<string, ConversationSummary | null>();
	const abandon = new AbortController();
	let attempts = 0;
	let last: Answered<LookupResponse> | undefined;
	const queue = chunks();
	// Every worker takes the next chunk there is, and the one after it is read while its answer is awaited.
	let next = queue.next();
	const worker = async (): Promise<void> => {
		while (!next.done) {
			const answer = ask(next.value, abandon.signal);
			next = queue.next();
			last = await answer;
			attempts += last.response.attempts;
			for (const { phoneNumber, conversation } of last.data.results) found.set(phoneNumber, conversation);
		}
	};
	try {
		await Promise.all(Array.from({ length: concurrency }, worker));
	} finally {
		abandon.abort();
	}

	const data = asked.map(({ input, phoneNumber }) => ({
		input,
		phoneNumber,
		conversation: (phoneNumber && found.get(phoneNumber)) ?? null,
	}));
	// Nothing to ask about is an answer too: one that took no request.
	const { status, headers, correlationId } = last?.response ?? {
		status: 200,
		headers: new Headers(),
		correlationId: undefined,
	};
	return { data, response: { status, headers, correlationId, attempts } };
}

function* texts(inputs: unknown): Generator<string> {
	const refuse = (field: string, rule: string): never => {
		throw new PartnerInvalidInput({ field, rule, operation });
	};
	const iterable = typeof inputs === "object" && inputs !== null && Symbol.iterator in inputs;
	if (!iterable) return refuse("phoneNumbers", "must be an iterable of strings, and not a string itself");
	let index = 0;
	for (const input of inputs as Iterable<unknown>) {
		if (typeof input !== "string") return refuse(`phoneNumbers[${index}]`, "must be a string");
		yield input;
		index++;
	}
}
