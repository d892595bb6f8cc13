import { newProgress, type OutboxText, type Progress, type RequestRecord } from "./text.ts";

/** The counters in which version 0.2 kept the requests of a text. */
interface OldProgress {
	attempts: number;
	looks: number;
	tries: number;
	doubts: number;
	firstTriedAt: number | null;
	triedAt: number | null;
	taken: boolean;
	refused: boolean;
	resent: boolean;
}

/** The progress of a stored row, also of one that version 0.2 stored. */
export function progressFrom(
	stored: Partial<Progress> & Partial<OldProgress>,
	row: Pick<OutboxText, "consentLanguage" | "queueId" | "since">,
): Progress {
	const { looks = 0, tries, doubts, firstTriedAt, triedAt, taken, refused, resent, ...rest } = stored;
	if (tries === undefined) return { ...newProgress, ...rest };
	const at = triedAt ?? row.since;
	const requests: RequestRecord[] = [];
	if (row.queueId !== null) requests.push({ at, end: "held" });
	if (resent) requests.push({ at, end: "held" });
	for (let count = tries; count < (doubts ?? 0); count++) requests.push({ at, cleared: true });
	for (let count = 0; count < tries; count++) requests.push({ at: count === 0 ? (firstTriedAt ?? at) : at });
	const last = requests.at(-1);
	if (last && tries > 0 && (taken || refused)) last.end = taken ? "accepted" : "refused";
	const baseline = rest.baseline && { ...rest.baseline, openMs: positive(rest.baseline.openMs) };
	const language = stored.attempts ? row.consentLanguage : undefined;
	return { ...newProgress, ...rest, baseline: baseline ?? null, requests, language, reads: looks };
}

function positive(ms: number | null): number | null {
	return ms !== null && ms > 0 ? ms : null;
}
