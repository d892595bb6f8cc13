import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, test } from "vitest";
import { adapters } from "../adapters.ts";
import { longestWaitMs } from "../patience.ts";
import { type Bundle, bundle } from "./bundle.ts";

let script: Bundle;
beforeAll(async () => {
	script = await bundle(new URL("./hung.ts", import.meta.url));
});
afterAll(() => script.remove());

test.concurrent.for(adapters)(
	"#12 #13 50 hung calls under a running garbage collector are all cut in time (%s)",
	async (over, { expect }) => {
		const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", script.path, over], {
			timeout: longestWaitMs,
		});
		const { ends, busy }: { ends: { tag: string; ms: number }[]; busy: number } = JSON.parse(stdout);
		expect(ends.map(({ tag }) => tag)).toEqual(Array(50).fill("PartnerTimeoutError"));
		// The time-out is 400 ms; what loses its abort hangs for the 300 s of the runtime.
		expect(Math.max(...ends.map(({ ms }) => ms))).toBeLessThan(10_000);
		expect(busy).toBe(0);
	},
);
