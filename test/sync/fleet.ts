/* A fleet of agencies in the sandbox, in virtual time: who writes when, and when the loop delivers it. */
import { type Client, createClient } from "messaging-conversations";
import { createSandbox, type Sandbox } from "messaging-conversations/sandbox";
import { type AgencyPoll, type WatchAgenciesOptions, watchAgencies } from "messaging-conversations/sync";
import { vi } from "vitest";

const second = 1_000;

/** When a message was written and when it was delivered, in virtual time. */
export interface Written {
	agencyId: string;
	writtenAt: number;
	deliveredAt: number[];
}

export interface FleetRun {
	sandbox: Sandbox;
	client: Client;
	/** Every request that reached the service: its time, and its path below the version. */
	requests: { at: number; path: string }[];
	/** The messages by their text. */
	messages: Map<string, Written>;
	checkpoints: Map<string, string>;
	polls: AgencyPoll[];
	errors: string[];
	write: (agencyId: string, contact?: number) => void;
	/** Lets time pass, at the service and here. */
	pass: (ms: number) => Promise<void>;
	/** Starts a loop. `kill` ends it as a killed process ends: it stores nothing more, and makes no request. */
	start: (options?: Partial<WatchAgenciesOptions>) => { run: Promise<void>; kill: () => void; stop: () => void };
}

/** Needs fake timers. */
export function openFleet(agencies: number, faultPart = 0): FleetRun {
	const sandbox = createSandbox({ now: new Date() });
	for (let index = 1; index < agencies; index++) sandbox.link({ name: `Agency ${index}` });
	const byId = new Map(sandbox.agencies().map((agency) => [agency.id, agency]));
	const requests: FleetRun["requests"] = [];
	const messages = new Map<string, Written>();
	const checkpoints = new Map<string, string>();
	const polls: AgencyPoll[] = [];
	const errors: string[] = [];
	let seed = 7;
	/** Counted, so that each run is the same. */
	const isFaulty = (): boolean => {
		seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
		return seed / 2 ** 32 < faultPart;
	};
	const { apiKey, baseUrl } = sandbox.connection;
	const clientFor = (process: { isDead: boolean }): Client =>
		createClient({
			apiKey,
			baseUrl,
			async fetch(url, init) {
				if (process.isDead) return new Promise(() => {});
				const { pathname } = new URL(url);
				requests.push({ at: Date.now(), path: pathname.replace(/^.*\/v1/, "") });
				if (!isFaulty()) return sandbox.fetch(url, init);
				if (seed % 3 === 0) throw new TypeError("fetch failed");
				const status = [500, 502, 404, 429, 403][seed % 5] ?? 500;
				return new Response("<html>an ingress</html>", { status, headers: { "content-type": "text/html" } });
			},
		});
	const client = clientFor({ isDead: false });

	return {
		sandbox,
		client,
		requests,
		messages,
		checkpoints,
		polls,
		errors,
		write(agencyId, contact = 0) {
			const text = `Message ${messages.size}`;
			byId
				.get(agencyId)
				?.contact(`+4477009${String(contact).padStart(5, "0")}`)
				.writes(text);
			messages.set(text, { agencyId, writtenAt: Date.now(), deliveredAt: [] });
		},
		async pass(ms) {
			for (let passed = 0; passed < ms; passed += second) {
				sandbox.clock.advance({ ms: Math.min(second, ms - passed) });
				await vi.advanceTimersByTimeAsync(Math.min(second, ms - passed));
			}
		},
		start(options) {
			const process = { isDead: false };
			const stop = new AbortController();
			const feed = watchAgencies(clientFor(process), {
				load: async (agencyId) => checkpoints.get(agencyId),
				save: async (agencyId, checkpoint) => {
					if (process.isDead) return new Promise(() => {});
					checkpoints.set(agencyId, checkpoint);
				},
				onPoll: (poll) => void (process.isDead || polls.push(poll)),
				onError: (error) => void (process.isDead || errors.push(error._tag)),
				signal: stop.signal,
				...options,
			});
			const run = (async () => {
				for await (const change of feed) {
					if (process.isDead) return;
					for (const { body } of change.messages) messages.get(body ?? "")?.deliveredAt.push(Date.now());
					await change.save();
				}
			})();
			run.catch(() => {});
			const kill = (): void => {
				process.isDead = true;
				stop.abort();
			};
			return { run, kill, stop: () => stop.abort() };
		},
	};
}
