// Calls that fail, each made by a function of this file. Prints their stacks, with frames and without, and how many stacks
// a success captures. It runs in a process of its own, on Node or on Bun.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient, toE164 } from "../src/index.ts";
import { agencyId, apiKey, conversationPage, phone, text } from "./canned.ts";

const server = createServer(({ url = "" }, response) => {
	if (url.includes("pageSize=1") && !url.includes("cursor="))
		return void response.end(JSON.stringify(conversationPage(["Anna"], "next")));
	const isRetried = url.includes("search=retried");
	const _tag = isRetried ? "PartnerInternalError" : "PartnerForbidden";
	response.writeHead(isRetried ? 500 : 403).end(JSON.stringify({ _tag, message: "No." }));
}).listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));

const client = createClient({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, apiKey });
const { conversations, messages } = client.agency(agencyId);
const message = { to: phone, body: text };
const notText: string = JSON.parse("5");

const uses: Record<string, () => Promise<unknown>> = {
	async awaited() {
		await messages.send(message);
	},
	async retried() {
		const retry = { attempts: 3, baseDelayMs: 1, maxDelayMs: 1 };
		await conversations.list({ search: "retried", retry }).page();
	},
	async returned() {
		return await conversations.get(phone);
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
	async refused() {
		await messages.send({ to: "nobody", body: text });
	},
	async refusedLookup() {
		await conversations.lookup([phone, notText]);
	},
	async refusedLookupResult() {
		const result = await conversations.lookup([phone, notText]).result();
		if (!result.ok) throw result.error;
	},
	async refusedLookupWalked() {
		for await (const { input } of conversations.lookup([phone, notText])) if (input === "") return;
	},
	async lookup() {
		await conversations.lookup([phone]);
	},
	async lookupWalked() {
		for await (const entry of conversations.lookup([phone])) return entry;
	},
	async messagesWalked() {
		for await (const message of conversations.listMessages(phone)) return message;
	},
	async request() {
		await client.request({ method: "GET", path: "/tags" });
	},
	async throughFunction() {
		const passedOn = () => conversations.get(phone);
		await passedOn();
	},
	async agency() {
		client.agency("..");
	},
	async createClient() {
		createClient({ baseUrl: "ftp://x", apiKey });
	},
	async toE164() {
		toE164("112");
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

/** The stack of each use that fails, made twice. */
async function stacksOfUses(): Promise<Record<string, string>> {
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
	return stacks;
}

const stacks = await stacksOfUses();
const limit = Error.stackTraceLimit;
Error.stackTraceLimit = 0;
const withoutFrames = await stacksOfUses();
Error.stackTraceLimit = limit;

// The engine formats a stack when it is first read, and captures one whenever an Error is made.
let made = 0;
const Plain = globalThis.Error;
globalThis.Error = new Proxy(Plain, {
	construct(target, given, newTarget) {
		made++;
		return Reflect.construct(target, given, newTarget);
	},
});
const capture = Plain.captureStackTrace;
Plain.captureStackTrace = (...given) => {
	made++;
	capture?.(...given);
};
const fetch = async () => Response.json(conversationPage(["Anna"]));
const succeeding = createClient({ baseUrl: "http://127.0.0.1/api/v1", apiKey, fetch });
await succeeding.agency(agencyId).conversations.list().page();
for (let call = 0; call < 10; call++) await succeeding.agency(agencyId).conversations.list().toArray();
globalThis.Error = Plain;

async function failing(): Promise<never> {
	await null;
	throw new Error("traced");
}
async function* generating(): AsyncGenerator<never> {
	yield await failing();
}
async function awaiting(): Promise<void> {
	await failing();
}
async function iterating(): Promise<void> {
	for await (const item of generating()) return item;
}
async function waiting(): Promise<void> {
	// biome-ignore lint/suspicious/noThenProperty: what a lookup is, which starts when it is awaited
	await { then: (...handlers: Parameters<Promise<never>["then"]>) => failing().then(...handlers) };
}
/** Whether this engine puts the caller of an async function into an error's stack. */
async function isNamed(caller: () => Promise<void>): Promise<boolean> {
	const error: unknown = await caller().catch((reason: unknown) => reason);
	return String(Reflect.get(Object(error), "stack")).includes(caller.name);
}
const names = {
	awaits: await isNamed(awaiting),
	iterates: await isNamed(iterating),
	waits: await isNamed(waiting),
};

server.close();
server.closeAllConnections();
console.log(JSON.stringify({ stacks, withoutFrames, captured: made, names }));
