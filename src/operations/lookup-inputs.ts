import { limits } from "../../generated/operations.ts";
import { type Facts, PartnerInvalidInput } from "../errors.ts";
import { onAbort } from "../http/abort.ts";
import { aborted, toError } from "../http/failure.ts";

/** An iterable as it is, or the items of an async iterable in groups, because awaiting each item would take longer. */
export async function* groupsOf<Input>(
	inputs: Iterable<Input> | AsyncIterable<Input>,
	facts: Facts,
): AsyncGenerator<Iterable<Input>, void, undefined> {
	if (typeof inputs !== "object" || inputs === null || !(Symbol.iterator in inputs || Symbol.asyncIterator in inputs)) {
		const rule = "must be an iterable of strings, and not a string itself";
		throw new PartnerInvalidInput({ ...facts, field: "phoneNumbers", rule });
	}
	if (Symbol.iterator in inputs) return yield inputs;
	let group: Input[] = [];
	for await (const input of inputs) {
		group.push(input);
		if (group.length < limits.phoneNumbers.max) continue;
		yield group;
		group = [];
	}
	yield group;
}

export function checkNumber<Input>(input: Input, index: number, facts: Facts): Input {
	if (typeof input === "string" || input === null || input === undefined) return input;
	throw new PartnerInvalidInput({
		...facts,
		field: `phoneNumbers[${index}]`,
		rule: "must be a string, null or undefined",
	});
}

/** Rejects at the caller's signal, also when the iterable that is waited for does not come back. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined, facts: Facts): Promise<T> {
	if (!signal) return work;
	return new Promise((resolve, reject) => {
		const abort = (): void => reject(toError(aborted(facts)));
		const remove = onAbort(signal, abort);
		if (signal.aborted) abort();
		work.then(resolve, reject).finally(remove);
	});
}
