import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "../send-queue/database.ts";
import { createSendQueue } from "../send-queue/queue.ts";
import { createDatabase, noServer, type Server, startServer } from "./postgres.ts";
import { killed, openService, queueSuite, startWorker } from "./queue-suite.ts";

if (noServer) console.warn(noServer);

describe.skipIf(noServer)("the send queue on a PostgreSQL server", () => {
	let server: Server | undefined;
	let url = "";
	beforeAll(async () => {
		server = await startServer();
		url = await createDatabase(server);
	});
	afterAll(() => server?.close());

	queueSuite(() => url);

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
