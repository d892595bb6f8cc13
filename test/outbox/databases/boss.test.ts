import PgBoss from "pg-boss";
import { afterAll, beforeAll, test } from "vitest";
import { type Server, startServer } from "../../postgres.ts";
import { oneStopsAlone } from "./shared-boss.ts";

let server: Server | undefined;
beforeAll(async () => {
	server = await startServer(import.meta.url);
});
afterAll(() => server?.close());

test("an outbox that stops leaves the workers of another one on the same pg-boss 10", async () => {
	const connectionString = (await server?.create()) ?? "";
	await oneStopsAlone(connectionString, new PgBoss({ connectionString, schedule: false }));
});
