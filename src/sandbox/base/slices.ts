/*
 * Work that takes long, as a generator that pauses after each small part of it. A program may do it at once, or let requests
 * be answered meanwhile.
 */

/** Does all of it at once. */
export function atOnce<Result>(steps: Generator<void, Result>): Result {
	for (;;) {
		const step = steps.next();
		if (step.done) return step.value;
	}
}

/** How long it may keep requests to the service waiting. */
const longestSliceMs = 8;

/** Does it slice by slice. */
export async function inSlices<Result>(steps: Generator<void, Result>): Promise<Result> {
	for (;;) {
		for (const until = performance.now() + longestSliceMs; performance.now() < until; ) {
			const step = steps.next();
			if (step.done) return step.value;
		}
		await new Promise<void>((resolve) => void setTimeout(resolve));
	}
}
