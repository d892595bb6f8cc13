import type {
	ObservedPoll,
	ObservedStatus,
	ObservedStore,
	ObservedText,
	Observer,
	RunningPoll,
} from "../../shared/observer.ts";
import { listOf, orNull, rule, type Schema } from "../../shared/validation.ts";
import { createBounded } from "../base/bounded.ts";
import { phoneFrom } from "../base/contract.ts";
import { assertValid, fields, wholeFrom } from "../base/input.ts";
import { isInstant } from "../world/instant.ts";

/** What the outboxes and feeds that use a sandbox show of themselves. */
export interface Observed {
	/** False if the sandbox was made with `observe: false`. */
	readonly isOn: boolean;
	/** How many outboxes have announced themselves. */
	readonly outboxes: number;
	/** The newest 200 texts of all outboxes, the one that changed last first. */
	readonly texts: readonly ObservedText[];
	/** How many outboxes could not be read, for example because their database was closed. */
	readonly unreadable: number;
	/** The newest 200 polls of all feeds, the newest first. */
	readonly polls: readonly ObservedPoll[];
}

/** What another process reports. */
export interface ObservedReport {
	/** A random id of the process, so that its next report takes the place of this one. */
	readonly source: string;
	/** The texts of its outboxes now, at most 200. */
	readonly texts: readonly ObservedText[];
	/** How many of its outboxes could not be read. */
	readonly unreadable: number;
	/** How many outboxes it has. */
	readonly outboxes: number;
	/** Its polls since the last report, at most 200. */
	readonly polls: readonly ObservedPoll[];
}

const most = 200;
const mostOfOne = 50;
const mostDelivered = 50;
const longestBody = 500;
/** Of an error. */
const longestName = 100;
const mostSources = 20;
/** A database that does not answer must not block the page. */
const longestReadMs = 3_000;

const short = (longest: number): Schema<string> =>
	rule(
		(text) => typeof text === "string" && text.length <= longest,
		`must be a string of at most ${longest} characters`,
	);
const anInstant: Schema<string> = rule(
	(at) => typeof at === "string" && at.length < 40 && isInstant(Date.parse(at)),
	"must be an instant",
);
const aPhone: Schema<string> = rule(
	(phone) => typeof phone === "string" && phoneFrom(phone) === phone,
	"must be E.164",
);
const upTo = (longest: number, schema: Schema<unknown>): Schema<unknown> =>
	rule(
		(list) => Array.isArray(list) && list.length <= longest && listOf(schema).safeParse(list).success,
		`must be a list of at most ${longest}, each as the package reports it`,
	);

const reportRule = fields<ObservedReport>({
	source: rule((id) => typeof id === "string" && /^[\w-]{8,64}$/.test(id), "must be 8 to 64 letters, digits, - or _"),
	outboxes: wholeFrom(0),
	unreadable: wholeFrom(0),
	texts: upTo(
		most,
		fields<ObservedText>({
			id: short(255),
			agencyId: short(255),
			to: orNull(aPhone),
			body: short(longestBody),
			state: short(20),
			reason: orNull(short(40)),
			description: short(longestBody),
			since: anInstant,
			nextAttemptAt: orNull(anInstant),
			attempts: wholeFrom(0),
			operationId: orNull(short(255)),
			error: orNull(short(longestName)),
		}),
	),
	polls: upTo(
		most,
		fields<ObservedPoll>({
			feed: short(40),
			agencyId: short(255),
			at: anInstant,
			ms: wholeFrom(0),
			delivered: upTo(
				mostDelivered,
				fields<ObservedPoll["delivered"][number]>({ phoneNumber: aPhone, messages: wholeFrom(0) }),
			),
			count: wholeFrom(0),
			remaining: wholeFrom(0),
			unread: wholeFrom(0),
			error: orNull(short(longestName)),
		}),
	),
});

export interface ObservedControl {
	/** What the `fetch` of the connection carries; undefined when it is off. */
	readonly observer: Observer | undefined;
	read(): Promise<Observed>;
	report(report: ObservedReport): void;
}

/** Outboxes are read when asked for. Polls are kept, because a feed has no store. */
export function createObserved(isOn: boolean): ObservedControl {
	const outboxes = createBounded<ReadTexts>({ atMost: mostSources, weight: mostSources, weigh: () => 1 });
	const polls = createBounded<ObservedPoll>({ atMost: most, weight: most, weigh: () => 1 });
	const reports = new Map<string, ObservedReport>();
	return {
		observer: isOn ? createObserver(outboxes.add, polls.add) : undefined,
		async read() {
			const { texts, unreadable } = await readAll(outboxes.items());
			const reported = [...reports.values()];
			const all = [texts, ...reported.map((report) => report.texts)].flat();
			return {
				isOn,
				outboxes: outboxes.length + sum(reported.map((report) => report.outboxes)),
				texts: newestOf(all),
				unreadable: unreadable + sum(reported.map((report) => report.unreadable)),
				polls: [...polls.items()].reverse(),
			};
		},
		report(given) {
			assertValid("observe", given, reportRule);
			if (!isOn) return;
			reports.delete(given.source);
			reports.set(given.source, given);
			for (const oldest of reports.keys()) if (reports.size > mostSources) reports.delete(oldest);
			for (const poll of given.polls) polls.add(poll);
		},
	};
}

/** Reads the newest texts of an outbox. */
export type ReadTexts = () => Promise<readonly ObservedText[]>;

/** What the `fetch` of a connection carries. It hands on how an outbox is read, and each poll when it has ended. */
export function createObserver(onOutbox: (read: ReadTexts) => void, onPoll: (poll: ObservedPoll) => void): Observer {
	return {
		outbox(store, status) {
			const ids = new Set<string>();
			onOutbox(() => textsOf(store, status, ids));
			return (id) => {
				ids.delete(id);
				ids.add(id);
				for (const oldest of ids) if (ids.size > mostOfOne) ids.delete(oldest);
			};
		},
		poll: (feed, agencyId) => openPoll(feed, agencyId, onPoll),
	};
}

/** The unfinished texts, and those with these ids. */
async function textsOf(
	store: ObservedStore,
	status: (id: string) => Promise<ObservedStatus | undefined>,
	ids: ReadonlySet<string>,
): Promise<readonly ObservedText[]> {
	const states = ["waiting", "sending", "held", "unknown"] as const;
	const listed = await Promise.all(states.map((state) => store.list(state, mostOfOne)));
	const found = await Promise.all([...ids].map((id) => store.find(id)));
	const rows = new Map([...listed.flat(), ...found].flatMap((row) => (row ? [[row.id, row] as const] : [])));
	const newest = [...rows.values()].sort((a, b) => b.seq - a.seq).slice(0, mostOfOne);
	const shown = newest.map(async ({ id, body }) => {
		const now = await status(id);
		if (!now) return [];
		const { agencyId, to, state, reason, description, since, nextAttemptAt, attempts, operationId, error } = now;
		const text: ObservedText = {
			...{ id, agencyId, to, state, reason, attempts, operationId },
			body: body.slice(0, longestBody),
			description: description.slice(0, longestBody),
			since: since.toISOString(),
			nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
			error: error?.tag ?? null,
		};
		return [text];
	});
	return (await Promise.all(shown)).flat();
}

function openPoll(feed: string, agencyId: string, onEnd: (poll: ObservedPoll) => void): RunningPoll {
	const began = Date.now();
	const delivered: ObservedPoll["delivered"][number][] = [];
	let count = 0;
	return {
		delivered({ phoneNumber, messages }) {
			if (++count <= mostDelivered) delivered.push({ phoneNumber, messages: messages.length });
		},
		ended({ remaining, failures }, failure) {
			const { _tag, name = "Error" } = Object(failure);
			const error = failure === undefined ? null : `${_tag ?? name}`.slice(0, longestName);
			const [at, ms] = [new Date(began).toISOString(), Math.max(0, Date.now() - began)];
			onEnd({ feed, agencyId, at, ms, delivered, count, remaining, unread: failures.length, error });
		},
	};
}

/** The texts of outboxes, and how many of these could not be read. */
export async function readAll(
	reads: readonly ReadTexts[],
): Promise<{ texts: readonly ObservedText[]; unreadable: number }> {
	const read = await Promise.all(reads.map((each) => inTime(each).catch(() => undefined)));
	return {
		texts: newestOf(read.flatMap((texts) => texts ?? [])),
		unreadable: read.filter((texts) => texts === undefined).length,
	};
}

async function inTime<Result>(read: () => Promise<Result>): Promise<Result> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	const late = new Promise<never>((_, reject) => {
		timer = setTimeout(() => reject(new Error("too slow")), longestReadMs);
	});
	return Promise.race([read(), late]).finally(() => clearTimeout(timer));
}

/** Two processes may show the same text, of one store: the one that has seen more of it counts. */
function newestOf(texts: readonly ObservedText[]): ObservedText[] {
	const byId = new Map<string, ObservedText>();
	for (const text of texts) {
		const known = byId.get(text.id);
		if (!known || known.since < text.since) byId.set(text.id, text);
	}
	return [...byId.values()].sort((a, b) => b.since.localeCompare(a.since)).slice(0, most);
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
