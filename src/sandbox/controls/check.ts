import { flag, optional } from "../../shared/validation.ts";
import { assertValid, fields } from "../base/input.ts";
import { masked } from "../base/mask.ts";
import { iso } from "../world/instant.ts";
import type { ReplacedText } from "../world/journal.ts";
import type { World } from "../world/world.ts";

/** Options of `sandbox.check`. */
export interface CheckOptions {
	/** Accepts that the client replaced held texts, for a test that does so on purpose. @default false */
	readonly allowReplaced?: boolean | undefined;
}

const optionsRule = fields<CheckOptions>({ allowReplaced: optional(flag) });

/**
 * Throws if the client broke a rule of the API or replaced a held text. Throws too if a fault, a breakpoint or an act met fewer
 * requests than planned, or if a request still waits.
 */
export function assertUsed(world: World, options: CheckOptions = {}): void {
	assertValid("check", options, optionsRule);
	const { journal, faults, breakpoints, interruptions, operations } = world;
	// A late retry can bring a replaced text back.
	const isLost = ({ operation }: ReplacedText) =>
		operation === null || (operations.get(operation)?.fate.state ?? "replaced") === "replaced";
	const lost = options.allowReplaced ? [] : journal.replacedTexts().filter(isLost);
	const problems = [
		...journal.violations().map(({ rule, message, method, path }) => `${rule}: ${message} (${method} ${masked(path)})`),
		...faults
			.filter(({ hits, remaining }) => (remaining === null ? hits === 0 : remaining > 0)) // null is without end
			.map(({ phase, effect: { kind, status }, operation, hits, remaining }) => {
				const did = hits === 0 ? "never hit" : `hit only ${hits} of ${hits + (remaining ?? 0)} times`;
				const what = status === null ? kind : `${kind} ${status}`;
				return `A fault ${did}: ${what}, ${phase} ${operation ?? "any operation"}.`;
			}),
		...breakpoints.all
			.filter(({ hits, remaining }) => (remaining === null ? hits === 0 : remaining > 0))
			.map(({ operation, hits, remaining }) => {
				const did = hits === 0 ? "held no request" : `held only ${hits} of ${hits + (remaining ?? 0)} requests`;
				return `A breakpoint ${did}: ${operation ?? "any operation"}.`;
			}),
		...[...breakpoints.waiting.values()].map(
			({ target, correlationId }) => `A request still waits at a breakpoint: ${target.operation} (${correlationId}).`,
		),
		...[...interruptions].map(({ phase, operation, times, remaining }) => {
			const did = remaining === times ? "never happened" : `happened only ${times - remaining} of ${times} times`;
			return `An act ${did}: ${phase} ${operation ?? "any operation"}.`;
		}),
		...lost.map(
			({ queueId, at }) =>
				`A send replaced a held text, which is never sent (queueId ${queueId}, ${iso(at)}). Wait until the contact has answered, or call check({ allowReplaced: true }).`,
		),
	];
	if (problems.length > 0) throw new Error(`The sandbox found:\n- ${problems.join("\n- ")}`);
}
