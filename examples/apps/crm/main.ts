// `npm run crm`: a sandbox, a PostgreSQL, two workers, and a prompt.
import { fork } from "node:child_process";
import { start } from "node:repl";
import { createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { startServer } from "../../../test/postgres.ts";
import { openCrm } from "./crm.ts";

const sandbox = createSandbox({ now: new Date() });
const anna = sandbox.agency().contact("+447700900101", { name: "Anna" });
anna.writes("Is the flat still free?");
const service = await serve(sandbox, { follow: true });
const postgres = await startServer(import.meta.url);
process.env.DATABASE_URL = await postgres.create();
process.env.MESSAGING_BASE_URL = service.baseUrl;
process.env.MESSAGING_API_KEY = service.apiKey;
const crm = openCrm();
await crm.migrate();
const file = new URL("worker.ts", import.meta.url);
const workers = [fork(file), fork(file)];
const addWorker = () => workers.push(fork(file));
console.log(`Anna's phone: ${service.controlUrl}/ui/#token=${service.token}`);
console.log(`Workers: ${workers.map(({ pid }) => pid).join(", ")}`);
const prompt = start("crm> ");
Object.assign(prompt.context, { ...crm, ...service, anna, workers, addWorker });
prompt.once("exit", async () => {
	for (const worker of workers) worker.kill();
	await crm.sql.end();
	await service.close();
	await postgres.close();
});
