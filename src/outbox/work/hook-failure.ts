import { PartnerConfigurationError } from "messaging-conversations";
import { thrownBy } from "../hook-error.ts";
import type { OutboxText } from "../text.ts";
import type { Pauses } from "./pauses.ts";

/** The error of a hook of the caller. Throws any other one. */
export function hookFailure(error: unknown): PartnerConfigurationError {
	if (error instanceof PartnerConfigurationError) return error;
	throw error;
}

/** Tells of a hook that fails, which keeps a text back. */
export async function reportHook(
	pauses: Pauses,
	text: OutboxText,
	error: PartnerConfigurationError,
	until: number,
): Promise<void> {
	const pause = { reason: "hook_failed", error, agencyId: text.agencyId, retryAt: new Date(until) } as const;
	const threw = thrownBy(error);
	await pauses.report(text.id, threw ? Object.defineProperty(pause, "cause", { value: threw.cause }) : pause);
}
