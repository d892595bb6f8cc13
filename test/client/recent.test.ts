import { expect, test } from "vitest";
import { createRecent } from "../../src/shared/recent.ts";

// No public call shows what it forgets: a reuse guard of a thousand ids, or an iteration of a thousand pages.

test("keeps at least as many entries as its capacity, and at most twice as many", () => {
	const recent = createRecent<number>(100);
	for (let index = 0; index < 1050; index++) {
		recent.set(`${index}`, index);
		const latest = Array.from({ length: Math.min(100, index + 1) }, (_, back) => index - back);
		expect(latest.every((each) => recent.get(`${each}`) === each)).toBe(true);
	}
	const kept = Array.from({ length: 1050 }, (_, index) => recent.get(`${index}`)).filter(
		(value) => value !== undefined,
	);
	expect(kept.length).toBeLessThanOrEqual(200);
});

test("the latest value of a key is returned, even if an older one is still kept", () => {
	const recent = createRecent<string>(2);
	recent.set("a", "old");
	recent.set("b", "b");
	recent.set("a", "new");
	expect(recent.get("a")).toBe("new");
	expect(recent.get("c")).toBeUndefined();
});

test("an entry is removed only while it still has the given value", () => {
	const recent = createRecent<string>(2);
	recent.set("a", "old");
	recent.remove("a", "another");
	expect(recent.get("a")).toBe("old");
	recent.set("b", "b");
	recent.remove("a", "old");
	expect(recent.get("a")).toBeUndefined();
});
