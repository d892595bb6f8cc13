import { captureCommand } from "../../src/cli/capture.ts";
import { doctorCommand } from "../../src/cli/doctor.ts";
import type { Option, Options } from "../../src/cli/options.ts";
import { outboxCommand } from "../../src/cli/outbox.ts";
import { sandboxCommand } from "../../src/cli/sandbox.ts";
import { tailCommand } from "../../src/cli/tail.ts";
import { table, withMarked } from "./marked.ts";

const page = "docs/command-line.md";
const sandboxPage = "docs/sandbox-server.md";

/** The pages of the command line and of its sandbox, with the tables of their actions and options. */
export async function commandTables(): Promise<Record<string, string>> {
	return {
		[page]: await withMarked(page, {
			"options of doctor": optionTable(doctorCommand.options),
			"options of tail": optionTable(tailCommand.options),
			"actions of outbox": table(
				["action", "what it does"],
				[...outboxCommand.actions].map(([name, { summary, argument }]) => [
					`\`${argument ? `${name} ${argument.value}` : name}\``,
					summary,
				]),
			),
			"options of outbox": sharedTable(outboxCommand.actions),
			"options of capture": optionTable(captureCommand.options),
		}),
		[sandboxPage]: await withMarked(sandboxPage, {
			"options of sandbox": optionTable(sandboxCommand.options),
		}),
	};
}

const heads = ["option", "what it does"];

const nameOf = (name: string, { value }: Option): string => `\`--${name}${value === undefined ? "" : ` ${value}`}\``;

/** A value in angle brackets would be an element of the page, and a bar the end of a cell. */
const helpOf = ({ help }: Option): string =>
	help.replaceAll(/<[^>]*>/g, (value) => `\`${value}\``).replaceAll("|", "\\|");

function optionTable(options: Options): string {
	return table(
		heads,
		Object.entries(options).map(([name, option]) => [nameOf(name, option), helpOf(option)]),
	);
}

/** The options of all actions. Where they say different things of one option, each has a row. */
function sharedTable(actions: ReadonlyMap<string, { readonly options: Options }>): string {
	const rows = new Map<string, { readonly cells: readonly [string, string]; readonly of: string[] }>();
	for (const [action, { options }] of actions)
		for (const [name, option] of Object.entries(options)) {
			const cells = [nameOf(name, option), helpOf(option)] as const;
			const found = rows.get(cells.join()) ?? { cells, of: [] };
			found.of.push(action);
			rows.set(cells.join(), found);
		}
	const all = [...rows.values()].sort(({ cells: [one] }, { cells: [other] }) =>
		one < other ? -1 : one > other ? 1 : 0,
	);
	return table(
		["option", "of", "what it does"],
		all.map(({ cells: [name, help], of }) => [name, of.length === actions.size ? "all" : of.join(", "), help]),
	);
}
