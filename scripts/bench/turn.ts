// One contender in a process of its own: neither its garbage nor its compiled code is another's. Runs a block on request.
import { agencyId, contendersAt } from "./contenders.ts";
import { timed } from "./rounds.ts";

export type Turn =
	/** So many calls, so many of them in flight at the same time. */
	| { call: "send" | "list"; count: number; width: number }
	/** All rows of an agency, with so long a pause after each page. */
	| { walk: string; pauseMs: number };

const [baseUrl = "", name] = process.argv.slice(2);
const contender = contendersAt(baseUrl).find((each) => each.name === name);

async function run(turn: Turn): Promise<unknown> {
	if ("walk" in turn) {
		const pause = () => new Promise((resolve) => setTimeout(resolve, turn.pauseMs));
		return contender?.walk(turn.walk, turn.pauseMs > 0 ? pause : undefined);
	}
	let left = turn.count;
	const worker = async () => {
		while (left-- > 0) await (turn.call === "send" ? contender?.send() : contender?.list(agencyId));
	};
	return Promise.all(Array.from({ length: turn.width }, worker));
}

process.on("message", async (turn: Turn) => process.send?.(await timed(() => run(turn))));
process.on("disconnect", () => process.exit());
process.send?.("ready");
