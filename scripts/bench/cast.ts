// The field, everybody in a process of its own, and their blocks in turn.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Block, interleaved } from "./rounds.ts";
import type { Turn } from "./turn.ts";

export interface Cast {
	inTurn: (turn: Turn, times: number) => Promise<Map<string, Block[]>>;
	leave: () => void;
}

export async function castOf(names: readonly string[], baseUrl: string): Promise<Cast> {
	const players: [string, ChildProcess][] = [];
	for (const name of names) {
		const child = fork(fileURLToPath(new URL("./turn.js", import.meta.url)), [baseUrl, name], { stdio: "inherit" });
		players.push([name, child]);
		await once(child, "message");
	}
	return {
		inTurn(turn, times) {
			const blocks = players.map(([name, child]) => ({
				name,
				async work(): Promise<Block> {
					child.send(turn);
					const [block] = (await once(child, "message")) as [Block];
					return block;
				},
			}));
			return interleaved(blocks, times);
		},
		leave() {
			for (const [, child] of players) child.disconnect();
		},
	};
}
