import type { Rule } from "../../src/outbox/gate/gate.ts";
import { held } from "../../src/outbox/gate/held.ts";
import { sending } from "../../src/outbox/gate/sending.ts";
import { waiting } from "../../src/outbox/gate/waiting.ts";
import { beside } from "../../src/outbox/waits-for.ts";
import { table, withMarked } from "./marked.ts";

const tableOfRules = (rules: readonly Rule[]): string =>
	table(
		["rule", "when", "needs"],
		rules.map(({ name, when, needs = "" }) => [`\`${name}\``, when, needs && `\`${needs}\``]),
	);

/** The tables of the rules: all of them for contributors, and those of a text that waits for users who ask what it waits for. */
export async function rules(): Promise<Record<string, string>> {
	// Nobody is told of a text that goes, and a text that was put off is told of by the rule that did it.
	const told = waiting.filter(({ name }) => name !== "send" && name !== "put_off");
	const kinds = [...told.map(({ name, when }) => [name, when] as const), ...Object.entries(beside)];
	const forUsers = table(
		["kind", "when"],
		kinds.map(([name, when]) => [`\`${name}\``, when]),
	);
	const [forContributors, guide] = ["contributing/outbox.md", "docs/not-sent.md"];
	return {
		[forContributors]: await withMarked(forContributors, {
			"rules of waiting": tableOfRules(waiting),
			"rules of sending": tableOfRules(sending),
			"rules of held": tableOfRules(held),
		}),
		[guide]: await withMarked(guide, { rules: forUsers }),
	};
}
