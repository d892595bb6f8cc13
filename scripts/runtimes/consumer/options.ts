// Each option that the client, a call and a message take, given once: a new one does not compile before it is here.
import {
	type CallOptions,
	type ClientOptions,
	createClient,
	type Fetch,
	type ListOptions,
	type LookupOptions,
	type OutgoingMessage,
	operationIdFrom,
	PartnerInvalidInput,
} from "messaging-conversations";
import { type WatchAgenciesOptions, watchAgencies } from "messaging-conversations/sync";
import type { Place } from "./exercise.ts";

type Every<Options> = { [Option in keyof Required<Options>]: Exclude<Options[Option], undefined> };

function same(what: string, found: unknown, expected: unknown): void {
	const [left, right] = [JSON.stringify(found), JSON.stringify(expected)];
	if (left !== right) throw new Error(`not so: ${what}: ${left} is not ${right}`);
}

/** `phone` has written a moment ago, and is the only number that may be sent to. Throws where an option does nothing. */
export async function tryOptions({ controls, baseUrl, apiKey, ...place }: Place, phone: string): Promise<void> {
	const attempts: string[] = [];
	const lines: string[] = [];
	const spans: string[] = [];
	const drifts: string[] = [];
	const agents: string[] = [];
	const sources: string[] = [];
	const over: Fetch = place.fetch ?? ((url, init) => globalThis.fetch(url, init));
	// Without `transport`, which takes the place of `fetch`: entry-points.ts tries it.
	const every: Every<Omit<ClientOptions, "transport">> = {
		baseUrl,
		apiKey: async () => apiKey,
		async fetch(url, init) {
			const sent = new Headers(init.headers);
			agents.push(sent.get("user-agent") ?? "");
			sources.push(sent.get("x-request-source") ?? "");
			const response = await over(url, init);
			if (!url.endsWith("/me") || response.status !== 200) return response;
			const newer = { ...Object(JSON.parse(await response.text())), invented: true };
			const headers = { "content-type": "application/json", "x-correlation-id": "cor_1" };
			return new Response(JSON.stringify(newer), { status: 200, headers });
		},
		timeoutMs: 10_000,
		deadline: 20_000,
		retry: { attempts: 2, baseDelayMs: 10, maxDelayMs: 20, budget: 50 },
		logger: {
			debug: (line) => lines.push(`debug ${line}`),
			info: (line) => lines.push(`info ${line}`),
			warn: (line) => lines.push(`warn ${line}`),
			error: (line) => lines.push(`error ${line}`),
		},
		onAttempt: ({ attempt, status }) => attempts.push(`${attempt}: ${status}`),
		tracer: {
			startSpan: (name) => ({ setAttributes: () => {}, setStatus: () => {}, end: () => spans.push(name) }),
		},
		onContractDrift: ({ path, kind }) => drifts.push(`${kind} ${path}`),
		headers: { "x-request-source": "crm" },
		allowRecipients: [phone],
		allowInsecureHosts: ["sandbox"],
		errorBodies: "service",
		appInfo: { name: "crm", version: "1.2" },
		defaultCountry: "GB",
		dangerouslyAllowBrowser: place.dangerouslyAllowBrowser ?? false,
	};
	const call: Every<CallOptions> = {
		signal: new AbortController().signal,
		timeoutMs: 5_000,
		deadline: 10_000,
		keyScope: {},
		retry: { attempts: 3 },
		headers: { "x-request-source": "nightly job" },
	};
	const client = createClient(every);

	await controls.fault({ operation: "me.get", effect: { status: 500 } });
	const { data, response } = await client.me.get(call).withResponse();
	same("the call took two attempts", response.attempts, 2);
	same("onAttempt", attempts, ["1: 500", "2: 200"]);
	same(
		"logger",
		lines.map((line) => line.split(" ").slice(0, 3).join(" ")),
		["warn messaging-conversations me.get", "debug messaging-conversations me.get"],
	);
	same("tracer", spans, ["GET /me"]);
	same("onContractDrift", drifts, ["unknown-field invented"]);
	// A page has a User-Agent of its own.
	const named = agents.map((agent) => / crm\/1\.2$/.test(agent));
	same("appInfo", named, every.dangerouslyAllowBrowser ? [false, false] : [true, true]);
	same("headers", sources, ["nightly job", "nightly job"]);
	const agency = client.agency(data.agencies[0]?.id ?? "");

	const first = await agency.conversations.list({ pageSize: 10 }).page();
	const list: Every<ListOptions> = {
		...call,
		pageSize: 10,
		cursor: first.nextCursor ?? "",
		readAhead: false,
		search: "7700900",
	};
	same("pageSize", first.conversations.length, 10);
	const { cursor, ...fromTheTop } = list;
	const found = await agency.conversations.list(fromTheTop).toArray({ limit: 1 });
	same(
		"search",
		found.map(({ phoneNumber }) => phoneNumber),
		[phone],
	);
	const { conversations } = await agency.conversations.list({ ...call, pageSize: 10, cursor }).page();
	same(
		"cursor",
		conversations.some((row) => row.cursor === first.conversations[0]?.cursor),
		false,
	);
	same("list", (await agency.conversations.list(list).page().result()).ok, true);

	const lookup: Every<LookupOptions> = { ...call, concurrency: 2 };
	const [entry] = await agency.conversations.lookup(["07400 123456"], lookup);
	same("defaultCountry", entry?.phoneNumber, "+447400123456");

	const operationId = await operationIdFrom("crm", "note-4711");
	const message: Every<OutgoingMessage> = {
		to: phone,
		body: "With everything",
		operationId,
		subaccountId: null,
		consentLanguage: "English",
		ifHeld: "refuse",
	};
	const stored = new Map<string, string>();
	const polls: string[] = [];
	const fleet: Every<WatchAgenciesOptions> = {
		load: (agencyId) => stored.get(agencyId),
		save: (agencyId, checkpoint) => void stored.set(agencyId, checkpoint),
		since: "beginning",
		requestsPerSecond: 100,
		minMs: 1_000,
		maxMs: 2_000,
		discoverMs: 1_000,
		partition: { index: 0, of: 1 },
		lease: () => true,
		onPoll: ({ agencyId }) => polls.push(agencyId),
		onError: (error) => lines.push(error.message),
		lookbackMs: 60_000,
		statuses: "read",
		skip: (number) => number !== phone,
		raw: false,
		concurrency: 2,
		signal: new AbortController().signal,
	};
	const followed = watchAgencies(client, fleet);
	for await (const change of followed) {
		same("skip", change.phoneNumber, phone);
		await change.save();
		break;
	}
	same("save", stored.get(agency.id)?.includes(phone), true);
	await followed.erase(phone);

	attempts.length = 0;
	same("operationId", (await agency.messages.send(message, call)).operationId, operationId);
	same("ifHeld reads first", attempts, ["1: 200", "1: 200"]);
	const refused = await agency.messages.send({ to: "+447700900903", body: "Not to you" }).result();
	same("allowRecipients", !refused.ok && refused.error instanceof PartnerInvalidInput, true);
	same("and the phone got one text", (await controls.inbox(phone)).filter((text) => text === message.body).length, 1);
}
