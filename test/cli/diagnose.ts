import { expect } from "vitest";
import type { Case } from "./cases.ts";
import { liveKey } from "./live.ts";
import type { Run } from "./process.ts";

interface Report {
	readonly status: number;
	readonly version: string;
	readonly checks: readonly { id: string; state: string; what: string; remedy?: string }[];
}

/** Runs the doctor in a case, for people and as JSON, and holds both against what the case expects. */
export async function diagnose(run: Run, { prepare, status, found, remedy }: Case): Promise<void> {
	const { env, stop } = await prepare();
	try {
		const json = await run(["doctor", "--json"], env);
		const reported: Report = JSON.parse(json.out);
		expect([json.code, reported.status, json.err], json.out).toEqual([status, status, ""]);
		const unwell = reported.checks.filter(({ state }) => state === "warn" || state === "fail");
		expect(unwell.map(({ id }) => id.split(" ")[0])).toEqual(Object.keys(found));
		for (const { id, what } of unwell) expect(what).toMatch(found[id.split(" ")[0] ?? ""] ?? /^$/);
		if (remedy) expect(unwell[0]?.remedy).toMatch(remedy);
		for (const check of unwell) expect(check).toMatchObject({ remedy: expect.stringMatching(/\.$/) });

		const screen = await run(["doctor"], env);
		expect([screen.code, screen.err]).toEqual([status, ""]);
		const words = screen.out.replace(/\s+/g, " ");
		for (const { what } of unwell) expect(words).toContain(what.replaceAll(/Correlation id.*/g, ""));
		expect(screen.out.match(/^! warn|^✗ fail/gm) ?? []).toHaveLength(unwell.length);
		expect(screen.out.split("\n").filter((line) => line.length > 100)).toEqual([]);
		for (const text of [json.out, screen.out]) {
			expect(text).not.toContain(liveKey);
			expect(text).not.toMatch(/Anna|447700900|470 12/);
			expect(text).not.toContain("    at ");
		}
	} finally {
		stop?.();
	}
}
