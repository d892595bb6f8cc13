// A worker in a process of its own is killed with SIGKILL at named points. Every text is there once, and in its order. The
// tests of two workers are in boss-kill.test.ts and mysql-kill.test.ts.
import { once } from "node:events";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { expect, test } from "vitest";
import { isLong } from "../../length.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";
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

const { create, openPool } = usePostgres(import.meta.url);
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

const contacts = isLong ? 250 : 24;

type Kind = [name: string, database: Task["database"], place: () => Promise<string>];

const kinds: Kind[] = [
	["one worker on SQLite", "libsql", async () => newFile()],
	// PGlite takes seconds to start, and every death needs a new start.
	...(isLong ? [["one worker on PGlite", "pglite", async () => newFile()] satisfies Kind] : []),
	["one worker on a PostgreSQL server", "postgres", create],
];

test.each(kinds)("%s, killed at each point: every text is there once", async (_, database, place) => {
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
	const deadlyHere = deadlyOn(database);
	for (const { point, count } of deadlyHere) {
		const worker = await start({ ...task, point, count });
		const [, signal] = await Promise.race([once(worker, "exit"), quiet(sandbox).then(() => [null, "all was done"])]);
		if (signal === "SIGKILL") deaths.push(point);
		else worker.kill("SIGTERM");
	}
	const last = await start(task);
	const arrived = () =>
		people.map((person) => person.inbox().flatMap(({ kind, body }) => (kind === "text" ? [body] : [])));
	await expect.poll(() => arrived().flat().length, { interval: 200 }).toBeGreaterThanOrEqual(texts.length);
	// What is doubled would come now.
	await new Promise((resolve) => setTimeout(resolve, 3_000));
	last.kill("SIGTERM");
	await once(last, "exit");
	end();
	await close();
	const inOrder = Array.from({ length: textsEach }, (_, at) => `Text ${at}`);
	expect(arrived()).toEqual(people.map(() => inOrder));
	for (const person of people.filter((_, at) => at % 3 === 0))
		expect(person.inbox().filter(({ kind }) => kind === "template")).toHaveLength(1);
	expect(new Set(deaths)).toEqual(new Set(deadlyHere.map(({ point }) => point)));
	expect(sandbox.violations()).toEqual([]);
	if (database === "postgres") {
		const pool = await openPool(task.url);
		const { rows } = await pool.query("select state, count(*)::int from outbox_texts group by 1");
		expect(rows).toEqual([{ state: "sent", count: texts.length }]);
	}
});

/** No request for some seconds after the first one: a worker that waits for its point would wait for ever. */
async function quiet(sandbox: { requests: () => readonly unknown[] }): Promise<void> {
	const begun = sandbox.requests().length;
	let before = begun;
	// On a busy machine a process takes long to start. One that finds nothing to do makes no request at all.
	for (let times = 0, seconds = 0; times < 10 || (before === begun && seconds < 60); seconds++) {
		await new Promise((resolve) => setTimeout(resolve, 1_000));
		const now = sandbox.requests().length;
		times = now === before ? times + 1 : 0;
		before = now;
	}
}
