// What a CRM's contact page shows above its text box: would a text go out now?
import { type AgencyClient, isWindowOpen, type Message, toE164 } from "messaging-conversations";
import { checkDelivery, type Delivery, type SentText } from "messaging-conversations/outbox";

/** What would become of a text that is sent now. */
export type Forecast =
	| "goes out at once"
	| "goes out at once, and may drop the text that waits"
	| "waits for consent"
	| "probably waits for consent" // nothing can be read: no conversation yet, or one that is hidden
	| "replaces the text that waits"
	| "is refused";

export type LastStatus = Delivery["status"] | "held, but the request for consent did not reach the phone";

export interface ContactPage {
	phoneNumber: string;
	name: string | null;
	forecast: Forecast;
	/** Until when a text goes out at once; null when the contact never wrote. */
	windowExpiresAt: string | null;
	/** The text that waits already. The page shows it, because another one may drop or replace it. */
	waitingText: string | null;
	/** What became of the text that the CRM sent last; null when it sent none, or when that cannot be read now. */
	lastText: { body: string; status: LastStatus } | null;
	/** A send turns the AI off for this contact: worth a word beside the button. */
	aiWouldStop: boolean;
	/** With the status, because a text that went out may have failed at the phone. */
	messages: Pick<Message, "id" | "direction" | "body" | "createdAt" | "status">[];
}

export interface Page {
	status: number;
	headers: Record<string, string>;
	body: ContactPage | { error: string };
}

export interface PageOptions {
	/** A visitor who has gone needs no answer. */
	signal?: AbortSignal;
	/** The time; a test gives the sandbox's. */
	now?: () => Date;
	/** The text that the CRM sent last to a number, as it stored it with what the send gave. */
	lastTextTo?: (phoneNumber: string) => SentText | undefined;
}

export async function contactPage(
	agency: AgencyClient,
	phone: string,
	{ signal, now = () => new Date(), lastTextTo = () => undefined }: PageOptions = {},
): Promise<Page> {
	// A window closes while the page is cached.
	const headers = { "cache-control": "no-store" };
	// A page is worth waiting for a few seconds, not for the half minute that a read may take.
	const deadline = 5_000;
	const result = await agency.conversations.get(phone, { pageSize: 20, deadline, signal }).result();
	if (result.ok) {
		const { conversation, messagePage } = result.data;
		const { summary, queuedMessages, aiSettings, windowReopenReadiness } = conversation;
		const held = queuedMessages[0]?.body ?? null;
		const last = lastTextTo(summary.phoneNumber);
		const delivery = last && (await checkDelivery(agency, last, { signal, deadline, now }).catch(() => undefined));
		const inside = held === null ? "goes out at once" : "goes out at once, and may drop the text that waits";
		const outside = held === null ? "waits for consent" : "replaces the text that waits";
		const closed = windowReopenReadiness.eligibleForManualSend ? outside : "is refused";
		const body: ContactPage = {
			phoneNumber: summary.phoneNumber,
			name: summary.contactName,
			// The window is the only thing that decides: within it no consent is needed.
			forecast: isWindowOpen(conversation, now()) ? inside : closed,
			windowExpiresAt: summary.windowExpiresAt,
			waitingText: held,
			lastText: last && delivery ? { body: last.body, status: shown(delivery) } : null,
			aiWouldStop: aiSettings.enabled,
			messages: messagePage.messages.map(({ id, direction, body, createdAt, status }) => {
				return { id, direction, body, createdAt, status };
			}),
		};
		return { status: 200, headers, body };
	}

	const { error } = result;
	switch (error._tag) {
		case "PartnerNotFound":
			// A contact without a conversation is fine: a first text asks for consent if the agency has a template.
			return { status: 200, headers, body: stranger(toE164(phone)) };
		case "PartnerInvalidInput":
			return { status: 422, headers, body: { error: error.message } };
		default: {
			// The visitor gets the id by which support finds the call; the rest of the error is for the log.
			const body = { error: `The messages cannot be shown now (${error.correlationId ?? error._tag}).` };
			if (!error.retryable) return { status: 502, headers, body };
			const seconds = Math.ceil((error.retryAfterMs ?? 5_000) / 1_000);
			return { status: 503, headers: { ...headers, "retry-after": String(seconds) }, body };
		}
	}
}

function shown(delivery: Delivery): LastStatus {
	const isUnasked = delivery.status === "held" && delivery.consentFailed;
	return isUnasked ? "held, but the request for consent did not reach the phone" : delivery.status;
}

function stranger(phoneNumber: string): ContactPage {
	return {
		phoneNumber,
		name: null,
		forecast: "probably waits for consent",
		windowExpiresAt: null,
		waitingText: null,
		lastText: null,
		aiWouldStop: false,
		messages: [],
	};
}
