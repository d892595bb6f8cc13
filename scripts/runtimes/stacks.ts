import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { child } from "./child.ts";
import { type Engine, engines } from "./engines.ts";
import { bundleOnPacked } from "./packed.ts";
import type { Trial } from "./row.ts";

const stacks = fileURLToPath(new URL("../../test/stacks.ts", import.meta.url));

interface Report {
	stacks: Record<string, string>;
	captured: number;
	/** Whether this engine's stacks name who awaits an async function, iterates over an async generator, awaits an object with `then`. */
	names: { awaits: boolean; iterates: boolean; waits: boolean };
}

/** The caller is named in the stack of each error, as far as the engine names callers; a success captures no stack. */
export function stackTrials(consumer: string): Trial[] {
	return engines(consumer).map(({ group, name, command, before, env = {} }: Engine) => ({
		group,
		runtime: name,
		form: "stack traces",
		run: async () => {
			await bundleOnPacked(stacks, join(consumer, "stacks.mjs"));
			const ended = await child(command, [...before, "stacks.mjs"], { cwd: consumer, env });
			if (!ended.ok) return ended.output;
			const report: Report = JSON.parse(ended.stdout);
			const { awaits, iterates, waits } = report.names;
			const unnamed = Object.entries(report.stacks).filter(([use, stack]) => {
				const [own = ""] = use.split(",");
				const isNamed = stack.split("\n").some((line) => line.includes("stacks.mjs") && line.includes(own));
				return !isNamed && (isLazy.test(own) ? waits : isWalk.test(own) ? iterates : awaits);
			});
			const wrong = unnamed.map(([use, stack]) => `${use}: ${stack}`);
			if (report.captured > 0) wrong.push(`a success captured ${report.captured} stacks`);
			return wrong.length > 0 ? wrong.join("\n") : undefined;
		},
	}));
}

/** The uses of test/stacks.ts that await a lookup itself, which is an object with `then`. */
const isLazy = /^(lookup|refusedLookup)$/;
/** The uses of test/stacks.ts that iterate. */
const isWalk = /^(lookupWalked|refusedLookupWalked|messagesWalked|pages|toArray|walked|walkedOn)$/;
