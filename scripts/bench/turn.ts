// One contender in a process of its own: neither its garbage nor its compiled code is another's. Runs a block when told.
import { agencyId, contendersAt } from "./contenders.ts";
import { timed } from "./rounds.ts";

export interface Turn {
	call: "send" | "list";
	count: number;
	/** Calls in flight at the same time. */
	width: number;
}

const [baseUrl = "", name] = process.argv.slice(2);
const contender = contendersAt(baseUrl).find((each) => each.name === name);

process.on("message", async ({ call, count, width }: Turn) => {
	let left = count;
	const worker = async () => {
		while (left-- > 0) await (call === "send" ? contender?.send() : contender?.list(agencyId));
	};
	process.send?.(await timed(() => Promise.all(Array.from({ length: width }, worker))));
});
process.on("disconnect", () => process.exit());
process.send?.("ready");
