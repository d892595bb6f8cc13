import { expect, test } from "vitest";
import { clientOf, failure, wrong } from "../calls.ts";
import { agencyId, lookupAnswer } from "../canned.ts";
import { type Scripted, scripted } from "../scripted.ts";

const lookupOf = (service: Scripted) => clientOf(service).agency(agencyId).conversations.lookup;
const local = (index: number): string => `0470 ${String(index).padStart(6, "0")}`;

test("timers have their turns while the numbers of an awaited lookup are read", async () => {
	const service = await scripted((seen) => ({ json: lookupAnswer(seen.body) }));
	let turns = 0;
	const timer = setInterval(() => {
		turns++;
	}, 1);
	// The last one is refused, so that no request has to be awaited.
	await failure(() => lookupOf(service)([...Array.from({ length: 40_000 }, (_, index) => local(index)), wrong(5)]));
	clearInterval(timer);
	expect(service.requests).toEqual([]);
	expect(turns).toBeGreaterThan(2);
});

test("awaited, a source without end is closed once the signal has aborted", async () => {
	const service = await scripted((seen) => ({ json: lookupAnswer(seen.body) }));
	const controller = new AbortController();
	let read = 0;
	let close = (_read: number): void => {};
	const closed = new Promise<number>((resolve) => {
		close = resolve;
	});
	async function* endless() {
		try {
			for (;;) {
				if (++read === 300) controller.abort();
				yield local(read % 100);
			}
		} finally {
			close(read);
		}
	}
	const error = await failure(() => lookupOf(service)(endless(), { signal: controller.signal }));
	expect(error).toMatchObject({ _tag: "PartnerAbortError", operation: "conversations.lookup" });
	expect(await closed).toBeLessThan(1000);
	expect(service.requests).toEqual([]);
});
