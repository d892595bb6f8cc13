/*
 * Which contact a method means.
 */
import { checkedLater, fieldsOf, optional, rule } from "../shared/validation.ts";
import { numberIn } from "./given-text.ts";
import { check, line, longestName, refuse } from "./input.ts";
import type { CheckedOptions } from "./options.ts";

/** Which contact is meant. */
export interface ContactOptions {
	/** Contact phone number, as written. */
	to: string;
	/** The agency's id. @default all agencies */
	agencyId?: string | undefined;
}

/** Which contact `optOut` and `optIn` mean, and who says so. */
export interface StopOptions extends ContactOptions {
	/**
	 * Who says so: one line of at most 100 characters. It is in the steps of the texts that it changes. It is also kept with what they
	 * say, for `optedOut`, until the contact is erased.
	 */
	by?: string | undefined;
}

/** Whose texts `cancelAll` cancels: those to a contact, or, without `to`, all of one agency. */
export type CancelAllOptions = (
	| ContactOptions
	| {
			/** The agency's id: all its texts. */
			agencyId: string;
			/** Leave it out. A number that is undefined by mistake is refused, and cancels nothing. */
			to?: never;
	  }
) & {
	/** Who cancels them, for the steps of the texts: one line of at most 100 characters. */
	by?: string | undefined;
};

/** Whom `erase` erases: a contact of one agency, or, in so many words, of every agency. */
export type EraseOptions =
	| {
			/** Contact phone number, as written. */
			to: string;
			/** The agency's id: the request of one agency leaves the data of the others. */
			agencyId: string;
			/** Not with `agencyId`. */
			everyAgency?: undefined;
	  }
	| {
			/** Contact phone number, as written. */
			to: string;
			/** Erases the contact in every agency of the outbox. */
			everyAgency: true;
			/** Not with `everyAgency`. */
			agencyId?: undefined;
	  };

/** A number, and an agency or all of them. */
export interface Whose {
	to: string;
	agencyId?: string;
}

/** All contacts of an agency. */
export interface WholeAgency {
	agencyId: string;
}

// The client knows numbers and agency ids.
const stopping = fieldsOf<StopOptions>({
	to: checkedLater(),
	agencyId: checkedLater(),
	by: optional(line(longestName)),
});
const erasing = fieldsOf<ContactOptions & { everyAgency?: true | undefined }>({
	to: checkedLater(),
	agencyId: checkedLater(),
	everyAgency: optional(rule<true>((value) => value === true, "must be true. Leave it out to erase one agency")),
});

/** The contact, and the person who says so. */
export function stoppedFrom(
	options: CheckedOptions,
	given: StopOptions,
	operation: string,
): { recipient: Whose; by: string | undefined } {
	const { by, ...whose } = check(stopping, "options", given, operation);
	return { recipient: whoseOf(options, whose, operation), by };
}

/** Nothing of a whole agency is cancelled because a number was missing. */
export function cancelledFrom(
	options: CheckedOptions,
	given: CancelAllOptions,
): { whose: Whose | WholeAgency; by: string | undefined } {
	const { to, agencyId, by } = check<Partial<StopOptions>>(stopping, "options", given, "cancelAll");
	if (to !== undefined) return { whose: whoseOf(options, { to, agencyId }, "cancelAll"), by };
	const isGiven = (name: string): boolean => Object.hasOwn(given, name);
	if (isGiven("to") || !isGiven("agencyId"))
		refuse(
			"to",
			"is missing. Pass the number of a contact, or agencyId alone to cancel all texts of an agency",
			"cancelAll",
		);
	if (agencyId === undefined)
		refuse("agencyId", "is missing. Pass the id of the agency whose texts are to be cancelled", "cancelAll");
	return { whose: { agencyId: options.client.agency(agencyId).id }, by };
}

/** Nothing is erased in every agency because an id was missing. */
export function erasedFrom(options: CheckedOptions, given: EraseOptions): Whose {
	const { to, agencyId, everyAgency } = check(erasing, "options", given, "erase");
	if (agencyId === undefined && !everyAgency)
		refuse("agencyId", "is missing. Pass it, or everyAgency: true to erase the contact in every agency", "erase");
	if (agencyId !== undefined && everyAgency) refuse("everyAgency", "must not be given with agencyId", "erase");
	return whoseOf(options, { to, agencyId }, "erase");
}

function whoseOf(
	{ client, defaultCountry }: CheckedOptions,
	{ to, agencyId }: ContactOptions,
	operation: string,
): Whose {
	// The number of a contact can have become invalid since.
	const number = numberIn(to, { defaultCountry, allowUnlistedNumber: true }, operation);
	return { to: number, ...(agencyId !== undefined && { agencyId: client.agency(agencyId).id }) };
}
