// One call after another, and 64 in flight; everybody in processes of its own, one block at a time in turn.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { contenderNames } from "./contenders.ts";
import { type Block, interleaved, print, ratios, shown, spread } from "./rounds.ts";
import type { Turn } from "./turn.ts";

const [baseUrl = "", rounds = "30"] = process.argv.slice(2);

/** How a process lays out and compiles its code is chance, worth a tenth of its time: so each plays in several casts. */
const casts = 3;

type Players = ReadonlyMap<string, ChildProcess>;

async function cast(): Promise<Players> {
	const players = new Map<string, ChildProcess>();
	for (const name of contenderNames) {
		const child = fork(fileURLToPath(new URL("./turn.js", import.meta.url)), [baseUrl, name], { stdio: "inherit" });
		players.set(name, child);
		await once(child, "message");
	}
	return players;
}

function inTurn(players: Players, turn: Turn, times: number): Promise<Map<string, Block[]>> {
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

const work = [
	{ call: "send", what: "send", count: 1000 },
	{ call: "list", what: "list of 50 rows", count: 600 },
] as const;
/** The blocks of all casts, by what was done. */
const taken = new Map<string, Map<string, Block[]>>();

function keep(what: string, blocks: ReadonlyMap<string, Block[]>): void {
	const all = taken.get(what) ?? new Map<string, Block[]>();
	for (const [name, more] of blocks) all.set(name, [...(all.get(name) ?? []), ...more]);
	taken.set(what, all);
}

for (let index = 0; index < casts; index++) {
	const players = await cast();
	for (const { call, count } of work) {
		// Until its code is compiled a caller is slower than it stays; starts.ts measures that.
		await inTurn(players, { call, count: 6000, width: 1 }, 0);
		keep(`${call} alone`, await inTurn(players, { call, count, width: 1 }, Math.ceil(Number(rounds) / casts)));
		const times = Math.ceil(Number(rounds) / (2 * casts));
		keep(`${call} crowded`, await inTurn(players, { call, count, width: 64 }, times));
	}
	for (const player of players.values()) player.disconnect();
}

for (const { call, what, count } of work) {
	const alone = taken.get(`${call} alone`) ?? new Map<string, Block[]>();
	const crowded = taken.get(`${call} crowded`) ?? new Map<string, Block[]>();
	const each = [...alone].map(([name, blocks]) => [name, spread(blocks.map(({ ms }) => (ms * 1000) / count))] as const);
	print(`${what}: ratio to bare fetch + json(), median (min–max) of ${rounds} interleaved rounds in ${casts} casts`, {
		"one call": new Map(each.map(([name, { median }]) => [name, `${median.toFixed(0)} µs`])),
		time: shown(ratios(alone, "fetch")),
		"against fetch + own timer": shown(ratios(alone, "fetch + own timer")),
		CPU: shown(ratios(alone, "fetch", "cpuMs")),
		"64 in flight: time": shown(ratios(crowded, "fetch")),
		"64 in flight: against fetch + own timer": shown(ratios(crowded, "fetch + own timer")),
	});
}
