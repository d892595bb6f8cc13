import { callable, oneOf, optional } from "../../shared/validation.ts";
import { type OperationId, operationIds } from "../base/contract.ts";
import { assertValid, fields, wholeFrom } from "../base/input.ts";
import type { World } from "../world/world.ts";

/** During which requests something happens. */
export interface DuringOptions {
	/** Only during this operation. @default any of the six */
	readonly operation?: OperationId | undefined;
	/** Before the operation runs, or after it ran and before its answer leaves. @default "before" */
	readonly phase?: "before" | "after" | undefined;
	/** During how many requests. @default 1 */
	readonly times?: number | undefined;
}

/** Something that is to happen during a request. */
export interface During {
	/** During how many requests it still happens. */
	readonly remaining: number;
	/** It happens no more. @example sandbox.during({}, () => anna.writes("Wait")).remove(); */
	remove(): void;
}

const optionsRule = fields<DuringOptions>({
	operation: optional(oneOf(...operationIds)),
	phase: optional(oneOf("before", "after")),
	times: optional(wholeFrom(1)),
});

export function createDuring({ interruptions }: World): (options: DuringOptions, act: () => void) => During {
	return (options, act) => {
		assertValid("during", options, optionsRule);
		assertValid("during: act", act, callable());
		const { operation, phase = "before", times = 1 } = options;
		const interruption = { operation, phase, act, times, remaining: times };
		interruptions.add(interruption);
		return {
			get remaining() {
				return interruptions.has(interruption) ? interruption.remaining : 0;
			},
			remove: () => void interruptions.delete(interruption),
		};
	};
}
