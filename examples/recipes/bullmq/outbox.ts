import { Queue, Worker } from "bullmq";
import { createClient } from "messaging-conversations";
import {
	bullmqEngine,
	createOutbox,
	mysqlStore,
} from "messaging-conversations/outbox";
import mysql from "mysql2/promise";

const {
	MESSAGING_BASE_URL: baseUrl,
	MESSAGING_API_KEY: apiKey,
	DATABASE_URL = "",
	REDIS_URL = "",
} = process.env;

export const client = createClient({ baseUrl, apiKey });
export const pool = mysql.createPool(DATABASE_URL);
export const connection = { url: REDIS_URL };
export const queue = new Queue("messaging-outbox", { connection });
// BullMQ connects again by itself
queue.on("error", (error) => console.error(error.message));

export const outbox = createOutbox({
	client,
	store: mysqlStore(pool),
	engine: bullmqEngine({ queue, Worker }),
});
