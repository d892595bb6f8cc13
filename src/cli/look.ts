import { inspect, stripVTControlCharacters } from "node:util";
import type { Host } from "./host.ts";

/** The columns of a text that no terminal shows. */
export const mostColumns = 100;
const fewestColumns = 40;

export type Colour = "green" | "yellow" | "red" | "cyan" | "gray";

/** How lines are made: in colour or not, and for a terminal of so many columns. */
export interface Look {
	readonly isColoured: boolean;
	/** It changes with the size of the window. */
	columns(): number;
}

export function lookOf({ variable, terminal }: Host): Look {
	return {
		isColoured: isColoured(variable, terminal.isTTY),
		columns: () => Math.max(fewestColumns, terminal.columns || mostColumns),
	};
}

/** FORCE_COLOR decides, then NO_COLOR (no-color.org), then whether a terminal shows it. As Node does. */
function isColoured(variable: Host["variable"], isTerminal: boolean): boolean {
	const forced = variable("FORCE_COLOR");
	if (forced) return forced !== "0" && forced !== "false";
	return isTerminal && !variable("NO_COLOR") && variable("TERM") !== "dumb";
}

/** A text in a colour. `styleText` of Node 22 looks at the process's own terminal, whatever the look says. */
export function coloured({ isColoured }: Look, colour: Colour, text: string): string {
	const [on, off] = inspect.colors[colour] ?? [];
	return isColoured ? `\u001b[${on}m${text}\u001b[${off}m` : text;
}

/** Breaks a text between words, if it is too long for a line; a word that is too long is cut. Colours have no width. */
export function wrapped(text: string, width: number): string[] {
	if (widthOf(text) <= width) return [text];
	const lines: string[] = [];
	for (const word of text.split(" ").flatMap((each) => cut(each, width))) {
		const last = lines.at(-1);
		if (last !== undefined && widthOf(last) + 1 + widthOf(word) <= width) lines[lines.length - 1] = `${last} ${word}`;
		else lines.push(word);
	}
	return lines;
}

const widthOf = (text: string): number => stripVTControlCharacters(text).length;

function cut(word: string, width: number): string[] {
	if (widthOf(word) <= width) return word === "" ? [] : [word];
	return word.match(new RegExp(`.{1,${width}}`, "gsu")) ?? [];
}
