/*
 * The statements that PostgreSQL and SQLite have in common. Both know `on conflict` and `returning`; MySQL has statements of its own.
 */
import { insertedFacts, keysLength, laterFacts, latestFacts } from "./facts.ts";
import { leaseStatements } from "./leases.ts";
import { isMeta } from "./meta.ts";
import type { Names } from "./names.ts";
import { mayWork } from "./schema.ts";
import {
	atOnce,
	changing,
	closingRestore,
	countedByDay,
	countsOf,
	endingFarPauses,
	everyText,
	isClaimable,
	isFree,
	isListed,
	isOnlyRead,
	isOpen,
	lastStops,
	marks,
	mayHaveBegun,
	ofAgency,
	open,
	puttingForward,
	rowsOfMarks,
	type Statements,
	servedNow,
	suspendedOf,
	turnFirst,
	turnOrder,
	unfinishedTextsOf,
} from "./statements.ts";

/** In what their statements differ, beside whole ones. */
interface Dialect {
	/** The clock of the leases, in milliseconds. */
	clock: string;
	/** The texts of a number, in one agency or in all of them. */
	ofNumber: string;
	/** The column of a text that a stop is compared with. */
	begun: string;
}

/** What becomes of a row of the contacts that is there. */
export const onSame = "on conflict (key_id, hash, agency_id) do update set";

/** What `erase` changes. */
const erased = `recipient = '', body = '', subaccount_id = null, consent_language = null, message_id = null,
	queue_id = null, by_whom = null, why = null, cancelled_by = null, cancelled_at = null, given = null, attempts = 0, failures = 0, progress = '{}', next_at = null, version = version + 1`;

export function returningStatements(
	{ texts, contacts, queues, agencies, workers, leases, meta }: Names,
	{ clock, ofNumber, begun }: Dialect,
) {
	const free = isFree(clock);
	return {
		find: `select * from ${texts} where id = $1`,
		byMessage: `select * from ${texts} where message_id = $1`,
		unfinished: `select * from ${texts} where ${ofNumber} and ${isOpen} = 1 and next_at is not null and seq > $3
			order by seq limit ${atOnce}`,
		unfinishedOf: unfinishedTextsOf(texts),
		followed: `select * from ${texts}
			where recipient = $1 and agency_id = $2 and next_at <= $3 and state in ('sent', 'delivered') order by seq`,
		nextOf: `select next_at, state, purpose from ${texts}
			where recipient = $1 and agency_id = $2 and next_at > $3 order by next_at limit 1`,
		claimed: `select message_id, queue_id from ${texts}
			where recipient = $1 and agency_id = $2 and message_id is not null order by seq desc limit 100`,
		meta: `select *, ${keysLength} as keys_length from ${meta} where ${isMeta}`,
		addKeys: `update ${meta} set hash_keys = $1 where ${isMeta} and hash_keys = $2 returning 1 as one`,
		useSettled: `update ${meta} set settled_used = 1 where ${isMeta} and settled_used = 0 returning 1 as one`,
		open: (isAll) => `select t.*, ${begun} as begun,
				${lastStops(contacts, "t.agency_id", "$5", "$6")}
			from ${texts} t
			where recipient = $1 and agency_id = $2 and next_at is not null and state in ${open}
				and (attempts > 0 or ready_at <= $3)
				${isAll ? `and ${isOpen} = 1 and seq > $4 order by seq limit ${atOnce}` : `order by ${turnOrder} limit $4`}`,
		unacknowledged: (withHeld) => `select * from ${texts}
			where unacknowledged is not null and ${isListed(withHeld)} order by since, seq limit $1`,
		facts: (names, agency, from) => latestFacts({ contacts, meta }, names, agency, from),
		note: (columns, count = 1) => {
			const all = insertedFacts(columns);
			return `insert into ${contacts} (agency_id, hash, key_id, ${all.join(", ")}) values ${rowsOfMarks(count, 3 + all.length)}
				${onSame} ${laterFacts(
					columns,
					(column) => `${contacts}.${column}`,
					(column) => `excluded.${column}`,
				)}`;
		},
		contacts: `select * from ${contacts} where key_id <> '' and (key_id, hash, agency_id) > ($1, $2, $3)
			order by key_id, hash, agency_id limit ${atOnce}`,
		contactsOf: (count) => `select * from ${contacts} where key_id = $1 and hash in (${marks(count, 2)})`,
		numbers: `select recipient from ${texts} where recipient > $1 group by recipient order by recipient limit ${atOnce}`,
		asleep: `select agency_id, next_at from ${texts} where state = 'waiting' and reason = 'quiet_hours' group by agency_id, next_at`,
		recoverPauses: `update ${agencies} set paused_until = $1 where failures > 0 and paused_until > $1 returning 1 as one`,
		noteRestored: `insert into ${contacts} (agency_id, hash, key_id, restored_from, restored_to, restored_source, restored_by) values ('', '', '', $1, $2, $3, $4) ${onSame} restored_from = excluded.restored_from, restored_to = excluded.restored_to, restored_source = excluded.restored_source, restored_by = excluded.restored_by`,
		declareRestore: `update ${meta} set restore_number = restore_number + 1, restore_from = $1, restore_to = $2, restore_source = $3, restored_at = ${clock}
			where ${isMeta} and restore_number = $4 returning 1 as one`,
		closeRestore: `${closingRestore({ meta, workers }, clock)} returning 1 as one`,
		restored: changing(
			texts,
			`update ${texts} set restored_from = $1, restored_to = $2, restore_number = $3, version = version + 1, arrived = 1`,
			{ among: everyText, fits: `state in ${open} and next_at is not null and ${mayHaveBegun}` },
		),
		erase: [
			changing(texts, `update ${texts} set ${erased}`, {
				among: `${ofNumber} and ${isOpen} = 0`,
				fits: `state not in ${open}`,
			}),
		],
		eraseOne: [changing(texts, `update ${texts} set ${erased}`, { among: "id = $1", fits: `state not in ${open}` })],
		last: `select max(seq) as seq from ${texts}`,
		notePurge: `update ${meta} set purged_before = $1 where ${isMeta} and purged_before < $1 returning 1 as one`,
		purge: (keepsUnacknowledged) => {
			const ended = "next_at is null and recipient <> '' and since < $1";
			const fits = keepsUnacknowledged ? "unacknowledged is null" : "1 = 1";
			return {
				keys: `select seq, since, case when ${fits} then 1 else 0 end as fits from ${texts}
					where ${ended} and (since, seq) > (:since, :seq) order by since, seq limit ${atOnce}`,
				change: `delete from ${texts} where seq in (:keys) and ${ended} and ${fits} returning 1 as one`,
			};
		},
		newest: `select seq, agency_id, recipient, purpose, next_at, state from ${texts}
			where arrived = 1 and next_at is not null and ${mayWork({ meta })} order by seq desc limit $1`,
		oldest: `select seq, agency_id, recipient, purpose, next_at, state from ${texts}
			where arrived = 1 and next_at is not null and ${mayWork({ meta })} order by seq limit $1`,
		adopted: (seqs) => `update ${texts} set arrived = null where seq in (${seqs}) returning 1 as one`,
		putForward: (seqs) => `${puttingForward(texts)(seqs)} returning 1 as one`,
		endFarPauses: `${endingFarPauses(agencies)} returning 1 as one`,
		turns: (what, without, limit) => {
			const isDue = (band: number): string => `exists (select 1 from ${queues} q
				where q.agency_id = a.agency_id and band = ${band} and due_at <= $1 and ${free})`;
			const isHealthy = `and failures = 0
				and not exists (select 1 from ${agencies} everybody where everybody.agency_id = '' and everybody.failures > 0)`;
			const isSuspended = isOnlyRead(what, { agencies, contacts });
			return `select agency_id, served_at, ${suspendedOf(what, isSuspended)} as is_suspended from ${agencies} a
				where agency_id <> '' ${what === "probe" ? "" : isHealthy} ${without > 0 ? `and agency_id not in (${marks(without, 2)})` : ""}
					${what === "probe" ? "and (failures = 0 or paused_until <= $1)" : ""}
					and ${isClaimable(what, isSuspended, isDue)}
				order by ${what === "read" ? "" : `case when ${isDue(0)} then 0 else 1 end,`} ${turnFirst(clock)} limit ${limit}`;
		},
		serve: `update ${agencies} set served_at = ${servedNow(clock)} where agency_id = $1 and served_at = $2 returning 1 as one`,
		due: (band, at, limit) => `select id, agency_id, band, due_at from ${queues}
			where agency_id = $${at + 2} and band = ${band} and due_at <= $1 and ${free} order by due_at limit ${limit}`,
		watched: [3, 2, 1, 0]
			.map(
				(band) => `select * from (select recipient from ${queues}
					where agency_id = $1 and band = ${band} and due_at <= $2 order by due_at limit $3) as q${band}`,
			)
			.join(" union all ")
			.concat(" limit $3"),
		remove: `delete from ${queues} where id = $1 and token = $2 and revision = $3 returning 1 as one`,
		rest: `update ${queues} set band = 3, due_at = first.next_at, token = null, lease_until = null
			from (select next_at, state from ${texts} where recipient = $4 and agency_id = $5 and next_at is not null
				order by next_at limit 1) as first
			where id = $1 and token = $2 and revision = $3 and first.next_at > $6 and first.state not in ('waiting', 'sending')
			returning 1 as one`,
		removeEmpty: `delete from ${queues} where id = $1 and token = $2 and revision = $3 and not exists (
				select 1 from ${texts} t where t.recipient = $4 and t.agency_id = $5 and t.next_at is not null)
			returning 1 as one`,
		addAgencies: (count) =>
			`insert into ${agencies} (agency_id) values ${rowsOfMarks(count, 1)} on conflict do nothing`,
		consent: `select consent, consent_revision from ${agencies} where agency_id = $1`,
		keepConsent: `update ${agencies} set consent = $1, consent_revision = consent_revision + 1
			where agency_id = $2 and consent_revision = $3 returning 1 as one`,
		agencies: `select agency_id from ${agencies} where agency_id not in ('', '*')`,
		paused: `select agency_id, paused_until, failures, reason, cause, since from ${agencies} where failures > 0`,
		resume: `update ${agencies} set paused_until = 0, failures = 0, reason = null, cause = null, since = null
			where agency_id = $1 and failures > 0 returning 1 as one`,
		probe: `update ${agencies} set paused_until = $1
			where agency_id = $2 and paused_until = $3 and failures > 0 returning 1 as one`,
		suspend: `insert into ${contacts} (agency_id, hash, key_id, suspended_reason, suspended_by, suspended_since) values ($1, '', '', $2, $3, $4) ${onSame} suspended_reason = excluded.suspended_reason, suspended_by = excluded.suspended_by,
			suspended_since = coalesce(${contacts}.suspended_since, excluded.suspended_since)`,
		endSuspension: `update ${contacts} set suspended_since = null, suspended_reason = null, suspended_by = null, resumed_at = $2, resumed_by = $3
			where ${ofAgency} and agency_id = $1 and suspended_since is not null returning 1 as one`,
		declared: `select agency_id, resumed_at, resumed_by, restored_from, restored_to, restored_by from ${contacts}
			where ${ofAgency} and (resumed_at > $1 or restored_to is not null)`,
		suspended: `select agency_id, suspended_since, suspended_reason, suspended_by from ${contacts} where ${ofAgency} and suspended_since is not null`,
		nextQueues: `select max(id) as last, count(*) as count from (select id from ${queues} where id > $1 order by id limit $2) as q1`,
		join: `insert into ${workers} (id, version, runs_once, started_at, seen_at, number, signed_at, restore_number)
			values ($1, $2, $3, ${clock}, ${clock}, $4, $5, $6) on conflict (id) do nothing returning 1 as one`,
		sign: `select number, signed_at from ${workers} where id = $1`,
		signBefore: `select max(signed_at) as at from ${workers} where signed_at <= $1`,
		noteForgotten: `update ${meta} set forgotten = forgotten + 1
			where ${isMeta} and exists (select 1 from ${workers} where seen_at < ${clock} - 86400000) returning 1 as one`,
		written: (seqs) => `select seq, id, version from ${texts} where seq in (${seqs})`,
		touch: `update ${texts} set version = version + 1 where seq = $1 and id = $2 and version >= $3 returning 1 as one`,
		forgetSilent: `delete from ${workers} where seen_at < ${clock} - 86400000 returning 1 as one`,
		leave: `update ${workers} set left_at = ${clock} where id = $1 returning 1 as one`,
		workers: `select id, version, runs_once, ${clock} - started_at as age_ms, ${clock} - seen_at as silent_ms from ${workers} where left_at is null
			order by seen_at desc limit 100`,
		counts: countsOf({ texts, queues, agencies, contacts }),
		bySeq: (seqs) => `select * from ${texts} where seq in (${seqs})`,
		countDays: (bounds) => countedByDay(texts, bounds),
		nextAgency: `select agency_id from ${texts} where agency_id > $1 order by agency_id limit 1`,
		...leaseStatements({ leases }, { clock, unlessThere: "on conflict do nothing", counted: "returning 1 as one" }),
	} satisfies Partial<Statements>;
}
