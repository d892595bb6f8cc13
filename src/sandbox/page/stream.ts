import type { SandboxEvent } from "../index.ts";
import { announce } from "./announce.ts";
import { read, request } from "./control.ts";
import { askAgain } from "./entries.ts";
import { readNewestEvents, readState, take } from "./model.ts";
import { lookAtOutbox } from "./outbox.tsx";
import { connection, log } from "./store.ts";
import { openStory } from "./stories.ts";

const [firstWaitMs, longestWaitMs] = [500, 5_000];
/** The sandbox sends a comment every 15 s: after this silence the connection is dead. */
const silenceMs = 40_000;
/** Events that come together are taken in together. */
const gatherMs = 30;

let wake: () => void = () => undefined;

/** Connects now, without the rest of the wait. */
export const reconnect = (): void => wake();

/** Follows the sandbox's events for as long as the page is open, and resumes after the last one that it has. */
export async function follow(): Promise<never> {
	let waitMs = firstWaitMs;
	for (;;) {
		try {
			if (connection.token.value !== "") await connect(() => (waitMs = firstWaitMs));
		} catch {
			// Whatever broke the connection, the next one reads everything again.
		}
		connection.isRefused.value ||= connection.token.value === "";
		connection.link.value = "lost";
		await new Promise<void>((resolve) => {
			wake = resolve;
			setTimeout(resolve, waitMs);
		});
		waitMs = Math.min(waitMs * 2, longestWaitMs);
	}
}

async function connect(onConnected: () => void): Promise<void> {
	// Steps of a running clock take each other's place.
	const last = log.events.value.filter(({ type }) => type !== "clock.moved").at(-1);
	const [same, ...news] = last ? await read<SandboxEvent[]>(`events?brief=true&after=${last.id - 1}`) : [];
	if (last && JSON.stringify(same) === JSON.stringify(last)) {
		const had = log.events.value.at(-1)?.id ?? 0;
		take(
			news.filter(({ id }) => id > had),
			true,
		);
	}
	// The event that this page had last is gone: the sandbox was reset, or another one runs there now.
	else await readNewestEvents();
	await readState();
	await openStory();
	const silence = new AbortController();
	const after = log.events.value.at(-1)?.id ?? 0;
	const headers = { accept: "text/event-stream", "last-event-id": String(after) };
	const { body } = await request("events?brief=true", { headers, signal: silence.signal });
	if (!body) return;
	connection.link.value = "connected";
	onConnected();
	await receive(body.getReader(), silence);
}

async function receive(reader: ReadableStreamDefaultReader<Uint8Array>, silence: AbortController): Promise<void> {
	const decoder = new TextDecoder();
	let rest = "";
	const gathered: SandboxEvent[] = [];
	for (;;) {
		const timer = setTimeout(() => silence.abort(), silenceMs);
		const { done, value } = await reader.read().finally(() => clearTimeout(timer));
		if (done) return;
		const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
		rest = blocks.pop() ?? "";
		const news: SandboxEvent[] = blocks.flatMap((block) => {
			const data = block.split("\n").find((line) => line.startsWith("data: "));
			return data === undefined ? [] : [JSON.parse(data.slice("data: ".length))];
		});
		if (news.length === 0) continue;
		if (gathered.length === 0) setTimeout(() => arrive(gathered.splice(0)), gatherMs);
		gathered.push(...news);
	}
}

function arrive(news: readonly SandboxEvent[]): void {
	take(news, true);
	for (const event of news) if (event.type === "request") announce(event);
	askAgain();
	lookAtOutbox();
}
