// What the send queue promises, on whichever database.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createClient, operationIdFrom } from "messaging-conversations";
import { createSandbox, type Sandbox } from "messaging-conversations/sandbox";
import { type SandboxServer, serve } from "messaging-conversations/sandbox/server";
import { afterEach, expect, test } from "vitest";
import { openDatabase } from "../send-queue/database.ts";
import { createSendQueue, deadLetterName, type SendQueueOptions } from "../send-queue/queue.ts";

const [anna, bert] = ["+32470123456", "+447700900102"];
const quick: SendQueueOptions = { retryDelaySeconds: 1, pauseSeconds: 1, pollSeconds: 0.5 };
const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
	for (const close of closing.splice(0).reverse()) await close();
});

/** `place` gives a database: a URL, or a folder. Nothing is left in it from one test to the next that would be sent. */
export function queueSuite(place: () => string): void {
	async function open(options: SendQueueOptions = {}) {
		const database = await openDatabase(place());
		closing.push(database.close);
		const queue = await createSendQueue(database, { ...quick, ...options });
		closing.push(queue.stop);
		const enqueue = (to: string, body: string) => database.transaction((sql) => queue.enqueue(sql, { to, body }));
		const rows = async (sql: string, values: string[] = []) => (await database.executeSql(sql, values)).rows;
		const state = async (id: string) => (await rows("select state, detail from outgoing_text where id = $1", [id]))[0];
		return { database, queue, enqueue, rows, state };
	}

	/** A sandbox in which both have just written. The client does not retry: that is left to the queue. */
	function people() {
		const sandbox = createSandbox();
		for (const phone of [anna, bert]) sandbox.agency().contact(phone).writes("Hello");
		const agency = createClient({ ...sandbox.connection, retry: false }).agency(sandbox.agency().id);
		const got = (phone: string) => textsOf(sandbox.agency().contact(phone).inbox());
		const sends = () => sandbox.requests().filter(({ operation }) => operation === "messages.send");
		return { sandbox, agency, got, sends };
	}

	const until = (read: () => unknown) => expect.poll(read, { timeout: 60_000, interval: 100 });

	test("the CRM's row and the job are there together, or neither is", async () => {
		const { database, queue, rows } = await open();
		await rows("create table if not exists note (id text primary key)");
		const both = database.transaction(async (sql) => {
			await sql.executeSql("insert into note values ($1)", ["note-1"]);
			await queue.enqueue(sql, { to: anna, body: "Never" });
			throw new Error("the CRM thought better of it");
		});
		await expect(both).rejects.toThrow("better");
		expect(await rows("select id from note")).toEqual([]);
		expect(await rows("select id from outgoing_text where body = 'Never'")).toEqual([]);
		expect(await rows("select id from pgboss.job")).toEqual([]);
		await expect(
			database.transaction((sql) => queue.enqueue(sql, { to: "see notes", body: "Hi" })),
		).rejects.toMatchObject({ _tag: "PartnerInvalidInput" });
	});

	test("a send that may have gone out is sent again with the same id and body, before the next", async () => {
		const { queue, enqueue, state } = await open();
		const { sandbox, agency, got, sends } = people();
		sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset", times: 1 });
		const first = await enqueue("0470 12 34 56", "Anna 1");
		const second = await enqueue(anna, "Anna 2");
		await queue.work(agency);
		await until(() => state(second)).toMatchObject({ state: "sent" });
		expect(await state(first)).toMatchObject({ state: "sent" });
		expect(got(anna)).toEqual(["Anna 1", "Anna 2"]);
		const again = { to: anna, body: "Anna 1", operationId: await operationIdFrom("send-queue", first) };
		const next = { to: anna, body: "Anna 2", operationId: await operationIdFrom("send-queue", second) };
		expect(sends().map(({ body }) => body)).toEqual([again, again, next]);
	});

	test("a contact whose sends wait holds up nobody else, and is read before the retry after a conflict", async () => {
		const { queue, enqueue, state } = await open({ concurrency: 2 });
		const { sandbox, agency, got } = people();
		sandbox.agency().conversation(anna).takeOver({ times: 1_000 });
		const waiting = [await enqueue(anna, "Anna 1"), await enqueue(anna, "Anna 2")];
		const others = [await enqueue(bert, "Bert 1"), await enqueue(bert, "Bert 2")];
		await queue.work(agency);
		for (const id of others) await until(() => state(id)).toMatchObject({ state: "sent" });
		expect([got(anna), got(bert)]).toEqual([[], ["Bert 1", "Bert 2"]]);
		sandbox.agency().conversation(anna).takeOver({ times: 0 });
		for (const id of waiting) await until(() => state(id)).toMatchObject({ state: "sent" });
		expect(got(anna)).toEqual(["Anna 1", "Anna 2"]);
		const about = (status: number, operation: string) =>
			sandbox.requests().filter((request) => request.status === status && request.operation === operation).length;
		expect(about(200, "conversations.get")).toBe(about(409, "messages.send"));
	});

	test("a text that waits for consent keeps the contact's next one back, and both arrive", async () => {
		const { queue, enqueue, state } = await open();
		const { sandbox, agency, got, sends } = people();
		sandbox.clock.advance({ hours: 25 });
		const [first, second] = [await enqueue(anna, "Anna 1"), await enqueue(anna, "Anna 2")];
		await queue.work(agency);
		const looks = () => sandbox.requests().filter(({ operation }) => operation === "conversations.get").length;
		await until(looks).toBeGreaterThan(1);
		expect([await state(first), await state(second)]).toMatchObject([{ state: "held" }, { state: "waiting" }]);
		expect(sends()).toHaveLength(1);
		sandbox.agency().contact(anna).accepts();
		await until(() => state(second)).toMatchObject({ state: "sent" });
		expect(await state(first)).toMatchObject({ state: "sent" });
		expect(got(anna)).toEqual(["Anna 1", "Anna 2"]);
	});

	test("a text to which the contact does not consent is told as dropped, and the next has its turn", async () => {
		const { queue, enqueue, state } = await open();
		const { sandbox, agency, got } = people();
		sandbox.clock.advance({ hours: 25 });
		const texts = [await enqueue(anna, "Anna 1"), await enqueue(anna, "Anna 2"), await enqueue(anna, "Anna 3")];
		const states = () => Promise.all(texts.map(async (id) => (await state(id))?.state));
		await queue.work(agency);
		await until(states).toEqual(["held", "waiting", "waiting"]);
		sandbox.clock.advance({ hours: 48 });
		await until(states).toEqual(["dropped", "held", "waiting"]);
		sandbox.agency().contact(anna).declines();
		await until(states).toEqual(["dropped", "dropped", "sent"]);
		expect(got(anna)).toEqual(["Anna 3"]);
	});

	test("a refused text is a dead letter, and the contact's next one goes", async () => {
		const { queue, enqueue, state, rows } = await open();
		const { sandbox, agency, got } = people();
		sandbox.clock.advance({ hours: 25 });
		sandbox.agency().consent.set({ missingTemplates: ["consent"] });
		const refused = await enqueue(anna, "Anna 1");
		await queue.work(agency);
		await until(() => state(refused)).toMatchObject({ state: "dead", detail: expect.any(String) });
		const [dead] = await rows("select data from pgboss.job where name = $1 order by created_on desc", [deadLetterName]);
		expect(dead).toEqual({ data: { textId: refused, reason: expect.any(String) } });
		sandbox.agency().contact(anna).writes("Are you there?");
		const next = await enqueue(anna, "Anna 2");
		await until(() => state(next)).toMatchObject({ state: "sent" });
		expect(got(anna)).toEqual(["Anna 2"]);
	});

	test("a text that a gateway turns away is tried again", async () => {
		const { queue, enqueue, state } = await open();
		const { sandbox, agency, got } = people();
		for (const status of [429, 404])
			sandbox.faults.add({ operation: "messages.send", effect: { kind: "html", status }, times: 1 });
		const id = await enqueue(anna, "Anna 1");
		await queue.work(agency);
		await until(() => state(id)).toMatchObject({ state: "sent" });
		expect(got(anna)).toEqual(["Anna 1"]);
	});

	test("a text whose fate stays unknown is a dead letter when its retries are used up", async () => {
		const { queue, enqueue, state } = await open({ retryLimit: 1 });
		const { sandbox, agency, sends } = people();
		sandbox.faults.add({ operation: "messages.send", effect: { status: 500 }, times: 2 });
		const lost = await enqueue(anna, "Anna 1");
		await queue.work(agency);
		await until(() => state(lost)).toEqual({ state: "dead", detail: "It is not known whether it was sent." });
		expect(sends()).toHaveLength(2);
	});

	test("a text that may have gone out is not called refused because a later try is", async () => {
		const { queue, enqueue, state, rows } = await open();
		const { sandbox, got } = people();
		sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset", times: 1 });
		sandbox.faults.add({ operation: "messages.send", effect: { status: 400 }, skip: 1, times: 1 });
		const doubtful = await enqueue(anna, "Anna 1");
		const outcome = async () => (await rows("select outcome from outgoing_text where id = $1", [doubtful]))[0];
		const during: unknown[] = [];
		// Were the process to die at this moment, this is what would be known.
		const fetch: typeof globalThis.fetch = async (...request) => {
			during.push(await outcome());
			return sandbox.fetch(...request);
		};
		await queue.work(createClient({ ...sandbox.connection, fetch, retry: false }).agency(sandbox.agency().id));
		await until(() => state(doubtful)).toMatchObject({ state: "dead" });
		expect(got(anna)).toEqual(["Anna 1"]);
		const reason = expect.stringMatching(/^It is not known whether it was sent\. A later try: .*400/);
		expect(await state(doubtful)).toMatchObject({ detail: reason });
		const [dead] = await rows("select data from pgboss.job where name = $1 order by created_on desc", [deadLetterName]);
		expect(dead).toEqual({ data: { textId: doubtful, reason } });
		expect([...during, await outcome()]).toEqual([
			{ outcome: "unknown" },
			{ outcome: "unknown" },
			{ outcome: "unknown" },
		]);
	});

	test("a text whose tries were all turned away was not sent, and says so when its retries are used up", async () => {
		const { queue, enqueue, state, rows } = await open({ retryLimit: 1 });
		const { sandbox, agency } = people();
		sandbox.agency().conversation(anna).takeOver({ times: 1_000 });
		const refused = await enqueue(anna, "Anna 1");
		await queue.work(agency);
		await until(() => state(refused)).toMatchObject({ state: "dead" });
		expect(await state(refused)).toMatchObject({ detail: expect.stringMatching(/^It was not sent\. .*409/) });
		expect(await rows("select outcome from outgoing_text where id = $1", [refused])).toEqual([{ outcome: "not_sent" }]);
	});

	test("a key that may not send costs no text", async () => {
		const { queue, enqueue, state } = await open();
		const { sandbox, agency, got, sends } = people();
		const [key] = sandbox.keys.list();
		sandbox.keys.setScopes(key?.id ?? "", ["conversations:read"]);
		const id = await enqueue(anna, "Anna 1");
		await queue.work(agency);
		await until(() => sends().map(({ status }) => status)).toContain(403);
		sandbox.keys.setScopes(key?.id ?? "", ["conversations:read", "messages:write"]);
		await until(() => state(id)).toMatchObject({ state: "sent" });
		expect(got(anna)).toEqual(["Anna 1"]);
	});

	test("a key that may not send, or not read, costs no text a retry", async () => {
		const { queue, enqueue, state } = await open({ retryLimit: 1 });
		const { sandbox, agency, got } = people();
		const key = sandbox.keys.list()[0]?.id ?? "";
		const refused = () => sandbox.requests().filter(({ status }) => status === 403).length;
		sandbox.clock.advance({ hours: 25 });
		sandbox.keys.setScopes(key, ["conversations:read"]);
		const id = await enqueue(anna, "Anna 1");
		await queue.work(agency);
		await until(refused).toBeGreaterThan(2);
		sandbox.keys.setScopes(key, ["messages:write"]);
		const before = refused();
		await until(refused).toBeGreaterThan(before + 2);
		expect(await state(id)).toMatchObject({ state: "held" });
		sandbox.agency().contact(anna).accepts();
		sandbox.keys.setScopes(key, ["conversations:read", "messages:write"]);
		await until(() => state(id)).toMatchObject({ state: "sent" });
		expect(got(anna)).toEqual(["Anna 1"]);
	});

	test("a worker that is killed in the middle sends nothing twice and loses nothing", async () => {
		const texts = ["Anna 1", "Bert 1", "Anna 2", "Bert 2", "Anna 3"];
		const service = await openService();
		const { control, inbox } = service;
		for (const phone of [anna, bert]) await control(`contacts/${phone}/writes`, { text: "Hello" });
		const before = await open({ ...killed, supervise: false });
		for (const text of texts) await before.enqueue(text.startsWith("Anna") ? anna : bert, text);
		for (const close of closing.splice(1).reverse()) await close();

		// Sent, but the worker dies before it hears of it; then asked for, and it dies before anything is sent.
		for (const phase of ["after", "before"]) {
			const { id } = await control("faults/add", { operation: "messages.send", phase, effect: "hang", times: 2 });
			const worker = await startWorker(place(), service.server);
			await until(async () => (await control(`faults/${id}`)).remaining).toBe(0);
			worker.kill("SIGKILL");
			await once(worker, "exit");
			expect([await inbox(anna), await inbox(bert)]).toEqual([["Anna 1"], ["Bert 1"]]);
		}

		const last = await startWorker(place(), service.server);
		await until(async () => [...(await inbox(anna)), ...(await inbox(bert))]).toHaveLength(texts.length);
		last.kill("SIGTERM");
		expect((await once(last, "exit"))[0]).toBe(0);
		expect([await inbox(anna), await inbox(bert)]).toEqual([
			["Anna 1", "Anna 2", "Anna 3"],
			["Bert 1", "Bert 2"],
		]);
		const { rows } = await open({ supervise: false });
		expect(await rows("select id from outgoing_text where state = 'waiting'")).toEqual([]);
	});
}

/** Of a worker that is killed in a test: its jobs are given to another after four seconds. */
export const killed: SendQueueOptions = { ...quick, deadlineMs: 2_000 };
export const cwd = fileURLToPath(new URL("..", import.meta.url));

/** The sandbox over HTTP, driven by its control routes as from another language. */
export async function openService() {
	const server = await serve(createSandbox());
	closing.push(server.close);
	async function control(path: string, body?: unknown) {
		const answer = await fetch(`${server.controlUrl}/${path}`, {
			method: body ? "POST" : "GET",
			headers: { authorization: `Bearer ${server.token}` },
			...(body ? { body: JSON.stringify(body) } : {}),
		});
		expect(answer.status).toBe(200);
		return answer.json();
	}
	const inbox = async (phone: string): Promise<string[]> => textsOf(await control(`contacts/${phone}/inbox`));
	return { server, control, inbox };
}

/** A worker in a process of its own, as `npm run send-queue` starts it. */
export async function startWorker(place: string, server: SandboxServer): Promise<ChildProcess> {
	const worker = spawn(process.execPath, ["--import", "tsx", "send-queue/worker.ts"], {
		cwd,
		env: {
			...process.env,
			DATABASE_URL: place,
			MESSAGING_BASE_URL: server.baseUrl,
			MESSAGING_API_KEY: server.apiKey,
			SEND_QUEUE: JSON.stringify(killed),
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

const textsOf = (inbox: ReturnType<ReturnType<ReturnType<Sandbox["agency"]>["contact"]>["inbox"]>): string[] =>
	inbox.filter(({ kind }) => kind === "text").map(({ body }) => body);
