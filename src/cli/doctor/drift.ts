import contract from "../../../openapi.json" with { type: "json" };
import { version as packageVersion } from "../../../package.json";
import { compareContracts } from "../contract/compare.ts";
import { part } from "../contract/schema.ts";
import { type Check, shown } from "./check.ts";
import type { Published } from "./service.ts";

const mostShown = 8;

/** Compares the contract that the service publishes with the one that this package was made from. */
export function checkContract({ contract: live, status }: Published): Check {
	const id = "contract";
	if (!live) {
		const reason =
			status === undefined ? "there is no answer" : status === 200 ? "it is not JSON" : `the answer is ${status}`;
		const remedy = "The calls do not need it. If they work, only the comparison is missing.";
		return { id, state: "warn", what: `openapi.json cannot be read below the base URL: ${reason}.`, remedy };
	}
	const changes = compareContracts(contract, live).sort((a, b) => Number(b.canBreak) - Number(a.canBreak));
	if (changes.length === 0)
		return { id, state: "ok", what: "The service publishes the contract that this package knows." };
	const lines = changes.map(
		({ at, what, canBreak }) => `${shown(at)} ${shown(what)}${canBreak ? " (can break a call)" : ""}`,
	);
	const more = lines.length > mostShown ? `, and ${lines.length - mostShown} more` : "";
	const breaking = changes.filter(({ canBreak }) => canBreak).length;
	const count = breaking === 0 ? "none can break a call" : `${breaking} can break a call`;
	const theirs = shown(String(part(live, "info").version ?? "without a version"));
	return {
		id,
		state: "warn",
		what: `The service's contract (${theirs}) differs in ${changes.length}, ${count}: ${lines.slice(0, mostShown).join("; ")}${more}.`,
		remedy: `Look for a version of this package newer than ${packageVersion}.`,
	};
}
