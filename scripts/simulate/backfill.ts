// The first poll of a feed against a sandbox over HTTP: its requests, its time, and the memory of the list of numbers.
// npm run simulate:backfill -- [conversations]
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { changes } from "messaging-conversations/sync";

const count = Number(process.argv[2] ?? 100_000);

if (process.send) {
	const sandbox = createSandbox({ now: "2026-01-05T09:00:00Z" });
	for (let i = 0; i < count; i++) {
		const contact = sandbox.agency().contact(`+3247${String(i).padStart(7, "0")}`, { name: `Contact ${i}` });
		contact.writes("Is the flat still free?");
		sandbox.agency().ai.replies({ contact, text: "It is. Shall we plan a visit?" });
		// Each move of the clock looks at every conversation.
		if (i % 12 === 11) sandbox.clock.advance({ ms: 60_000 });
	}
	const { baseUrl } = await serve(sandbox, { port: 0 });
	process.send({ baseUrl, apiKey: sandbox.connection.apiKey, agencyId: sandbox.agency().id });
} else {
	const service = fork(fileURLToPath(import.meta.url), [String(count)], { execArgv: ["--import", "tsx"] });
	const [{ baseUrl, apiKey, agencyId }] = await once(service, "message");
	let requests = 0;
	const client = createClient({ baseUrl, apiKey, onAttempt: () => requests++ });
	const feed = changes(client.agency(agencyId), { since: "beginning" });
	const heap = (): number => {
		globalThis.gc?.();
		return process.memoryUsage().heapUsed;
	};
	const before = heap();
	const began = performance.now();
	let [delivered, listed, most, largest] = [0, 0, 0, 0];
	for await (const _ of feed) {
		delivered++;
		if (delivered === 1)
			console.log(`listed in ${requests} requests and ${((performance.now() - began) / 1_000).toFixed(1)} s`);
		// Some reads later, when what the list needed is collected.
		if (delivered === 1_000) {
			listed = heap() - before;
			console.log(`${(listed / feed.remaining).toFixed(0)} bytes a conversation`);
		}
		if (delivered % 10_000 === 0) {
			most = Math.max(most, heap() - before);
			largest = Math.max(largest, feed.checkpoint.length);
		}
	}
	const seconds = (performance.now() - began) / 1_000;
	console.log(`${delivered} conversations in ${requests} requests and ${seconds.toFixed(0)} s`);
	console.log(
		`heap at most ${(most / 1e6).toFixed(1)} MB above the start, ${((heap() - before) / 1e6).toFixed(1)} MB after it`,
	);
	console.log(`checkpoint at most ${largest} characters`);
	service.kill();
}
