// Workers in processes of their own are killed with SIGKILL at named points. Every text is there once, and in its order.
import { once } from "node:events";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isLong } from "../../length.ts";
import { type Server, startServer } from "../../postgres.ts";
import { newFile } from "./open.ts";
import { useWorkers } from "./start-worker.ts";
import { points, type Task } from "./worker.ts";

const textsEach = isLong ? 4 : 3;
/** One after the other, the point at which a worker dies, and at which time of coming there. */
const deadly = (isLong ? [...points, ...points] : points).map((point, at) => ({
	point,
	count: isLong ? 3 + 7 * at : 2 + 3 * at,
}));
/** In the short run each point is tried on SQLite, and every other database sees a death on either side of the request. */
const deadlyOn = (database: Task["database"]): typeof deadly =>
	isLong || database === "libsql"
		? deadly
		: deadly.filter(({ point }) => point === "after the mark" || point === "answered, not stored");

let server: Server | undefined;
beforeAll(async () => {
	server = await startServer(import.meta.url);
});
afterAll(() => server?.close());

const start = useWorkers();

/** Two of three contacts have written; the others have to consent, and do so after a moment. */
function openService(contacts: number) {
	const sandbox = createSandbox({ now: new Date() });
	const people = Array.from({ length: contacts }, (_, at) =>
		sandbox.agency().contact(`+4477009${String(at).padStart(5, "0")}`),
	);
	people.forEach((person, at) => {
		if (at % 3 > 0) person.writes("Hello");
	});
	const consenting = setInterval(() => {
		people.forEach((person, at) => {
			if (at % 3 === 0 && person.inbox().at(-1)?.kind === "template") person.accepts();
		});
	}, 100);
	return { sandbox, people, end: () => clearInterval(consenting) };
}

/** A second worker takes texts from those that die, so it needs more of them. */
const contactsOf = (workers: number): number => (isLong ? 250 : workers > 1 ? 40 : 24);

type Kind = [name: string, database: Task["database"], workers: number, place: () => Promise<string>];

const kinds: Kind[] = [
	["one worker on SQLite", "libsql", 1, async () => newFile()],
	// PGlite takes seconds to start, and every death needs a new start.
	...(isLong ? [["one worker on PGlite", "pglite", 1, async () => newFile()] satisfies Kind] : []),
	["one worker on a PostgreSQL server", "postgres", 1, async () => (await server?.create()) ?? ""],
	["two workers on a PostgreSQL server, by pg-boss", "pg-boss", 2, async () => (await server?.create()) ?? ""],
];

test.each(kinds)("%s, killed at each point: every text is there once", async (_, database, workers, place) => {
	const contacts = contactsOf(workers);
	const { sandbox, people, end } = openService(contacts);
	const { baseUrl, apiKey, close } = await serve(sandbox);
	const task = { database, url: await place(), baseUrl, apiKey, count: 0 };
	const texts = Array.from({ length: contacts * textsEach }, (_, at) => ({
		id: `text-${at}`,
		agencyId: sandbox.agency().id,
		to: people[at % contacts]?.phoneNumber ?? "",
		body: `Text ${Math.floor(at / contacts)}`,
	}));
	const [stored] = await once(await start({ ...task, enqueue: texts }), "exit");
	expect(stored).toBe(0);

	const deaths: string[] = [];
	// It sends at most 4 texts a second, so that the workers that die have enough texts to come to their points.
	const second = workers > 1 ? await start({ ...task, slowMs: 2_000 }) : undefined;
	const deadlyHere = deadlyOn(database);
	for (const { point, count } of deadlyHere) {
		const worker = await start({ ...task, point, count });
		const [, signal] = await Promise.race([once(worker, "exit"), quiet(sandbox).then(() => [null, "all was done"])]);
		if (signal === "SIGKILL") deaths.push(point);
		else worker.kill("SIGTERM");
	}
	const last = await Promise.all(Array.from({ length: workers }, () => start(task)));
	const arrived = () =>
		people.map((person) => person.inbox().flatMap(({ kind, body }) => (kind === "text" ? [body] : [])));
	await expect
		.poll(() => arrived().flat().length, { timeout: 200_000, interval: 200 })
		.toBeGreaterThanOrEqual(texts.length);
	// What is doubled would come now.
	await new Promise((resolve) => setTimeout(resolve, 3_000));
	for (const worker of [...last, second]) {
		if (!worker) continue;
		worker.kill("SIGTERM");
		await once(worker, "exit");
	}
	end();
	await close();
	const inOrder = Array.from({ length: textsEach }, (_, at) => `Text ${at}`);
	expect(arrived()).toEqual(people.map(() => inOrder));
	for (const person of people.filter((_, at) => at % 3 === 0))
		expect(person.inbox().filter(({ kind }) => kind === "template")).toHaveLength(1);
	expect(new Set(deaths)).toEqual(new Set(deadlyHere.map(({ point }) => point)));
	expect(sandbox.violations()).toEqual([]);
	if (database === "postgres")
		expect(await server?.query(task.url, "select state, count(*)::int from outbox_text group by 1")).toEqual([
			{ state: "sent", count: texts.length },
		]);
});

/** No request for some seconds: a worker that waits for its point would wait for ever. */
async function quiet(sandbox: { requests: () => readonly unknown[] }): Promise<void> {
	for (let before = -1, times = 0; times < 10; ) {
		const now = sandbox.requests().length;
		times = now === before ? times + 1 : 0;
		before = now;
		await new Promise((resolve) => setTimeout(resolve, 1_000));
	}
}
