// The worker of the recipe as Cloudflare runs it: bundled, in workerd, with nothing of Node switched on.
import { readFileSync } from "node:fs";
import { Miniflare } from "miniflare";
import { expect } from "vitest";
import { afterTest } from "../test/service.ts";
import { bundled, type Running, testWorker } from "../test/workers.ts";

testWorker(inWorkerd);

async function inWorkerd(bindings: Record<string, string>): Promise<Running> {
	const [, compatibilityDate = ""] =
		/compatibility_date = "(.+?)"/.exec(readFileSync("workers/wrangler.toml", "utf8")) ?? [];
	const miniflare = new Miniflare({ modules: true, script: await bundled(), compatibilityDate, bindings });
	afterTest(() => miniflare.dispose());
	const url = await miniflare.ready;
	const post = (text: object, signal?: AbortSignal) =>
		fetch(url, { method: "POST", body: JSON.stringify(text), signal: signal ?? null });
	return {
		post,
		get: () => fetch(url),
		async leave(text) {
			await expect(post(text, AbortSignal.timeout(300))).rejects.toThrow();
		},
	};
}
