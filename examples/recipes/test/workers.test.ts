// The worker of the recipe as a function in Node. The long tests run it in workerd.
import { expect, test } from "vitest";
import worker from "../workers/worker.ts";
import { bundled, type Running, testWorker } from "./workers.ts";

testWorker(inNode);

test("the bundle needs nothing of Node", async () => {
	expect(await bundled()).not.toMatch(/(?:from|import|require)\s*\(?["']node:/);
});

async function inNode(env: { MESSAGING_BASE_URL: string; MESSAGING_API_KEY: string }): Promise<Running> {
	const waiting: Promise<unknown>[] = [];
	const context = { waitUntil: (work: Promise<unknown>) => waiting.push(work) as unknown as undefined };
	const ask = (init: RequestInit) => worker.fetch(new Request("http://worker/", init), env, context);
	const post = (text: object) => ask({ method: "POST", body: JSON.stringify(text) });
	return {
		post,
		get: () => ask({}),
		async leave(text) {
			void post(text);
			await expect.poll(() => waiting.length).toBeGreaterThan(0);
			await Promise.all(waiting);
		},
	};
}
