/*
 * What a row means.
 */

import { byUrgency } from "../policy/purpose.ts";
import { newProgress, type OpenText, type OutboxText } from "../text.ts";
import type { Row, Value } from "./connection.ts";
import { savedColumns } from "./statements.ts";

/** The columns that are numbers, which PostgreSQL gives as strings. */
const numbers =
	/^(seq|notBefore|notAfter|priority|createdAt|since|nextAt|readyAt|version|unacknowledged|sentAt|endedAt|attempts|failures|restored(From|To)|cancelledAt)$/;
/** The columns that only statements use. */
const internal =
	/^(begunAt|plannedAt|stoppedAt|arrived|isOpen|otherKeys|hidden|least|mark|wave|restoreNumber|part[A-Z]\w*)$/;

export function textFrom(row: Row): OutboxText {
	const fields = Object.entries(row).flatMap(([column, value]) => {
		const name = column.replace(/_(.)/, (_, letter: string) => letter.toUpperCase());
		if (internal.test(name)) return [];
		return [[name, value !== null && numbers.test(name) ? Number(value) : value]];
	});
	const {
		recipient: to,
		given,
		progress,
		attempts,
		failures,
		restoredFrom,
		restoredTo,
		cancelReason,
		cancelledBy,
		cancelledAt,
		...text
	} = Object.fromEntries(fields);
	return {
		...text,
		to,
		given: given === null ? {} : JSON.parse(given),
		progress: {
			...newProgress,
			...JSON.parse(progress),
			attempts,
			failures,
			...(restoredTo !== null && { restored: { from: restoredFrom, to: restoredTo } }),
			...(cancelReason !== null && { cancelRequested: true }),
			...(cancelledBy !== null && { cancelledBy, cancelledAt }),
			...(cancelReason === "superseded" && { superseded: true }),
		},
	};
}

/** The row of a text that is open, with what stopped its recipient, or all of its agency. */
export function openTextFrom({ begun, last_stop, agency_stop, ...row }: Row): OpenText {
	const stops = [last_stop, agency_stop].filter((stop) => stop !== null);
	return { ...textFrom(row), isStopped: stops.some((stop) => Number(begun) <= Number(stop)) };
}

/** What is on its way comes first, then what the service holds, then what was attempted. */
export function inTurn(one: OutboxText, other: OutboxText): number {
	return rankOf(one) - rankOf(other) || byUrgency(one, other) || one.seq - other.seq;
}

const rankOf = ({ state, progress }: OutboxText): number =>
	state === "sending" ? 0 : state === "held" ? 1 : progress.attempts > 0 ? 2 : 3;

/** The values of a row that `save` writes, after those by which it finds the row. */
export function savedValues(text: OutboxText): Value[] {
	const { attempts, failures, restored, cancelRequested, superseded, ...written } = text.progress;
	// Only a transaction of the caller writes these.
	const { cancelledBy: _, cancelledAt: __, ...rest } = written;
	const values: Record<(typeof savedColumns)[number], Value> = {
		state: text.state,
		reason: text.reason,
		since: text.since,
		sent_at: text.sentAt,
		ended_at: text.endedAt,
		next_at: text.nextAt,
		ready_at: text.readyAt,
		message_id: text.messageId,
		queue_id: text.queueId,
		unacknowledged: text.unacknowledged,
		attempts,
		failures,
		restored_from: restored?.from ?? null,
		restored_to: restored?.to ?? null,
		cancel_reason: superseded ? "superseded" : cancelRequested ? "requested" : null,
		progress: JSON.stringify(rest),
	};
	return [text.seq, text.version, ...savedColumns.map((name) => values[name])];
}
