/*
 * May this text go now? If not: why, until when, behind whom?
 */
import type { RuleName, WaitingRule } from "../names.ts";
import type { Change } from "../text.ts";
import { type Fact, isKnown, type Situation } from "./situation.ts";

/** What a rule says of a text. */
export type Verdict =
	/** It ends, or becomes what the conversation shows. */
	| { do: "become"; change: Change }
	/** It waits. */
	| {
			do: "wait";
			until: number;
			/** The id of the text that it waits behind. */
			behind?: string;
			/** What its row has to remember. Without it nothing is stored: it waits for another text, or by what is stored already. */
			change?: Change;
			/** It is one of many tries: the loop lets chance make the wait shorter, so that not all come at once. */
			isSpread?: true;
	  }
	/** It goes, with this language for the consent template. */
	| { do: "send"; language: string | null };

export interface Rule<Name = RuleName> {
	name: Name;
	/** The rule in words. */
	when: string;
	/** Whether it concerns the text at all, by what is stored and what is known so far. */
	concerns: (situation: Situation) => boolean;
	/** What it cannot answer without. */
	needs?: Fact;
	/** Undefined if it has nothing against the text. */
	judge: (situation: Situation) => Verdict | undefined;
}

/** A rule that people are told of. */
export interface ToldRule<Name = WaitingRule> extends Rule<Name> {
	/**
	 * What a support desk reads of a text that it keeps back, ends, or needs a fact for: a sentence without a number and a text. `until` is
	 * the time of its verdict, or the time at which it is asked again.
	 */
	says: (situation: Situation, until: number) => string;
	/** Nobody can say when it ends, because that is for a person or the contact. */
	isOpenEnded?: true;
}

/** A verdict with the name of its rule, or the fact that a rule lacks. */
export type Answer<Name = RuleName> = { because: Name } & (Verdict | { do: "need"; fact: Fact });

/** A wait that is over when it begins would be asked about again at once, for ever. */
const shortestWaitMs = 1_000;

/** Goes through a table from the top. The first rule answers that has a verdict, or lacks a fact. Undefined if none does. */
export function gate<Name>(situation: Situation, table: readonly Rule<Name>[]): Answer<Name> | undefined {
	for (const { name, concerns, needs, judge } of table) {
		if (!concerns(situation)) continue;
		if (needs && !isKnown(situation, needs)) return { do: "need", fact: needs, because: name };
		const verdict = judge(situation);
		if (!verdict) continue;
		if (verdict.do !== "wait" || verdict.until > situation.now) return { ...verdict, because: name };
		return { ...verdict, until: situation.now + shortestWaitMs, because: name };
	}
	return undefined;
}
