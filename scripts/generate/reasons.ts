import { table, withMarked } from "./marked.ts";
import { pauses, reasons } from "./meanings.ts";

const page = "docs/not-sent.md";

/** The tables of why a text waits or has ended, and of why texts are paused. */
export async function reasonTables(): Promise<Record<string, string>> {
	const paused = Object.entries(pauses).flatMap(([name, all]) =>
		all.map(({ whose, waits, until }) => [`\`${name}\`${whose ? ` ${whose}` : ""}`, waits, until]),
	);
	const meant = Object.entries(reasons).map(([name, meaning]) => [`\`${name}\``, meaning]);
	return {
		[page]: await withMarked(page, {
			reasons: table(["reason", "meaning"], meant),
			pauses: table(["reason", "what waits", "until"], paused),
		}),
	};
}
