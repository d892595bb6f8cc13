// `npm run sync`: mirrors the agencies of the key for ever; a sandbox unless the environment has one. The database is
// embedded (SYNC_DATABASE names its folder), or a PostgreSQL server (DATABASE_URL), where you may start as many of these
// as you like. With --once it polls once and ends, with --nightly it reconciles and ends.
import { SingleBar } from "cli-progress";
import { createClient, isPartnerError } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { createTables, openDatabase } from "../database.ts";
import { nightly, poll, tables } from "./mirror.ts";
import { createMirror, type MirrorOptions } from "./worker.ts";

const { MESSAGING_BASE_URL, MESSAGING_API_KEY, DATABASE_URL, SYNC_DATABASE } = process.env;
const connection = MESSAGING_BASE_URL
	? { baseUrl: MESSAGING_BASE_URL, apiKey: MESSAGING_API_KEY }
	: createSandbox({ now: new Date(), scenario: "busy" }).connection;
const client = createClient(connection);
const { agencies } = await client.me.get();
const [task] = process.argv.slice(2);
const place = DATABASE_URL ?? SYNC_DATABASE;

if (task === "--once" || task === "--nightly") {
	// The last link may have ended, and cron should hear of it.
	if (agencies.length === 0) throw new Error("The key reaches no agency.");
	const database = await openDatabase(place);
	await createTables(database, tables);
	for (const { id, name } of agencies) {
		const format = `${name ?? id} {bar} {value}/{total}, {speed}/s, {eta_formatted} left`;
		const bar = new SingleBar({ format, noTTYOutput: true, notTTYSchedule: 2_000, etaBuffer: 100 });
		const began = performance.now();
		let started = false;
		const progress = (done: number, remaining: number): void => {
			const speed = Math.round(done / ((performance.now() - began) / 1_000));
			if (!started) bar.start(done + remaining, 0, { speed });
			started = true;
			bar.setTotal(done + remaining);
			bar.update(done, { speed });
		};
		const run = task === "--once" ? poll : nightly;
		try {
			const count = await run({ database, agency: client.agency(id), progress });
			// The nightly comparison deletes what is hidden or gone too.
			console.log(`${name ?? id}: ${count} conversations ${task === "--once" ? "stored" : "differed"}`);
		} catch (error) {
			if (!isPartnerError(error)) throw error;
			// One agency does not block the others, and cron hears of it.
			console.error(`${name ?? id}: ${error.message}`);
			process.exitCode = 1;
		} finally {
			if (started) bar.stop();
		}
	}
	await database.close();
} else {
	const options: MirrorOptions = {};
	const database = await openDatabase(place);
	const mirror = await createMirror(database, options);
	for (const { id } of agencies) await mirror.add(id);
	await mirror.work(client);
	// Agencies are linked later too.
	const addLater = async (): Promise<void> => {
		for (const { id } of (await client.me.get()).agencies) await mirror.add(id);
	};
	const seconds = options.maxSeconds ?? 300;
	const timer = setInterval(() => addLater().catch((error: Error) => console.error(error.message)), seconds * 1_000);
	for (const signal of ["SIGTERM", "SIGINT"]) {
		process.once(signal, async () => {
			clearInterval(timer);
			await mirror.stop();
			await database.close();
		});
	}
	console.log("ready");
}
