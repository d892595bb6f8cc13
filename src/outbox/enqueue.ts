/*
 * Stores texts. Nothing is awaited before the statement that does: with a synchronous database it is part of the transaction that is
 * open.
 */
import { checkedLater, fieldsOf, flag, optional } from "../shared/validation.ts";
import { type Awaitable, after } from "./awaitable.ts";
import { cancelText } from "./cancel.ts";
import { type OutboxContext, wakeWorker } from "./context.ts";
import { gate } from "./gate/gate.ts";
import { storedSituation } from "./gate/situation.ts";
import { onEnqueue } from "./gate/waiting.ts";
import {
	checkedText,
	checkedTexts,
	type EnqueuedStatus,
	type EnqueuedText,
	type EnqueueOptions,
	ignoredIn,
	refuseOther,
} from "./given-text.ts";
import { check, refuse } from "./input.ts";
import { statusOf } from "./status.ts";
import type { Superseded, Superseding } from "./store.ts";
import {
	earlierTexts,
	hasSuperseded,
	mayStillArrive,
	refuseSuperseding,
	stillArriving,
	supersededBy,
} from "./supersede.ts";
import type { NewText, OutboxText } from "./text.ts";
import { synchronousIn, type Transaction } from "./transaction.ts";

const schema = fieldsOf<EnqueueOptions>({ tx: checkedLater(), allowUnlistedNumber: optional(flag) });

/**
 * Runs what stores texts. An error in a synchronous transaction is thrown, because a rejection would reach the caller after the
 * commit.
 */
function atOnce<Result>(
	given: EnqueueOptions,
	operation: "enqueue" | "enqueueMany",
	act: (given: EnqueueOptions) => Awaitable<Result>,
): Promise<Result> {
	try {
		// A transaction in place of the options would be ignored, and the text stored although it is rolled back.
		return Promise.resolve(act(check(schema, "options", given, operation)));
	} catch (error) {
		if (synchronousIn(Object(given).tx, "enqueue")) throw error;
		return Promise.reject(error);
	}
}

// One text

export function enqueue(
	context: OutboxContext,
	given: EnqueuedText,
	options: EnqueueOptions = {},
): Promise<EnqueuedStatus> {
	const { client, clock, now, defaultCountry } = context.options;
	return atOnce(options, "enqueue", ({ tx, allowUnlistedNumber }) => {
		const checked = checkedText(given, client, { defaultCountry, allowUnlistedNumber }, now());
		return after(clock.measure(tx), () => insertOne(context, { ...checked, createdAt: now() }, tx));
	});
}

function insertOne(context: OutboxContext, text: NewText, tx: Transaction | undefined): Awaitable<EnqueuedStatus> {
	const { store } = context.options;
	const superseded = supersededBy(text);
	if (!superseded)
		return after(store.insert(text, tx), (row) => enqueued(context, text, checkedRow(text, { text: row }), tx));
	if (tx === undefined) return enqueueInPlace(context, text, superseded);
	return after(store.supersede(text, superseded, tx), (rows) => {
		const row = checkedRow(text, rows);
		const { old } = rows;
		const arriving = old && hasSuperseded(row, old) && mayStillArrive(row, old) ? old : undefined;
		return enqueued(context, text, row, tx, arriving);
	});
}

/** Stores a text and cancels the one whose place it takes, in two steps. */
async function enqueueInPlace(context: OutboxContext, text: NewText, { id }: Superseded): Promise<EnqueuedStatus> {
	const { store } = context.options;
	const [old, known] = await Promise.all([store.find(id), store.find(text.id)]);
	// A repeated call finds its own text, whatever the earlier one does by now.
	if (!known) refuseSuperseding(text, known, old);
	const row = checkedRow(text, { text: known ?? (await store.insert(text, undefined)), old });
	// A process that dies before this leaves both, and the worker cancels the earlier one.
	if (old && !old.progress.cancelRequested && hasSuperseded(row, old))
		await cancelText(context, old.id, { superseded: true });
	return enqueued(context, text, row, undefined, await stillArriving(store, row));
}

/** The row of a text that was enqueued. Refuses one that can't be, before anything is awaited. */
function checkedRow(text: NewText, { text: row, old }: Superseding): OutboxText {
	if (row) refuseOther(text, row);
	refuseSuperseding(text, row, old);
	return row ?? refuse("supersedes", "was changed at this moment: enqueue again", "enqueue");
}

/** @param arriving the text that was superseded, and may still arrive at another number of the contact */
async function enqueued(
	context: OutboxContext,
	text: NewText,
	row: OutboxText,
	tx: Transaction | undefined,
	arriving?: OutboxText,
): Promise<EnqueuedStatus> {
	const ignored = ignoredIn(text, row);
	context.show?.(row.id);
	// In the place of a held text it rings no phone.
	const mayExpire = isNew(row) && tx === undefined && !(await takesPlaceOfHeld(context, row));
	const expired = mayExpire ? await expireIfQuiet(context, row) : undefined;
	if (expired) return { ...(await statusOf(context.options.store, expired, undefined, arriving)), ignored };
	if (isDue(context, row)) await wakeWorker(context, row, row.id, tx);
	if (tx === undefined) context.claimNow();
	return { ...(await statusOf(context.options.store, row, undefined, arriving)), ignored };
}

/** Whether a text takes the place of one that the service holds for the same contact. */
async function takesPlaceOfHeld({ options: { store } }: OutboxContext, text: OutboxText): Promise<boolean> {
	for await (const { state, to, agencyId } of earlierTexts(store, text))
		if (state === "held" && to === text.to && agencyId === text.agencyId) return true;
	return false;
}

// Many texts

export function enqueueMany(
	context: OutboxContext,
	given: Iterable<Omit<EnqueuedText, "supersedes">>,
	options: EnqueueOptions = {},
): Promise<EnqueuedStatus[]> {
	const { client, clock, now, defaultCountry } = context.options;
	return atOnce(options, "enqueueMany", ({ tx, allowUnlistedNumber }) => {
		const checked = checkedTexts(given, client, { defaultCountry, allowUnlistedNumber }, now());
		if (checked.length === 0) return Promise.resolve([]);
		return after(clock.measure(tx), () => {
			const createdAt = now();
			const texts = checked.map((text) => ({ ...text, createdAt }));
			return insertAll(context, texts, tx);
		});
	});
}

function insertAll(
	context: OutboxContext,
	texts: readonly NewText[],
	tx: Transaction | undefined,
): Awaitable<EnqueuedStatus[]> {
	return after(context.options.store.insertMany(texts, tx), (rows) => {
		const all = rows.map((row, at) => ({ text: texts[at] as NewText, row }));
		for (const [at, { text, row }] of all.entries()) refuseOther(text, row, `texts[${at}].id`, "enqueueMany");
		return enqueuedMany(context, all, tx);
	});
}

async function enqueuedMany(
	context: OutboxContext,
	all: readonly { text: NewText; row: OutboxText }[],
	tx: Transaction | undefined,
): Promise<EnqueuedStatus[]> {
	for (const { row } of all) context.show?.(row.id);
	// An id may be in the list twice.
	const unique = new Map(all.map(({ row }) => [row.id, row]));
	await Promise.all(
		[...unique].map(async ([id, row]) => {
			const expired = isNew(row) && tx === undefined ? await expireIfQuiet(context, row) : undefined;
			if (expired) unique.set(id, expired);
		}),
	);
	const stored = all.map(({ text, row }) => ({ ignored: ignoredIn(text, row), row: unique.get(row.id) ?? row }));
	const first = stored.find(({ row }) => row.state === "waiting" && isDue(context, row));
	if (first) await wakeWorker(context, first.row, first.row.id, tx);
	if (tx === undefined) context.claimNow();
	return Promise.all(
		stored.map(async ({ row, ignored }) => ({ ...(await statusOf(context.options.store, row)), ignored })),
	);
}

// A text that was stored

const isNew = ({ version }: OutboxText): boolean => version === 0;

/** What is due later is found by the workers themselves. */
const isDue = ({ options: { now } }: OutboxContext, row: OutboxText): boolean =>
	isNew(row) && (row.nextAt ?? 0) <= now();

/** Ends a text that can only be sent in quiet hours at once, while somebody may be in the office who can call. */
async function expireIfQuiet(
	{ options, quiet, change }: OutboxContext,
	text: OutboxText,
): Promise<OutboxText | undefined> {
	if (text.state !== "waiting") return undefined;
	// If the time zone cannot be had, the worker tells of it.
	const known = { hours: await quiet.hours(text.agencyId).catch(() => null) };
	const { row, isChanged } = await change(text, (found) => {
		if (!isNew(found) || found.state !== "waiting") return undefined;
		const situation = storedSituation(found, options, Math.max(options.now(), found.readyAt));
		const answer = gate({ ...situation, known }, onEnqueue);
		return answer?.do === "become" ? answer.change : undefined;
	});
	return isChanged ? row : undefined;
}
