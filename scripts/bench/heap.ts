// What iterating over 1,000,000 rows leaves on the heap. Run with --expose-gc.
import { contendersAt, nodeHttp, ours } from "./contenders.ts";
import { print } from "./rounds.ts";

const [baseUrl = ""] = process.argv.slice(2);
const agencyId = "agy_p20000";

function heapMb(): number {
	for (let round = 0; round < 3; round++) globalThis.gc?.();
	return process.memoryUsage().heapUsed / 1e6;
}

/** The heap at each tenth of the iteration. */
async function watched(rows: AsyncIterable<unknown>): Promise<number[]> {
	const heap: number[] = [];
	let count = 0;
	for await (const _ of rows) if (++count % 100_000 === 0) heap.push(heapMb());
	return heap;
}

async function* byHand(): AsyncGenerator<unknown> {
	const list = contendersAt(baseUrl)[0]?.list;
	let cursor: string | undefined;
	do {
		const page = await list?.(agencyId, cursor);
		yield* page?.conversations ?? [];
		cursor = page?.nextCursor ?? undefined;
	} while (cursor !== undefined);
}

const walks: [string, AsyncIterable<unknown>][] = [
	["fetch", byHand()],
	["this package", ours(baseUrl).agency(agencyId).conversations.list({ pageSize: 50 })],
	["this package, nodeHttp", ours(baseUrl, nodeHttp()).agency(agencyId).conversations.list({ pageSize: 50 })],
];
const grown = new Map<string, string>();
const most = new Map<string, string>();
for (const [name, rows] of walks) {
	const heap = await watched(rows);
	const [first = Number.NaN] = heap;
	grown.set(name, `${((heap.at(-1) ?? Number.NaN) - first).toFixed(2)} MB`);
	most.set(name, `${(Math.max(...heap) - first).toFixed(2)} MB`);
}
print("iteration of 1,000,000 rows: heap in use, against that after the first 100,000", {
	"at the end": grown,
	"at most": most,
});
process.exit();
