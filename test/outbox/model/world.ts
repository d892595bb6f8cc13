// The world of the model: workers with the real code, a store, a service and their clocks. Each stands still at every call of the
// store or the service until it is told to go on, so that a run is known by the list of choices that led to it.
import { createHash } from "node:crypto";
import { type Client, createClient, PartnerConnectionError, PartnerTimeoutError } from "messaging-conversations";
import type * as outboxes from "messaging-conversations/outbox";
import type * as memory from "../memory.ts";
import type { Lease, NewText, OutboxStore } from "../port.ts";

/** An outbox takes no client of another version. */
const ofPackage = createClient({ baseUrl: undefined, apiKey: undefined });

/** The code that is run, or a copy of it in which a rule is missing. */
export interface Code extends Pick<typeof outboxes, "createOutbox">, Pick<typeof memory, "memoryStore"> {}

export interface Bounds {
	/** Processes. */
	workers: number;
	/** Of the second text, which is enqueued at any moment. Without it there is one text. */
	priority?: number;
	/** Whether the contact's window is open, so that a text is delivered at once, or closed, so that the service holds it. */
	window: "open" | "closed";
	/** How often time may pass, by `tickMs` each. */
	ticks: number;
	/** How often something else may happen while a worker is in the middle of something. */
	interrupts: number;
	/** Workers that may be killed. */
	kills: number;
	/** Requests or answers that may be lost. */
	losses: number;
	/** Whether workers stand still at reads of the store too that a later statement checks. */
	isFine?: boolean;
	/** Texts may be cancelled at any moment: those of the contact, or of the agency. */
	cancels?: "contact" | "agency";
	/** The queues may be deleted at any moment, once, with the leases of those who work. */
	forgets?: boolean;
	/** How much the clock of the first worker may be set forward or back at any moment, once. */
	clockStepMs?: number;
}

const settleMs = 20_000;
const tickMs = 10_000;
/** A request arrives within this time or not at all: what `settleMs` leaves after the deadline of a call. */
const transitMs = 5_000;
const noon = Date.parse("2026-01-05T12:00:00Z");
const to = "+447700900101";
const agencyId = "agy_aaaaaaaaaaaaaaaa";

/** The limits of a call. */
interface Call {
	deadline: number | Date;
}

interface Answer {
	ok: boolean;
	data?: unknown;
	error?: unknown;
}

interface Worker {
	/** Where it stands: at this call. Absent if it has nothing to do. */
	at?: { call: string; goOn: () => void; end: () => void } | undefined;
	isDead: boolean;
	/** Everything that it has learnt since it began, in short. */
	memory: string;
	lease?: Lease | undefined;
	/** Its request. */
	wire?: { body: string; at: number; hasArrived: boolean; answer?: Answer } | undefined;
	/** What its wall clock shows more than the time that has passed. */
	offset: number;
}

/** What happens next: a worker goes on, or something happens to it or to all. */
export type Choice = readonly [act: string, worker?: number];

const ended = new Error("The run is over.");

export class World {
	/** What must never happen, and has. */
	readonly wrong: string[] = [];
	readonly #bounds: Bounds;
	readonly #code: Code;
	readonly #store: ReturnType<Code["memoryStore"]>;
	readonly #workers: Worker[];
	readonly #service = { messages: [] as { body: string; at: number }[], queue: [] as { body: string; at: number }[] };
	readonly #used = { ticks: 0, interrupts: 0, kills: 0, losses: 0, steps: 0, forgets: 0 };
	readonly #stop = new AbortController();
	#now = 0;
	#current: Worker | undefined;
	/** The worker that went on last. */
	#last: Worker | undefined;
	#isOver = false;
	#rest: () => void = () => {};
	/** When all were cancelled: texts without a request by then. */
	#cancelled: Set<string> | undefined;

	constructor(bounds: Bounds, code: Code) {
		this.#bounds = bounds;
		this.#code = code;
		this.#store = code.memoryStore(() => this.#now);
		this.#workers = Array.from({ length: bounds.workers }, () => newWorker());
	}

	begin(): Promise<void> {
		return this.#enqueue("first");
	}

	/** The clocks of the worker that runs. While it runs, the others stand still. */
	readonly clocks = {
		date: () => noon + this.#now + (this.#current?.offset ?? 0),
		performance: () => this.#now,
	};

	/** What can happen now. What does not interrupt a worker comes first. */
	choices(): Choice[] {
		const { ticks, kills, losses, priority, cancels, forgets, clockStepMs, workers } = this.#bounds;
		const found: Choice[] = [];
		for (const [index, { at, isDead, wire }] of this.#workers.entries()) {
			if (wire && !wire.hasArrived && this.#now - wire.at <= transitMs) found.push(["arrives", index]);
			if (isDead) continue;
			if (!at) {
				if (this.#isClaimable()) found.push(["claims", index]);
			} else if (at.call !== "answer") found.push(["goes on", index]);
			else {
				if (wire?.hasArrived) found.push(["answers", index]);
				const isGone = wire && !wire.hasArrived && this.#now - wire.at > transitMs;
				if (isGone || this.#used.losses < losses) found.push(["loses", index]);
			}
		}
		if (this.#used.ticks < ticks) found.push(["tick"]);
		const { rows } = this.#store.dump();
		if (priority !== undefined && rows.length < 2) found.push(["enqueues the second"]);
		if (cancels && !this.#cancelled) found.push(["cancels all"]);
		if (forgets && this.#used.forgets < 1) found.push(["queues are deleted"]);
		for (const [index, { at, isDead }] of this.#workers.entries())
			if (at && !isDead && this.#used.kills < kills && index < workers) found.push(["is killed", index]);
		if (clockStepMs !== undefined && this.#used.steps < 1)
			found.push(["clock goes forward", 0], ["clock goes back", 0]);
		if (this.#used.interrupts < this.#bounds.interrupts) return found;
		return found.filter((choice) => !this.#isInterrupt(choice));
	}

	/** Whether the worker that went on last is in the middle of something, and this is something else. */
	#isInterrupt([act, index]: Choice): boolean {
		const last = this.#last;
		if (!last?.at || last.isDead) return false;
		return act === "is killed" || index === undefined || this.#workers[index] !== last;
	}

	async do(choice: Choice): Promise<void> {
		const [act, index = 0] = choice;
		const worker = this.#workers[index] as Worker;
		if (this.#isInterrupt(choice)) {
			this.#used.interrupts++;
			this.#last = undefined;
		}
		if (act === "tick") {
			this.#now += tickMs;
			this.#used.ticks++;
		} else if (act === "enqueues the second") await this.#enqueue("second", this.#bounds.priority);
		else if (act === "cancels all") {
			await this.#outbox(undefined).cancelAll(this.#bounds.cancels === "agency" ? { agencyId } : { to });
			const { rows } = this.#store.dump();
			this.#cancelled = new Set(rows.flatMap(({ id, state }) => (state === "cancelled" ? [id] : [])));
		} else if (act === "queues are deleted") {
			this.#used.forgets++;
			this.#store.forget();
		} else if (act === "is killed") {
			this.#used.kills++;
			worker.isDead = true;
		} else if (act.startsWith("clock")) {
			this.#used.steps++;
			worker.offset += (this.#bounds.clockStepMs ?? 0) * (act.endsWith("back") ? -1 : 1);
		} else if (act === "claims") await this.#start(worker);
		else if (act === "arrives") this.#arrive(worker);
		else await this.#goOn(worker, act);
		if (/^(claims|arrives|answers|loses|goes on)$/.test(act) && !worker.isDead) this.#last = worker;
	}

	/** All that the future depends on. Workers are alike, so that it does not matter which of them is where. */
	key(): string {
		const { rows, queues, pauses, rest } = this.#store.dump();
		const tokens = this.#workers.map(({ lease }) => lease?.token);
		const workers = this.#workers.map((worker) => {
			const { at, isDead, memory, lease, wire, offset } = worker;
			const isMine = lease !== undefined && queues.some(({ token }) => token === lease.token);
			return JSON.stringify([at?.call, isDead, memory, isMine, wire, offset, at && worker === this.#last]);
		});
		const known = queues.map(({ token, leasedUntil, ...queue }) => [
			{ ...queue, leasedUntil: Math.max(leasedUntil, this.#now) },
			token !== "" && tokens.includes(token),
		]);
		// When a text has ended, and how it came to it, changes nothing.
		const texts = rows.map((row) => (row.nextAt === null ? [row.id, row.state] : row));
		const isOpen = (body: string) => rows.some((row) => row.body === body && row.nextAt !== null);
		const inService = Object.values(this.#service).map((some) =>
			some.map((each) => (isOpen(each.body) ? each : each.body)),
		);
		const all = [
			this.#now,
			texts,
			known,
			pauses,
			rest,
			inService,
			this.#used,
			workers.sort(),
			this.#cancelled && [...this.#cancelled],
		];
		return createHash("sha1").update(JSON.stringify(all, decisive)).digest("base64");
	}

	/** Nothing fails any more: a new worker does what it can, then those that were stopped go on. In the end all must be done. */
	async complete(): Promise<void> {
		this.#bounds.losses = 0;
		const late = newWorker();
		this.#workers.push(late);
		const stopped = this.#workers.filter((worker) => worker.at && !worker.isDead);
		for (const worker of this.#workers)
			if (worker.wire && !worker.wire.hasArrived && this.#isInTransit(worker)) this.#arrive(worker);
		for (let steps = 0; this.wrong.length === 0; steps++) {
			if (steps > 400) return void this.wrong.push("does not come to an end");
			if (late.at) await this.#next(late);
			else if (this.#isClaimable()) await this.#start(late);
			else {
				const dump = this.#store.dump();
				if (dump.rows.every(({ nextAt }) => nextAt === null)) {
					const next = stopped.find(({ at }) => at);
					if (!next) break;
					await this.#next(next);
				} else if (steps % 3 === 2 && stopped.some(({ at }) => at))
					await this.#next(stopped.find(({ at }) => at) as Worker);
				else this.#now = Math.max(this.#now + tickMs, Number(await this.#store.nextDue()) - noon);
			}
			// The contact consents.
			for (const { body } of this.#service.queue.splice(0)) this.#service.messages.push({ body, at: this.#now });
		}
		if (this.wrong.length > 0) return;
		for (const { body, state } of this.#store.dump().rows) {
			const count = this.#service.messages.filter((message) => message.body === body).length;
			const isCancelled = state === "cancelled" && this.#cancelled !== undefined && count === 0;
			if (!isCancelled && (state !== "sent" || count !== 1))
				this.wrong.push(`the ${body} text is ${state}, and arrived ${count} times`);
		}
	}

	/** Lets everything that stands still fail, so that nothing is left behind. */
	dispose(): void {
		this.#isOver = true;
		this.#stop.abort();
		for (const { at } of this.#workers) at?.end();
	}

	#isClaimable(): boolean {
		const { queues, pauses, rows, rest } = this.#store.dump();
		const date = noon + this.#now;
		if (pauses.length > 0 && pauses.every(({ until }) => until > date)) return false;
		const [arrived] = rest as [string[]];
		if (rows.some(({ id, nextAt }) => arrived.includes(id) && nextAt !== null && nextAt <= date)) return true;
		return queues.some(({ dueAt, leasedUntil }) => dueAt <= date && leasedUntil <= this.#now);
	}

	#isInTransit({ wire }: Worker): boolean {
		return wire !== undefined && this.#now - wire.at <= transitMs;
	}

	async #enqueue(body: string, priority = 0): Promise<void> {
		this.#current = undefined;
		const none = {
			subaccountId: null,
			consentLanguage: null,
			byWhom: null,
			why: null,
			notBefore: null,
			notAfter: null,
			given: {},
		};
		const createdAt = this.clocks.date();
		const text: NewText = { id: body, agencyId, to, body, purpose: "notice", priority, ...none, createdAt };
		await this.#store.insert(text, undefined);
	}

	#outbox(worker: Worker | undefined) {
		this.#current = worker;
		const store = worker ? this.#storeOf(worker) : this.#store;
		const client = this.#client(worker);
		return this.#code.createOutbox({ client, store, settleMs, followMs: [], concurrency: 1 });
	}

	/** A new process looks for something to do, once. */
	async #start(worker: Worker): Promise<void> {
		worker.lease = worker.wire = undefined;
		worker.memory = "";
		const outbox = this.#outbox(worker);
		const rested = this.#rested();
		outbox.runOnce({ signal: this.#stop.signal }).then(
			() => this.#finish(worker),
			(error: unknown) => this.#finish(worker, error),
		);
		await rested;
	}

	#finish(worker: Worker, error?: unknown): void {
		if (this.#isOver) return;
		if (error !== undefined) this.wrong.push(`a worker ends with ${String(error)}`);
		worker.at = worker.lease = worker.wire = undefined;
		worker.memory = "";
		this.#rest();
	}

	#rested(): Promise<void> {
		return new Promise((resolve) => {
			this.#rest = resolve;
		});
	}

	/** The worker stands still at a call, as if its process was stopped there. */
	#stand(worker: Worker | undefined, call: string): Promise<void> {
		if (!worker) return Promise.resolve();
		if (this.#isOver) return Promise.reject(ended);
		const standing = new Promise<void>((resolve, reject) => {
			worker.at = { call, goOn: resolve, end: () => reject(ended) };
		});
		this.#rest();
		return standing;
	}

	async #goOn(worker: Worker, act: string): Promise<void> {
		const { at, wire } = worker;
		if (!at) throw new Error(`A worker that stands nowhere cannot go on: ${act}`);
		if (at.call === "answer" && wire) {
			const { body } = wire;
			const held = { queued: true, queueId: `q ${body}`, messageId: null };
			const sent = { queued: false, queueId: null, messageId: `m ${body}` };
			const facts = { operation: "messages.send", attempts: 1, outcome: "unknown" } as const;
			if (act === "loses") {
				if (wire.hasArrived || this.#isInTransit(worker)) this.#used.losses++;
				wire.answer = { ok: false, error: new PartnerConnectionError("lost", facts) };
			} else wire.answer = { ok: true, data: this.#bounds.window === "open" ? sent : held };
		}
		worker.at = undefined;
		this.#current = worker;
		const rested = this.#rested();
		at.goOn();
		await rested;
	}

	async #next(worker: Worker): Promise<void> {
		const { at, wire } = worker;
		if (at?.call !== "answer") return this.#goOn(worker, "goes on");
		if (wire && !wire.hasArrived && this.#isInTransit(worker)) this.#arrive(worker);
		return this.#goOn(worker, wire?.hasArrived ? "answers" : "loses");
	}

	/** The request reaches the service, which does not know it from an earlier one of the same text. */
	#arrive(worker: Worker): void {
		const wire = worker.wire;
		if (!wire) return;
		wire.hasArrived = true;
		const { body } = wire;
		const { messages, queue } = this.#service;
		if ([...messages, ...queue].some((each) => each.body === body)) this.wrong.push(`the ${body} text arrives twice`);
		const { rows } = this.#store.dump();
		if (rows.some((row) => row.body !== body && row.state === "sending"))
			this.wrong.push(`the ${body} text arrives while the other one may be on its way`);
		if (queue.some((each) => each.body !== body)) this.wrong.push(`the ${body} text displaces the other one`);
		if (this.#cancelled?.has(body)) this.wrong.push(`the ${body} text begins after it was cancelled`);
		(this.#bounds.window === "open" ? messages : queue).push({ body, at: this.#now });
	}

	#storeOf(worker: Worker): OutboxStore {
		const store = this.#store;
		const note = <Value>(call: string, value: Value): Value => {
			worker.memory = createHash("sha1")
				.update(JSON.stringify([worker.memory, this.#now, worker.offset, call, value], decisive) ?? "")
				.digest("base64");
			return value;
		};
		const stops =
			<Values extends unknown[], Value>(call: string, act: (...values: Values) => Promise<Value>) =>
			async (...values: Values): Promise<Value> => {
				await this.#stand(worker, call);
				return note(call, await act(...values));
			};
		return {
			...store,
			async claim(options) {
				if (worker.lease) return [];
				const leases = await store.claim(options);
				const [lease] = leases;
				worker.lease = lease;
				note("claim", lease && [lease.id, lease.band, lease.revision]);
				return leases;
			},
			...(this.#bounds.isFine && {
				find: stops("find", store.find),
				claimed: stops("claimed", store.claimed),
				nextOf: stops("nextOf", store.nextOf),
			}),
			open: async (...values) =>
				values[1] === 1 && !this.#bounds.isFine
					? note("open", await store.open(...values))
					: stops("open", store.open)(...values),
			openWithFacts: stops("open", store.openWithFacts),
			rest: stops("release", store.rest),
			release: stops("release", store.release),
			save: stops("save", store.save),
		};
	}

	#client(worker: Worker | undefined): Client {
		const get = async () => {
			await this.#stand(worker, "read");
			const { messages, queue } = this.#service;
			if (worker)
				worker.memory = createHash("sha1")
					.update(JSON.stringify([worker.memory, this.#now, worker.offset, messages, queue]))
					.digest("base64");
			return conversation(this.#bounds.window, noon + this.#now, messages, queue);
		};
		const send = async ({ body }: { body: string }, { deadline }: Call): Promise<Answer> => {
			if (!worker) throw new Error("A caller sends nothing.");
			// A process may be stopped before the client measures how long a call takes. That its clock is set back too in the same
			// moment is beyond any check.
			const isMeasured = this.#bounds.clockStepMs !== undefined;
			const deadlineMs = typeof deadline === "number" ? deadline : deadline.getTime() - Date.now();
			const until = isMeasured ? this.#now + deadlineMs : Number.POSITIVE_INFINITY;
			await this.#stand(worker, "write");
			worker.memory += ` ${this.#now}`;
			if (this.#now >= until || (typeof deadline !== "number" && Date.now() >= deadline.getTime())) {
				const facts = { operation: "messages.send", attempts: 0, outcome: "not_sent" } as const;
				return { ok: false, error: new PartnerTimeoutError("too late", facts) };
			}
			worker.wire = { body, at: this.#now, hasArrived: false };
			await this.#stand(worker, "answer");
			const answer = worker.wire.answer ?? { ok: false };
			worker.memory += ` ${this.#now} ${answer.ok}`;
			worker.wire = undefined;
			return answer;
		};
		const agency = (id: string) => ({
			id,
			conversations: {
				lookup: async () => {
					const { conversation } = await get();
					return [{ input: to, conversation: conversation.summary }];
				},
				get: () => {
					const running = get();
					return Object.assign(running, {
						withResponse: () => running.then((data) => ({ data, response: { headers: new Headers() } })),
					});
				},
			},
			messages: {
				send: (message: { body: string }, call: Call) => ({
					async withResponse() {
						const { ok, data, error } = await send(message, call);
						if (!ok) throw error;
						return { data, response: { headers: new Headers() } };
					},
				}),
			},
		});
		return { ...ofPackage, agency, defaultCountry: "GB" } as unknown as Client;
	}
}

/** Leaves out the journal, because nothing is decided by it. */
const decisive = (name: string, value: unknown) => (name === "journal" ? undefined : value);

function newWorker(): Worker {
	return { isDead: false, memory: "", offset: 0 };
}

const timeOf = (ms: number) => new Date(ms).toISOString();

/** As `conversations.get` answers. An open window ends soon, so that the outbox does not rely on the service's memory of ids. */
function conversation(
	window: Bounds["window"],
	now: number,
	messages: readonly { body: string; at: number }[],
	queue: readonly { body: string; at: number }[],
) {
	const newest = messages.at(-1);
	const queuedMessages = queue.map(({ body, at }) => ({
		id: `q ${body}`,
		body,
		createdAt: timeOf(noon + at),
		updatedAt: timeOf(noon + at),
	}));
	return {
		conversation: {
			summary: {
				phoneNumber: to,
				windowExpiresAt: window === "open" ? timeOf(now + 600_000) : null,
				lastInboundAt: null,
				lastMessageAt: newest ? timeOf(noon + newest.at) : null,
				activeFlows: 0,
				aiEnabled: false,
				totalMessages: messages.length,
				failedMessages: 0,
				queuedMessages: queue.length,
			},
			queuedMessages,
			windowReopenReadiness: { eligibleForManualSend: true, availableLanguages: ["en"], defaultLanguage: "en" },
		},
		messagePage: {
			messages: [...messages].reverse().map(({ body, at }) => ({
				messageSid: `m ${body}`,
				body,
				direction: "outbound",
				templateName: null,
				buttonClicked: null,
				createdAt: timeOf(noon + at),
				status: "sent",
				deliveredAt: null,
				readAt: null,
			})),
			nextCursor: null,
		},
	};
}
