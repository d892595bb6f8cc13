import { coloured, type Look, mostColumns, wrapped } from "../look.ts";
import { printable } from "../text.ts";
import { type Check, counted, type State } from "./check.ts";

const marks = { ok: "✓ ok", warn: "! warn", fail: "✗ fail", skipped: "- skipped" } as const;
const colours = { ok: "green", warn: "yellow", fail: "red", skipped: "gray" } as const;
const markWidth = 11;
const idWidth = 12;

/** Takes checks one by one and returns the lines to print. Checks that were skipped for one reason share a line. */
export function createReport(look: Look): {
	add: (check: Check) => string[];
	end: () => string[];
} {
	let skipped: Check[] = [];
	const end = (): string[] => {
		const ended = skipped;
		skipped = [];
		return ended.length > 1 ? [groupOf(ended, look)] : ended.map((check) => linesOf(check, look));
	};
	return {
		add(check) {
			const lines = check.state === "skipped" && skipped[0]?.what === check.what ? [] : end();
			if (check.state !== "skipped") return [...lines, linesOf(check, look)];
			skipped.push(check);
			return lines;
		},
		end,
	};
}

function linesOf({ id, state, what, remedy }: Check, look: Look): string {
	const indent = markWidth + idWidth;
	const width = widthOf(look) - indent;
	// The id of an agency's check ends with the agency's id, which the sentence has too.
	const [label = id] = id.split(" ");
	const lines = [
		...wrapped(printable(what), width),
		...(remedy === undefined ? [] : arrowed(printable(remedy), width)),
	];
	return placed(`${markOf(state, look)}${printable(label).padEnd(idWidth)}`, lines, indent);
}

function groupOf(checks: readonly Check[], look: Look): string {
	const text = `${checks.map(({ id }) => id).join(", ")}: ${checks[0]?.what.replace(/^Not/, "not")}`;
	return placed(markOf("skipped", look), wrapped(printable(text), widthOf(look) - markWidth), markWidth);
}

function markOf(state: State, look: Look): string {
	return coloured(look, colours[state], marks[state].padEnd(markWidth));
}

const widthOf = (look: Look): number => Math.min(look.columns(), mostColumns);

function placed(head: string, lines: readonly string[], indent: number): string {
	return lines.map((line, at) => `${at === 0 ? head : " ".repeat(indent)}${line}`).join("\n");
}

function arrowed(remedy: string, width: number): string[] {
	return wrapped(remedy, width - 2).map((line, at) => `${at === 0 ? "→" : " "} ${line}`);
}

/** 0 if all is well, 1 if something needs attention, 2 if something cannot work. */
export function statusOf(checks: readonly Check[]): 0 | 1 | 2 {
	const has = (state: State): boolean => checks.some((check) => check.state === state);
	return has("fail") ? 2 : has("warn") ? 1 : 0;
}

export function summaryOf(checks: readonly Check[]): string {
	const count = (state: State): number => checks.filter((check) => check.state === state).length;
	const [fails, warns] = [count("fail"), count("warn")];
	if (fails > 0) return `It cannot work: ${counted(fails, "check")} failed. Begin with the first ✗.`;
	return warns > 0
		? `It works. There ${warns === 1 ? "is 1 thing" : `are ${warns} things`} to fix: see !.`
		: "Every check is well. They only read, so they cannot tell whether something in front of the service refuses sends.";
}
