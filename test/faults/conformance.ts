import { type ClientOptions, createClient, type Exchange } from "../../src/index.ts";
import { agencyId, apiKey, type Operation, operations, phone } from "./answers.ts";
import { told } from "./caller.ts";
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

/** Each row of conformance.json for each operation that it concerns. */
export const cases: readonly Case[] = rows.flatMap((row) =>
	operations
		.filter((operation) => row.only?.includes(operation) ?? true)
		.map((operation): Case => {
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
		}),
);

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
	if (!faults.some((name) => hanging.has(name))) return 5000;
	return faults.every((name) => hanging.has(name)) ? 60 : 1500;
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
	over?: Exchange,
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
	const countedExchange = (exchange: Exchange): Exchange => {
		return async (request, control) => {
			const fault = await nextThrown();
			if (!fault) return exchange(request, control);
			// As over node:http, where nothing has been sent before there is a connection.
			control.connected = false;
			throw fault;
		};
	};
	const [first] = faults;
	const secure = service.baseUrl.replace("http:", "https:");
	const refusing = service.baseUrl.replace(service.origin, service.deadOrigin);
	const client = createClient({
		baseUrl: first === "https to http" ? secure : first === "connect refused" ? refusing : service.baseUrl,
		apiKey: inputs.apiKey,
		...(over ? { http: countedExchange(over) } : { fetch: counted }),
		timeoutMs: timeoutFor(faults),
		deadlineMs: 20_000,
		retry: { attempts: maxAttempts, baseDelayMs: 1, maxDelayMs: 4 },
		...options,
	});
	try {
		const result = await call(client, operation, inputs);
		return { service, attempts, result, facts: {}, client };
	} catch (error) {
		return { service, attempts, error, facts: told(error), client };
	} finally {
		await service.close();
	}
}
