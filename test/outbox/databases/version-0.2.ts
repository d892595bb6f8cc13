// Tables as version 0.2 wrote them, with texts in every state.

/** @param seq is the column of the order of arrival, which differs between the databases */
export function tablesOf02(seq: string, table = "outbox_text"): string[] {
	const name = table.replace(/.*\./, "");
	return [
		`create table ${table} (${seq}, id text not null unique, agency_id text not null, recipient text not null,
			body text not null, subaccount_id text, consent_language text, not_after bigint, created_at bigint not null,
			state text not null, since bigint not null, next_at bigint, version bigint not null, message_id text,
			queue_id text, progress text not null)`,
		`create table ${table}_worker (one bigint primary key, token text not null, host text, pid bigint, beat_at bigint)`,
		`create index ${name}_due on ${table} (next_at) where next_at is not null`,
		`create index ${name}_lane on ${table} (agency_id, recipient, next_at, seq) where next_at is not null`,
		`create index ${name}_recipient on ${table} (recipient) where next_at is not null`,
		`create index ${name}_sent on ${table} (agency_id, recipient, seq) where message_id is not null`,
		`create index ${name}_message on ${table} (message_id) where message_id is not null`,
		`create index ${name}_ended on ${table} (since) where next_at is null`,
		...rows.map(
			({ id, agencyId = "agy_1", to, state, nextAt, messageId, queueId, language, progress: changes }) =>
				`insert into ${table} (id, agency_id, recipient, body, consent_language, created_at, state, since, next_at, version,
					message_id, queue_id, progress)
				values ('${id}', '${agencyId}', '${to}', 'Text ${id}', ${text(language)}, ${noon}, '${state}', ${noon + 1},
					${nextAt ?? "null"}, 3, ${text(messageId)}, ${text(queueId)}, '${JSON.stringify({ ...progress, ...changes })}')`,
		),
		`insert into ${table}_worker values (1, 'gone', 'another machine', 4711, ${noon})`,
	];
}

export const noon = Date.parse("2026-01-05T12:00:00Z");

const text = (value: string | undefined): string => (value === undefined ? "null" : `'${value}'`);

/** Of a text that was not sent yet. */
const progress = {
	attempts: 0,
	tries: 0,
	doubts: 0,
	firstTriedAt: null as number | null,
	triedAt: null as number | null,
	taken: false,
	refused: false,
	resent: false,
	emptyAt: null,
	looks: 0,
	failures: 0,
	replacedBy: null,
	baseline: null as object | null,
	error: null as object | null,
};

interface Row {
	id: string;
	agencyId?: string;
	to: string;
	state: string;
	nextAt?: number;
	messageId?: string;
	queueId?: string;
	language?: string;
	progress?: Partial<typeof progress>;
}

const baseline = { since: noon - 9, known: ["SM0"], queued: null, seen: true, readAt: noon, openMs: -5 };
const once = { attempts: 1, tries: 1, doubts: 1, firstTriedAt: noon, triedAt: noon, baseline };

const numberOf = (at: number): string => `+4477009001${String(at).padStart(2, "0")}`;

const rows: Row[] = [
	{ id: "waiting", to: numberOf(1), state: "waiting", nextAt: noon },
	// Tried once without a trace: it stays the first of its contact.
	{
		id: "tried",
		to: numberOf(2),
		state: "waiting",
		nextAt: noon,
		progress: { ...once, tries: 0, error: { tag: "PartnerInternalError", message: "500", correlationId: "c" } },
	},
	{ id: "behind", to: numberOf(2), state: "waiting", nextAt: noon },
	{ id: "sending", to: numberOf(3), state: "sending", nextAt: noon, language: "nl", progress: once },
	{
		id: "held",
		to: numberOf(4),
		state: "held",
		nextAt: noon,
		queueId: "q1",
		progress: { ...once, tries: 0, doubts: 0, baseline: { ...baseline, openMs: 0 } },
	},
	{ id: "sent", to: numberOf(5), state: "sent", nextAt: noon, messageId: "SM1", progress: { ...once, taken: true } },
	...["delivered", "read", "failed"].map((state, at) => ({
		id: state,
		to: numberOf(6 + at),
		state,
		messageId: `SM${2 + at}`,
		progress: { ...once, tries: 0, doubts: 0 },
	})),
	...["dropped", "replaced", "refused", "expired", "cancelled", "unclear"].map((state, at) => ({
		id: state,
		to: numberOf(10 + at),
		state,
	})),
];
export const idsOf02 = rows.map(({ id }) => id);
