// 50 calls without an answer, while the garbage collector runs without pause: prints how each ended and when.
import { createClient } from "../../src/index.ts";
import { nodeHttp } from "../../src/node.ts";
import { apiKey, operations } from "./answers.ts";
import { factsOf } from "./caller.ts";
import { quiet } from "./campaign.ts";
import { call } from "./conformance.ts";
import { faultNamed } from "./faults.ts";
import { startService } from "./service.ts";

const collect = globalThis.gc;
if (collect === undefined) throw new Error("run with --expose-gc");
const names = ["no headers ever", "a body that stalls", "a body that trickles"];
let turn = 0;
const service = await startService({
	plan: () => ({ fault: faultNamed(names[turn++ % names.length] ?? ""), variant: "unprocessed" }),
});
const timer = setInterval(() => collect(), 10);
const transport = nodeHttp();
const over = process.argv[2] === "nodeHttp" ? { transport } : {};
const client = createClient({ baseUrl: service.baseUrl, apiKey, timeoutMs: 400, retry: false, ...over });
const ends = await Promise.all(
	Array.from({ length: 50 }, async (_, index) => {
		const began = performance.now();
		const end = await call(client, operations[index % operations.length] ?? "me.get").catch(factsOf);
		return { tag: Reflect.get(Object(end), "_tag"), ms: performance.now() - began };
	}),
);
clearInterval(timer);
await quiet(service);
console.log(JSON.stringify({ ends, busy: service.busy() }));
await service.close();
transport.close();
