// What a worker must do, in Node and in workerd.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { afterTest, startService } from "./service.ts";

type Answer = { status: number; json: () => Promise<unknown> };
export interface Running {
	post: (text: object) => Promise<Answer>;
	get: () => Promise<Answer>;
	/** Sends a text, and leaves before its answer. */
	leave: (text: object) => Promise<void>;
}

export async function bundled(): Promise<string> {
	const folder = mkdtempSync(join(tmpdir(), "worker-"));
	afterTest(() => rmSync(folder, { recursive: true }));
	const outfile = join(folder, "worker.mjs");
	// What `wrangler deploy` does by default.
	await build({ entryPoints: ["workers/worker.ts"], outfile, bundle: true, format: "esm", conditions: ["workerd"] });
	return readFileSync(outfile, "utf8");
}

export function testWorker(
	open: (env: { MESSAGING_BASE_URL: string; MESSAGING_API_KEY: string }) => Promise<Running>,
): void {
	test("the worker sends once, answers for the service, and finishes a send when the visitor leaves", async () => {
		const { sandbox, anna, env, agencyId } = await startService();
		const { post, get, leave } = await open(env);
		const text = (operationId: string, fields: object = {}) => ({
			agencyId,
			operationId,
			to: anna.phoneNumber,
			body: `Text ${operationId}`,
			...fields,
		});
		const answer = async (response: Answer) => [response.status, await response.json()];
		expect(await Promise.all([post(text("1")), post(text("1"))].map(async (sent) => answer(await sent)))).toEqual([
			[200, { queued: false }],
			[200, { queued: false }],
		]);
		expect((await get()).status).toBe(405);
		expect((await post(text("2", { to: "nobody" }))).status).toBe(422);
		expect((await post({ ...text("2"), operationId: undefined })).status).toBe(422);
		const { add } = sandbox.faults;
		add({ operation: "messages.send", effect: { status: 429, retryAfter: 60 } });
		const [status, body] = await answer(await post(text("3")));
		expect([status, body]).toEqual([503, { code: "PartnerGatewayError", outcome: "unknown", operationId: "3" }]);
		add({ operation: "messages.send", phase: "after", effect: { status: 500 } });
		expect(await answer(await post(text("4")))).toEqual([200, { queued: false }]); // the client has repeated it
		add({ operation: "messages.send", effect: { latencyMs: 1_000 } });
		await leave(text("5"));
		await expect.poll(() => anna.inbox().map((entry) => entry.body)).toEqual(["Text 1", "Text 4", "Text 5"]);
	});
}
