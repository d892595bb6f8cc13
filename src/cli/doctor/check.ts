import { printable } from "../text.ts";

/** The end of a check. `warn`: it works, and something needs attention. `fail`: it cannot work. */
export type State = "ok" | "warn" | "fail" | "skipped";

/** One check. It holds no key, no phone number and no name of a person. */
export interface Check {
	readonly id: string;
	readonly state: State;
	/** The finding in a sentence. */
	readonly what: string;
	/** How to fix it, in a sentence. */
	readonly remedy?: string;
}

/** A check that another one's failure makes impossible. */
export function skip(id: string, because: string): Check {
	return { id, state: "skipped", what: `Not tried, because ${because}.` };
}

/** Makes a text of the service fit to show: one line, short, and without a run of digits that can be a phone number. */
export function shown(text: string): string {
	const masked = printable(text)
		.trim()
		.replace(/\+?\d(?:[\W_]{0,3}\d){5,}/g, "[number]");
	return masked.length > 60 ? `${masked.slice(0, 59)}…` : masked;
}

/** A number with its noun. */
export function counted(count: number, one: string, many = `${one}s`): string {
	return `${count} ${count === 1 ? one : many}`;
}
