import { createRecent } from "../shared/recent.ts";
import { PartnerInvalidInput } from "./errors.ts";

/**
 * Makes a deterministic `operationId` (a UUID, version 8) from the parts that name a send in your system. The same parts
 * give the same id after a crash, so that a send that may have gone out can be repeated without sending it twice.
 *
 * @throws PartnerInvalidInput without parts, or when a part is not a string or is empty
 * @example
 * const note = { id: "note-4713", text: "Shall we say Monday?" };
 * const operationId = await operationIdFrom("crm", note.id);
 * await agency.messages.send({ to: "+447700900101", body: note.text, operationId });
 */
export async function operationIdFrom(...parts: string[]): Promise<string> {
	const refuse = (field: string, rule: string) =>
		new PartnerInvalidInput({ field, rule, operation: "operationIdFrom" });
	if (parts.length === 0) throw refuse("parts", "must have at least one, such as the id of a record");
	const bad = parts.findIndex((part) => typeof part !== "string" || part === "");
	if (bad >= 0) throw refuse(`parts[${bad}]`, "must be a string that is not empty");
	// JSON keeps ("a", "bc") apart from ("ab", "c").
	const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(parts)));
	const bytes = new Uint8Array(digest, 0, 16);
	bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
	bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
	const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
	return hex.replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/**
 * Claims an id of an agency for a body. Undefined if the id was used with another body, which the service would answer
 * with 500 at every retry.
 *
 * @returns a function that gives up a new claim. The id of a send that did not go out can be used with another body
 */
export type ReuseGuard = (agencyId: string, operationId: string, body: string) => (() => void) | undefined;

/** Remembers the ids of the latest sends, at least 1,000, with a digest of their bodies. */
export function createReuseGuard(): ReuseGuard {
	// `sends` counts the sends of the body that are under way, or may have gone out.
	const claims = createRecent<{ digest: number; sends: number }>(1000);
	return (agencyId, operationId, body) => {
		const key = `${agencyId} ${operationId}`;
		const digest = digestOf(body);
		const claim = claims.get(key) ?? { digest, sends: 0 };
		if (claim.digest !== digest) return undefined;
		claim.sends++;
		claims.set(key, claim);
		return () => {
			if (--claim.sends === 0) claims.remove(key, claim);
		};
	};
}

/** FNV-1a, 32 bits. It distinguishes two bodies of one caller. Where it fails to, the service answers the second one with 500. */
function digestOf(text: string): number {
	let hash = 0x811c9dc5;
	for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
	return hash;
}
