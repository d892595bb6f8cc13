// `npm run send-queue`: two texts to one contact, while the service loses an answer. Nobody is reached. The database is
// embedded, or a PostgreSQL server (DATABASE_URL).
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { openDatabase } from "./database.ts";
import { createSendQueue } from "./queue.ts";

const sandbox = createSandbox();
const anna = sandbox.agency().contact("+32470123456", { name: "Anna" });
anna.writes("Is the flat still free?");
sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset", times: 1 });

// On a server it keeps to a schema of its own, dropped at the end: no worker there may send these texts, nor this one its.
const schema = `send_queue_demo_${process.pid}`;
const server = process.env.DATABASE_URL ? new URL(process.env.DATABASE_URL) : undefined;
server?.searchParams.set("options", `-c search_path=${schema}`);
const database = await openDatabase(server?.href);
const queue = await createSendQueue(database, { retryDelaySeconds: 1, pollSeconds: 0.5, schema });
await database.transaction(async (sql) => {
	// Your own tables are written to here as well.
	await queue.enqueue(sql, { to: "0470 12 34 56", body: "It is!" });
	await queue.enqueue(sql, { to: "0470 12 34 56", body: "Would Friday suit you?" });
});

// A client of your own retries by itself before the queue does.
const client = createClient({ ...sandbox.connection, retry: false });
await queue.work(client.agency(sandbox.agency().id));
const waiting = "select id from outgoing_text where state = 'waiting'";
while ((await database.executeSql(waiting)).rows.length > 0) await new Promise((resolve) => setTimeout(resolve, 200));
await queue.stop();
await database.executeSql(`drop schema ${schema} cascade`);
await database.close();

const sends = sandbox.requests().filter(({ operation }) => operation === "messages.send");
console.log(
	`${sends.length} requests, ${anna.inbox().length} texts: ${anna
		.inbox()
		.map(({ body }) => body)
		.join(" ")}`,
);
