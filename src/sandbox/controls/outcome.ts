import type { World } from "../world/state.ts";

/** Throws when a client did what a good client would not do, or when a fault or an act was never met by a request. */
export function assertUsed({ journal, faults, interruptions }: World): void {
	const problems = [
		...journal.violations().map(({ rule, message, method, path }) => `${rule}: ${message} (${method} ${masked(path)})`),
		...faults
			.all()
			.filter(({ hits, remaining }) => hits === 0 && remaining !== 0)
			.map(({ phase, effect: { kind, status }, operation }) => {
				const what = status === null ? kind : `${kind} ${status}`;
				return `A fault never hit: ${what}, ${phase} ${operation ?? "any operation"}.`;
			}),
		...interruptions
			.waiting()
			.map(({ phase, operation }) => `An act never happened: ${phase} ${operation ?? "any operation"}.`),
	];
	if (problems.length > 0) throw new Error(`The sandbox found:\n- ${problems.join("\n- ")}`);
}

/** A path without phone numbers. */
const masked = (path: string): string => path.replace(/(\+|%2B)?\d{6,}/gi, "{phone}");
