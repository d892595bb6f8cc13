/*
 * A store on a database that speaks SQL. The statements are in the file of the database; here is what they have in common: the
 * order in which they run, and what their rows mean.
 */

import { type Awaitable, after } from "../awaitable.ts";
import { bandOf, type OutboxStore, storeMark } from "../store.ts";
import { isUnfinished, type NewText, type OpenText, type OutboxText, type Recipient } from "../text.ts";
import { inChunks, type Row, type Value } from "./connection.ts";
import { createContactNames } from "./contact-names.ts";
import { isKeyTaken, withoutValues } from "./database-error.ts";
import { createFacts, eraseNames, factsFrom } from "./facts.ts";
import { createNamedLeases } from "./leases.ts";
import { createMeta, otherKeysIn, refuseUnread } from "./meta.ts";
import { createOperations } from "./operations.ts";
import { refuseChangedText } from "./plain-rows.ts";
import { createQueues } from "./queues.ts";
import { inTurn, openTextFrom, savedValues, textFrom } from "./rows.ts";
import { refuseChange, refuseWork } from "./schema.ts";
import { createSigns, isLess } from "./signs.ts";
import { atOnce, type Database, ownChanges } from "./statements.ts";
import { createSweeps, pauseSince } from "./sweep.ts";

/** A database takes some thousand values in one statement. */
const mostAcknowledged = 1_000;

export function createSqlStore(database: Database): OutboxStore {
	const { statements } = database;
	/** Runs something of the database, whose errors may quote the values. */
	const shielded = <Result>(values: readonly Value[], running: Promise<Result>): Promise<Result> =>
		running.catch((error: unknown) => Promise.reject(withoutValues(error, values)));
	/** The same for what a synchronous library runs at once. */
	const shieldedNow = <Result>(values: readonly Value[], act: () => Awaitable<Result>): Awaitable<Result> => {
		try {
			const running = act();
			return running instanceof Promise ? shielded(values, running) : running;
		} catch (error) {
			throw withoutValues(error, values);
		}
	};
	const query = (sql: string, values: Value[]): Promise<Row[]> => shielded(values, database.query(sql, values));
	const change = (sql: string, values: Value[]): Promise<number> => shielded(values, database.change(sql, values));
	const textsOf = async (sql: string, values: Value[]): Promise<OutboxText[]> =>
		(await query(sql, values)).map(textFrom);
	const whose = ({ to = "", agencyId = "" }: Partial<Recipient>): [string, string] => [to, agencyId];

	const metaRow = async (): Promise<Row | undefined> => (await query(statements.meta, []))[0];
	const isSettledUsed = async (): Promise<boolean> => Number((await metaRow())?.settled_used) === 1;

	let checked: Promise<unknown> | undefined;
	/** Checks the connection before its first use. */
	function check(): Promise<unknown> {
		checked ??= shielded([], database.check()).catch((error: unknown) => {
			checked = undefined;
			throw error;
		});
		return checked;
	}

	async function moveKeys(): Promise<void> {
		for (const sql of statements.keysForward ?? []) await query(sql, []);
	}
	const withNewKeys = <Result>(act: () => Promise<Result>): Promise<Result> =>
		act().catch(async (error: unknown) => {
			if (!isKeyTaken(error)) throw error;
			await moveKeys();
			return act();
		});

	/** Nothing is awaited before the statement of a transaction, because a synchronous one ends before what is awaited. */
	function insertMany(texts: readonly NewText[], tx: unknown): Awaitable<OutboxText[]> {
		const all = texts.map(insertedValues);
		const inserted = shieldedNow(all.flat(), () =>
			tx === undefined ? check().then(() => withNewKeys(() => database.insert(all))) : database.insertIn(tx, all),
		);
		return after(inserted, (found) => {
			const rows = new Map(found.map((row) => [String(row.id), row]));
			return texts.map(({ id }) => {
				const row = rows.get(id);
				if (!row) throw new Error("The text was not stored.");
				return textFrom(tx === undefined ? row : refuseChangedText(row));
			});
		});
	}

	/** All unfinished texts of an agency. Those that come later are not meant, and the search ends however many come. */
	async function unfinishedOf(agencyId: string): Promise<OutboxText[]> {
		const end = Number((await query(statements.last, []))[0]?.seq ?? 0);
		const found: OutboxText[] = [];
		for (let place = [Number.MIN_SAFE_INTEGER, 0]; ; ) {
			const began = performance.now();
			const rows = await query(statements.unfinishedOf, [agencyId, ...place, end]);
			const seqs = rows.flatMap(({ seq, fits }) => (Number(fits) === 1 ? [Number(seq)] : []));
			const some = seqs.length > 0 ? await textsOf(statements.bySeq(seqs.join(", ")), []) : [];
			// Some have ended meanwhile.
			found.push(...some.filter(({ state }) => isUnfinished(state)));
			const last = rows.at(-1);
			if (!last || rows.length < atOnce) return found.sort((one, other) => one.seq - other.seq);
			place = [Number(last.planned_at), Number(last.seq)];
			await pauseSince(began);
		}
	}

	/** Refuses a role that does not see all rows, before anything is decided by what it sees. */
	const seesAll = (): Promise<unknown> => shielded([], database.checkRows?.() ?? Promise.resolve());
	const seeing =
		<Values extends unknown[], Result>(act: (...values: Values) => Promise<Result>) =>
		async (...values: Values): Promise<Result> => {
			await seesAll();
			return act(...values);
		};

	/** Refuses if a later version no longer reads what this one stores. */
	const mayChange = async (operation: string): Promise<void> => refuseChange(await metaRow(), operation);
	const checkWork = async (): Promise<void> => refuseWork(await metaRow());
	const changing =
		<Values extends unknown[], Result>(operation: string, act: (...values: Values) => Promise<Result>) =>
		async (...values: Values): Promise<Result> => {
			await seesAll();
			await mayChange(operation);
			return act(...values);
		};

	const meta = createMeta(database.names, statements, query, change);
	const names = createContactNames(meta);
	const { changeTexts, changeQueues } = createSweeps(statements, { query, change });
	const queues = createQueues(statements, { query, change, moveKeys, withNewKeys, checkWork });
	const facts = createFacts(statements, names, { query });
	const leases = createNamedLeases(statements, {
		query,
		change,
		changeIn: (tx, sql, values) => shielded(values, database.changeIn(tx, "confirm", sql, values)),
	});
	const operations = createOperations(statements, { query, change, changeQueues });
	const { signing, wrote, expected } = createSigns(statements, { query, change, changeTexts, metaRow });
	const { time: readTime, timeline: readTimeline } = database;
	// Nothing depends on it.
	const timeline = readTimeline && { timeline: () => readTimeline().catch(() => undefined) };
	const time = readTime && {
		async time(tx?: unknown): Promise<number> {
			if (tx === undefined) await check();
			const [row] = await shielded([], readTime(tx));
			return Number(row?.ms);
		},
	};
	return {
		...storeMark,
		...time,
		...timeline,
		...queues,
		async migrate(later = []) {
			await check();
			await shielded([], database.migrate(later));
			if (later.length === 0) await mayChange("migrate");
		},
		insert: (text, tx) => after(insertMany([text], tx), ([row]) => row as OutboxText),
		insertMany,
		supersede(text, old, tx) {
			const values = insertedValues(text);
			const named = { ...old, by: text.id, now: text.createdAt };
			const found = shieldedNow(values, () => database.supersedeIn(tx, values, named));
			return after(found, (rows) => ({
				text: rows.text && textFrom(refuseChangedText(rows.text)),
				old: rows.old && textFrom(refuseChangedText(rows.old)),
			}));
		},
		async cancelIn(id, now, tx, by) {
			const row = await shielded([id], database.cancelIn(tx, id, now, by ?? null));
			return row && textFrom(refuseChangedText(row));
		},
		async find(id) {
			const [found] = await textsOf(statements.find, [id]).catch(async (error: unknown) => {
				await seesAll();
				throw error;
			});
			if (!found) await seesAll();
			return found;
		},
		async open(recipient, limit, now) {
			const { keyId, hash } = await names.nameOf(recipient.to);
			const read = async (isAll: boolean, at: number): Promise<OpenText[]> =>
				(await query(statements.open(isAll), [...whose(recipient), now, at, keyId, hash])).map(openTextFrom);
			const found = await (limit > atOnce ? inParts((after) => read(true, after)) : read(false, Math.max(limit, 10)));
			// The few that were attempted are ordered here, so that the database needs to sort nothing.
			return found.sort(inTurn).slice(0, limit);
		},
		async openWithFacts(recipient, limit, now) {
			const { keyId, hash } = await names.nameOf(recipient.to);
			// Asked first, because more is stored while the statement runs.
			const least = expected();
			const read = async (): Promise<Row[]> => {
				const all = (await names.allOf(recipient.to)).map((name) => [name.keyId, name.hash]);
				const others = otherKeysIn(database.names, all.map((_, at) => `$${2 * at + 7}`).join(", "));
				const from = 7 + 2 * all.length;
				const own = ownChanges(database.names, `$${from}`, `$${from + 1}`);
				// In one statement, because the facts of an agency may be copied together with its texts.
				const rows = await query(
					`select opened.*, known.*, ${others} as other_keys, ${own} from (${statements.facts(all.length, "$2", 7)}) as known
						left join (${statements.open(false)}) as opened on 1 = 1`,
					[...whose(recipient), now, Math.max(limit, 10), keyId, hash, ...all.flat(), least.id, least.seq],
				);
				return (await names.isBehind(rows[0] ?? {})) ? read() : rows;
			};
			const rows = await read();
			if (Number(rows[0]?.other_keys) > 0) refuseUnread(database.names);
			const isBehind = rows.some((row) => isLess(least, row));
			const found = rows.map(({ own_number, own_version, ...row }) => factsFrom(row));
			const texts = found.flatMap(({ rest }) => (rest.seq === null ? [] : [openTextFrom(rest)]));
			return { texts: texts.sort(inTurn).slice(0, limit), facts: found[0]?.facts ?? {}, isBehind };
		},
		unfinished: (recipient) =>
			recipient.to === undefined
				? unfinishedOf(recipient.agencyId ?? "")
				: inParts((after) => textsOf(statements.unfinished, [...whose(recipient), after])),
		followed: (recipient, now) => textsOf(statements.followed, [...whose(recipient), now]),
		async save(text, { unlessStopped: isGuarded = false, lease, leaseMs = 0, isAsked = false } = {}) {
			if (isAsked) await mayChange("cancel");
			const { keyId, hash } = isGuarded ? await names.nameOf(text.to) : { keyId: "", hash: "" };
			const isLeased = lease !== undefined;
			const { id, token } = lease ?? { id: 0, token: "" };
			if (isLeased && statements.prolong && (await change(statements.prolong, [id, token, leaseMs])) === 0)
				return false;
			const values = savedValues(text);
			if (isGuarded || isLeased) values.push(id, token, leaseMs, Number(isGuarded), Number(isLeased), keyId, hash);
			if ((await change(statements.save({ isGuarded, isLeased }), values)) === 0) return false;
			wrote({ ...text, version: text.version + 1 });
			return true;
		},
		stop: changing("cancelAll", async ({ agencyId = "", to }, source) => {
			const { keyId, hash } = to === undefined ? { keyId: "", hash: "" } : await names.nameOf(to);
			await query(statements.stop, [agencyId, hash, keyId, source]);
			await nextMoment();
		}),
		async wake(recipient, now) {
			await changeTexts(statements.wake, [now, ...whose(recipient)]);
			await change(statements.wakeQueues, [now, ...whose(recipient)]);
		},
		asleep: async () =>
			(await query(statements.asleep, [])).map(({ agency_id, next_at }) => ({
				agencyId: String(agency_id),
				until: Number(next_at),
			})),
		async awaken({ agencyId, until }, now) {
			await changeTexts(statements.awaken, [now, agencyId, until]);
			await changeQueues(statements.wakeAgency, [now, agencyId]);
		},
		async recover(now) {
			await changeTexts(statements.recover, [now]);
			await changeQueues(statements.recoverQueues, [now]);
			await change(statements.recoverPauses, [now]);
		},
		async nextOf(recipient, now) {
			const [row] = await query(statements.nextOf, [...whose(recipient), now]);
			return row && { at: Number(row.next_at), band: bandOf(String(row.state), String(row.purpose)) };
		},
		claimed: async (recipient) =>
			(await query(statements.claimed, whose(recipient))).map(({ message_id, queue_id }) => ({
				messageId: String(message_id),
				wasHeld: queue_id !== null,
			})),
		byMessage: async (messageId) => (await textsOf(statements.byMessage, [messageId]))[0],
		unacknowledged: seeing(async (limit, { held = false } = {}) => {
			if (!(await isSettledUsed())) await change(statements.useSettled, []);
			return textsOf(statements.unacknowledged(held), [limit]);
		}),
		async acknowledge(changes, tx) {
			if (tx === undefined) await mayChange("acknowledge");
			// All statements begin here, because what is awaited is not part of a synchronous transaction.
			const statements = inChunks(changes, mostAcknowledged).map((some) => {
				const values = some.flatMap(({ id, revision }) => [id, revision]);
				return shielded(values, tx === undefined ? database.acknowledge(values) : database.acknowledgeIn(tx, values));
			});
			await Promise.all(statements);
		},
		erase: changing("erase", async (which, at) => {
			if (!("id" in which)) {
				const { to = "", agencyId = "" } = which;
				await meta.refresh();
				const all = await names.allOf(to);
				await eraseNames(statements, all, { own: await names.nameOf(to), agencyId, at }, query);
			}
			const [what, values]: ["erase" | "eraseOne", Value[]] =
				"id" in which ? ["eraseOne", [which.id]] : ["erase", whose(which)];
			for (const statement of statements[what]) await changeTexts(statement, values);
			if (what === "erase") await change(statements.removeQueues, values);
		}),
		purge: changing("purge", async (before) => {
			await change(statements.notePurge, [before]);
			return changeTexts(statements.purge(await isSettledUsed()), [before]);
		}),
		outboxId: async () => (await meta.get()).outboxId,
		keys: seeing(async () => (await meta.refresh()).keys),
		addKeys: changing("importContacts", meta.addKeys),
		...facts,
		...leases,
		note: changing("optOut", facts.note),
		learn: changing("importContacts", facts.learn),
		contacts: seeing(facts.contacts),
		async contactsOf(numbers) {
			await seesAll();
			// Another process may have added one.
			await meta.refresh();
			return facts.contactsOf(numbers);
		},
		numbers: seeing(facts.numbers),
		async checkKeys(operation) {
			await seesAll();
			await meta.checkKeys(operation);
		},
		...operations,
		...signing,
		restored: changing("restored", signing.restored),
		async beat(worker) {
			await check();
			await seesAll();
			await meta.checkKeys();
			await checkWork();
			return signing.beat(worker);
		},
		suspend: changing("suspend", operations.suspend),
		endSuspension: changing("resume", operations.endSuspension),
		counts: seeing(operations.counts),
		list: seeing(operations.list),
		search: seeing(operations.search),
		countDays: seeing(operations.countDays),
		nextAgency: seeing(operations.nextAgency),
	};
}

/** All texts of a number, of which a statement gives the next ones after one. */
async function inParts<Text extends OutboxText>(next: (after: number) => Promise<Text[]>): Promise<Text[]> {
	const found: Text[] = [];
	for (let isMore = true; isMore; ) {
		const some = await next(found.at(-1)?.seq ?? 0);
		found.push(...some);
		isMore = some.length === atOnce;
	}
	return found;
}

/** The values of {@link insertedColumns}. */
function insertedValues(text: NewText): Value[] {
	const { subaccountId, consentLanguage, notBefore, notAfter, createdAt } = text;
	const readyAt = notBefore ?? 0;
	const given = Object.keys(text.given).length > 0 ? JSON.stringify(text.given) : null;
	const message: Value[] = [text.id, text.agencyId, text.to, text.body, subaccountId, consentLanguage];
	const when: Value[] = [createdAt, createdAt, Math.max(createdAt, readyAt), readyAt, Math.max(createdAt, readyAt)];
	return [...message, notBefore, notAfter, text.purpose, text.priority, text.byWhom, text.why, given, ...when, "{}"];
}

/** Waits until a transaction that begins has a later time than the stop: the clock of PGlite counts milliseconds. */
function nextMoment(): Promise<void> {
	return new Promise((resolve) => setTimeout(resolve, 2));
}
