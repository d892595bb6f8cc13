import type { AgencyControl } from "./agency.ts";
import type { Sandbox } from "./index.ts";

/** Stub until the table is written. */
export function controlRoute(
	_sandbox: Sandbox,
	_method: string,
	_target: string,
	_body: string,
): { status: number; result: unknown } {
	return { status: 501, result: {} };
}
export type { AgencyControl };
