import { flag, oneOf, optional, rule } from "../../shared/validation.ts";
import { assertValid, fields } from "../base/input.ts";

/**
 * Which interpretation of the specification the sandbox follows where the text is silent. The defaults are our best
 * interpretation.
 */
export interface Policy {
	// R56
	/** A `search` of fewer than three digits and three letters gives no rows, or is ignored. @default "empty" */
	readonly shortSearch: "empty" | "unfiltered";
	// R68
	/** An item of a lookup that is not a phone number gives a null entry, or refuses the request. @default "null" */
	readonly lookupInvalid: "null" | "400";
	// R120
	/** A send that replaces a held text sends the consent template again. @default false */
	readonly templateOnReplace: boolean;
	// R124
	/** The tap by which a contact declines opens the window, as any inbound message does. @default true */
	readonly declineOpensWindow: boolean;
	// R127
	/** A plain message from the contact sends a held text, without consent. @default false */
	readonly inboundFlushesQueue: boolean;
	// R128
	/** A send to an open window drops a text that is still held, or leaves it. @default "clear" */
	readonly openSendWhileHeld: "clear" | "keep";
	// R178
	/** While a text is held, `activeFlows` counts the consent as a flow too. @default false */
	readonly consentFlowCounts: boolean;
	// R149
	/** A send turns staff's `user_toggle` into `manual_send`. @default false */
	readonly sendOverridesToggle: boolean;
	// R142
	/** The retry of a held text that was delivered meanwhile is answered as sent, or sends again. @default "replay" */
	readonly retryAfterDelivery: "replay" | "resend";
	// R185
	/**
	 * The retry of a held text that the contact declined, or did not answer, holds or sends it anew, or is answered
	 * as held and does nothing. @default "resend"
	 */
	readonly retryAfterDrop: "resend" | "replay";
	// R186
	/**
	 * The late retry of a held text that another send replaced takes that one's place, or is answered as held and
	 * does nothing. @default "resend"
	 */
	readonly retryAfterReplace: "resend" | "replay";
	// R140
	/** Hours after which an operationId is forgotten; null is never. @default null */
	readonly operationIdTtlHours: number | null;
}

const defaults: Policy = {
	shortSearch: "empty",
	lookupInvalid: "null",
	templateOnReplace: false,
	declineOpensWindow: true,
	inboundFlushesQueue: false,
	openSendWhileHeld: "clear",
	consentFlowCounts: false,
	sendOverridesToggle: false,
	retryAfterDelivery: "replay",
	retryAfterDrop: "resend",
	retryAfterReplace: "resend",
	operationIdTtlHours: null,
};

const hoursOrNever = rule(
	(hours) => hours === null || (typeof hours === "number" && hours > 0),
	"must be a number of hours above 0, or null",
);

const switchesRule = fields<Policy>({
	shortSearch: optional(oneOf("empty", "unfiltered")),
	lookupInvalid: optional(oneOf("null", "400")),
	templateOnReplace: optional(flag),
	declineOpensWindow: optional(flag),
	inboundFlushesQueue: optional(flag),
	openSendWhileHeld: optional(oneOf("clear", "keep")),
	consentFlowCounts: optional(flag),
	sendOverridesToggle: optional(flag),
	retryAfterDelivery: optional(oneOf("replay", "resend")),
	retryAfterDrop: optional(oneOf("resend", "replay")),
	retryAfterReplace: optional(oneOf("resend", "replay")),
	operationIdTtlHours: optional(hoursOrNever),
});

/** The policy with these switches. The others are as in `base`. */
export function policyFrom(
	switches: { readonly [Name in keyof Policy]?: Policy[Name] | undefined } = {},
	base: Policy = defaults,
): Policy {
	assertValid("policy", switches, switchesRule);
	const given = Object.entries(switches).filter(([, value]) => value !== undefined);
	return { ...base, ...Object.fromEntries(given) };
}
