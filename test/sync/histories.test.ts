import fc from "fast-check";
import { expect, test } from "vitest";
import { crms, faultsIn, kinds, playHistory } from "./histories.ts";

test.each(Object.entries(kinds))(
	"nothing is lost, doubled, out of order or untrue: %s",
	async (_name, kind) => {
		await fc.assert(
			fc.asyncProperty(fc.integer(), fc.constantFrom(...crms), async (seed, crm) => {
				const findings = await playHistory({ kind, seed, crm });
				expect(faultsIn(findings)).toEqual({});
				expect(findings.largest).toBeLessThan(16_000);
			}),
			{ numRuns: 15, seed: 2026 },
		);
	},
	60_000,
);

test("a conversation whose newest message has a time in the future, and that the first look from now cannot read, loses nothing", async () => {
	const kind = kinds["all at once"] ?? {};
	const findings = await playHistory({ kind, seed: 200_089, crm: "killed between two" });
	expect(faultsIn(findings)).toEqual({});
});
