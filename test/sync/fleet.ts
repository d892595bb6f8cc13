/*
 * A fleet of agencies in the sandbox, in virtual time: who writes when, and when the loops deliver it. The loops are
 * processes that share one database, and each of them can be killed.
 */
import { type Client, createClient, type Message } from "messaging-conversations";
import { createSandbox, type Sandbox } from "messaging-conversations/sandbox";
import {
	type AgencyPoll,
	type Change,
	fingerprintOf,
	type WatchAgenciesOptions,
	watchAgencies,
} from "messaging-conversations/sync";
import { vi } from "vitest";
import { randomFrom } from "../faults/random.ts";

const second = 1_000;
const leaseMs = 60 * second;

/** When a message was written and when it was delivered, in virtual time. */
export interface Written {
	agencyId: string;
	writtenAt: number;
	deliveredAt: number[];
}

/** The tables of the database that all processes share. */
interface Database {
	/** By agency. */
	checkpoints: Map<string, string>;
	/** By agency and contact. */
	conversations: Map<string, string>;
	/** By agency, contact and message. */
	messages: Map<string, string>;
	leases: Map<string, { owner: object; until: number }>;
	/** How many messages were delivered again although nothing of them had changed. */
	repeated: number;
}

export interface FleetRun {
	sandbox: Sandbox;
	/** Every request that reached the service, or a fault on the way to it: its time. */
	requests: number[];
	/** The messages by their text. */
	messages: Map<string, Written>;
	polls: AgencyPoll[];
	errors: string[];
	/** A contact writes, or someone of the agency does. */
	write: (agencyId: string, contact?: number, isOutbound?: boolean) => void;
	/** Lets time pass, at the service and here. */
	pass: (ms: number) => Promise<void>;
	/**
	 * Starts a process that stores each change with its checkpoint in one transaction. `kill` ends it as a killed process
	 * ends: it stores nothing more, and makes no request.
	 */
	start: (options?: Partial<WatchAgenciesOptions>, isLeased?: boolean) => FleetProcess;
	/** Compares the database with the service, row by row. */
	differences: () => Promise<{
		rows: number;
		missing: string[];
		differing: string[];
		surplus: string[];
		repeated: number;
	}>;
}

export interface FleetProcess {
	run: Promise<void>;
	kill: () => void;
	stop: () => void;
}

/** What is between a process and the service answers instead of it. */
const faults: readonly ((init: RequestInit | undefined) => Promise<Response>)[] = [
	...[500, 502, 503, 404, 429, 403, 401, 200].map((status) => async () => html(status)),
	async () => html(429, { "retry-after": "3" }),
	async () => new Response('{"conversations":[', { headers: { "content-type": "application/json" } }),
	() => Promise.reject(new TypeError("fetch failed")),
	// Hangs until the client gives up.
	(init) => new Promise((_, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason))),
];

function html(status: number, headers: Record<string, string> = {}): Response {
	return new Response("<html>an ingress</html>", { status, headers: { "content-type": "text/html", ...headers } });
}

/** Needs fake timers. */
export function openFleet(agencies: number, faultPart = 0): FleetRun {
	const sandbox = createSandbox({ now: new Date() });
	for (let index = 1; index < agencies; index++) sandbox.link({ name: `Agency ${index}` });
	const byId = new Map(sandbox.agencies().map((agency) => [agency.id, agency]));
	const requests: number[] = [];
	const messages = new Map<string, Written>();
	const polls: AgencyPoll[] = [];
	const errors: string[] = [];
	const database: Database = {
		checkpoints: new Map(),
		conversations: new Map(),
		messages: new Map(),
		leases: new Map(),
		repeated: 0,
	};
	const random = randomFrom(7);
	const { apiKey, baseUrl } = sandbox.connection;

	/** What a process does at the database. A dead one does nothing. */
	async function inDatabase<Result>(process: { isDead: boolean }, ms: number, act: () => Result): Promise<Result> {
		await new Promise((resolve) => setTimeout(resolve, ms));
		if (process.isDead) throw new Error("killed");
		return act();
	}

	function clientFor(process: { isDead: boolean }): Client {
		return createClient({
			apiKey,
			baseUrl,
			async fetch(url, init) {
				if (process.isDead) throw new Error("killed");
				requests.push(Date.now());
				const fault = random() < faultPart ? faults[Math.floor(random() * faults.length)] : undefined;
				return fault ? fault(init) : sandbox.fetch(url, init);
			},
		});
	}

	/** Stores a change and the checkpoint in one transaction. */
	function commit(agencyId: string, checkpoint: string, change: Change | undefined): void {
		database.checkpoints.set(agencyId, checkpoint);
		if (!change) return;
		const { phoneNumber, conversation } = change;
		database.conversations.set(`${agencyId} ${phoneNumber}`, fingerprintOf(conversation));
		for (const message of change.messages) {
			const key = `${agencyId} ${phoneNumber} ${message.messageSid}`;
			const row = rowOf(message);
			if (database.messages.get(key) === row) database.repeated++;
			database.messages.set(key, row);
			messages.get(message.body ?? "")?.deliveredAt.push(Date.now());
		}
	}

	return {
		sandbox,
		requests,
		messages,
		polls,
		errors,
		write(agencyId, contact = 0, isOutbound = false) {
			const text = `Message ${messages.size}`;
			const phoneNumber = `+4477009${String(contact).padStart(5, "0")}`;
			const agency = byId.get(agencyId);
			const sent = isOutbound
				? agency?.staff.sends({ contact: phoneNumber, text: text })
				: agency?.contact(phoneNumber).writes(text);
			// In a closed window the text is held.
			if (sent) messages.set(text, { agencyId, writtenAt: Date.now(), deliveredAt: [] });
		},
		async pass(ms) {
			for (let passed = 0; passed < ms; passed += second) {
				sandbox.clock.advance({ ms: Math.min(second, ms - passed) });
				await vi.advanceTimersByTimeAsync(Math.min(second, ms - passed));
			}
		},
		start(options, isLeased = false) {
			const process = { isDead: false };
			const stop = new AbortController();
			const lease = (agencyId: string): boolean => {
				const held = database.leases.get(agencyId);
				if (held && held.owner !== process && held.until > Date.now()) return false;
				database.leases.set(agencyId, { owner: process, until: Date.now() + leaseMs });
				return true;
			};
			const feed = watchAgencies<Change>(clientFor(process), {
				load: (agencyId) => inDatabase(process, 1, () => database.checkpoints.get(agencyId)),
				save: (agencyId, checkpoint, change) => inDatabase(process, 3, () => commit(agencyId, checkpoint, change)),
				...(isLeased && { lease: (agencyId: string) => inDatabase(process, 1, () => lease(agencyId)) }),
				onPoll: (poll) => void (process.isDead || polls.push(poll)),
				onError: (error) => void (process.isDead || errors.push(error._tag)),
				signal: stop.signal,
				...options,
			});
			const run = (async () => {
				for await (const change of feed) {
					if (process.isDead) return;
					await change.save(change);
				}
			})();
			run.catch(() => {});
			const kill = (): void => {
				process.isDead = true;
				stop.abort();
			};
			return { run, kill, stop: () => stop.abort() };
		},
		async differences() {
			const client = createClient(sandbox.connection);
			const rows = new Map<string, string>();
			for (const { id } of sandbox.agencies()) {
				const { conversations } = client.agency(id);
				for (const row of await conversations.list().toArray()) {
					rows.set(`${id} ${row.phoneNumber}`, fingerprintOf(row));
					for (const message of await conversations.listMessages(row.phoneNumber).toArray())
						rows.set(`${id} ${row.phoneNumber} ${message.messageSid}`, rowOf(message));
				}
			}
			const stored = new Map([...database.conversations, ...database.messages]);
			return {
				rows: rows.size,
				missing: [...rows.keys()].filter((key) => !stored.has(key)),
				differing: [...rows].filter(([key, row]) => stored.has(key) && stored.get(key) !== row).map(([key]) => key),
				surplus: [...stored.keys()].filter((key) => !rows.has(key)),
				repeated: database.repeated,
			};
		},
	};
}

/** What is stored of a message. */
function rowOf({ messageSid, body, direction, status, createdAt, deliveredAt, readAt }: Message): string {
	return JSON.stringify({ messageSid, body, direction, status, createdAt, deliveredAt, readAt });
}
