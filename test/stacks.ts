// Calls that fail, each made by a function of this file; prints the stacks of their errors. A process of its own, as the
// engine's flags say what a stack has.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient } from "../src/index.ts";
import { agencyId, apiKey, conversationPage, phone, text } from "./canned.ts";

const server = createServer(({ url = "" }, response) => {
	const { status, body } = url.includes("pageSize=1")
		? { status: 200, body: conversationPage(["Anna"], "next") }
		: { status: 403, body: {} };
	response.writeHead(url.includes("cursor=") ? 403 : status).end(JSON.stringify(body));
}).listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));

const client = createClient({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, apiKey });
const { conversations, messages } = client.agency(agencyId);
const message = { to: phone, body: text };

const uses: Record<string, () => Promise<unknown>> = {
	async awaited() {
		await messages.send(message);
	},
	async returned() {
		return await conversations.get(phone);
	},
	async caught() {
		throw await client.me.get().catch((error) => error);
	},
	async result() {
		const result = await conversations.lookup([phone]).result();
		if (!result.ok) throw result.error;
	},
	async withResponse() {
		await messages.send(message).withResponse();
	},
	async together() {
		await Promise.all([phone, "+32470123457"].map((to) => messages.send({ to, body: text })));
	},
	async raced() {
		await Promise.race([messages.send(message), new Promise(() => {})]);
	},
	async wrapped() {
		await new Promise((resolve, reject) => client.me.get().then(resolve, reject));
	},
	async refused() {
		await messages.send({ to: "nobody", body: text });
	},
	thenOnly() {
		return new Promise((_resolve, reject) => {
			messages.send(message).catch((error) => reject(error));
		});
	},
	async awaitedLater() {
		const call = messages.send(message);
		call.catch(() => {});
		await new Promise((resolve) => setTimeout(resolve, 50));
		await call;
	},
	inTimer() {
		return new Promise((_resolve, reject) => {
			setTimeout(function inTimer() {
				conversations.list().toArray().catch(reject);
			});
		});
	},
	async page() {
		await conversations.list().page();
	},
	async pages() {
		await conversations.list().pages().next();
	},
	async toArray() {
		await conversations.list().toArray();
	},
	async walked() {
		for await (const { cursor } of conversations.list()) return cursor;
	},
	async walkedOn() {
		for await (const { cursor } of conversations.list({ pageSize: 1 })) if (cursor === "") return;
	},
	async badOptions() {
		for await (const { cursor } of conversations.list({ pageSize: 0 })) return cursor;
	},
};

const stacks: Record<string, string> = {};
for (const round of ["first", "again"]) {
	for (const [name, use] of Object.entries(uses)) {
		try {
			await use();
		} catch (error) {
			stacks[`${name}, ${round}`] = String(Reflect.get(Object(error), "stack"));
		}
	}
}
server.close();
server.closeAllConnections();
console.log(JSON.stringify(stacks));
