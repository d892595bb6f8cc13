import { type ClientOptions, createClient, type Transport } from "../../src/index.ts";
import { type Adapter, adapters } from "../adapters.ts";
import { isLong } from "../length.ts";
import { agencyId, apiKey, type Operation, operations, phone } from "./answers.ts";
import { factsOf } from "./caller.ts";
import table from "./conformance.json" with { type: "json" };
import { faultNamed } from "./faults.ts";
import { type Service, type ServiceOptions, startService } from "./service.ts";

interface Expectation {
	readonly attempts: number;
	/** The class of the error; null where the call succeeds. */
	readonly tag: string | null;
	readonly status?: number;
	readonly retryable?: boolean;
	readonly retryAfterMs?: number;
	/** Of a send. */
	readonly outcome: string;
}

interface Row extends Expectation {
	readonly id: string;
	/** Number of the kind of fault, as the names of the tests have it. */
	readonly row: number;
	/** What each attempt meets; the last one stands for all further ones, "none" is an honest answer. */
	readonly faults: readonly string[];
	readonly variant?: string;
	readonly maxAttempts?: number;
	readonly only?: readonly string[];
	readonly except?: Readonly<Record<string, Partial<Expectation>>>;
}

export interface Case extends Expectation {
	readonly title: string;
	readonly operation: Operation;
	readonly faults: readonly string[];
	readonly variant: "processed" | "unprocessed";
	readonly maxAttempts: number;
}

const rows: readonly Row[] = table;

function caseOf(row: Row, operation: Operation): Case {
	const expected = { ...row, ...row.except?.[operation] };
	const end = expected.tag ?? "an answer";
	const outcome = operation === "messages.send" ? `, ${expected.outcome}` : "";
	return {
		...expected,
		title: `#${row.row} ${row.id}: ${operation} ends after ${expected.attempts} with ${end}${outcome}`,
		operation,
		variant: row.variant === "processed" ? "processed" : "unprocessed",
		maxAttempts: row.maxAttempts ?? 4,
	};
}

/** A case, and the transport that it is played over. */
export type Play = readonly [Case, Adapter];

/** Each operation that a row concerns, over each transport. */
const everyPlay = (row: Row): Play[] =>
	operations
		.filter((operation) => row.only?.includes(operation) ?? true)
		.flatMap((operation) => adapters.map((adapter): Play => [caseOf(row, operation), adapter]));

/** A send over one transport and a read over the other. The transports and the five reads take turns from row to row. */
function sendAndRead(row: Row, index: number): Play[] {
	if (row.only !== undefined) return everyPlay(row);
	const reads = operations.filter((operation) => operation !== "messages.send");
	const read = reads[index % reads.length] ?? "me.get";
	const [first, second] = adapters;
	const [overSend, overRead] = Math.floor(index / reads.length) % 2 === 0 ? [first, second] : [second, first];
	return [
		[caseOf(row, "messages.send"), overSend],
		[caseOf(row, read), overRead],
	];
}

/** Faults that depend on what an operation answers, so that each operation has to meet them. */
const aboutTheAnswer = new Set([
	"200 JSON called text/plain",
	"200 without a required field",
	"200 with a field the contract does not know",
]);

/** A send over both transports and a read over one, or every play of a row whose end depends on the operation. */
function shortPlays(row: Row, index: number): Play[] {
	const isEach =
		row.only !== undefined || row.except !== undefined || row.faults.some((name) => aboutTheAnswer.has(name));
	if (isEach) return everyPlay(row);
	const [send, read] = sendAndRead(row, index);
	return send && read ? [send, [send[0], read[1]], read] : [];
}

/** What `npm test` plays of conformance.json. */
export const plays: readonly Play[] = rows.flatMap(isLong ? everyPlay : shortPlays);

/** Fewer plays, for what depends on the fault and the transport but hardly on the operation. */
export const fewPlays: readonly Play[] = rows.flatMap(isLong ? everyPlay : sendAndRead);

/** What a call is made of; the secrets test puts canaries here. */
export interface Inputs {
	readonly apiKey: string;
	readonly phone: string;
	readonly text: string;
	readonly search: string;
	readonly cursor: string;
}

export const plainInputs: Inputs = { apiKey, phone, text: "Hello", search: "Anna", cursor: "c1" };

export type Client = ReturnType<typeof createClient>;

/** One call of the operation, a list as its one page. */
export async function call(client: Client, operation: Operation, inputs: Inputs = plainInputs): Promise<unknown> {
	const agency = client.agency(agencyId);
	const { cursor, search } = inputs;
	switch (operation) {
		case "me.get":
			return client.me.get();
		case "conversations.list":
			return agency.conversations.list({ search, cursor }).page();
		case "conversations.lookup":
			return agency.conversations.lookup([inputs.phone]);
		case "conversations.get":
			return agency.conversations.get(inputs.phone, { cursor });
		case "conversations.listMessages":
			return agency.conversations.listMessages(inputs.phone, { cursor }).page();
		case "messages.send":
			return agency.messages.send({ to: inputs.phone, body: inputs.text });
	}
}

/** What Node throws for faults that no server of ours can play, and fetch as its cause. */
function thrownBy(name: string): Promise<Error> {
	const [code = "", syscall] = name.slice("thrown: ".length).split(" ");
	if (code === "never") return new Promise(() => {});
	const fault = Object.assign(new Error(`${syscall ?? "connect"} ${code}`), { code, ...(syscall && { syscall }) });
	return Promise.resolve(fault);
}

const hanging = new Set([
	"no headers ever",
	"half the headers, then nothing",
	"a body that trickles",
	"a body that stalls",
	"thrown: never",
]);

/** What only hangs is cut soon; whatever answers may take its time on a busy machine. */
function timeoutFor(faults: readonly string[]): number {
	if (!faults.some((name) => hanging.has(name))) return 60_000;
	return faults.every((name) => hanging.has(name)) ? 400 : 1500;
}

export interface Run {
	readonly service: Service;
	/** Attempts that left the client. */
	readonly attempts: number;
	readonly result?: unknown;
	readonly error?: unknown;
	readonly facts: Readonly<Record<string, unknown>>;
	readonly client: Client;
}

/** Plays one case against the package and closes the service. */
export async function runCase(
	{ operation, faults, variant, maxAttempts }: Case,
	inputs: Inputs = plainInputs,
	extra: Partial<ClientOptions> & Pick<ServiceOptions, "echo"> = {},
	over?: Transport,
): Promise<Run> {
	const { echo = false, ...options } = extra;
	let attempts = 0;
	const faultOf = (attempt: number) => faults[Math.min(attempt, faults.length) - 1] ?? "none";
	const service = await startService({
		echo,
		plan: () => {
			const name = faultOf(attempts);
			return name === "none" ? undefined : { fault: faultNamed(name), variant };
		},
	});
	const nextThrown = (): Promise<Error> | undefined => {
		const name = faultOf(++attempts);
		return name.startsWith("thrown: ") ? thrownBy(name) : undefined;
	};
	const counted: typeof fetch = async (input, init) => {
		const cause = await nextThrown();
		if (cause) throw new TypeError("fetch failed", { cause });
		return fetch(input, init);
	};
	const countedTransport = (transport: Transport): Transport => {
		return async (request, control) => {
			const fault = await nextThrown();
			if (!fault) return transport(request, control);
			// As over node:http, where nothing has been sent before there is a connection.
			throw Object.assign(fault, { connected: false });
		};
	};
	const [first] = faults;
	const secure = service.baseUrl.replace("http:", "https:");
	const refusing = service.baseUrl.replace(service.origin, service.deadOrigin);
	const client = createClient({
		baseUrl: first === "https to http" ? secure : first === "connect refused" ? refusing : service.baseUrl,
		apiKey: inputs.apiKey,
		...(over ? { transport: countedTransport(over) } : { fetch: counted }),
		timeoutMs: timeoutFor(faults),
		deadline: 240_000,
		retry: { attempts: maxAttempts, baseDelayMs: 1, maxDelayMs: 4 },
		...options,
	});
	try {
		const result = await call(client, operation, inputs);
		return { service, attempts, result, facts: {}, client };
	} catch (error) {
		return { service, attempts, error, facts: factsOf(error), client };
	} finally {
		await service.close();
	}
}
