import type { Agency, AgencyClient, Client, WindowReopenReadiness } from "messaging-conversations";
import type { Advice } from "./advice.ts";
import { type Check, counted, shown, skip } from "./check.ts";
import { explain } from "./explain.ts";

const atOnce = 4;

/** Checks each agency: its first page of conversations, and whether a send outside the window can be held. */
export async function* checkAgencies(
	client: Client,
	agencies: readonly Agency[],
	advice: Advice,
): AsyncGenerator<Check, void, undefined> {
	for (let at = 0; at < agencies.length; at += atOnce) {
		const group = agencies.slice(at, at + atOnce);
		for (const checks of await Promise.all(
			group.map((agency) => checkAgency(client.agency(agency.id), agency, advice)),
		))
			yield* checks;
	}
}

async function checkAgency(
	{ conversations }: AgencyClient,
	{ id: agencyId, name }: Agency,
	advice: Advice,
): Promise<Check[]> {
	const who = `${name === null ? "Agency without a name" : shown(name)} (${agencyId})`;
	const [id, window] = [`agency ${agencyId}`, `window ${agencyId}`];
	const page = await conversations.list().page().result();
	if (!page.ok) {
		const { what, remedy } = explain(page.error, advice);
		return [{ id, state: "fail", what: `${who}: ${what}`, remedy }, skip(window, "the agency cannot be read")];
	}
	const rows = page.data.conversations;
	const count = `${counted(rows.length, "conversation")} on the first page`;
	const agency: Check = { id, state: "ok", what: `${who} is linked: ${count}.` };
	const [first] = rows;
	if (!first)
		return [agency, { id: window, state: "skipped", what: "Not known before there is a first conversation." }];
	const detail = await conversations.get(first.phoneNumber, { pageSize: 1 }).result();
	if (detail.ok) return [agency, checkReadiness(window, detail.data.conversation.windowReopenReadiness, advice)];
	if (detail.error._tag === "PartnerNotFound") return [agency, skip(window, "the conversation was hidden meanwhile")];
	return [agency, { id: window, state: "fail", ...explain(detail.error, advice) }];
}

/** A number reserved for films. It is only looked up. */
const nobody = "+447700900999";

/**
 * Checks that an error arrives as the service writes it, by the 404 of a number without a conversation. The client repeats a 404
 * of a gateway, so that a single one, as during a deploy, says nothing.
 */
export async function checkErrors({ conversations }: AgencyClient, advice: Advice): Promise<Check> {
	const id = "errors";
	const asked = await conversations.get(nobody, { pageSize: 1, retry: { attempts: 4 } }).result();
	if (asked.ok) return skip(id, "the number for the test has a conversation");
	const { error } = asked;
	if (error._tag === "PartnerNotFound") return { id, state: "ok", what: "Errors arrive as the service writes them." };
	if (error._tag !== "PartnerGatewayError" || error.status !== 404)
		return { id, state: "fail", ...explain(error, advice) };
	return {
		id,
		state: "fail",
		what: `Errors arrive without \`_tag\`: something in front of the service replaces them. ${error.attempts} of ${error.attempts} answers were so.`,
		remedy:
			'Have it pass on the bodies of errors. If it cannot, and only then, see the option errorBodies: "any" and its risk.',
	};
}

/** Says what an agency lacks to reach contacts who have not written for 24 hours. */
function checkReadiness(id: string, readiness: WindowReopenReadiness, { finishConsent }: Advice): Check {
	const { availableLanguages, configured, eligibleForManualSend, templatesApproved } = readiness;
	const languages = availableLanguages.map(shown).join(", ");
	if (configured && templatesApproved && eligibleForManualSend) {
		const needed = availableLanguages.length > 1 ? `; each send needs consentLanguage: ${languages}` : "";
		return { id, state: "ok", what: `A text outside the 24-hour window can wait for consent${needed}.` };
	}
	const reasons = [
		...(configured ? [] : ["the consent flow is off"]),
		...readiness.missingFlowCodes.map((code) => `the consent flow ${shown(code)} is missing`),
		...readiness.missingTemplates.map((code) => `the template ${shown(code)} is missing`),
		...readiness.unapprovedTemplates.map(
			({ templateCode, status }) =>
				`the template ${shown(templateCode)} waits for approval (${shown(status ?? "unknown")})`,
		),
		...(availableLanguages.length === 0 ? ["there is no consent language"] : []),
	];
	const refused = eligibleForManualSend ? "may fail" : "is refused with 400";
	return {
		id,
		state: "warn",
		what: `A text outside the 24-hour window ${refused}: ${reasons.join(", ") || "no reason is given"}.`,
		remedy: finishConsent,
	};
}
