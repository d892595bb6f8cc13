// `npm run test:long -- soak`: 100,000 calls; the heap after collection must not grow. `.ci/run` makes 3,000, in which
// what is compiled and cached late still shows, and the ids of the last 10,000 answers fill up, so that it allows more.
import { createClient } from "../../src/index.ts";
import { agencyId, apiKey, operations } from "./answers.ts";
import { quickly } from "./caller.ts";
import { inParallel } from "./campaign.ts";
import { call, plainInputs } from "./conformance.ts";
import { startService } from "./service.ts";

const collect = globalThis.gc;
if (collect === undefined) throw new Error("run with --expose-gc");
const calls = Number(process.argv[2] ?? 100_000);
const samples = 10;
const service = await startService({ remembers: false });
const client = createClient({
	baseUrl: service.baseUrl,
	apiKey,
	...quickly,
	timeoutMs: 10_000,
	onAttempt: () => undefined,
});
const { signal } = new AbortController();
const { messages } = client.agency(agencyId);

const heapMb: number[] = [];
for (let sample = 0; sample < samples; sample++) {
	await inParallel(32, calls / samples, async (index) => {
		const operation = operations[index % operations.length] ?? "me.get";
		if (operation === "messages.send")
			await messages.send({ to: plainInputs.phone, body: `${sample}/${index}` }, { signal });
		else await call(client, operation);
	});
	await new Promise((resolve) => setTimeout(resolve, 100));
	collect();
	collect();
	heapMb.push(process.memoryUsage().heapUsed / 1e6);
	console.log(`${((sample + 1) * calls) / samples} calls: ${heapMb.at(-1)?.toFixed(2)} MB`);
}
await service.close();

// The first samples hold what is compiled and cached once.
const settled = heapMb.slice(3);
const middle = (settled.length - 1) / 2;
const mean = settled.reduce((sum, each) => sum + each, 0) / settled.length;
const rise = settled.reduce((sum, each, index) => sum + (index - middle) * (each - mean), 0);
const run = settled.reduce((sum, _, index) => sum + (index - middle) ** 2, 0);
const slope = ((rise / run) * 10_000) / (calls / samples);
const limit = calls < 100_000 ? 7 : 1;
const good = slope < limit;
console.log(`slope ${slope.toFixed(3)} MB per 10,000 calls, limit ${limit}`);
console.log(good ? "1 passed, 0 failed" : "0 passed, 1 failed");
process.exitCode = good ? 0 : 1;
