import fc from "fast-check";
import { expect, test } from "vitest";
import { history, play } from "./histories.ts";

test("in random histories no text arrives twice, none is falsely reported, and each lane keeps its order", async () => {
	const property = fc.asyncProperty(history, async (given) => {
		expect(await play(given)).toEqual([]);
	});
	await fc.assert(property, { seed: 20_260_105, numRuns: 150, endOnFailure: true });
}, 120_000);
