import { expect, vi } from "vitest";
import { longestWaitMs } from "../patience.ts";
import type { Case } from "./cases.ts";
import { liveKey } from "./live.ts";
import type { Ended, Run } from "./process.ts";

interface Report {
	readonly status: number;
	readonly version: string;
	readonly checks: readonly { id: string; state: string; what: string; remedy?: string }[];
}

/** Runs the doctor in a case, for people and as JSON, and holds both against what the case expects. */
export async function diagnose(run: Run, { prepare, status, found, remedy }: Case): Promise<void> {
	const { env, stop } = await prepare();
	/** Runs it until no check says that the service is slow or silent, which on a busy machine may happen. */
	const runCalmly = (args: readonly string[], idsOf: (ended: Ended) => (string | undefined)[]): Promise<Ended> =>
		vi.waitFor(async () => {
			const ended = await run(args, env);
			const slow = idsOf(ended).filter((id = "") => ["contract", "latency"].includes(id) && !(id in found));
			expect(slow, ended.out).toEqual([]);
			return ended;
		}, longestWaitMs);
	const unwellIn = ({ out }: Ended) => {
		const { checks }: Report = JSON.parse(out);
		return checks.filter(({ state }) => state === "warn" || state === "fail");
	};
	const shownIn = ({ out }: Ended) => [...out.matchAll(/^(?:! warn|✗ fail) +(\S+)/gm)].map(([, id]) => id);
	try {
		const json = await runCalmly(["doctor", "--json"], (ended) => unwellIn(ended).map(({ id }) => id));
		const reported: Report = JSON.parse(json.out);
		expect([json.code, reported.status, json.err], json.out).toEqual([status, status, ""]);
		const unwell = unwellIn(json);
		expect(unwell.map(({ id }) => id.split(" ")[0])).toEqual(Object.keys(found));
		for (const { id, what } of unwell) expect(what).toMatch(found[id.split(" ")[0] ?? ""] ?? /^$/);
		if (remedy) expect(unwell[0]?.remedy).toMatch(remedy);
		for (const check of unwell) expect(check).toMatchObject({ remedy: expect.stringMatching(/\.$/) });

		const screen = await runCalmly(["doctor"], shownIn);
		expect([screen.code, screen.err]).toEqual([status, ""]);
		const words = screen.out.replace(/\s+/g, " ");
		for (const { what } of unwell) expect(words).toContain(what.replaceAll(/Correlation id.*/g, ""));
		expect(shownIn(screen), screen.out).toHaveLength(unwell.length);
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
