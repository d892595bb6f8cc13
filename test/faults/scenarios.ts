import { spawn } from "node:child_process";
import { getEventListeners } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { createClient, isPartnerError, type Transport } from "../../src/index.ts";
import { agencyId, apiKey, type Operation, operations, readAnswer } from "./answers.ts";
import { bundle } from "./bundle.ts";
import { factsOf, packageCaller, quickly } from "./caller.ts";
import { inParallel, quiet, timers, timersOver } from "./campaign.ts";
import { call, plainInputs } from "./conformance.ts";
import { faultNamed } from "./faults.ts";
import { reached, type Violation } from "./invariants.ts";
import { createPicker } from "./picker.ts";
import { pick, randomFrom } from "./random.ts";
import { startService } from "./service.ts";
import { watchRequests } from "./watch.ts";

export interface Verdict {
	readonly violations: readonly Violation[];
	readonly note: string;
}

/** Every request is reset: the budget stops the client from answering an outage with a storm. */
export async function outage(options: { calls: number; extra: number; over?: Transport }): Promise<Verdict> {
	const { calls, extra, over } = options;
	const violations: Violation[] = [];
	const plan = () => ({ fault: faultNamed("reset without an answer"), variant: "unprocessed" as const });
	const service = await startService({ plan });
	const caller = packageCaller({
		baseUrl: service.baseUrl,
		fetch,
		transport: over ? { transport: over } : {},
		timeoutMs: 400,
		deadlineMs: 4000,
		onWait: () => undefined,
	});
	await inParallel(16, calls, async (index) => {
		const { claim } = await caller.send({ to: "+447700900101", body: `text 0/${index}` });
		if (claim === "sent") violations.push({ kind: "sent but not delivered", detail: `${index}` });
	});
	const requests = service.requests.length;
	if (requests > calls + extra)
		violations.push({ kind: "too many requests", detail: `${requests} for ${calls} calls` });
	await service.close();
	return { violations, note: `${requests} requests for ${calls} calls` };
}

/** Reads of all kinds under the same mix: the right data or a typed error, nothing else. */
export async function reads(options: {
	seed: number;
	calls: number;
	rate: number;
	timeoutMs?: number;
	deadlineMs?: number;
	inFlight?: number;
	sharesTimers?: boolean;
	over?: Transport;
}): Promise<Verdict> {
	const {
		seed,
		calls,
		rate,
		timeoutMs = quickly.timeoutMs,
		deadlineMs = 4000,
		inFlight = 48,
		sharesTimers = false,
		over,
	} = options;
	const violations: Violation[] = [];
	const timersBefore = timers();
	const picker = createPicker({ seed, rate });
	const service = await startService({ plan: picker.plan });
	const watch = watchRequests(service, picker, over);
	const transport = watch.transport ? { transport: watch.transport } : { fetch: watch.fetch };
	const client = createClient({
		baseUrl: service.baseUrl,
		apiKey,
		...transport,
		...quickly,
		timeoutMs,
		deadline: deadlineMs,
	});
	const random = randomFrom(seed);
	const kinds: readonly Operation[] = operations.filter((operation) => operation !== "messages.send");
	let failed = 0;
	await inParallel(inFlight, calls, async (index) => {
		const operation = pick(random, kinds);
		// Each call asks for something of its own, so that the picker can tell its attempts from another call's.
		const inputs = {
			...plainInputs,
			search: `name ${index}`,
			cursor: `c${index}`,
			phone: `+3247${String(index).padStart(7, "0")}`,
		};
		try {
			const result = await call(client, operation, inputs);
			if (!resembles(operation, result)) violations.push({ kind: "wrong answer", detail: `${operation} ${index}` });
		} catch (error) {
			failed++;
			if (!isPartnerError(error)) violations.push({ kind: "untyped error", detail: `${operation}: ${error}` });
			if (Number(factsOf(error).attempts) > 4) violations.push({ kind: "too many requests", detail: operation });
		}
	});
	await quiet(service);
	if (service.busy() > 0) violations.push({ kind: "connection leaked", detail: `${service.busy()}` });
	if (service.landings() > 0) violations.push({ kind: "redirect followed", detail: `${service.landings()}` });
	const leaked = sharesTimers ? 0 : await timersOver(timersBefore);
	if (leaked > 0) violations.push({ kind: "timer leaked", detail: `${leaked}` });
	await service.close();
	return { violations, note: `${calls - failed} answered, ${failed} failed with a typed error` };
}

/** Whether a result is the canned answer; the fault with a new field leaves more, never less. */
function resembles(operation: Operation, result: unknown): boolean {
	if (operation === "messages.send") return false;
	if (operation === "conversations.lookup") return Array.isArray(result) && result.length === 1;
	const known = Object.entries(Object(result)).filter(([name]) => name !== "brandNew");
	return isDeepStrictEqual(Object.fromEntries(known), readAnswer(operation));
}

/** Many calls on one long-lived signal: at most one listener at any time, none at the end, no warning. */
export async function oneSignal({ calls, over }: { calls: number; over?: Transport }): Promise<Verdict> {
	const violations: Violation[] = [];
	const warnings: string[] = [];
	const onWarning = (warning: Error) => warnings.push(warning.name);
	process.on("warning", onWarning);
	const service = await startService({ remembers: false });
	const client = createClient({ baseUrl: service.baseUrl, apiKey, ...(over && { transport: over }) });
	const { signal } = new AbortController();
	let most = 0;
	await inParallel(32, calls, async () => {
		const settling = client.me.get({ signal });
		most = Math.max(most, getEventListeners(signal, "abort").length);
		await settling;
	});
	const left = getEventListeners(signal, "abort").length;
	if (most > 1) violations.push({ kind: "listener leaked", detail: `${most} at a time` });
	if (left > 0) violations.push({ kind: "listener leaked", detail: `${left} at the end` });
	await new Promise((resolve) => setImmediate(resolve));
	process.off("warning", onWarning);
	violations.push(...warnings.map((detail): Violation => ({ kind: "listener leaked", detail })));
	await service.close();
	return { violations, note: `${calls} calls, at most ${most} listener, ${left} left` };
}

/** A process that is killed in the middle of its sends and resumes from what it wrote down. */
export async function killed(options: { seed: number; kills: number; window: "open" | "closed" }): Promise<Verdict> {
	const { seed, kills, window } = options;
	const violations: Violation[] = [];
	const random = randomFrom(seed);
	const picker = createPicker({ seed, rate: 0.3 });
	const service = await startService({ window, plan: picker.plan });
	const folder = await mkdtemp(join(tmpdir(), "killed-"));
	const journal = join(folder, "journal");
	const perLife = 20;
	const victim = await bundle(new URL("./victim.ts", import.meta.url));
	for (let life = 0; life < kills; life++) {
		const until = service.requests.length + 5 + Math.floor(random() * perLife);
		await live(
			victim.path,
			[service.baseUrl, journal, String(seed), String((life + 1) * perLife * 2)],
			() => service.requests.length >= until,
		);
	}
	picker.stop();
	const { code } = await live(
		victim.path,
		[service.baseUrl, journal, String(seed), String(kills * perLife * 2)],
		() => false,
	);
	if (code !== 0) violations.push({ kind: "unknown not settled", detail: `the last life ended with ${code}` });
	service.accept();
	const counts = reached(service);
	const noted = (await readFile(journal, "utf8")).split("\n").filter((line) => line !== "");
	const asked = new Set(noted.map((line): unknown => JSON.parse(line).body).filter((body) => body !== undefined));
	if (asked.size < kills * 5)
		violations.push({ kind: "unknown not settled", detail: `only ${asked.size} texts were begun` });
	for (const text of asked) {
		const count = counts.get(String(text)) ?? 0;
		if (count > 1) violations.push({ kind: "doubled", detail: `${text}: ${count} times` });
		if (count === 0) violations.push({ kind: "unknown not settled", detail: `${text} never arrived` });
	}
	if (service.reuses() > 0) violations.push({ kind: "id reused", detail: `${service.reuses()}` });
	await service.close();
	victim.remove();
	await rm(folder, { recursive: true });
	return { violations, note: `${kills} kills, ${asked.size} texts, each there once` };
}

/** Runs the victim until it ends or `enough` says to kill it. */
function live(victim: string, args: readonly string[], enough: () => boolean): Promise<{ code: number | null }> {
	const child = spawn(process.execPath, [victim, agencyId, apiKey, ...args], { stdio: "inherit" });
	const timer = setInterval(() => enough() && child.kill("SIGKILL"), 2);
	return new Promise((resolve) =>
		child.once("exit", (code) => {
			clearInterval(timer);
			resolve({ code });
		}),
	);
}
