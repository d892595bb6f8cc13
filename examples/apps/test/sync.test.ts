// The mirror on PGlite and on a PostgreSQL server, with a worker that is killed in the middle of a catch-up.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createClient, toE164 } from "messaging-conversations";
import { createSandbox, type Sandbox } from "messaging-conversations/sandbox";
import { type SandboxServer, serve } from "messaging-conversations/sandbox/server";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Server, startServer } from "../../../test/postgres.ts";
import { type Database, openDatabase } from "../database.ts";
import { look, nightly, tables } from "../sync/mirror.ts";
import { createMirror } from "../sync/worker.ts";
import { emptyPglite } from "./pglite.ts";

const cwd = fileURLToPath(new URL("..", import.meta.url));
const anna = "+447700900101";
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
	for (const close of closing.splice(0).reverse()) await close();
});
const until = (read: () => unknown) => expect.poll(read, { timeout: 90_000, interval: 50 });

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

async function open(database: Database, sandbox = createSandbox({ seed: "busy" })) {
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
	test("looks mirror what changes, and the night what moved nothing to the top", async () => {
		const { database, sandbox, agency, mirrored } = await open(await empty());
		expect(await look({ database, agency })).toBe(250);
		expect(await mirrored()).toEqual(await truth(sandbox));
		expect(await look({ database, agency })).toBe(0);
		sandbox.clock.advance({ minutes: 10 });
		sandbox.agency().contact(anna).writes("Hello?");
		expect(await look({ database, agency })).toBe(1);
		sandbox.agency().contact("+447700900200", { name: "Renamed" });
		sandbox.agency().conversation("+447700900201").hide();
		expect(await look({ database, agency })).toBe(0);
		expect(await nightly({ database, agency })).toBe(2);
		expect(await mirrored()).toEqual(await truth(sandbox));
		expect(await nightly({ database, agency })).toBe(0);
	});

	test("looks go on after a night that stored a message before the feed handed it over", async () => {
		const { database, sandbox, agency, mirrored } = await open(await empty(), createSandbox());
		sandbox.agency().contact(anna, { name: "Anna" }).writes("Hello?");
		await look({ database, agency });
		const { messageId } = await agency.messages.send({ to: anna, body: "Hello Anna" });
		expect(await nightly({ database, agency })).toBe(1);
		sandbox.message(messageId ?? "").delivered();
		expect(await look({ database, agency })).toBe(1);
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
		await look({ database, agency });
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
		await expect(look({ database, agency })).rejects.toMatchObject({ _tag: "PartnerInternalError" });
		sandbox.clock.advance({ hours: 25 });
		await expect(look({ database, agency })).rejects.toMatchObject({ _tag: "PartnerInternalError" });
		expect(await look({ database, agency })).toBe(0);
		fault.remove();
		expect(await nightly({ database, agency })).toBe(1);
		expect(await mirrored()).toEqual(await truth(sandbox));
	});

	test("a look that breaks off goes on where it was, and stores no message twice", async () => {
		const { database, sandbox, agency, mirrored } = await open(await empty());
		for (const stop of [7, 30, 100]) {
			const progress = (done: number): void => {
				if (done === stop) throw new Error("killed");
			};
			await expect(look({ database, agency, progress })).rejects.toThrow("killed");
			sandbox.clock.advance({ minutes: 3 });
			sandbox.agency().contact("+447700900350").writes(`${stop}`);
		}
		await look({ database, agency });
		expect(await mirrored()).toEqual(await truth(sandbox));
	});

	test("a change whose transaction fails with an error of this package is stored by the next look", async () => {
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
		await expect(look({ database: failing, agency })).rejects.toMatchObject({ _tag: "PartnerInvalidInput" });
		await look({ database, agency });
		expect(await mirrored()).toEqual(await truth(sandbox));
	});

	test("a worker that was taken for dead stores nothing after its successor", async () => {
		const { database, agency } = await open(await empty());
		let successor: Promise<PromiseSettledResult<number>[]> | undefined;
		const progress = (done: number): void => {
			// Either of the two may fail first, so that both are waited for from the start.
			if (done === 10) successor = Promise.allSettled([look({ database, agency })]);
		};
		const [late] = await Promise.allSettled([look({ database, agency, progress })]);
		const [next] = (await successor) ?? [];
		const ends = [late.status, next?.status].sort();
		expect(ends).toEqual(["fulfilled", "rejected"]);
	});

	test("a job an agency looks again by itself", async () => {
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

	test("a mirror that stops ends its look after the change in hand, and the next one goes on", async () => {
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

	test("an agency that is added again during a look at it holds up no other one", async () => {
		const { database, sandbox, agency } = await open(await empty(), createSandbox());
		const second = sandbox.link({ name: "Second" });
		const looks = new Map<string, number>();
		let end = (): void => {};
		const ended = new Promise<void>((resolve) => {
			end = resolve;
		});
		const client = createClient({
			...sandbox.connection,
			fetch: async (input, init) => {
				const id = [agency.id, second.id].find((id) => String(input).includes(id));
				if (id) looks.set(id, (looks.get(id) ?? 0) + 1);
				if (id === agency.id) await ended;
				return sandbox.connection.fetch(input, init);
			},
		});
		const mirror = await createMirror(database, { minSeconds: 1, maxSeconds: 1, pollSeconds: 0.5, concurrency: 2 });
		closing.push(mirror.stop);
		closing.push(async () => end());
		await mirror.add(agency.id);
		await mirror.work(client);
		await until(() => looks.get(agency.id)).toBe(1);
		await mirror.add(agency.id);
		await mirror.add(second.id);
		await until(() => looks.get(second.id)).toBeGreaterThan(2);
		expect(looks.get(agency.id)).toBe(1);
	});
}

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
		const worker = spawn(process.execPath, ["--import", "tsx", "sync/main.ts"], {
			cwd,
			env: {
				...process.env,
				DATABASE_URL: url,
				MESSAGING_BASE_URL: service.baseUrl,
				MESSAGING_API_KEY: service.apiKey,
				MIRROR: JSON.stringify({ minSeconds: 1, maxSeconds: 2, pollSeconds: 0.5, expireInSeconds: 4 }),
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

	test("an agency that is linked later is mirrored too", async () => {
		const url = await place();
		const { sandbox, mirrored } = await open(await openServer(url), createSandbox());
		const service = await serve(sandbox, { port: 0 });
		closing.push(service.close);
		await startWorker(url, service);
		sandbox.link({ name: "Second" }).contact(anna, { name: "Anna" }).writes("Hello?");
		await until(mirrored).toEqual({ names: [`${anna} Anna`], messages: 1 });
	});

	test("an agency that cannot be looked at holds up no other one, and the command fails", async () => {
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
