import type { AgencyClient } from "messaging-conversations";
import type { Contact, Sandbox } from "messaging-conversations/sandbox";

/** What a step acts on. */
export interface Stage {
	readonly agency: AgencyClient;
	readonly sandbox: Sandbox;
	/** The contact of the story, as a test plays it. */
	readonly contact: Contact;
	/** The contact's number. */
	readonly to: string;
}

/** A step of a story. */
interface Step {
	/** Who does it. */
	readonly by: "CRM" | "contact" | "time" | "network";
	/** The lines between its braces are shown beside the button that runs them. */
	run(stage: Stage): Promise<unknown>;
}

/** The stories of the sandbox's page by their names there, in code. Their steps are the page's. */
export const programs: Readonly<Record<string, readonly Step[]>> = {
	accepted: [
		{
			by: "CRM",
			async run({ agency, to }) {
				const sent = await agency.messages.send({
					to,
					body: "Would Thursday at 14:00 suit you?",
					operationId: `thursday-${to.slice(-3)}`, // your own id of this text
					consentLanguage: "en",
				});
				return sent; // queued: true, because the contact has never written
			},
		},
		{
			by: "contact",
			async run({ agency, contact, to }) {
				contact.accepts();
				const { conversation, messagePage } = await agency.conversations.get(to);
				return { held: conversation.queuedMessages, newest: messagePage.messages[0]?.body };
			},
		},
		{
			by: "CRM",
			async run({ agency, to }) {
				const sent = await agency.messages.send({
					to,
					body: "Or would Friday at 10:00 be better?",
					operationId: `friday-${to.slice(-3)}`,
					consentLanguage: "en",
				});
				return sent; // queued: false, because the window is open
			},
		},
	],
	refused: [
		{
			by: "CRM",
			async run({ agency, to }) {
				const sent = await agency.messages.send({
					to,
					body: "Would Thursday at 14:00 suit you?",
					operationId: `thursday-${to.slice(-3)}`,
					consentLanguage: "en",
				});
				return sent; // queued: true
			},
		},
		{
			by: "contact",
			async run({ agency, contact, to }) {
				contact.declines();
				const { conversation } = await agency.conversations.get(to);
				return conversation.queuedMessages; // empty: the text is never sent
			},
		},
		{
			by: "CRM",
			async run({ agency, to }) {
				// Your CRM should not do this. The outbox cancels what waits after a no.
				const sent = await agency.messages.send({
					to,
					body: "Or would Friday at 10:00 be better?",
					operationId: `friday-${to.slice(-3)}`,
					consentLanguage: "en",
				});
				return sent; // queued: false, because the tap on No opened the window
			},
		},
	],
	expired: [
		{
			by: "CRM",
			async run({ agency, to }) {
				const sent = await agency.messages.send({
					to,
					body: "Would Thursday at 14:00 suit you?",
					operationId: `thursday-${to.slice(-3)}`,
					consentLanguage: "en",
				});
				return sent; // queued: true
			},
		},
		{
			by: "time",
			async run({ agency, sandbox, to }) {
				sandbox.clock.advance({ hours: 48 });
				const { conversation } = await agency.conversations.get(to);
				return conversation.queuedMessages; // empty: the text is never sent
			},
		},
		{
			by: "contact",
			async run({ agency, contact, to }) {
				contact.accepts();
				const { conversation } = await agency.conversations.get(to);
				return conversation.summary.windowExpiresAt; // the window is open, but nothing was held any more
			},
		},
	],
	replaced: [
		{
			by: "CRM",
			async run({ agency, to }) {
				const sent = await agency.messages.send({
					to,
					body: "Would Thursday at 14:00 suit you?",
					operationId: `thursday-${to.slice(-3)}`,
					consentLanguage: "en",
				});
				return sent; // queued: true
			},
		},
		{
			by: "CRM",
			async run({ agency, to }) {
				const { conversation } = await agency.conversations.get(to);
				const [held] = conversation.queuedMessages; // the next send replaces this text
				const sent = await agency.messages.send({
					to,
					body: "Or would Friday at 10:00 be better?",
					operationId: `friday-${to.slice(-3)}`,
					consentLanguage: "en",
				});
				return { replaced: held?.body, sent };
			},
		},
		{
			by: "contact",
			async run({ contact }) {
				contact.accepts();
				return contact.inbox().filter(({ kind }) => kind === "text"); // one text, the second
			},
		},
	],
	lost: [
		{
			by: "network",
			async run({ sandbox }) {
				sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "hang" });
				return sandbox.faults.unused().length; // one fault waits for the next send
			},
		},
		{
			by: "CRM",
			async run({ agency, contact, to }) {
				const sent = await agency.messages.send(
					{
						to,
						body: "Would Thursday at 14:00 suit you?",
						operationId: `thursday-${to.slice(-3)}`,
						consentLanguage: "en",
					},
					{ timeoutMs: 1_000 }, // no answer: the client sends again, with the same operationId
				);
				return { sent, texts: contact.inbox().filter(({ kind }) => kind === "text").length };
			},
		},
		{
			by: "CRM",
			async run({ agency, contact, to }) {
				// After a crash, your CRM can do the same with the id that it stored.
				const sent = await agency.messages.send({
					to,
					body: "Would Thursday at 14:00 suit you?",
					operationId: `thursday-${to.slice(-3)}`,
					consentLanguage: "en",
				});
				return { sent, texts: contact.inbox().filter(({ kind }) => kind === "text").length };
			},
		},
	],
};
