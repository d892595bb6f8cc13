import { type AgencyClient, isPartnerError } from "messaging-conversations";

/** Asks the contact again, unless a text waits for consent. */
export async function followUp(
	agency: AgencyClient,
	phoneNumber: string,
): Promise<boolean> {
	try {
		// Without ifHeld, this text takes the place of the one that waits, which
		// the contact then never gets.
		await agency.messages.send({
			to: phoneNumber,
			body: "Did you see our message?",
			ifHeld: "refuse",
		});
		return true;
	} catch (error) {
		if (isPartnerError(error) && error._tag === "PartnerHeldText") return false;
		throw error;
	}
}
