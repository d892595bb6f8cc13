import fc from "fast-check";
import { expect, test } from "vitest";
import { isLong } from "../length.ts";
import { crms, faultsIn, kinds, playHistory } from "./histories.ts";

/** Histories of each kind of service with each way of storing. */
const numRuns = isLong ? 50 : 1;
/** In the short run each kind has two of the four ways, in turn. */
const waysOf = (at: number) => crms.filter((_, way) => isLong || way % 2 === at % 2);

test.each(Object.entries(kinds).map(([name, kind], at) => ({ name, kind, ways: waysOf(at) })))(
	"nothing is lost, doubled, out of order or untrue: $name",
	async ({ kind, ways }) => {
		for (const crm of ways) {
			const property = fc.asyncProperty(fc.integer(), async (seed) => {
				const findings = await playHistory({ kind, seed, crm });
				expect(faultsIn(findings), crm).toEqual({});
				expect(findings.largest, crm).toBeLessThan(16_000);
			});
			await fc.assert(property, { numRuns, seed: 2026 });
		}
	},
	600_000,
);

test("a conversation whose newest message has a time in the future, and that the first poll from now cannot read, loses nothing", async () => {
	const kind = kinds["all at once"] ?? {};
	const findings = await playHistory({ kind, seed: 200_089, crm: "killed between two", size: 1 });
	expect(faultsIn(findings)).toEqual({});
});

test.each([
	["cached answers", 8, "killed between two"],
	["lists that end too early", 20, "killed between two"],
] as const)(
	"a history that once lost a message loses none, and no limit explains it: %s, %i",
	async (name, seed, crm) => {
		const findings = await playHistory({ kind: kinds[name] ?? {}, seed, crm, size: 1 });
		expect(faultsIn(findings)).toEqual({});
		expect(findings.limits["left out of a list"]).toBeUndefined();
	},
);
