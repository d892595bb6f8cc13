// `sandbox bug.json` opens a bug file read-only, at its place.
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSandbox } from "messaging-conversations/sandbox";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { run, start } from "./run.ts";

const folder = mkdtempSync(join(tmpdir(), "bug-"));
afterAll(() => rmSync(folder, { recursive: true }));

const phone = "+447700900101";

async function written(): Promise<{ file: string; request: string }> {
	const sandbox = createSandbox({ scenario: "closed" });
	const path = `/agencies/${sandbox.agency().id}/messages`;
	sandbox.history.record();
	sandbox.agency().contact(phone).writes("Before the mistake");
	const { correlationId } = await sandbox.request({
		method: "POST",
		path,
		body: { to: phone, body: "Would Thursday suit you?" },
	});
	const file = join(folder, "bug.json");
	writeFileSync(file, JSON.stringify(sandbox.bug({ keepContent: true, contact: phone, request: correlationId })));
	return { file, request: correlationId };
}

test("a bug file opens read-only at its request, and POST continue makes it a world to act in", async () => {
	const { file, request } = await written();
	const { out, stop, status } = start(["sandbox", file, "--port", "0", "--json"]);
	onTestFinished(async () => {
		stop();
		await status;
	});
	await expect.poll(out, { interval: 5 }).toContain("\n");
	const { pageUrl, baseUrl, apiKey, controlUrl, token } = JSON.parse(out());
	expect(new URLSearchParams(new URL(pageUrl).hash.slice(3)).get("request")).toBe(request);
	expect(new URLSearchParams(new URL(pageUrl).hash.slice(3)).get("contact")).toBe(phone);
	const headers = { "x-sandbox-token": token };
	const requests = await (await fetch(`${controlUrl}/requests`, { headers })).json();
	expect(requests).toMatchObject([{ correlationId: request, status: 200, body: { body: "Would Thursday suit you?" } }]);
	// The slider's past has come along: the moment before the send.
	const { first, last } = await (await fetch(`${controlUrl}/history`, { headers })).json();
	expect(first).toBeLessThan(last);
	const events: { id: number; correlationId: string | null }[] = await (
		await fetch(`${controlUrl}/events`, { headers })
	).json();
	const wrote = events.filter(({ correlationId }) => correlationId === null).at(-1)?.id;
	const bodiesAt = async (query: string) => {
		const state = await (await fetch(`${controlUrl}/conversations/${phone}${query}`, { headers })).json();
		return state.messages.map(({ body }: { body: string }) => body);
	};
	const [now, then] = [await bodiesAt(""), await bodiesAt(`?at=${wrote}`)];
	expect(then.at(-1)).toBe("Before the mistake");
	expect(now.slice(0, then.length)).toEqual(then);
	expect(now.at(-1)).toBe("Would Thursday suit you?");
	const me = () => fetch(`${baseUrl}/me`, { headers: { authorization: `Bearer ${apiKey}` } });
	expect((await me()).status).toBe(503);
	expect((await fetch(`${controlUrl}/continue`, { method: "POST", headers })).status).toBe(200);
	expect((await me()).status).toBe(200);
});

test("the key that is printed is good, whichever file it begins with", async () => {
	const { file } = await written();
	const state = join(folder, "state.json");
	writeFileSync(state, JSON.stringify(createSandbox({ from: readFileSync(file, "utf8") }).snapshot().world));
	for (const begins of [
		["--import", file],
		["--state", state],
	]) {
		const { out, stop, status } = start(["sandbox", ...begins, "--port", "0", "--json"]);
		await expect.poll(out, { interval: 5 }).toContain("\n");
		const { baseUrl, apiKey } = JSON.parse(out());
		const answer = await fetch(`${baseUrl}/me`, { headers: { authorization: `Bearer ${apiKey}` } });
		expect(answer.status).toBe(200);
		stop();
		await status;
	}
});

test("the banner of a bug file says that it is read-only, and offers nothing that it refuses", async () => {
	const { file } = await written();
	const { out, stop, status } = start(["sandbox", file, "--port", "0"]);
	await expect.poll(out, { interval: 5 }).toContain("No message");
	stop();
	await status;
	expect(out()).toMatch(/Bug file +read-only/);
	expect(out()).not.toContain("--follow");
});

test("a file that is too long is said to be that", async () => {
	const file = join(folder, "long.json");
	writeFileSync(file, "");
	truncateSync(file, 700_000_000);
	for (const [args, message] of [
		[[file], "The bug file is too long. It may have 100 MB.\n"],
		[["--import", file], "--import: the file is too long. It may have 100 MB.\n"],
		[["--state", file], expect.stringContaining("holds no world that can be read: is too long. It may have 500 MB. ")],
	] as const)
		expect(await run(["sandbox", ...args, "--port", "0"], {})).toMatchObject({ code: 1, err: message });
});

test("what is no bug file, and what does not go with one, is refused without the word that was given", async () => {
	const { file } = await written();
	const other = join(folder, "other.json");
	writeFileSync(other, "{}");
	const later = join(folder, "later.json");
	writeFileSync(later, readFileSync(file, "utf8").replace('"version":1', '"version":2'));
	for (const [args, message] of [
		[[other], /this is not a bug file/],
		[[later], /this file was made by a later version of messaging-conversations\. Update the package/],
		[["--import", later], /^--import: bug: this file was made by a later version .* Update the package/],
		[["partner_live.k7f3a9.c4ab01de"], /^The bug file cannot be read \(ENOENT\)/],
		[[file, other], /^sandbox takes one file and options/],
		[["--import", other], /^--import: bug: this is not a bug file/],
		[["--import", file, "--scenario", "busy"], /^--scenario is not for a bug file, which has its own\. Leave it out/],
		[["--import", file, "--now", "2030-01-01"], /^--now is not for a bug file, which has its own\. Leave it out/],
		[[file, "--scenario", "busy"], /^--scenario is not for a bug file/],
		[[file, "--follow"], /^--follow is not for a bug file/],
	] as const) {
		const { code, err } = await run(["sandbox", ...args, "--port", "0"], {});
		expect([code, err]).toEqual([1, expect.stringMatching(message)]);
		expect(err).not.toContain("_live.");
	}
});
