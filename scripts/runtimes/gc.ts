import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { child } from "./child.ts";
import { nodeOf, versionOf } from "./engines.ts";
import { bundleOnPacked } from "./packed.ts";
import type { Trial } from "./row.ts";

const hung = fileURLToPath(new URL("../../test/faults/hung.ts", import.meta.url));

interface Report {
	ends: { tag: string; ms: number }[];
	busy: number;
}

/** 50 calls without an answer, under a running garbage collector: the fault suite's own program, on the packed client. */
export function gcTrials(consumer: string): Trial[] {
	const program = join(consumer, "hung.mjs");
	return ([20, 22, 24, 26] as const).flatMap((line) =>
		["fetch", "nodeHttp"].map((over) => ({
			group: "gc",
			runtime: `Node ${versionOf(`node-${line}`)}`,
			form: `50 hung calls under collection, ${over}`,
			run: async () => {
				await bundleOnPacked(hung, program);
				const ended = await child(nodeOf(line), ["--expose-gc", program, over], { cwd: consumer });
				if (!ended.ok) return ended.output;
				const { ends, busy }: Report = JSON.parse(ended.stdout);
				// The time-out is 400 ms; what loses its abort hangs for the 300 s of the runtime.
				const cut = ends.filter(({ tag, ms }) => tag === "PartnerTimeoutError" && ms < 10_000);
				return cut.length === 50 && busy === 0 ? undefined : `${cut.length} of 50 were cut, ${busy} still open`;
			},
		})),
	);
}
