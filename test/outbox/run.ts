// `npm run test:outbox` ends with it: many random histories. `tsx test/outbox/run.ts 1000 7` takes their number and a seed.
import fc from "fast-check";
import { isLong } from "../length.ts";
import { history, play } from "./histories.ts";

const [count = isLong ? "10000" : "100", seed = "1"] = process.argv.slice(2);
const began = performance.now();
let texts = 0;
const property = fc.asyncProperty(history, async (given) => {
	texts += given.acts.filter((next) => next.do === "enqueue").length;
	const wrong = await play(given);
	if (wrong.length > 0) throw new Error(wrong.join("; "));
});
const details = await fc.check(property, { numRuns: Number(count), seed: Number(seed), endOnFailure: true });
const seconds = ((performance.now() - began) / 1_000).toFixed(1);
console.log(`${details.failed ? "FAIL" : "pass"}  ${details.numRuns} histories, ${texts} texts, ${seconds} s`);
if (details.failed) {
	console.log(String(details.errorInstance));
	console.log(JSON.stringify(details.counterexample));
}
process.exit(details.failed ? 1 : 0);
