import { styleText } from "node:util";
import { type Check, counted, type State } from "./check.ts";

export const mostColumns = 100;
const fewestColumns = 40;
const marks = { ok: "✓ ok", warn: "! warn", fail: "✗ fail", skipped: "- skipped" } as const;
const colours = { ok: "green", warn: "yellow", fail: "red", skipped: "gray" } as const;
const markWidth = 11;
const idWidth = 12;

/** How the lines are made: in colour or not, and for a terminal of so many columns. */
export interface Look {
	readonly isColoured: boolean;
	readonly columns: number;
}

/** Takes checks one by one and returns the lines to print. Checks that were skipped for one reason share a line. */
export function createReport({ isColoured, columns: given }: Look): {
	add: (check: Check) => string[];
	end: () => string[];
} {
	const look = { isColoured, columns: Math.max(fewestColumns, Math.min(given, mostColumns)) };
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

function linesOf({ id, state, what, remedy }: Check, { isColoured, columns }: Look): string {
	const indent = markWidth + idWidth;
	// The check of an agency has the agency's id in its own, and so has the sentence.
	const [label = id] = id.split(" ");
	const lines = [
		...wrapped(what, columns - indent),
		...(remedy === undefined ? [] : arrowed(remedy, columns - indent)),
	];
	return placed(`${markOf(state, isColoured)}${label.padEnd(idWidth)}`, lines, indent);
}

function groupOf(checks: readonly Check[], { isColoured, columns }: Look): string {
	const text = `${checks.map(({ id }) => id).join(", ")}: ${checks[0]?.what.replace(/^Not/, "not")}`;
	return placed(markOf("skipped", isColoured), wrapped(text, columns - markWidth), markWidth);
}

function markOf(state: State, isColoured: boolean): string {
	const mark = marks[state].padEnd(markWidth);
	return isColoured ? styleText(colours[state], mark) : mark;
}

function placed(head: string, lines: readonly string[], indent: number): string {
	return lines.map((line, at) => `${at === 0 ? head : " ".repeat(indent)}${line}`).join("\n");
}

function arrowed(remedy: string, width: number): string[] {
	return wrapped(remedy, width - 2).map((line, at) => `${at === 0 ? "→" : " "} ${line}`);
}

/** Breaks a text between words; a word that is too long is cut. */
function wrapped(text: string, width: number): string[] {
	const lines: string[] = [];
	for (const word of text.split(" ").flatMap((each) => each.match(new RegExp(`.{1,${width}}`, "gu")) ?? [])) {
		const last = lines.at(-1);
		if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
		else lines.push(word);
	}
	return lines;
}

/** 0 when all is well, 1 when something is to be mended, 2 when nothing can work. */
export function statusOf(checks: readonly Check[]): 0 | 1 | 2 {
	const has = (state: State): boolean => checks.some((check) => check.state === state);
	return has("fail") ? 2 : has("warn") ? 1 : 0;
}

export function summaryOf(checks: readonly Check[]): string {
	const count = (state: State): number => checks.filter((check) => check.state === state).length;
	const [fails, warns] = [count("fail"), count("warn")];
	if (fails > 0) return `It cannot work: ${counted(fails, "check")} failed. Begin with the first ✗.`;
	return warns > 0
		? `It works. There ${warns === 1 ? "is 1 thing" : `are ${warns} things`} to mend: see !.`
		: "All is well.";
}
