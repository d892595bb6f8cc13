// How the time of a poll grows with the number of conversations that changed within the lookback, against the time of the
// same requests alone. The service is a sandbox over HTTP in a process of its own. The checkpoint is stored in a file, as a
// transaction would store it: with each change, and with each batch of 100.
// npx tsx scripts/simulate/poll-curve.ts [conversations …]
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { type AgencyClient, createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { changes } from "messaging-conversations/sync";

const counts = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [500, 2_000, 10_000];
const rounds = 3;

/** What a poll of the whole lookback requests: all pages twice, and each conversation, four at once. */
async function request(agency: AgencyClient): Promise<void> {
	const rows = await agency.conversations.list({ pageSize: 99 }).toArray();
	await agency.conversations.list({ pageSize: 99 }).toArray();
	const running: Promise<unknown>[] = [];
	for (const { phoneNumber } of rows) {
		running.push(agency.conversations.get(phoneNumber, { pageSize: 100 }).then((read) => read));
		if (running.length >= 4) await running.shift();
	}
	await Promise.all(running);
}

/** Returns how many bytes were stored. */
async function poll(agency: AgencyClient, size: number, folder: string): Promise<number> {
	let written = 0;
	const store = (checkpoint: string): void => {
		writeFileSync(`${folder}/new`, checkpoint);
		renameSync(`${folder}/new`, `${folder}/checkpoint`);
		written += checkpoint.length;
	};
	const feed = changes(agency, { since: "beginning" });
	if (size === 1) for await (const _ of feed) store(feed.checkpoint);
	else for await (const _ of feed.batches(size)) store(feed.checkpoint);
	return written;
}

async function timed<Result>(run: () => Promise<Result>): Promise<[seconds: number, result: Result]> {
	const began = performance.now();
	const result = await run();
	return [(performance.now() - began) / 1_000, result];
}

const median = (values: readonly number[]): number =>
	[...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

async function measure(count: number): Promise<void> {
	const service = fork(fileURLToPath(import.meta.url), [String(count)], { execArgv: ["--import", "tsx"] });
	const [{ baseUrl, apiKey, agencyId }] = await once(service, "message");
	const agency = createClient({ baseUrl, apiKey }).agency(agencyId);
	const folder = mkdtempSync(`${tmpdir()}/poll-curve-`);
	const ofSizes = new Map(
		[1, 100].map((size) => [size, { ratios: [] as number[], seconds: [] as number[], bytes: 0 }]),
	);
	const alone: number[] = [];
	await request(agency);
	for (let round = 0; round < rounds; round++) {
		const [requests] = await timed(() => request(agency));
		alone.push(requests);
		for (const [size, of] of ofSizes) {
			const [seconds, bytes] = await timed(() => poll(agency, size, folder));
			of.ratios.push(seconds / requests);
			of.seconds.push(seconds);
			of.bytes = bytes;
		}
	}
	console.log(`${count} conversations: ${median(alone).toFixed(2)} s for the requests alone`);
	for (const [size, { ratios, seconds, bytes }] of ofSizes) {
		const all = ratios.map((ratio) => ratio.toFixed(2)).join(" ");
		const figures = `${median(ratios).toFixed(2)} times, ${median(seconds).toFixed(2)} s, ${(bytes / 1e6).toFixed(0)} MB`;
		console.log(`  a checkpoint with ${size === 1 ? "each change" : `each ${size} changes`}: ${figures} (${all})`);
	}
	rmSync(folder, { recursive: true });
	service.kill();
	await once(service, "exit");
}

if (process.send) {
	const sandbox = createSandbox();
	for (let index = 0; index < (counts[0] ?? 0); index++)
		sandbox
			.agency()
			.contact(`+3247${String(index).padStart(7, "0")}`)
			.writes("Is the flat still free?");
	const { baseUrl } = await serve(sandbox, { port: 0 });
	process.send({ baseUrl, apiKey: sandbox.connection.apiKey, agencyId: sandbox.agency().id });
} else for (const count of counts) await measure(count);
