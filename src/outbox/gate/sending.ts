/*
 * Every rule of a text whose request began and has no result yet, in order. It is read about, and becomes what its conversation shows.
 * Only a request of a moment ago to an open window is made again at once, with the same id.
 */
import { mayRepeatAtOnce } from "../requests.ts";
import type { Rule } from "./gate.ts";
import { hidden, keeps, takenOver } from "./requested.ts";
import { hookFailed, optedOut, perhapsDeclined, reading, send } from "./shared.ts";
import { matchIn } from "./situation.ts";
import { as, asRead } from "./verdicts.ts";

export const sending: readonly Rule[] = [
	reading,
	hidden,
	takenOver,
	{
		name: "result",
		when: "It becomes what the conversation shows. If that is nothing, it waits for `settleMs`, and then to be sent again",
		concerns: (s) => {
			const match = matchIn(s);
			return match !== null && (match.kind !== "none" || !mayRepeatAtOnce(s.text, s.options, s.now));
		},
		judge: (s) => as(s, asRead(s)),
	},
	hookFailed,
	optedOut,
	...keeps,
	// Of what the service holds, only words let it be sent again, which end this.
	perhapsDeclined,
	send,
];
