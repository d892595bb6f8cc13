// A send beside stripe's, over node:http, both in one process and in short blocks in turn: so their ratio moves least.
import { contendersAt } from "./contenders.ts";
import { type Block, interleaved, print, ratios, shown, timed } from "./rounds.ts";

const [baseUrl = "", rounds = "30"] = process.argv.slice(2);
const sends = 640;
const names = ["stripe", "this package, nodeHttp"];
const pair = contendersAt(baseUrl).filter(({ name }) => names.includes(name));

function block(send: () => Promise<unknown>, width: number): () => Promise<Block> {
	return () => {
		let left = sends;
		const worker = async () => {
			while (left-- > 0) await send();
		};
		return timed(() => Promise.all(Array.from({ length: width }, worker)));
	};
}

for (const [what, width] of [
	["one after another", 1],
	["64 in flight", 64],
] as const) {
	const blocks = pair.map(({ name, send }) => ({ name, work: block(send, width) }));
	// Until its code is compiled a caller is slower than it stays.
	await interleaved(blocks, 10);
	const taken = await interleaved(blocks, Number(rounds));
	print(`send beside stripe, ${what}: ratio, median (min–max) of ${rounds} blocks of ${sends}`, {
		CPU: shown(ratios(taken, "stripe", "cpuMs")),
		time: shown(ratios(taken, "stripe")),
	});
}
process.exit();
