/* Random histories of a service, and a CRM that mirrors it by a feed, whose loop throws and whose process dies now and then. */
import { createClient } from "messaging-conversations";
import { type Change, type ChangeFeed, type ChangesOptions, changes } from "messaging-conversations/sync";
import { pick, randomFrom } from "../faults/random.ts";
import { bodyMark, createModel, cursorMark, type Kind, type Model, type ModelMessage, type Passed } from "./model.ts";

const second = 1_000;
const minute = 60 * second;
const lookbackMs = 2 * minute;
const never = Number.NEGATIVE_INFINITY;

/** The kinds of service, each with what the contract leaves open read in another way. */
export const kinds: Record<string, Kind> = {
	"times in milliseconds": {},
	"times in seconds": { precisionMs: second },
	"times of 4 s": { precisionMs: 4 * second },
	"times of 30 s": { precisionMs: 30 * second },
	"late commits": { lateMs: 110 * second },
	"late commits, times of 30 s": { lateMs: 80 * second, precisionMs: 30 * second },
	"cursors that break no ties": { cursors: "times", precisionMs: 4 * second },
	"offset cursors": { cursors: "offsets", precisionMs: second },
	"messages listed after they are counted": { listLagMs: 5 * second },
	"messages listed late, some without a time": {
		listLagMs: 20 * second,
		undatedMessages: true,
		untimed: "first",
		cursors: "offsets",
		unreadable: true,
		faults: 0.05,
	},
	"copies that lag behind": { copiesLagMs: 60 * second },
	"copies that lag behind, late commits, times in seconds": {
		copiesLagMs: 40 * second,
		lateMs: 60 * second,
		precisionMs: second,
		randomIds: true,
	},
	"times in the future": { futureMs: 20 * minute },
	"random ids": { randomIds: true, precisionMs: second },
	"no Date": { withoutDate: true },
	"rows without a time first": { untimed: "first" },
	"rows without a time last": { untimed: "last", lateMs: 30 * second },
	"hidden and shown again": { hides: true },
	"conversations that cannot be read for a while": { unreadable: true },
	"requests that fail": { faults: 0.15, faultStatuses: [500, 0] },
	"answers of a gateway": { faults: 0.15, faultStatuses: [404, 403, 408, 400, 502], faultsAreOfGateway: true },
	"429": { faults: 0.1, faultStatuses: [429] },
	"messages without a time": { undatedMessages: true },
	"photos that are stored later": { lateMediaMs: 8 * minute },
	"lists that circle or do not end": { endless: true, cursors: "offsets" },
	"a clock that is set back": { setsBack: true },
	"a clock that is set back, times in seconds": { setsBack: true, precisionMs: second, randomIds: true },
	"a clock that is set back, conversations that cannot be read for a while": { setsBack: true, unreadable: true },
	"copies that lag behind, lists that do not end, photos that are stored later": {
		copiesLagMs: 60 * second,
		endless: true,
		lateMediaMs: 8 * minute,
		unreadable: true,
		faults: 0.05,
		faultStatuses: [500, 0, 429],
	},
	"answers of a gateway, copies that lag behind, and much else": {
		copiesLagMs: 60 * second,
		endless: true,
		hides: true,
		faults: 0.1,
		faultStatuses: [404, 403, 410, 0],
		faultsAreOfGateway: true,
	},
	"errorBodies any, and a gateway that answers 404": {
		faults: 0.15,
		faultStatuses: [404, 502],
		faultsAreOfGateway: true,
		anyErrorBody: true,
	},
	"answers that are no answers": { between: ["html", "nothing", "json", "cut"] },
	"lists without rows": { between: ["no rows"], hides: true },
	"lists that end too early": { between: ["fewer rows"], hides: true },
	"answers of another agency": { between: ["foreign"], precisionMs: second },
	"cached answers": { between: ["cached", "cached, new Date"] },
	"cursors that lead back": { between: ["repeated"], cursors: "offsets" },
	"answers from in between, late commits, times in seconds": {
		between: ["html", "cut", "no rows", "cached", "cached, new Date", "repeated", "foreign"],
		lateMs: 30 * second,
		precisionMs: second,
		copiesLagMs: 20 * second,
		faults: 0.05,
		faultStatuses: [404, 403, 502, 0],
		faultsAreOfGateway: true,
	},
	"contacts that are erased": { erases: true },
	"contacts that are erased, messages without a time, answers from in between": {
		erases: true,
		undatedMessages: true,
		between: ["html", "cut", "no rows", "cached", "repeated", "foreign"],
	},
	"a clock that is set forward": { setsForward: true },
	"a clock that is set forward, copies that lag behind, no rows": {
		setsForward: true,
		copiesLagMs: 40 * second,
		between: ["no rows", "foreign"],
	},
	"all at once": {
		lateMs: 60 * second,
		precisionMs: 4 * second,
		cursors: "offsets",
		futureMs: 5 * minute,
		randomIds: true,
		untimed: "first",
		unreadable: true,
		faults: 0.05,
		faultStatuses: [500, 0, 429],
	},
};

export interface HistoryOptions {
	kind: Kind;
	seed: number;
	/**
	 * How the CRM stores: a change and the checkpoint in one transaction, or one after the other; and whether its loop throws
	 * or it is killed.
	 */
	crm: (typeof crms)[number];
	/** How many changes the CRM stores at once: by default one in every other history, and else by chance up to 12. */
	size?: number;
	options?: Partial<ChangesOptions>;
	/** In place of the feed under test. */
	feed?: typeof changes;
}

/** How the CRM stores, in the order of how much can go wrong. */
export const crms = [
	"one transaction",
	"throws in one transaction",
	"killed in one transaction",
	"killed between two",
] as const;

function sizeBy(seed: number): number {
	const random = randomFrom(-seed);
	return random() < 0.5 ? 1 : 2 + Math.floor(random() * 11);
}

/** The plain loop over a feed. */
async function* singly(feed: ChangeFeed): AsyncGenerator<Change[]> {
	for await (const change of feed) yield [change];
}

/** What the body of the loop throws. Its transaction is rolled back. */
class LoopError extends Error {}

/** What is wrong with the mirror, in counts: all must be 0 but the last. */
export interface Findings {
	/** Messages that the mirror does not have. */
	lost: number;
	/** Messages that were stored twice. */
	twice: number;
	/** Messages of one change that are not oldest first, or that came after a newer one. */
	disordered: number;
	/** Conversations whose summary is not the service's. */
	untrue: number;
	/** Requests beyond one in a poll without a change, and changes in it. */
	loud: number;
	/** Checkpoints that hold a cursor or a text. */
	leaks: number;
	/** Messages from before a feed that began with "now". */
	early: number;
	/** Messages of erased contacts that came, and checkpoints that hold their numbers. */
	unerased: number;
	/** Photos of which the service has a copy and the mirror does not. */
	uncopied: number;
	/** Characters of the largest checkpoint; no fault. */
	largest: number;
	/** What docs/mirroring-limits.md lists, in counts; no fault. */
	limits: Partial<Record<Limit, number>>;
}

/** A limit of docs/mirroring-limits.md. */
export type Limit =
	/** Lost: it became visible with its conversation, long after its time. */
	| "shown later"
	/** Lost: it was there when a feed began with now. */
	| "before now"
	/** Twice, or a summary is an old one: the change was stored and its checkpoint was not. */
	| "stored in two steps"
	/** Twice: a poll was interrupted, and a message of the conversation has no time. */
	| "without a time"
	/** Twice: the service's clock was set back. */
	| "clock set back"
	/** Lost: a page that keeps the contract has left its conversation out, with all that the feed could have missed. */
	| "left out of a list"
	/** From before a feed that began with now: its first list broke off, or was not the service's present. */
	| "began in parts";

/** The faults among the findings, by name; empty when all is well. */
export function faultsIn({ largest: _, limits: __, ...faults }: Findings): Partial<Findings> {
	return Object.fromEntries(Object.entries(faults).filter(([, count]) => count > 0));
}

/** One loop over a feed. */
interface Loop {
	begin: number;
	end: number;
	/** The checkpoint before it, and after it. */
	since: string;
	checkpoint: string;
	/** It was not left, and did not fail. */
	isWhole: boolean;
}

/** Where a feed is. All messages before its lookback count as delivered. */
function positionOf(checkpoint: string): { position: number; inSnapshot: boolean } {
	const { position, snapshot } = JSON.parse(checkpoint);
	return { position: typeof position === "number" ? position : never, inSnapshot: snapshot !== undefined };
}

/**
 * Whether a message was left out of the list with which the feed passed it by, in such a way that nobody could see it: no
 * answer of that list shows the message, nor does one lack a conversation of the checkpoint that no other one shows.
 */
function isLeftOut(
	{ passed, conversations }: Model,
	{ at, visibleAt, id }: ModelMessage,
	loops: readonly Loop[],
): boolean {
	const passing = loops.findIndex(
		({ end, checkpoint }) => end >= visibleAt && positionOf(checkpoint).position - lookbackMs > at,
	);
	let first = passing;
	// What a list lacks is still missing where its delivery is continued.
	while (first > 0 && (!loops[first - 1]?.isWhole || positionOf(loops[first - 1]?.checkpoint ?? "{}").inSnapshot))
		first--;
	return loops.slice(Math.max(first, 0), passing + 1).some(({ begin, end, since }) => {
		const lists = passed.filter((answer) => answer.isList && answer.at >= begin && answer.at <= end);
		const isShown = (message: { id: number }): boolean => lists.some(({ shown }) => shown.has(message.id));
		const remembered = conversations.filter(({ phoneNumber }) => since.includes(phoneNumber));
		const missing = remembered.filter(({ messages }) => !messages.some(isShown));
		const lacks = ({ hidden }: Passed, messages: readonly ModelMessage[]) =>
			messages.some((each) => hidden.has(each.id));
		return (
			!isShown({ id }) &&
			lists.some((list) => list.hidden.has(id) && !missing.some(({ messages }) => lacks(list, messages)))
		);
	});
}

export async function playHistory(options: HistoryOptions): Promise<Findings> {
	const { now } = Date;
	try {
		return await play(options);
	} finally {
		Date.now = now;
	}
}

async function play({
	kind,
	seed,
	crm,
	size = sizeBy(seed),
	options,
	feed = changes,
}: HistoryOptions): Promise<Findings> {
	const random = randomFrom(seed);
	const model = createModel(kind, random);
	// The feed's local clock is that of the history.
	Date.now = () => model.now;
	model.pageSize = 4 + Math.floor(random() * 5);
	// Photos are followed on the newest page.
	if (kind.lateMediaMs !== undefined) model.pageSize += 30;
	const end = plan(model, kind, random);
	model.advance(pick(random, [0, minute, 20 * minute]));

	const client = createClient({
		baseUrl: "https://model.invalid/api/v1",
		apiKey: "model_live.a.b",
		fetch: model.fetch,
		retry: false,
		errorBodies: kind.anyErrorBody ? "any" : "service",
	});
	const agency = client.agency(model.agencyId);
	const { faults, hides, unreadable, undatedMessages, copiesLagMs = 0, endless, setsBack, between, erases } = kind;
	const isCalm = ![faults, hides, unreadable, undatedMessages, copiesLagMs, endless, setsBack, between].some(Boolean);
	const erased = new Set<string>();
	const skip = (phoneNumber: string): boolean => erased.has(phoneNumber);
	const beginsNow = random() < 0.3;
	let checkpoint: string = beginsNow ? "now" : "beginning";
	/** When the feed had begun, and what it must not deliver. */
	let beganAt = beginsNow ? Number.NaN : Number.NEGATIVE_INFINITY;
	const before = new Set<number>();
	const stored = new Map<number, number>();
	/** How many times a message was stored without the checkpoint that covers it. */
	const uncovered = new Map<number, number>();
	/** The contacts whose latest summary was stored without it. */
	const loose = new Set<string>();
	const copied = new Set<number>();
	const summaries = new Map<string, unknown>();
	const findings: Findings = {
		lost: 0,
		twice: 0,
		disordered: 0,
		untrue: 0,
		loud: 0,
		leaks: 0,
		early: 0,
		unerased: 0,
		uncopied: 0,
		largest: 0,
		limits: {},
	};
	/** Counts what a limit explains, in place of a fault. */
	const excuse = (limit: Limit, count = 1): void => {
		if (count > 0) findings.limits[limit] = (findings.limits[limit] ?? 0) + count;
	};

	/** All loops over feeds, with the checkpoints before and after. */
	const loops: Loop[] = [];
	async function poll(mayDie: boolean, again?: ChangeFeed): Promise<{ changed: number; failed: boolean }> {
		const opened = again ?? feed(agency, { since: checkpoint, ...(erases && { skip }), ...options });
		// A loop that continues a feed begins no second time, even if no checkpoint of it is stored.
		if (opened.checkpoint.includes('"position":"now"')) {
			before.clear();
			// What an answer from a copy of the data begins with is that copy's present.
			model.behindMs = copiesLagMs;
			for (const conversation of model.conversations) for (const { id } of model.listed(conversation)) before.add(id);
			model.behindMs = 0;
		}
		let changed = 0;
		const loop: Loop = { begin: model.now, end: model.now, since: opened.checkpoint, checkpoint: "", isWhole: false };
		loops.push(loop);
		const endLoop = (): void => {
			if (loop.checkpoint !== "") return;
			Object.assign(loop, { end: model.now, checkpoint: opened.checkpoint });
			// A read that was under way when the loop was left counts for nothing.
			const known: [string, { is: string; messages: unknown[] }][] = JSON.parse(loop.checkpoint).known;
			for (const [phoneNumber, { is, messages }] of known) {
				const conversation = model.conversations.find((each) => each.phoneNumber === phoneNumber);
				if (conversation && is !== "delivered" && !messages[0]) conversation.readAt = undefined;
			}
		};
		try {
			for await (const batch of size === 1 ? singly(opened) : opened.batches(size)) {
				for (const { phoneNumber } of batch) if (erased.has(phoneNumber)) findings.unerased++;
				// Erased while its poll runs: the feed forgets it, and skips it from now on.
				if (erases && mayDie && random() < 0.03) {
					const { phoneNumber } = pick(random, model.conversations);
					erased.add(phoneNumber);
					opened.erase(phoneNumber);
				}
				if (mayDie && crm === "throws in one transaction" && random() < 0.15) throw new LoopError();
				changed += batch.length;
				const dies = mayDie && random() < 0.08;
				// In the middle of a transaction: nothing of it is stored.
				if (dies && crm === "killed in one transaction" && random() < 0.5) return { changed, failed: true };
				for (const change of batch) store(change);
				if (dies && crm === "killed between two") {
					for (const { phoneNumber } of batch) loose.add(phoneNumber);
					for (const { id } of batch.flatMap(({ messages }) => messages))
						uncovered.set(id, (uncovered.get(id) ?? 0) + 1);
					return { changed, failed: true };
				}
				note(opened.checkpoint);
				if (dies && /^killed/.test(crm)) return { changed, failed: true };
			}
			note(opened.checkpoint);
			if (Number.isNaN(beganAt)) beganAt = model.now;
			loop.isWhole = true;
			return { changed, failed: false };
		} catch (error) {
			endLoop();
			// The retry loop that people write: it loops over the same feed again, or over a new one.
			if (error instanceof LoopError) {
				if (random() < 0.5) note(opened.checkpoint);
				return await poll(mayDie, random() < 0.7 ? opened : undefined);
			}
			// What was delivered before is stored. Whether this is too must not matter.
			if (random() < 0.5) note(opened.checkpoint);
			if (Number.isNaN(beganAt) && checkpoint !== "now" && !checkpoint.includes('"position":"now"'))
				beganAt = model.now;
			return { changed, failed: true };
		} finally {
			endLoop();
		}
	}

	function store({ phoneNumber, conversation, messages }: Change): void {
		summaries.set(phoneNumber, conversation.summary);
		loose.delete(phoneNumber);
		let last = Number.NEGATIVE_INFINITY;
		for (const { id, body, createdAt, mediaStored } of messages) {
			// A photo that is stored later brings its message again.
			if (mediaStored && stored.has(id)) copied.add(id);
			else stored.set(id, (stored.get(id) ?? 0) + 1);
			if (mediaStored) copied.add(id);
			if (before.has(id)) findings.early++;
			// By their numbers if the service's clock was set back.
			const time = setsBack ? Number(body?.replace(/\D/g, "")) : Date.parse(createdAt ?? "");
			const at = createdAt === null ? last : time;
			if (at < last) findings.disordered++;
			last = at;
		}
	}

	function note(text: string): void {
		checkpoint = text;
		findings.largest = Math.max(findings.largest, text.length);
		// Within a poll it can hold a number that is still to be skipped.
		if (!text.includes('"snapshot"'))
			for (const phoneNumber of erased) if (text.includes(phoneNumber)) findings.unerased++;
		if (text.includes(cursorMark) || text.includes(bodyMark)) findings.leaks++;
	}

	while (model.now < end) {
		await poll(true);
		model.advance(pick(random, [second, 15 * second, minute, 5 * minute, 20 * minute]) * random());
	}
	model.isFaulty = false;
	model.endless = undefined;
	// A clock that was set back is noticed if the pause is shorter than the step.
	// A photo whose read fails after ten minutes is followed an hour after its message.
	model.advance((setsBack ? 5 : kind.lateMediaMs === undefined ? 30 : 120) * minute);
	for (let polls = 0; polls < 12; polls++) {
		const { changed, failed } = await poll(false);
		if (polls > 1 && changed === 0 && !failed) break;
		model.advance(30 * second);
	}
	model.pageSize = 100;
	const asked = model.requests.length;
	const quiet = await poll(false);
	findings.loud = model.requests.length - asked - 1 + quiet.changed;

	const isInterrupted = crm !== "one transaction" || (faults ?? 0) > 0 || between !== undefined;
	for (const conversation of model.conversations) {
		let isWhole = true;
		for (const message of model.seen(conversation)) {
			const times = stored.get(message.id) ?? 0;
			const isPassedBy = conversation.shownAt.some(
				(shownAt) => shownAt >= message.visibleAt && shownAt - message.at > lookbackMs - 2 * second,
			);
			if (times === 0) isWhole = false;
			// A feed that begins now goes by times until it has read the conversation: see docs/mirroring-limits.md.
			const { listedAt = never, readAt = never } = conversation;
			const isExisting = message.at < beganAt && message.at <= listedAt && message.visibleAt < readAt;
			const isLost = times === 0 && message.visibleAt > beganAt && !erased.has(conversation.phoneNumber);
			if (isLost && isPassedBy) excuse("shown later");
			else if (isLost && isExisting) excuse("before now");
			else if (isLost && isLeftOut(model, message, loops)) excuse("left out of a list");
			else if (isLost) findings.lost++;
			const inTwoSteps = Math.max(0, Math.min(times - 1, uncovered.get(message.id) ?? 0));
			const again = Math.max(0, times - 1 - inTwoSteps);
			excuse("stored in two steps", inTwoSteps);
			// A message without a time goes by those of its neighbours, if a poll is interrupted: by a crash or by a failed request.
			if (again > 0 && isInterrupted && conversation.messages.some(({ undated }) => undated))
				excuse("without a time", again);
			// Ids are forgotten after the lookback, so older messages may repeat after the clock was set back.
			else if (again > 0 && setsBack) excuse("clock set back", again);
			else findings.twice += again;
			if (times > 0 && (message.storedAt ?? Infinity) < model.now && !copied.has(message.id)) findings.uncopied++;
		}
		const row = model.rows().find(({ phoneNumber }) => phoneNumber === conversation.phoneNumber);
		const isKnown = isWhole && beganAt === Number.NEGATIVE_INFINITY && !erased.has(conversation.phoneNumber);
		const isTrue = !row || !isKnown || JSON.stringify(summaries.get(row.phoneNumber)) === JSON.stringify(row);
		// A copy that lags behind has shown an older one, and the checkpoint does not know that it was stored.
		if (!isTrue && loose.has(conversation.phoneNumber)) excuse("stored in two steps");
		else if (!isTrue) findings.untrue++;
	}
	// A list that breaks off begins the feed for the conversations that it has shown.
	if (!isCalm) {
		excuse("began in parts", findings.early);
		findings.early = 0;
	}
	return findings;
}

/** Schedules what happens. @returns when it is over */
function plan(model: Model, kind: Kind, random: () => number): number {
	const duration = pick(random, [10, 40, 120]) * minute * (0.5 + random());
	const contacts = 3 + Math.floor(random() * 10);
	for (let i = 0; i < contacts; i++) model.add();
	const some = () => pick(random, model.conversations);
	const begin = model.now;
	const moments = 20 + Math.floor(random() * 60);
	for (let i = 0; i < moments; i++) {
		let at = begin + Math.floor(random() * duration);
		// A burst has its messages between the requests of one scan.
		const burst = random() < 0.2 ? 2 + Math.floor(random() * 6) : 1;
		for (let j = 0; j < burst; j++) {
			model.schedule({
				at,
				happen() {
					const conversation = random() < 0.05 ? model.add() : some();
					if (!model.write(conversation)) return;
					if (random() < 0.1) conversation.name = `Contact ${Math.floor(random() * 1e6)}`;
					if (random() < 0.2) conversation.aiEnabled = !conversation.aiEnabled;
				},
			});
			at += Math.floor(random() * 300);
		}
	}
	for (let i = 0; i < 4; i++) {
		const at = begin + Math.floor(random() * duration);
		const length = Math.floor(random() * random() * 30 * minute);
		if (kind.hides) model.schedule({ at, happen: () => hide(model, some(), length) });
		if (kind.unreadable) model.schedule({ at, happen: () => void (some().unreadableUntil = model.now + length) });
		if (kind.endless) {
			const endless = pick(random, ["circle", "one row", "empty"] as const);
			model.schedule({ at, happen: () => void (model.endless = endless) });
			model.schedule({ at: at + length, happen: () => void (model.endless = undefined) });
		}
	}
	if (kind.setsForward) {
		const at = begin + Math.floor(random() * 0.7 * duration);
		const step = (1 + random()) * 60 * minute;
		model.schedule({ at, happen: () => void (model.clockOffsetMs += Math.floor(step)) });
	}
	if (kind.setsBack) {
		const at = begin + Math.floor(random() * 0.7 * duration);
		const step = (2 + 2 * random()) * 60 * minute;
		model.schedule({ at, happen: () => void (model.clockOffsetMs -= Math.floor(step)) });
	}
	return begin + duration;
}

function hide(model: Model, conversation: Model["conversations"][number], length: number): void {
	conversation.hiddenUntil = model.now + length;
	conversation.shownAt.push(conversation.hiddenUntil);
}
