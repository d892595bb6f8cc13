import { type Answered, type Call, createCall } from "./call.ts";
import { captureCaller } from "./caller.ts";
import type { OperationError } from "./errors.ts";
import { type CallOptions, checkOptions, optionSchemas } from "./input.ts";
import type { Transport } from "./transport.ts";
import type { Me } from "./types.ts";

/** What the key is and reaches (spec §4). */
export interface MeGroup {
	/**
	 * The integration of the key, its agencies and its scopes: the first call, as every other needs an agency id
	 * (spec §4, `me.get`). Newly linked agencies appear at once.
	 *
	 * @example
	 * const { agencies, scopes } = await client.me.get();
	 */
	get: (options?: CallOptions) => Call<Me, OperationError<"me.get">>;
}

export function createMe(transport: Transport): MeGroup {
	const operation = "me.get";
	function get(options?: CallOptions): Call<Me, OperationError<"me.get">> {
		const ask = async (): Promise<Answered<Me>> =>
			transport(operation, {}, checkOptions(optionSchemas.call, options, operation));
		return createCall(ask(), captureCaller(get));
	}
	return { get };
}
