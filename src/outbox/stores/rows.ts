/*
 * What a row means.
 */
import { newProgress, type OpenText, type OutboxText } from "../text.ts";
import type { Row, Value } from "./connection.ts";

/** The columns that are numbers, which PostgreSQL gives as strings. */
const numbers = /^(seq|notBefore|notAfter|priority|createdAt|since|nextAt|readyAt|version|unacknowledged)$/;
/** The columns that only statements use. */
const internal = /^(attempted|begunAt|stoppedAt|arrived|isOpen|hidden|mark|wave|part[A-Z]\w*)$/;

export function textFrom(row: Row): OutboxText {
	const fields = Object.entries(row).flatMap(([column, value]) => {
		const name = column.replace(/_(.)/, (_, letter: string) => letter.toUpperCase());
		if (internal.test(name)) return [];
		return [[name, value !== null && numbers.test(name) ? Number(value) : value]];
	});
	const { recipient: to, progress, ...text } = Object.fromEntries(fields);
	return { ...text, to, progress: { ...newProgress, ...JSON.parse(progress) } };
}

/** The row of a text that is open, with what stopped its recipient. */
export function openTextFrom({ begun, cancelled_at, ...row }: Row): OpenText {
	return { ...textFrom(row), isStopped: cancelled_at !== null && Number(begun) <= Number(cancelled_at) };
}

/** What is on its way comes first, then what the service holds, then what was attempted. */
export function inTurn(one: OutboxText, other: OutboxText): number {
	return rankOf(one) - rankOf(other) || other.priority - one.priority || one.seq - other.seq;
}

const rankOf = ({ state, progress }: OutboxText): number =>
	state === "sending" ? 0 : state === "held" ? 1 : progress.attempts > 0 ? 2 : 3;

/** The values of a row that `save` writes. */
export function savedValues(text: OutboxText): Value[] {
	const { seq, version, state, reason, since, nextAt, readyAt, messageId, queueId, unacknowledged, progress } = text;
	const values: Value[] = [seq, version, state, reason, since, nextAt, readyAt, messageId, queueId, unacknowledged];
	return [...values, Number(progress.attempts > 0), JSON.stringify(progress)];
}
