/*
 * The rules that hold for every text that was requested before.
 */
import type { Rule } from "./gate.ts";
import { quietHours, quietWhileClosed, refusal, suspension, wrongNumber } from "./shared.ts";
import { matchIn, type Situation, wasRead } from "./situation.ts";
import { as, asRead, become } from "./verdicts.ts";

export const hidden: Rule = {
	name: "hidden",
	when: "Its conversation is unknown, or hidden from the agency: it is read again, and may stay unknown",
	concerns: (s) => wasRead(s) && matchIn(s) === null,
	judge: (s) => as(s, asRead(s)),
};

const isDropped = (s: Situation): boolean => matchIn(s) !== null && asRead(s).state === "dropped";

export const takenOver: Rule = {
	name: "taken_over",
	when: "It has left the service's queue, and the service took a text of yours that was sent in its place",
	concerns: (s) => s.text.progress.replacedBy !== null && isDropped(s),
	needs: "takenOver",
	judge: (s) => (s.known.takenOver ? become({ ...asRead(s), state: "replaced", reason: null }) : undefined),
};

/** What keeps a text from being sent again. */
export const keeps: readonly Rule[] = [suspension, wrongNumber, refusal, quietHours, quietWhileClosed];
