// What a CRM does with the package, the same in every runtime: throws where something is not as it should be.
import {
	createClient,
	type Fetch,
	isPartnerError,
	isWindowOpen,
	PartnerAbortError,
	PartnerError,
	PartnerInternalError,
	PartnerInvalidInput,
	PartnerNotFound,
	PartnerTimeoutError,
	PartnerUnauthorized,
} from "messaging-conversations";
import { check } from "./check.ts";
import { tryExports } from "./exports.ts";
import { tryOptions } from "./options.ts";
import { tryOptOuts } from "./outbox.ts";
import { trySync } from "./sync.ts";

/** What becomes of an answer of the sandbox. */
export interface Fault {
	operation: "me.get" | "conversations.list" | "messages.send";
	phase?: "before" | "after";
	effect: "hang" | "reset" | { status: number };
}

/** The other side of the service, wherever the sandbox runs. */
export interface Controls {
	writes: (phone: string, text: string) => Promise<unknown>;
	/** The contact reads what they got. */
	reads: (phone: string) => Promise<unknown>;
	fault: (fault: Fault) => Promise<unknown>;
	/** The service's time. */
	now: () => Promise<Date>;
	/** The texts that the phone got. */
	inbox: (phone: string) => Promise<string[]>;
}

/** A service to talk to: a fresh sandbox of the scenario "busy". */
export interface Place {
	baseUrl: string;
	apiKey: string;
	controls: Controls;
	fetch?: Fetch;
	dangerouslyAllowBrowser?: boolean;
}

const anna = "+447700900901";
const bert = "+447700900902";

async function failure(call: Promise<unknown>): Promise<PartnerError> {
	const error: unknown = await call.then(
		() => undefined,
		(reason: unknown) => reason,
	);
	if (error instanceof PartnerError && isPartnerError(error)) return error;
	throw new Error("not so: the call fails with a PartnerError", { cause: error });
}

/** Whether the engine's stacks name who awaits. */
async function hasAsyncStacks(): Promise<boolean> {
	async function inner() {
		await null;
		throw new Error("traced");
	}
	async function outer() {
		await inner();
	}
	return outer().then(
		() => false,
		(error: Error) => `${error.stack}`.includes(outer.name),
	);
}

/** Calls `say` with one line for each thing that went well. */
export async function exercise(place: Place, say: (line: string) => void): Promise<void> {
	const { controls, ...connection } = place;
	const options = { ...connection, retry: { baseDelayMs: 10 } };
	const client = createClient(options);

	const { agencies, scopes } = await client.me.get();
	check("one agency and both scopes", agencies.length === 1 && scopes.length === 2);
	const agency = client.agency(agencies[0]?.id ?? "");
	say("ok me");

	const seen = new Set<string>();
	for await (const { phoneNumber } of agency.conversations.list({ pageSize: 100 })) seen.add(phoneNumber);
	check("the list has 250 conversations", seen.size === 250);
	say("ok list, all pages");

	await controls.writes(anna, "Is the flat still free? 🏠");
	const entries = await agency.conversations.lookup(["+44 7700 900 901", "n/a", bert]);
	check("lookup answers in order", entries.map(({ phoneNumber }) => phoneNumber).join() === [anna, null, bert].join());
	check(
		"lookup knows who wrote",
		entries.map(({ conversation }) => conversation !== null).join() === "true,false,false",
	);
	say("ok lookup");

	const { conversation, messagePage } = await agency.conversations.get(anna);
	check("a text is read as it was written", messagePage.messages[0]?.body === "Is the flat still free? 🏠");
	check("no window is open in 2100", !isWindowOpen(conversation, new Date("2100-01-01T00:00:00Z")));
	say("ok get");

	const sent = await agency.messages.send({ to: anna, body: "Yes!" });
	check("an open window sends now", !sent.queued && sent.messageId.length > 0 && sent.operationId.length === 36);
	check("the phone got it", (await controls.inbox(anna)).join() === "Yes!");
	say("ok send now");

	const read: (string | null)[] = [];
	for await (const { body } of agency.conversations.listMessages(anna, { pageSize: 1 })) read.push(body);
	check("the messages are there, the newest first", read.join() === "Yes!,Is the flat still free? 🏠");
	const [newest, ...more] = await agency.conversations.listMessages(anna).toArray({ limit: 1 });
	check("and as many as are asked for", newest?.body === "Yes!" && more.length === 0);
	for await (const page of agency.conversations.listMessages(anna).pages())
		check("and by pages", page.messages.length === 2 && !page.hasMore);
	say("ok messages, all pages");

	const queued = await agency.messages.send({ to: bert, body: "Good morning" });
	check("a window that never opened queues", queued.queued && queued.queueId.length > 0);
	check("the text was not sent", !(await controls.inbox(bert)).includes("Good morning"));
	say("ok send queued");

	const missing = await failure(agency.conversations.get("+447700900999"));
	async function caller() {
		await agency.conversations.get("+447700900999");
	}
	const traced = await failure(caller());
	check("its stack shows who awaits", `${traced.stack}`.includes(caller.name) || !(await hasAsyncStacks()));
	const unmade = await failure(Promise.resolve().then(() => createClient({ ...options, baseUrl: "ftp://x" })));
	check("that of a refused option shows frames too", `${unmade.stack}`.split("\n").length > 1);
	check("a 404 is PartnerNotFound", missing instanceof PartnerNotFound && !(missing instanceof PartnerInternalError));
	check("it says what is known", missing.status === 404 && missing.attempts === 1 && !missing.retryable);
	const stranger = createClient({ ...options, apiKey: "sandbox_live.nobody.nothing" }).agency(agency.id);
	const refused = await failure(stranger.messages.send({ to: anna, body: "Hi" }));
	check("a refused send was not sent", refused instanceof PartnerUnauthorized && refused.outcome === "not_sent");
	const wrong = await failure(agency.messages.send({ to: "123", body: "Hi" }));
	check("a wrong number makes no request", wrong instanceof PartnerInvalidInput && wrong.attempts === 0);
	await controls.fault({ operation: "messages.send", effect: { status: 500 } });
	const lost = await failure(agency.messages.send({ to: anna, body: "Lost?" }, { retry: false }));
	check("a 500 leaves the outcome unknown", lost instanceof PartnerInternalError && lost.outcome === "unknown");
	check("no error shows a number", !`${lost.stack}${JSON.stringify(lost)}${wrong.stack}`.includes("7700900901"));
	say("ok errors: instanceof, outcome");

	await controls.fault({ operation: "messages.send", phase: "after", effect: { status: 500 } });
	const { data, response } = await agency.messages.send({ to: anna, body: "Once" }).withResponse();
	check("the second attempt succeeds", response.attempts === 2 && !data.queued && response.headers.has("content-type"));
	check("the text came once", (await controls.inbox(anna)).filter((text) => text === "Once").length === 1);
	// How often is the runtime's business too: Bun and Deno repeat a request by themselves whose kept connection is cut.
	await controls.fault({ operation: "messages.send", phase: "after", effect: "reset" });
	const again = await agency.messages.send({ to: anna, body: "Twice?" }).withResponse();
	check("a cut connection is survived", again.response.status === 200 && !again.data.queued);
	check("and the text came once", (await controls.inbox(anna)).filter((text) => text === "Twice?").length === 1);
	say("ok retry: after a 500, after a reset");

	const controller = new AbortController();
	await controls.fault({ operation: "messages.send", effect: "hang" });
	setTimeout(() => controller.abort(), 100);
	const aborted = await failure(agency.messages.send({ to: anna, body: "Stop" }, { signal: controller.signal }));
	check("the signal ends the call", aborted instanceof PartnerAbortError && aborted.outcome === "unknown");
	const early = await failure(client.me.get({ signal: controller.signal }));
	check("an aborted signal makes no request", early instanceof PartnerAbortError && early.attempts === 0);
	say("ok abort");

	await controls.fault({ operation: "conversations.list", effect: "hang" });
	const late = await failure(agency.conversations.list({ timeoutMs: 200, retry: false }).page());
	check("the timer ends the call", late instanceof PartnerTimeoutError && late.retryable);
	check("the client still works", (await client.me.get()).agencies.length === 1);
	say("ok timeout");

	await trySync(agency, anna, controls);
	say("ok sync: poll, checkpoint, watch, reconcile");
	tryOptOuts(client);
	say("ok outbox: opt-outs are known");

	await tryOptions(place, anna);
	say("ok every option");
	await tryExports();
	say("ok every export");
}
