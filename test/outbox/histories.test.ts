import fc from "fast-check";
import { expect, test } from "vitest";
import { isLong } from "../length.ts";
import { history, play } from "./histories.ts";

const numRuns = isLong ? 3_000 : 40;

test("in random histories no text arrives twice, none is falsely reported, and each queue keeps its order", async () => {
	const property = fc.asyncProperty(history, async (given) => {
		expect(await play(given)).toEqual([]);
	});
	await fc.assert(property, { seed: 20_260_105, numRuns, endOnFailure: true });
}, 1_200_000);
