// One call after another, and 64 in flight; everybody in a process of its own, one block at a time in turn.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { contenderNames } from "./contenders.ts";
import { type Block, interleaved, print, ratios, shown, spread } from "./rounds.ts";
import type { Turn } from "./turn.ts";

const [baseUrl = "", rounds = "30"] = process.argv.slice(2);

const players = new Map(
	await Promise.all(
		contenderNames.map(async (name) => {
			const child = fork(fileURLToPath(new URL("./turn.js", import.meta.url)), [baseUrl, name], { stdio: "inherit" });
			await once(child, "message");
			return [name, child] as const;
		}),
	),
);

function inTurn(turn: Turn, times: number): Promise<Map<string, Block[]>> {
	const blocks = [...players].map(([name, child]) => ({
		name,
		async work(): Promise<Block> {
			child.send(turn);
			const [block] = (await once(child, "message")) as [Block];
			return block;
		},
	}));
	return interleaved(blocks, times);
}

for (const [call, what, count] of [
	["send", "send", 300],
	["list", "list of 50 rows", 200],
] as const) {
	// Until its code is compiled a caller is slower than it stays; starts.ts measures that.
	await inTurn({ call, count: 2000, width: 1 }, 0);
	const alone = await inTurn({ call, count, width: 1 }, Number(rounds));
	const crowded = await inTurn({ call, count: count * 3, width: 64 }, Math.ceil(Number(rounds) / 4));
	const each = [...alone].map(([name, blocks]) => [name, spread(blocks.map(({ ms }) => (ms * 1000) / count))] as const);
	print(`${what}: ratio to bare fetch + json(), median (min–max) of ${rounds} interleaved rounds`, {
		"one call": new Map(each.map(([name, { median }]) => [name, `${median.toFixed(0)} µs`])),
		time: shown(ratios(alone, "fetch")),
		"against fetch + own timer": shown(ratios(alone, "fetch + own timer")),
		CPU: shown(ratios(alone, "fetch", "cpuMs")),
		"64 in flight: time": shown(ratios(crowded, "fetch")),
		"64 in flight: against fetch + own timer": shown(ratios(crowded, "fetch + own timer")),
	});
}
for (const child of players.values()) child.disconnect();
