// Rounds for two workers that share a store by an engine. In each round a worker comes to a named point of its work for a
// contact, and there it dies of SIGKILL, or SIGSTOP stops it until the other worker has done everything in its place.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createClient } from "messaging-conversations";
import { createOutbox, type OutboxOptions, type Transaction } from "messaging-conversations/outbox";
import { type Contact, createSandbox } from "messaging-conversations/sandbox";
import { serve } from "messaging-conversations/sandbox/server";
import { expect } from "vitest";
import { isLong } from "../../length.ts";
import { points, type Task, times } from "./worker.ts";

/** How the engines differ. */
export interface Setting extends Pick<OutboxOptions, "store" | "engine"> {
	/** Names the figures of the long run. */
	name: string;
	place: Pick<Task, "database" | "url" | "redis">;
	start: (task: Task) => Promise<ChildProcess>;
	transaction: (act: (tx: Transaction) => Promise<void>) => Promise<void>;
	/** Runs a statement that selects texts. */
	select: (sql: string) => Promise<unknown[]>;
	/** What else fails after a death, and while a worker is stopped. */
	afterDeath?: () => Promise<void>;
	whileStopped?: () => Promise<void>;
}

/** A contact has written, so that the window is open, or is asked for consent and gives one of two answers. */
const kinds = ["written", "consents", "declines"] as const;
type Kind = (typeof kinds)[number];

interface Round {
	point: (typeof points)[number];
	signal: "SIGKILL" | "SIGSTOP";
	/** The contact for whom the worker works when it comes to the point. */
	kind: Kind;
}

const signals = ["SIGKILL", "SIGSTOP"] as const;
const everyRound: Round[] = points.flatMap((point) =>
	signals.flatMap((signal) => kinds.map((kind) => ({ point, signal, kind }))),
);
/** After the mark, and after an answer that is not stored, another worker knows least about the request. */
const fewRounds: Round[] = [
	{ point: "answered, not stored", signal: "SIGKILL", kind: "consents" },
	{ point: "after the mark", signal: "SIGSTOP", kind: "declines" },
];
const rounds = isLong ? everyRound : fewRounds;

const textsEach = 3;
/** How many contacts of each kind a round has. It gets more while the other worker takes their texts. */
const contactsEach = isLong ? 4 : 2;
/** A contact needs a moment for an answer. */
const answerMs = 150;

/** How long a test of all rounds may take, in milliseconds. */
export const longestMs = isLong ? 900_000 : 280_000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const numbersOf = (kind: Kind) => `+4477009${kinds.indexOf(kind)}`;

export async function playRounds(setting: Setting): Promise<void> {
	const { name, place, start, store, engine, transaction, select } = setting;
	const sandbox = createSandbox({ now: new Date() });
	const agency = sandbox.agency();
	const { baseUrl, apiKey, close } = await serve(sandbox);
	const outbox = createOutbox({ client: createClient({ baseUrl, apiKey }), store, engine });
	await outbox.migrate();

	const people: { person: Contact; kind: Kind }[] = [];
	const asked = new Map<string, number>();
	const declined = new Set<string>();
	let sendsAfterDecline = 0;
	sandbox.subscribe((event) => {
		if (event.type === "consent.asked") {
			asked.set(event.contact, (asked.get(event.contact) ?? 0) + 1);
			const asking = people.find(({ person }) => person.phoneNumber === event.contact);
			setTimeout(() => (asking?.kind === "declines" ? asking.person.declines() : asking?.person.accepts()), answerMs);
		} else if (event.type === "consent.declined") declined.add(event.contact);
		else if (event.type === "request" && event.operation === "messages.send" && declined.has(event.contact ?? ""))
			sendsAfterDecline++;
	});

	/** Stores the texts of one more contact of each kind, each contact's in one transaction. */
	async function enqueue(): Promise<void> {
		for (const kind of kinds) {
			const person = agency.contact(`${numbersOf(kind)}${String(people.length).padStart(4, "0")}`);
			people.push({ person, kind });
			if (kind === "written") person.writes("Hello");
			await transaction(async (tx) => {
				for (let at = 0; at < textsEach; at++) {
					const text = { id: `${person.phoneNumber} ${at}`, agencyId: agency.id, to: person.phoneNumber };
					await outbox.enqueue({ ...text, body: `Text ${at}` }, { tx });
				}
			});
		}
	}
	const unfinished = () => select("select id, state from outbox_texts where state in ('waiting', 'sending', 'held')");
	const allDone = () => expect.poll(unfinished, { interval: 200 }).toEqual([]);

	/** Starts a worker, and tells what it has written about itself. */
	async function join(round?: Round): Promise<{ worker: ChildProcess; has: (line: string) => boolean }> {
		const at = round && { point: round.point, signal: round.signal, numbers: numbersOf(round.kind) };
		const worker = await start({ ...place, baseUrl, apiKey, count: 1, ...at });
		let output = "";
		worker.stdout?.on("data", (chunk) => {
			output += chunk;
		});
		const has = (line: string) => output.includes(line);
		await expect.poll(() => has("ready")).toBe(true);
		return { worker, has };
	}

	let other = (await join()).worker;
	const came = { SIGKILL: 0, SIGSTOP: 0 };
	for (const round of rounds) {
		const { worker, has } = await join(round);
		for (let groups = 0; groups < contactsEach; groups++) await enqueue();
		while (!has("at the point")) {
			await enqueue();
			await pause(200);
		}
		came[round.signal]++;
		if (round.signal === "SIGKILL") {
			if (worker.signalCode === null) await once(worker, "exit");
			await setting.afterDeath?.();
			continue;
		}
		// The other worker takes over what this one was doing, and those who decline have declined when this one resumes.
		await setting.whileStopped?.();
		await Promise.all([allDone(), pause(times.settleMs + 500)]);
		worker.kill("SIGCONT");
		// From now on the one that was stopped works.
		other.kill("SIGKILL");
		other = worker;
	}
	await allDone();
	// What is doubled would come now.
	await pause(isLong ? 4_000 : 1_500);
	other.kill("SIGTERM");
	if (other.exitCode === null && other.signalCode === null) await once(other, "exit");
	await close();

	const zeros = { doubled: 0, lost: 0, outOfOrder: 0, afterDecline: 0, sendsAfterDecline: 0, askedTwice: 0 };
	const figures = { ...zeros, sendsAfterDecline };
	for (const { person, kind } of people) {
		const bodies = person.inbox().flatMap(({ kind, body }) => (kind === "text" ? [String(body)] : []));
		const unique = [...new Set(bodies)];
		figures.askedTwice += Math.max(0, (asked.get(person.phoneNumber) ?? 0) - 1);
		figures.doubled += bodies.length - unique.length;
		if (kind === "declines") figures.afterDecline += bodies.length;
		else figures.lost += textsEach - unique.length;
		figures.outOfOrder += unique.filter((body, at) => body < (unique[at - 1] ?? "")).length;
	}
	const expected = people.filter(({ kind }) => kind !== "declines").length * textsEach;
	if (isLong)
		console.info(name, { ...came, texts: people.length * textsEach, expected, declined: declined.size }, figures);
	expect(figures).toEqual(zeros);
	expect(asked.size).toBe(people.filter(({ kind }) => kind !== "written").length);
	expect(sandbox.violations()).toEqual([]);
}
