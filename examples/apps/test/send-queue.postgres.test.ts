import { execFile } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "../send-queue/database.ts";
import { createSendQueue } from "../send-queue/queue.ts";
import { createDatabase, databases, type Server, startServer, type TestDatabase } from "./postgres.ts";
import { cwd, killed, openService, queueSuite, startWorker } from "./queue-suite.ts";

describe("the send queue on a PostgreSQL server", () => {
	let server: Server | undefined;
	let database: TestDatabase | undefined;
	let url = "";
	beforeAll(async () => {
		server = await startServer();
		database = await createDatabase(server);
		url = database.url;
	});
	afterAll(async () => {
		await database?.drop();
		if (server) expect(await databases(server)).not.toContain(new URL(url).pathname.slice(1));
		await server?.close();
	});

	queueSuite(() => url);

	/** One contact who has just written, and transactions that stay open until another waits for a lock of theirs. */
	async function open(phone: string) {
		const database = await openDatabase(url);
		const queue = await createSendQueue(database, { pollSeconds: 0.5 });
		const sandbox = createSandbox();
		const contact = sandbox.agency().contact(phone);
		contact.writes("Hello");
		const work = () => queue.work(createClient({ ...sandbox.connection }).agency(sandbox.agency().id));
		const rows = async (sql: string) => (await database.executeSql(sql)).rows;
		const enqueue = (body: string, meanwhile?: () => unknown) =>
			database.transaction(async (sql) => {
				await queue.enqueue(sql, { to: phone, body });
				await meanwhile?.();
			});
		const waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
		const someoneWaits = async () => (await rows(waiting)).length > 0;
		const got = () => contact.inbox().map(({ body }) => body);
		const close = () => queue.stop().then(database.close);
		return { rows, work, enqueue, someoneWaits, got, close };
	}
	const until = (read: () => unknown) => expect.poll(read, { timeout: 60_000, interval: 50 });

	test("of two texts to one contact that are stored at the same time the first has a job, and the second waits", async () => {
		const { rows, work, enqueue, someoneWaits, got, close } = await open("+447700900120");
		await rows("insert into contact values ('+447700900120')");
		let second: Promise<void> | undefined;
		let stored = false;
		await enqueue("1", async () => {
			second = enqueue("2").then(() => void (stored = true));
			await until(async () => stored || (await someoneWaits())).toBe(true);
		});
		await second;
		const jobs = await rows("select body from pgboss.job join outgoing_text using (id) where phone = '+447700900120'");
		expect(jobs).toEqual([{ body: "1" }]);
		await work();
		await until(got).toEqual(["1", "2"]);
		await close();
	});

	test("a text that is stored while the one before it is settled has its turn", async () => {
		const { rows, work, enqueue, someoneWaits, got, close } = await open("+447700900121");
		await enqueue("1");
		await enqueue("2", async () => {
			await work();
			const settled = "select id from outgoing_text where phone = '+447700900121' and state = 'sent'";
			await until(async () => (await rows(settled)).length > 0 || (await someoneWaits())).toBe(true);
		});
		await until(got).toEqual(["1", "2"]);
		await close();
	});

	const run = (file: string, database: string, ...args: string[]) => {
		const env = { ...process.env, DATABASE_URL: database, MESSAGING_BASE_URL: "" };
		return promisify(execFile)(process.execPath, ["--import", "tsx", `send-queue/${file}`, ...args], { cwd, env });
	};

	test("the demo runs on the server, beside other texts, and leaves nothing there", async () => {
		const database = await openDatabase(url);
		const queue = await createSendQueue(database, { supervise: false });
		const schemas = () => database.executeSql("select nspname from pg_namespace where nspname !~ '^pg_' order by 1");
		const before = (await schemas()).rows;
		const id = await database.transaction((sql) => queue.enqueue(sql, { to: "+32470123456", body: "A real one" }));
		const { stdout } = await run("demo.ts", url);
		expect(stdout).toBe("3 requests, 2 texts: It is! Would Friday suit you?\n");
		const { rows } = await database.executeSql("select state from outgoing_text where id = $1", [id]);
		expect(rows).toEqual([{ state: "waiting" }]);
		expect((await schemas()).rows).toEqual(before);
		await database.executeSql("delete from pgboss.job where id = $1", [id]);
		await database.executeSql("delete from outgoing_text where id = $1", [id]);
		await queue.stop();
		await database.close();
		await expect(run("demo.ts", `${url}_absent`)).rejects.toThrow("does not exist");
	});

	test("a text that is queued from the command line is sent by the worker on the server", async () => {
		const { server: service, control, inbox } = await openService();
		await control("contacts/+447700900122/writes", { text: "Hello" });
		expect((await run("enqueue.ts", url, "+44 7700 900122", "Hello back")).stdout).toMatch(/^queued as .+\n$/);
		await startWorker(url, service);
		await until(() => inbox("+447700900122")).toEqual(["Hello back"]);
		await expect(run("enqueue.ts", "", "+44 7700 900122", "Hello back")).rejects.toThrow("DATABASE_URL");
	});

	test("of two workers one is killed in the middle: the other finishes its texts, each once and in order", async () => {
		const { server: service, control, inbox } = await openService();
		const phones = ["+447700900111", "+447700900112", "+447700900113", "+447700900114"];
		for (const phone of phones) await control(`contacts/${phone}/writes`, { text: "Hello" });
		const hung = await control("faults/add", { operation: "messages.send", phase: "after", effect: "hang", times: 3 });
		const workers = [await startWorker(url, service), await startWorker(url, service)];

		const database = await openDatabase(url);
		const queue = await createSendQueue(database, { ...killed, supervise: false });
		const texts = ["1", "2", "3"];
		// All in one transaction, as a mailing is: either everybody is written to, or nobody.
		await database.transaction(async (sql) => {
			for (const body of texts) for (const to of phones) await queue.enqueue(sql, { to, body });
		});
		await queue.stop();
		await database.close();

		await expect.poll(async () => (await control(`faults/${hung.id}`)).remaining, { timeout: 60_000 }).toBe(0);
		workers[0]?.kill("SIGKILL");
		const inboxes = () => Promise.all(phones.map(inbox));
		await expect.poll(async () => (await inboxes()).flat().length, { timeout: 60_000 }).toBe(12);
		workers[1]?.kill("SIGTERM");
		await once(workers[1] ?? process, "exit");
		expect(await inboxes()).toEqual(phones.map(() => texts));
	});
});
