// The send queue on a PostgreSQL server, with one worker and with two, and on PGlite in the long run.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createClient } from "messaging-conversations";
import { createOutbox, postgresStore } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { afterAll, afterEach, expect, test } from "vitest";
import { isLong } from "../../../test/length.ts";
import { type Server, startServer } from "../../../test/postgres.ts";
import { quickCopy } from "../../../test/quick.ts";
import { openDatabase } from "../database.ts";
import { startEngine } from "../send-queue/engine.ts";
import { createNotes, sendNote } from "../send-queue/notes.ts";
import { createPage } from "../send-queue/page.ts";

const cwd = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "send-queue-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
	for (const close of closing.splice(0).reverse()) await close();
});

let server: Server | undefined;
afterAll(() => server?.close());

/** The address of a new database on a server. */
async function place(): Promise<string> {
	server ??= await startServer(import.meta.url);
	return server.create();
}

async function open(url?: string) {
	const sandbox = createSandbox({ now: new Date() });
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Hello");
	const database = await openDatabase(url ?? (await place()));
	closing.push(database.close);
	const outbox = createOutbox({ client: createClient({ ...sandbox.connection }), store: postgresStore(database) });
	await outbox.migrate();
	await createNotes(database);
	const note = (id: string, body: string, to = "+44 7700 900101") => ({ id, agencyId: sandbox.agency().id, to, body });
	return { sandbox, anna, database, outbox, note };
}

test("the CRM's note and its text are there together, or neither is", async () => {
	const { database, outbox, note } = await open();
	await sendNote(database, outbox, note("a", "Hi"));
	await expect(sendNote(database, outbox, note("b", "Hi", "see notes"))).rejects.toMatchObject({
		_tag: "PartnerInvalidInput",
	});
	expect((await database.query("select id from note")).rows).toEqual([{ id: "a" }]);
	expect([(await outbox.status("a"))?.state, await outbox.status("b")]).toEqual(["waiting", undefined]);
});

test("over the page a double click is one text, and the page says what became of it", async () => {
	const { sandbox, anna, database, outbox } = await open();
	const server = createPage(database, outbox, sandbox.agency().id).listen(0, "127.0.0.1");
	await once(server, "listening");
	closing.push(async () => server.close());
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const [, id = ""] = /name="id" value="([^"]+)"/.exec(await (await fetch(url)).text()) ?? [];
	const body = new URLSearchParams({ id, to: "+44 7700 900101", body: "<b>Hi</b>" });
	const click = () => fetch(`${url}/notes`, { method: "POST", body, redirect: "manual" });
	expect((await Promise.all([click(), click()])).map(({ status }) => status)).toEqual([303, 303]);
	await outbox.runOnce();
	expect(anna.inbox().map((entry) => entry.body)).toEqual(["<b>Hi</b>"]);
	expect(await (await fetch(`${url}/notes/${id}`)).json()).toMatchObject({ state: "sent" });
	expect(await (await fetch(url)).text()).toContain(
		"<li><q>&#60;b&#62;Hi&#60;/b&#62;</q> to +447700900101: Sent.</li>",
	);
	sandbox.faults.add({ operation: "messages.send", phase: "before", effect: { status: 400 } });
	const refused = { id: "refused", agencyId: sandbox.agency().id, to: anna.phoneNumber, body: "Hello" };
	await sendNote(database, outbox, refused);
	await outbox.runOnce();
	const reason = (await outbox.status("refused"))?.error?.message;
	expect(await (await fetch(url)).text()).toContain(`Correct it, and enqueue it with a new id. ${reason}</li>`);
	const wrong = await fetch(`${url}/notes`, {
		method: "POST",
		body: new URLSearchParams({ id: "x", to: "nobody", body: "Hi" }),
	});
	expect([wrong.status, (await fetch(`${url}/notes/x`)).status]).toEqual([422, 404]);
	const forms = [undefined, { to: "+44 7700 900101", body: "Hi" }, { id: "x", to: "+44 7700 900101", body: "\0" }];
	for (const form of forms) {
		const init = { method: "POST", ...(form && { body: new URLSearchParams(form) }) };
		expect((await fetch(`${url}/notes`, init)).status).toBe(422);
	}
});

test("the page takes a long text of emojis, and sends lines as they were written", async () => {
	const { sandbox, anna, database, outbox } = await open();
	const server = createPage(database, outbox, sandbox.agency().id).listen(0, "127.0.0.1");
	await once(server, "listening");
	closing.push(async () => server.close());
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const write = async (id: string, body: string) => {
		const form = new URLSearchParams({ id, to: anna.phoneNumber, body });
		return (await fetch(`${url}/notes`, { method: "POST", body: form, redirect: "manual" })).status;
	};
	const emojis = "😀".repeat(10_000);
	expect([await write("emojis", emojis), await write("lines", "Friday\r\nor Sunday?")]).toEqual([303, 303]);
	await outbox.runOnce();
	expect(anna.inbox().map(({ body }) => body)).toEqual([emojis, "Friday\nor Sunday?"]);
});

async function startWorker(url: string, service: { baseUrl: string; apiKey: string }): Promise<ChildProcess> {
	const file = quickCopy(join(cwd, "send-queue/worker.ts"), "\tengine,", "\tengine, settleMs: 1_500, followMs: [300],");
	const worker = spawn(process.execPath, ["--liftoff-only", "--import", "tsx", file], {
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

// The tests of the databases kill workers on SQLite and on a server.
if (isLong)
	test("a worker that is killed in the middle sends nothing twice and loses nothing", async () => {
		const url = join(folder, "killed");
		const { sandbox, anna, database, outbox, note } = await open(url);
		for (const body of ["1", "2", "3"]) await sendNote(database, outbox, note(body, body));
		// The folder belongs to one process.
		await closing.pop()?.();
		const service = await serve(sandbox);
		closing.push(service.close);
		const hung = sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "hang" });
		const worker = await startWorker(url, service);
		await expect.poll(() => hung.remaining).toBe(0);
		worker.kill("SIGKILL");
		await once(worker, "exit");
		const next = await startWorker(url, service);
		const texts = () => anna.inbox().map(({ body }) => body);
		await expect.poll(texts).toEqual(["1", "2", "3"]);
		next.kill("SIGTERM");
		expect((await once(next, "exit"))[0]).toBe(0);
	});

test("of two workers one is killed in the middle: the other finishes its texts, each once and in order", async () => {
	const url = await place();
	const { sandbox, database, note } = await open(url);
	const service = await serve(sandbox);
	closing.push(service.close);
	const phones = ["+447700900111", "+447700900112", "+447700900113", "+447700900114"];
	const people = phones.map((phone) => sandbox.agency().contact(phone));
	for (const person of people) person.writes("Hello");
	const hung = sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "hang", times: 3 });
	const workers = [await startWorker(url, service), await startWorker(url, service)];

	const { engine, stop } = await startEngine(url);
	const outbox = createOutbox({
		client: createClient({ ...sandbox.connection }),
		store: postgresStore(database),
		engine,
	});
	// All in one transaction, as a mailing is: either all contacts get a text, or none does.
	await database.transaction(async (tx) => {
		for (const body of ["1", "2", "3"])
			for (const to of phones) await outbox.enqueue(note(`${to} ${body}`, body, to), { tx });
	});
	await expect.poll(() => hung.remaining).toBe(0);
	workers[0]?.kill("SIGKILL");
	const texts = () => people.map((person) => person.inbox().map(({ body }) => body));
	await expect.poll(() => texts().flat().length).toBe(12);
	workers[1]?.kill("SIGTERM");
	await once(workers[1] ?? process, "exit");
	await stop();
	expect(texts()).toEqual(phones.map(() => ["1", "2", "3"]));
});

test("a text that is stored from the command line is sent by the worker on the server", async () => {
	const url = await place();
	const { sandbox } = await open(url);
	const service = await serve(sandbox);
	closing.push(service.close);
	const bert = sandbox.agency().contact("+447700900122");
	bert.writes("Hello");
	const env = {
		...process.env,
		DATABASE_URL: url,
		MESSAGING_BASE_URL: service.baseUrl,
		MESSAGING_API_KEY: service.apiKey,
	};
	const args = ["--import", "tsx", "send-queue/enqueue.ts", "+44 7700 900122", "Hello back"];
	expect((await promisify(execFile)(process.execPath, args, { cwd, env })).stdout).toMatch(/^stored as .+\n$/);
	await startWorker(url, service);
	await expect.poll(() => bert.inbox().map(({ body }) => body)).toEqual(["Hello back"]);
	await expect(promisify(execFile)(process.execPath, args, { cwd, env: { ...env, DATABASE_URL: "" } })).rejects.toThrow(
		"DATABASE_URL",
	);
});
