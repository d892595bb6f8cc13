// Calls the handler of a bundle as Lambda does: one event at a time, with a context, in a process that stays warm.
// Each line of standard input is an event and the time that is left for it.
import { createInterface } from "node:readline";

const { handler } = await import(process.env.BUNDLE);
console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
	const { event, remainingMs } = JSON.parse(line);
	const end = Date.now() + remainingMs;
	const context = { getRemainingTimeInMillis: () => end - Date.now() };
	const result = await handler(event, context).catch((error) => ({ errorMessage: String(error) }));
	console.log(`answer ${JSON.stringify(result ?? null)}`);
}
