/*
 * Which contact a method means.
 */
import { checkedLater, fieldsOf } from "../shared/validation.ts";
import { numberIn } from "./given-text.ts";
import { check } from "./input.ts";
import type { CheckedOptions } from "./options.ts";

/** Which contact `cancelAll`, `erase`, `optOut` and `optIn` mean. */
export interface ContactOptions {
	/** Contact phone number, as written. */
	to: string;
	/** The agency's id. @default all agencies */
	agencyId?: string | undefined;
}

/** A number, and an agency or all of them. */
export interface Whose {
	to: string;
	agencyId?: string;
}

// The client knows numbers and agency ids.
const schema = fieldsOf<ContactOptions>({ to: checkedLater(), agencyId: checkedLater() });

export function recipientFrom(
	{ client, defaultCountry }: CheckedOptions,
	given: ContactOptions,
	operation: string,
): Whose {
	const { to, agencyId } = check(schema, "options", given, operation);
	// The number of a contact can have become invalid since.
	const number = numberIn(to, { defaultCountry, allowUnlistedNumber: true }, operation);
	return { to: number, ...(agencyId !== undefined && { agencyId: client.agency(agencyId).id }) };
}
