import { type Facts, PartnerInvalidInput } from "../errors.ts";

/** Checks an agency id before it becomes a part of a path. */
export function checkAgencyId(agencyId: unknown, facts: Facts): void {
	if (typeof agencyId === "string" && /^[A-Za-z0-9_-]{1,128}$/.test(agencyId)) return;
	const rule = "must be 1 to 128 letters, digits, - or _, as me.get returns it";
	throw new PartnerInvalidInput({ ...facts, field: "agencyId", rule });
}
