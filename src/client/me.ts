import type { Me } from "../../generated/schemas.ts";
import { type Call, createCall } from "./call.ts";
import type { CallPlan } from "./call-state.ts";
import { type CallOptions, checkOptions, optionSchemas } from "./client-options.ts";
import type { OperationError } from "./errors.ts";
import type { Executor } from "./execute.ts";

/** Reading the integration of the key. */
export interface MeGroup {
	/**
	 * Returns the integration of the key, its agencies and its scopes (`me.get`). Call it first, because every other call
	 * needs an agency id. Agencies that are linked later appear at once.
	 *
	 * @example
	 * const { agencies, scopes } = await client.me.get();
	 */
	get: (options?: CallOptions) => Call<Me, OperationError<"me.get">>;
}

export function createMe({ api, run }: Executor): MeGroup {
	return {
		get: (options) =>
			createCall(() => {
				const plan: CallPlan<Me> = { operation: "me.get" };
				const call = checkOptions(optionSchemas.call, options, plan);
				return run(plan, call, (init) => api.GET("/me", init));
			}),
	};
}
