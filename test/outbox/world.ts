import { createClient } from "messaging-conversations";
import {
	createOutbox,
	type EnqueuedText,
	type OutboxOptions,
	type OutboxStatus,
	type Pause,
} from "messaging-conversations/outbox";
import { createSandbox, type Sandbox, type SandboxOptions } from "messaging-conversations/sandbox";
import { memoryStore } from "./memory.ts";

interface WorldOptions extends Partial<OutboxOptions>, Pick<SandboxOptions, "policy"> {
	/** Happens right before the service gets a send. */
	onSend?: (sandbox: Sandbox) => void;
	/** Changes what the service answers. */
	rewrite?: (body: string, url: URL) => string;
}

/** An outbox on a sandbox, whose clock it goes by, and Anna, who has just written. */
export function createWorld({ policy, onSend, rewrite, ...options }: WorldOptions = {}) {
	const sandbox = createSandbox(policy ? { policy } : {});
	const agency = sandbox.agency();
	const anna = agency.contact("+447700900101", { name: "Anna" });
	anna.writes("Is the flat still free?");
	const fetch: typeof globalThis.fetch = async (input, init) => {
		const url = new URL(String(input));
		if (url.pathname.endsWith("/messages") && init?.method === "POST") onSend?.(sandbox);
		const response = await sandbox.fetch(input, init);
		if (!rewrite) return response;
		const { status, headers } = response;
		return new Response(rewrite(await response.text(), url), { status, headers });
	};
	const connection = { ...sandbox.connection, ...((onSend || rewrite) && { fetch }) };
	const client = createClient({ ...connection, retry: { attempts: 2, baseDelayMs: 1 } });
	const settled: OutboxStatus[] = [];
	const pauses: Pause[] = [];
	const store = memoryStore();
	// The tests of what happens after a reply choose this themselves.
	const all: OutboxOptions = {
		client,
		store,
		onReply: "send",
		defaultMaxAgeMs: Number.POSITIVE_INFINITY,
		now: sandbox.clock.now,
		onSettled: (status) => settled.push(status),
		onPaused: (pause) => pauses.push(pause),
		...options,
	};
	const outbox = createOutbox(all);
	let count = 0;
	const enqueue = (body: string, rest: { id?: string; to?: string; consentLanguage?: string; notAfter?: Date } = {}) =>
		outbox.enqueue({ id: `note-${++count}`, agencyId: agency.id, to: anna.phoneNumber, body, ...rest });
	const state = async (id: string) => (await outbox.status(id))?.state;
	const texts = () => anna.inbox().flatMap(({ kind, body }) => (kind === "text" ? [body] : []));
	const templates = () => anna.inbox().filter(({ kind }) => kind === "template").length;
	const sends = () => sandbox.requests().filter(({ operation }) => operation === "messages.send");
	/** Time passes, and the outbox does what falls due on the way. */
	async function pass(time: { hours?: number; minutes?: number; ms?: number }): Promise<void> {
		const end =
			sandbox.clock.now().getTime() + (time.hours ?? 0) * 3_600_000 + (time.minutes ?? 0) * 60_000 + (time.ms ?? 0);
		await outbox.runOnce();
		for (;;) {
			const next = await store.nextDue();
			if (next === undefined || next > end) break;
			if (next > sandbox.clock.now().getTime()) sandbox.clock.advanceTo(new Date(next));
			await outbox.runOnce();
		}
		if (end > sandbox.clock.now().getTime()) sandbox.clock.advanceTo(new Date(end));
		await outbox.runOnce();
	}
	/** The same outbox in a new process. */
	const restart = (change: Partial<OutboxOptions> = {}) => createOutbox({ ...all, ...change });
	return {
		sandbox,
		agency,
		anna,
		client,
		store,
		outbox,
		settled,
		pauses,
		enqueue,
		state,
		texts,
		templates,
		sends,
		pass,
		restart,
	};
}

export type World = ReturnType<typeof createWorld>;

/** Enqueues a text to Anna, whose words are its id. */
export function add(
	{ outbox, agency, anna }: Pick<World, "outbox" | "agency" | "anna">,
	id: string,
	rest: Partial<EnqueuedText> = {},
) {
	return outbox.enqueue({ id, agencyId: agency.id, to: anna.phoneNumber, body: id, ...rest });
}

/**
 * A world whose window closes between the reading and the request of the first text, so that the service holds it although it is
 * marketing. Anna wrote a day ago.
 */
export async function createHeldMarketing(id: string, options: WorldOptions = {}): Promise<World> {
	let isFirst = true;
	const world = createWorld({
		...options,
		onSend: ({ clock }) => {
			if (isFirst) clock.advance({ minutes: 7 });
			isFirst = false;
		},
	});
	world.sandbox.clock.advance({ hours: 23, minutes: 54 });
	await add(world, id, { purpose: "marketing" });
	await world.outbox.runOnce();
	return world;
}

/** Another contact of the agency consents to a text, by which the outbox learns what the agency's Yes is. */
export async function learnYes({ outbox, agency, pass }: Pick<World, "outbox" | "agency" | "pass">): Promise<void> {
	const bert = agency.contact("+447700900102");
	await outbox.enqueue({ id: "to Bert", agencyId: agency.id, to: bert.phoneNumber, body: "to Bert" });
	await pass({ minutes: 2 });
	bert.accepts();
	await pass({ minutes: 5 });
}

/** The state of a text, and why. */
export async function stateOf({ outbox }: Pick<World, "outbox">, id: string) {
	const status = await outbox.status(id);
	return [status?.state, status?.reason];
}
