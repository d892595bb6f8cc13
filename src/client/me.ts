import type { Me } from "../../generated/schemas.ts";
import { type Call, createCall } from "./call.ts";
import { type CallOptions, checkOptions, optionSchemas } from "./call-options.ts";
import { endpointOf } from "./endpoint.ts";
import type { OperationError } from "./errors.ts";
import type { Transport } from "./transport.ts";

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

export function createMe(transport: Transport): MeGroup {
	const endpoint = endpointOf("me.get");
	return {
		get: (options) =>
			createCall(() => transport(endpoint, {}, checkOptions(optionSchemas.call, options, { operation: "me.get" }))),
	};
}
