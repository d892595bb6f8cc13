/** The rules that decide what becomes of a send, or that a request can violate, by their numbers in docs/fidelity.md. */
export const rules = {
	R12: "A path or a method that the service lacks is answered 501 by the sandbox, and is a violation.",
	R69: "The + of a phone number in a path is written as %2B. A bare + is understood, and is a violation.",
	R98: "subaccountId must be one of the agency's senders.",
	R100: "With a closed window and several consent languages, consentLanguage is required, even if there is a default.",
	R101: "With a closed window, consentLanguage must be one of the agency's consent languages.",
	R104: "With a closed window, a text is refused if the agency's consent flow is not complete.",
	R112: "With an open window, the text is sent at once.",
	R113: "With a closed window, the text is held, and the contact is asked for consent.",
	R116: "A send while somebody else acts in the conversation is answered 409, and nothing is sent or held.",
	R119: "Another text to a closed window takes the place of the held one, which is never sent.",
	R128: "A text to an open window is sent at once, and clears a text that is still held, unless the policy keeps it.",
	R131: "A repeat of a send whose text went out is answered as sent, and nothing is sent again.",
	R133: "A repeat of a send whose text is held does not hold it again. Once the window is open, it sends it.",
	R134: "An operationId that comes back with another payload is answered 500, and is a violation.",
	R141: "A repeat of a send whose text went out is answered as sent, even after the window closed.",
	R142: "A repeat of a send whose text was held and then sent is answered as sent, or sends it again: the policy says which.",
	R185: "A repeat of a send whose text was dropped is a new send, or does nothing: the policy says which.",
	R186: "A repeat of a send whose text was replaced is a new send, or does nothing: the policy says which.",
} as const;

/** The number of such a rule. */
export type RuleId = keyof typeof rules;
