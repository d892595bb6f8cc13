// The mirror on PGlite and on a PostgreSQL server, with a worker that is killed in the middle of a catch-up.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createClient, toE164 } from "messaging-conversations";
import { createSandbox, type Sandbox } from "messaging-conversations/sandbox";
import { type SandboxServer, serve } from "messaging-conversations/sandbox/server";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { pick, randomFrom } from "../../../test/faults/random.ts";
import { isLong } from "../../../test/length.ts";
import { type Server, startServer } from "../../../test/postgres.ts";
import { quickCopy } from "../../../test/quick.ts";
import { type Database, openDatabase } from "../database.ts";
import { erase, markSeen, nightly, poll, retryUnstored, tables, unreadCounts } from "../sync/mirror.ts";
import { createMirror } from "../sync/worker.ts";
import { emptyPglite } from "./pglite.ts";

const cwd = fileURLToPath(new URL("..", import.meta.url));
const [anna, bert] = ["+447700900101", "+447700900102"];
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
	for (const close of closing.splice(0).reverse()) await close();
});
const until = (read: () => unknown) => expect.poll(read, { interval: 50 });

/** What the sandbox knows of its default agency, in the tables' words. */
async function truth(sandbox: Sandbox) {
	const agency = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
	const rows = await agency.conversations.list({ pageSize: 100 }).toArray();
	const names = rows.map(({ phoneNumber, contactName }) => `${phoneNumber} ${contactName}`).sort();
	return { names, messages: rows.reduce((sum, { totalMessages }) => sum + totalMessages, 0) };
}

async function openServer(url: string): Promise<Database> {
	const database = await openDatabase(url);
	closing.push(database.close);
	return database;
}

async function open(database: Database, sandbox = createSandbox({ scenario: "busy" })) {
	await database.query(tables);
	const client = createClient({ ...sandbox.connection, retry: false });
	const agency = client.agency(sandbox.agency().id);
	const mirrored = async () => {
		const names = await database.query("select phone || ' ' || name as row from conversation order by 1");
		const messages = await database.query("select count(*) as n, count(distinct id) as ids from message");
		expect(messages.rows[0]?.n).toEqual(messages.rows[0]?.ids);
		return { names: names.rows.map(({ row }) => String(row)).sort(), messages: Number(messages.rows[0]?.n) };
	};
	return { database, sandbox, client, agency, mirrored };
}

function suite(empty: () => Promise<Database>): void {
	test("polls mirror what changes, and the night what moved nothing to the top", async () => {
		const { database, sandbox, agency, mirrored } = await open(await empty());
		expect(await poll({ database, agency })).toBe(250);
		expect(await mirrored()).toEqual(await truth(sandbox));
		expect(await poll({ database, agency })).toBe(0);
		sandbox.clock.advance({ minutes: 10 });
		sandbox.agency().contact(anna).writes("Hello?");
		expect(await poll({ database, agency })).toBe(1);
		sandbox.agency().contact("+447700900200", { name: "Renamed" });
		sandbox.agency().conversation("+447700900201").hide();
		expect(await poll({ database, agency })).toBe(0);
		expect(await nightly({ database, agency })).toBe(2);
		expect(await mirrored()).toEqual(await truth(sandbox));
		expect(await nightly({ database, agency })).toBe(0);
	});

	test("polls go on after a night that stored a message before the feed delivered it", async () => {
		const { database, sandbox, agency, mirrored } = await open(await empty(), createSandbox());
		sandbox.agency().contact(anna, { name: "Anna" }).writes("Hello?");
		await poll({ database, agency });
		const { messageId } = await agency.messages.send({ to: anna, body: "Hello Anna" });
		expect(await nightly({ database, agency })).toBe(1);
		sandbox.message(messageId ?? "").delivered();
		expect(await poll({ database, agency })).toBe(1);
		expect(await mirrored()).toEqual({ ...(await truth(sandbox)), messages: 2 });
		const { rows } = await database.query("select status from message where direction = 'outbound'");
		expect(rows).toEqual([{ status: "delivered" }]);
		expect(await nightly({ database, agency })).toBe(0);
	});

	test("the night deletes messages that the service has no more", async () => {
		const { database, sandbox, agency, mirrored } = await open(await empty(), createSandbox());
		const contact = sandbox.agency().contact(anna, { name: "Anna" });
		contact.writes("Hello?");
		const before = sandbox.snapshot();
		contact.writes("Anybody there?");
		await poll({ database, agency });
		expect((await mirrored()).messages).toBe(2);
		sandbox.restore(before);
		expect(await nightly({ database, agency })).toBe(1);
		expect(await mirrored()).toEqual(await truth(sandbox));
		expect(await nightly({ database, agency })).toBe(0);
	});

	test("a conversation that cannot be read for a day is left to the night", async () => {
		const { database, sandbox, agency, mirrored } = await open(await empty(), createSandbox());
		sandbox.agency().contact(anna, { name: "Anna" }).writes("Hello?");
		const fault = sandbox.faults.add({
			operation: "conversations.get",
			times: Number.POSITIVE_INFINITY,
			effect: { status: 500 },
		});
		await expect(poll({ database, agency })).rejects.toMatchObject({ _tag: "PartnerInternalError" });
		sandbox.clock.advance({ hours: 25 });
		await expect(poll({ database, agency })).rejects.toMatchObject({ _tag: "PartnerInternalError" });
		expect(await poll({ database, agency })).toBe(0);
		fault.remove();
		expect(await nightly({ database, agency })).toBe(1);
		expect(await mirrored()).toEqual(await truth(sandbox));
	});

	test("a poll that breaks off continues where it was, and stores no message twice", async () => {
		const { database, sandbox, agency, mirrored } = await open(await empty());
		for (const stop of [7, 30, 100]) {
			const progress = (done: number): void => {
				if (done === stop) throw new Error("killed");
			};
			await expect(poll({ database, agency, progress })).rejects.toThrow("killed");
			sandbox.clock.advance({ minutes: 3 });
			sandbox.agency().contact("+447700900350").writes(`${stop}`);
		}
		await poll({ database, agency });
		expect(await mirrored()).toEqual(await truth(sandbox));
	});

	test("a change whose transaction fails with an error of this package is stored by the next poll", async () => {
		const { database, sandbox, agency, mirrored } = await open(await empty());
		let transactions = 0;
		const failing: typeof database = {
			...database,
			transaction: (work) =>
				database.transaction(async (sql) => {
					const result = await work(sql);
					if (++transactions === 20) toE164("no number");
					return result;
				}),
		};
		await expect(poll({ database: failing, agency })).rejects.toMatchObject({ _tag: "PartnerInvalidInput" });
		await poll({ database, agency });
		expect(await mirrored()).toEqual(await truth(sandbox));
	});

	test("a worker that was taken for dead stores nothing after its successor", async () => {
		const { database, agency } = await open(await empty());
		let successor: Promise<PromiseSettledResult<number>[]> | undefined;
		const progress = (done: number): void => {
			// Either of the two may fail first, so that both are waited for from the start.
			if (done === 10) successor = Promise.allSettled([poll({ database, agency })]);
		};
		const [late] = await Promise.allSettled([poll({ database, agency, progress })]);
		const [next] = (await successor) ?? [];
		const ends = [late.status, next?.status].sort();
		expect(ends).toEqual(["fulfilled", "rejected"]);
	});

	test("a change that cannot be stored backs off, blocks nobody, and is stored in order when it can be", async () => {
		const { database, sandbox, agency, mirrored } = await open(await empty(), createSandbox());
		await database.query("alter table message add constraint refused check (body <> 'refused')");
		const [first, second] = [sandbox.agency().contact(anna, { name: "Anna" }), sandbox.agency().contact(bert)];
		first.writes("refused");
		second.writes("Hello?");
		expect(await poll({ database, agency })).toBe(2);
		sandbox.clock.advance({ minutes: 5 });
		first.writes("And another thing");
		second.writes("Anybody?");
		expect(await poll({ database, agency })).toBe(2);
		expect(await poll({ database, agency })).toBe(0);
		const bodies = async () =>
			(await database.query("select body from message order by id")).rows.map(({ body }) => body);
		expect(await bodies()).toEqual(["Hello?", "Anybody?"]);

		const waiting = async () =>
			(
				await database.query(
					"select phone, max(failures) as failures, min(retry_at) > now() as waits from unstored group by 1",
				)
			).rows;
		expect(await waiting()).toMatchObject([{ phone: anna, failures: 0, waits: true }]);
		for (const failures of [1, 2]) {
			await database.query("update unstored set retry_at = now()");
			await poll({ database, agency });
			expect(await waiting()).toMatchObject([{ phone: anna, failures, waits: true }]);
		}
		// The night does not stop at it either.
		await nightly({ database, agency });
		expect(await bodies()).toEqual(["Hello?", "Anybody?"]);

		await database.query("alter table message drop constraint refused");
		await retryUnstored(database, agency.id);
		expect(await bodies()).toHaveLength(2);
		await database.query("update unstored set retry_at = now()");
		await poll({ database, agency });
		expect(await waiting()).toEqual([]);
		expect((await mirrored()).messages).toBe((await truth(sandbox)).messages);
	});

	test("an erased contact stays erased, by polls and by night", async () => {
		const { database, sandbox, agency } = await open(await empty(), createSandbox());
		const [first, second] = [sandbox.agency().contact(anna), sandbox.agency().contact(bert)];
		for (const contact of [first, second]) contact.writes("Hello?");
		await poll({ database, agency });
		await erase(database, agency.id, anna);
		sandbox.clock.advance({ minutes: 10 });
		for (const contact of [first, second]) contact.writes("Anybody?");
		expect(await poll({ database, agency })).toBe(1);
		expect(await nightly({ database, agency })).toBe(0);
		for (const table of ["conversation", "message"]) {
			const { rows } = await database.query(`select distinct phone from ${table}`);
			expect(rows).toEqual([{ phone: bert }]);
		}
		const { rows } = await database.query("select * from erased");
		expect(JSON.stringify(rows)).not.toContain(anna.slice(1));
	});

	test("a message that comes again is counted as unread once", async () => {
		const { database, sandbox, agency } = await open(await empty(), createSandbox());
		const contact = sandbox.agency().contact(anna);
		contact.writes("Hello?");
		contact.writes("Anybody?");
		await poll({ database, agency });
		// From the beginning again, as after the loss of a checkpoint.
		await database.query("delete from feed");
		await poll({ database, agency });
		expect(await unreadCounts(database, agency.id)).toEqual(new Map([[anna, 2]]));
		await markSeen(database, agency.id, anna);
		sandbox.clock.advance({ minutes: 5 });
		contact.writes("I see");
		await database.query("delete from feed");
		await poll({ database, agency });
		expect(await unreadCounts(database, agency.id)).toEqual(new Map([[anna, 1]]));
	});

	test("a job an agency polls again by itself", async () => {
		const { database, sandbox, client, agency, mirrored } = await open(await empty());
		const mirror = await createMirror(database, { minSeconds: 1, maxSeconds: 2, pollSeconds: 0.5 });
		closing.push(mirror.stop);
		await mirror.add(agency.id);
		await mirror.add(agency.id);
		await mirror.work(client);
		const { messages } = await truth(sandbox);
		await until(async () => (await mirrored()).messages).toBe(messages);
		for (let i = 1; i <= 3; i++) {
			sandbox.clock.advance({ minutes: 5 });
			sandbox.agency().contact(anna).writes(`Message ${i}`);
			await until(async () => (await mirrored()).messages).toBe(messages + i);
		}
	});

	test("a mirror that stops ends its poll after the current change, and the next one continues", async () => {
		const { database, sandbox, client, agency, mirrored } = await open(await empty());
		const slow = sandbox.faults.add({
			operation: "conversations.get",
			times: Number.POSITIVE_INFINITY,
			effect: { latencyMs: 50 },
		});
		const stored = async () => (await mirrored()).names.length;
		const options = { minSeconds: 1, maxSeconds: 2, pollSeconds: 0.5 };
		const first = await createMirror(database, options);
		await first.add(agency.id);
		await first.work(client);
		await until(stored).toBeGreaterThan(10);
		await first.stop();
		expect(await stored()).toBeLessThan(250);
		slow.remove();
		const next = await createMirror(database, options);
		closing.push(next.stop);
		await next.work(client);
		await until(mirrored).toEqual(await truth(sandbox));
	});

	test("an agency that is added again during a poll of it does not block the others", async () => {
		const { database, sandbox, agency } = await open(await empty(), createSandbox());
		const second = sandbox.link({ name: "Second" });
		const polls = new Map<string, number>();
		let end = (): void => {};
		const ended = new Promise<void>((resolve) => {
			end = resolve;
		});
		const client = createClient({
			...sandbox.connection,
			fetch: async (input, init) => {
				const id = [agency.id, second.id].find((id) => String(input).includes(id));
				if (id) polls.set(id, (polls.get(id) ?? 0) + 1);
				if (id === agency.id) await ended;
				return sandbox.connection.fetch(input, init);
			},
		});
		const mirror = await createMirror(database, { minSeconds: 1, maxSeconds: 1, pollSeconds: 0.5, concurrency: 2 });
		closing.push(mirror.stop);
		closing.push(async () => end());
		await mirror.add(agency.id);
		await mirror.work(client);
		await until(() => polls.get(agency.id)).toBe(1);
		await mirror.add(agency.id);
		await mirror.add(second.id);
		await until(() => polls.get(second.id)).toBeGreaterThan(2);
		expect(polls.get(agency.id)).toBe(1);
	});
}

// `npm run sync` on PGlite is tested with the other commands.
if (isLong)
	describe("the mirror in PGlite", () => {
		suite(emptyPglite);
	});

describe("the mirror on a PostgreSQL server", () => {
	let server: Server | undefined;
	beforeAll(async () => {
		server = await startServer(import.meta.url);
	});
	afterAll(() => server?.close());
	const place = async (): Promise<string> => {
		if (!server) throw new Error("There is no server.");
		return server.create();
	};
	suite(async () => openServer(await place()));

	async function startWorker(url: string, service: SandboxServer): Promise<ChildProcess> {
		const quick = "MirrorOptions = { minSeconds: 1, maxSeconds: 2, pollSeconds: 0.5, expireInSeconds: 4 }";
		const file = quickCopy(join(cwd, "sync/main.ts"), "MirrorOptions = {}", quick);
		const worker = spawn(process.execPath, ["--import", "tsx", file], {
			cwd,
			env: {
				...process.env,
				DATABASE_URL: url,
				MESSAGING_BASE_URL: service.baseUrl,
				MESSAGING_API_KEY: service.apiKey,
			},
			stdio: ["ignore", "pipe", "inherit"],
		});
		closing.push(async () => {
			if (worker.exitCode !== null || worker.signalCode !== null) return;
			worker.kill("SIGKILL");
			await once(worker, "exit");
		});
		await once(worker.stdout ?? worker, "data");
		return worker;
	}

	// The next test kills workers too, and compares row by row.
	if (isLong)
		test("of two workers one is killed in the middle of a catch-up: nothing is lost, and nothing is there twice", async () => {
			const url = await place();
			const { sandbox, mirrored, database } = await open(await openServer(url));
			const service = await serve(sandbox, { port: 0 });
			closing.push(service.close);
			const stored = async () => (await mirrored()).names.length;
			const first = await startWorker(url, service);
			await until(stored).toBeGreaterThan(10);
			first.kill("SIGKILL");
			await once(first, "exit");
			expect(await stored()).toBeLessThan(250);
			sandbox.clock.advance({ minutes: 5 });
			sandbox.agency().contact("+447700900350").writes("Meanwhile");
			await startWorker(url, service);
			await until(mirrored).toEqual(await truth(sandbox));
			sandbox.clock.advance({ minutes: 5 });
			sandbox.agency().contact(anna).writes("And on it goes");
			await until(mirrored).toEqual(await truth(sandbox));
			expect((await database.query("select count(*) as n from feed")).rows).toEqual([{ n: expect.anything() }]);
		});

	test("many agencies under faults, with workers that are killed, are mirrored row by row", async () => {
		const url = await place();
		const { sandbox, client, database } = await open(await openServer(url), createSandbox());
		const service = await serve(sandbox, { port: 0 });
		closing.push(service.close);
		const agencies = [
			sandbox.agency(),
			...Array.from({ length: isLong ? 39 : 11 }, (_, i) => sandbox.link({ name: `Agency ${i}` })),
		];
		const random = randomFrom(35);
		const number = () => `+4477009${String(Math.floor(random() * 12)).padStart(5, "0")}`;
		const happen = (count: number): void => {
			for (let i = 0; i < count; i++) {
				const agency = pick(random, agencies);
				const contact = agency.contact(number(), { name: `Contact ${Math.floor(random() * 50)}` });
				contact.writes(random() < 0.1 ? `NUL \0 ${i}` : `Text ${i}`);
				if (random() < 0.3) agency.ai.replies({ contact, text: `Reply ${i}` });
				sandbox.clock.advance({ ms: Math.floor(random() * 20_000) });
			}
		};
		const fail = (): void => {
			const effects = [
				{ status: 500 },
				{ status: 503, retryAfter: 1 },
				{ status: 429 },
				{ status: 401 },
				"reset",
			] as const;
			for (let i = 0; i < 10; i++)
				sandbox.faults.add({ skip: Math.floor(random() * 20), times: 1, effect: pick(random, effects) });
		};
		happen(isLong ? 400 : 120);
		for (let kill = 0; kill < (isLong ? 3 : 2); kill++) {
			const worker = await startWorker(url, service);
			await startWorker(url, service);
			const before = Number((await database.query("select count(*) as n from message")).rows[0]?.n);
			fail();
			happen(100);
			await until(async () =>
				Number((await database.query("select count(*) as n from message")).rows[0]?.n),
			).toBeGreaterThan(before);
			worker.kill("SIGKILL");
			await once(worker, "exit");
			happen(50);
		}
		sandbox.faults.clear();
		const expected: unknown[] = [];
		let total = 0;
		for (const { id } of agencies) {
			const { conversations } = client.agency(id);
			for (const row of await conversations.list({ pageSize: 100 }).toArray()) {
				total += row.totalMessages;
				for (const { id: key, body, status, direction, createdAt } of await conversations
					.listMessages(row.phoneNumber)
					.toArray())
					expected.push([
						id,
						row.phoneNumber,
						row.contactName,
						key,
						body?.replace("\0", "\uFFFD"),
						status,
						direction,
						createdAt,
					]);
			}
		}
		await until(async () => Number((await database.query("select count(*) as n from message")).rows[0]?.n)).toBe(total);
		for (const { id } of agencies) await nightly({ database, agency: client.agency(id) });
		const { rows } = await database.query(
			`select m.agency_id, m.phone, name, id::int, body, status, direction, created_at
			from message m join conversation c on c.agency_id = m.agency_id and c.phone = m.phone`,
		);
		const sorted = (all: unknown[]): string[] => all.map((row) => JSON.stringify(row)).sort();
		expect(sorted(rows.map((row) => Object.values(row)))).toEqual(sorted(expected));
	});

	test("an agency that is linked later is mirrored too", async () => {
		const url = await place();
		const { sandbox, mirrored } = await open(await openServer(url), createSandbox());
		const service = await serve(sandbox, { port: 0 });
		closing.push(service.close);
		await startWorker(url, service);
		sandbox.link({ name: "Second" }).contact(anna, { name: "Anna" }).writes("Hello?");
		await until(mirrored).toEqual({ names: [`${anna} Anna`], messages: 1 });
	});

	test("an agency that cannot be polled does not block the others, and the command fails", async () => {
		const url = await place();
		const { sandbox, mirrored } = await open(await openServer(url), createSandbox());
		const service = await serve(sandbox, { port: 0 });
		closing.push(service.close);
		sandbox.link({ name: "Zuid" }).contact(anna, { name: "Anna" }).writes("Hello?");
		sandbox.faults.add({ operation: "conversations.list", effect: { status: 403 } });
		const env = {
			...process.env,
			DATABASE_URL: url,
			MESSAGING_BASE_URL: service.baseUrl,
			MESSAGING_API_KEY: service.apiKey,
		};
		const once = promisify(execFile)(process.execPath, ["--import", "tsx", "sync/main.ts", "--once"], { cwd, env });
		await expect(once).rejects.toMatchObject({ code: 1, stdout: "Zuid: 1 conversations stored\n" });
		expect((await mirrored()).names).toEqual([`${anna} Anna`]);
	});
});
