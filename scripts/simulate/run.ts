// Simulates the change feed in virtual time, for 10, 1,000 and 10,000 agencies, and compares it with fixed intervals. Shows
// how fresh messages are, how many requests that takes, and the size of the checkpoints. Prints the tables of
// contributing/change-feed.md. npx tsx scripts/simulate/run.ts
import { TextMap } from "../../src/sync/blocks.ts";
import { encode } from "../../src/sync/checkpoint.ts";
import type { Known } from "../../src/sync/memory.ts";
import { randomFrom } from "../../test/faults/random.ts";

const second = 1;
const minute = 60 * second;
const hour = 60 * minute;
/** How long is simulated, after a first hour that is not counted. */
const length = 25 * hour;
const warmUp = hour;

/** How an agency is polled. */
interface Policy {
	name: string;
	/** The pause after a poll, in seconds. */
	next: (pause: number, foundSomething: boolean, random: () => number) => number;
	first: number;
}

const fixed = (seconds: number): Policy => ({ name: `every ${seconds} s`, next: () => seconds, first: seconds });
const adaptive: Policy = {
	name: "watch, 15 s to 5 min",
	first: 15,
	next: (pause, found, random) => (found ? 15 : Math.min(300, pause * 1.5)) * (0.9 + 0.2 * random()),
};

interface Result {
	agencies: number;
	policy: string;
	messagesPerSecond: number;
	listsPerSecond: number;
	getsPerSecond: number;
	median: number;
	p99: number;
	/** Bytes of the checkpoints after looks that found something, by the size of the agency. */
	checkpoints: number[][];
}

/** Agencies by their messages a day: up to so many. */
const sizes = [10, 100, 1_000, 10_000, Number.POSITIVE_INFINITY];
const lookback = 2 * minute;

/** Messages of a day, by agency: a few agencies have most of them. */
function dailyMessages(agencies: number): number[] {
	const weights = Array.from({ length: agencies }, (_, rank) => 1 / (rank + 1));
	const sum = weights.reduce((total, weight) => total + weight, 0);
	// 60 messages a day on average.
	return weights.map((weight) => (weight / sum) * agencies * 60);
}

interface Arrival {
	at: number;
	conversation: number;
}

/** Conversations come in bursts of a few messages, a minute or so apart, and by day more than by night. */
function arrivals(perDay: number, random: () => number): Arrival[] {
	const burst = 4;
	const all: Arrival[] = [];
	let conversation = 0;
	for (let at = 0; at < length; ) {
		at += (-Math.log(1 - random()) * 24 * hour) / ((perDay / burst) * 2);
		const byDay = Math.sin((2 * Math.PI * (at - 9 * hour)) / (24 * hour)) * 0.5 + 0.5;
		if (random() > byDay) continue;
		conversation++;
		for (let i = 0, time = at; i < burst; i++, time += -Math.log(1 - random()) * minute) {
			if (time < length) all.push({ at: time, conversation });
		}
	}
	return all.sort((a, b) => a.at - b.at);
}

/** Bytes of the checkpoint that holds the lookback of the newest of these messages. */
function checkpointBytes(seen: readonly Arrival[], count: number): number {
	const instant = (at: number): number => Date.UTC(2026, 0, 5) + Math.round(at * 1_000);
	const position = seen[count - 1]?.at ?? 0;
	const messagesOf = new Map<string, Map<string, number>>();
	const known = new TextMap<string, Known>();
	for (let i = count - 1; i >= 0; i--) {
		const { at, conversation } = seen[i] ?? { at: 0, conversation: 0 };
		if (at < position - lookback) break;
		const phoneNumber = `+32${470_000_000 + conversation}`;
		const from = instant(position - lookback);
		const messages = messagesOf.get(phoneNumber) ?? new Map<string, number>();
		messagesOf.set(phoneNumber, messages.set(`SM${`${i}`.padStart(32, "0")}`, instant(at)));
		if (!known.has(phoneNumber))
			known.set(phoneNumber, { is: "delivered", fingerprint: "24-1x2y3z4-1a2b3c4", at: instant(at), from, messages });
	}
	const agencyId = "agy_0a1b2c3d4e5f60718293a4b5";
	const state = { agencyId, position: instant(position), clock: instant(position), known, followed: new Map() };
	return Buffer.byteLength(encode(state));
}

function simulate(agencies: number, policy: Policy): Result {
	const random = randomFrom(agencies);
	let [lists, gets, messages] = [0, 0, 0];
	const delays: number[] = [];
	const checkpoints = sizes.map((): number[] => []);
	for (const perDay of dailyMessages(agencies)) {
		const waiting = arrivals(perDay, random);
		let [next, pause, at] = [0, policy.first, random() * policy.first];
		while (at < length) {
			const found = new Set<number>();
			while ((waiting[next]?.at ?? length) <= at) {
				const message = waiting[next++];
				if (!message) break;
				found.add(message.conversation);
				if (message.at >= warmUp) delays.push(at - message.at);
			}
			if (at >= warmUp) {
				lists++;
				gets += found.size;
				if (found.size > 0 && policy === adaptive)
					checkpoints[sizes.findIndex((most) => perDay <= most)]?.push(checkpointBytes(waiting, next));
			}
			pause = policy.next(pause, found.size > 0, random);
			at += pause;
		}
		messages += waiting.filter((message) => message.at >= warmUp).length;
	}
	const sorted = Float64Array.from(delays).sort();
	const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
	const seconds = length - warmUp;
	return {
		agencies,
		policy: policy.name,
		messagesPerSecond: messages / seconds,
		listsPerSecond: lists / seconds,
		getsPerSecond: gets / seconds,
		median: at(0.5),
		p99: at(0.99),
		checkpoints,
	};
}

const results = [10, 1_000, 10_000].flatMap((agencies) =>
	[adaptive, fixed(15), fixed(60)].map((policy) => simulate(agencies, policy)),
);
const round = (value: number): string => (value < 10 ? value.toFixed(2) : value.toFixed(0));
console.log("| agencies | pauses | messages/s | lists/s | gets/s | requests/s | median age | 99th percentile |");
console.log("| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |");
for (const result of results) {
	const { agencies, policy, messagesPerSecond, listsPerSecond, getsPerSecond, median, p99 } = result;
	const rates = [messagesPerSecond, listsPerSecond, getsPerSecond, listsPerSecond + getsPerSecond].map(round);
	const cells = [agencies.toLocaleString("en"), policy, ...rates, `${median.toFixed(0)} s`, `${p99.toFixed(0)} s`];
	console.log(`| ${cells.join(" | ")} |`);
}
console.log("\n| messages a day of an agency | checkpoint, median | largest |\n| ---: | ---: | ---: |");
const [watched] = results.filter(({ agencies, policy }) => agencies === 10_000 && policy === adaptive.name);
for (const [index, bytes] of (watched?.checkpoints ?? []).entries()) {
	const [least, most = 0] = [sizes[index - 1] ?? 0, sizes[index]];
	const name = Number.isFinite(most)
		? `${least.toLocaleString("en")} to ${most.toLocaleString("en")}`
		: `more than ${least.toLocaleString("en")}`;
	bytes.sort((a, b) => a - b);
	const shown = [bytes[Math.floor(bytes.length / 2)], bytes.at(-1)].map(
		(count = 0) => `${(count / 1_000).toFixed(1)} kB`,
	);
	console.log(`| ${[name, ...shown].join(" | ")} |`);
}
