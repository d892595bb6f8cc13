import { PartnerInvalidInput } from "./errors.ts";

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function isUuid(value: unknown): boolean {
	return typeof value === "string" && uuid.test(value);
}

/**
 * A deterministic operationId (a UUID, version 8) from what names the send in your system: the same parts give the same
 * id after a crash, so that a send which may have gone out is repeated safely (spec §4 send, rule 4).
 *
 * @example
 * const note = { id: "note-4713", text: "Shall we say Monday?" };
 * const operationId = await operationIdFrom("crm", note.id);
 * await agency.messages.send({ to: "0470 12 34 56", body: note.text, operationId });
 */
export async function operationIdFrom(...parts: string[]): Promise<string> {
	if (parts.length === 0) {
		throw new PartnerInvalidInput({ field: "parts", rule: "must have at least one", operation: "operationIdFrom" });
	}
	parts.forEach((part, index) => {
		if (typeof part === "string" && part !== "") return;
		const rule = "must be a string that is not empty";
		throw new PartnerInvalidInput({ field: `parts[${index}]`, rule, operation: "operationIdFrom" });
	});
	// JSON keeps ("a", "bc") apart from ("ab", "c").
	const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(parts)));
	const bytes = new Uint8Array(digest, 0, 16);
	bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
	bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
	const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
	return hex.replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/**
 * Claims an operationId of an agency for a body; undefined when it went out with another one, which the service would
 * answer with 500 for ever (spec §4 send, rule 6). @returns what gives a new claim up again: the id of a send that did not
 * go out is free.
 */
export type ReuseGuard = (agencyId: string, operationId: string, body: string) => (() => void) | undefined;

/**
 * Remembers the last `capacity` ids, and up to as many more. Holds digests, never a text. Two maps that take turns, as one
 * that gives up its oldest entry for each new one spends more on that than on all else.
 */
export function createReuseGuard(capacity = 1000): ReuseGuard {
	let latest = new Map<string, Claim>();
	let earlier = new Map<string, Claim>();
	return (agencyId, operationId, body) => {
		const key = `${agencyId} ${operationId}`;
		const claim: Claim = { digest: digest(body) };
		const known = latest.get(key) ?? earlier.get(key);
		if (known && known.digest !== claim.digest) return undefined;
		latest.set(key, claim);
		if (latest.size >= capacity) {
			earlier = latest;
			latest = new Map();
		}
		return () => {
			// Of an id that is claimed twice the other send may have gone out, be it the earlier or the later one.
			if (!known) for (const claims of [latest, earlier]) if (claims.get(key) === claim) claims.delete(key);
		};
	};
}

/** One send's, told from another's of the same text by which object it is. */
interface Claim {
	digest: number;
}

/**
 * 52 bits of FNV-1a in two lanes. SHA-256 would be asynchronous or a library, and a send must not wait for it: this tells
 * two texts under one id apart, which nobody forges against themselves.
 */
function digest(text: string): number {
	let low = 0x811c9dc5;
	let high = 0xcbf29ce4;
	for (let index = 0; index < text.length; index++) {
		const unit = text.charCodeAt(index);
		low = Math.imul(low ^ unit, 0x01000193);
		high = Math.imul(high ^ unit ^ (low >>> 16), 0x85ebca6b);
	}
	return (high >>> 12) * 2 ** 32 + (low >>> 0);
}
