import type { ConversationState, SandboxEvent } from "../index.ts";
import { type Call, perform, read } from "./control.ts";
import { send } from "./crm.tsx";
import { signal } from "./signal.ts";
import { agency, chosenAgencyId, events, here, now, pane, post, select, selected, thread } from "./store.ts";

interface Action {
	/** The words on its button. */
	readonly does: string;
	readonly call: (phone: string) => Call;
	/** The event that shows that it was done, here or anywhere else. */
	readonly until: RegExp;
}

interface Step extends Action {
	/** What has happened, and what to do now. NAME is the contact's. */
	readonly say: string;
}

interface Story {
	readonly title: string;
	readonly lead: string;
	readonly name: string;
	/** What the contact wrote, which opens the window. */
	readonly wrote?: string;
	readonly steps: readonly Step[];
	/** What the reader takes away. */
	readonly end: string;
	/** The same, when the last text is held: under another policy a no does not open the window. */
	readonly endHeld?: string;
}

const texts = ["Would Thursday at 14:00 suit you?", "Or would Friday at 10:00 be better?"];

const sendText = (i: 0 | 1, does = "Send as the CRM", until = /^text\.(held|sent)$/): Action => ({
	does,
	until,
	call(phone) {
		const { languages, defaultLanguage } = agency.value?.consent ?? { languages: [], defaultLanguage: null };
		const language = languages.length > 1 ? (defaultLanguage ?? languages[0]) : "";
		return send(phone, texts[i] ?? "", `visit-${phone.slice(-3)}-${i + 1}`, language);
	},
});

const accept: Action = {
	does: "Accept as NAME",
	until: /^consent\.accepted/,
	call: (phone) => here(`contacts/${phone}/accepts`),
};

const first: Step = {
	...sendText(0),
	say: "NAME has never written to the agency, so the 24-hour window is closed. Send NAME a text.",
};

const asked = "The text is held, and the phone asks NAME for permission.";

/** The stories, by the name in their address. */
export const stories: Readonly<Record<string, Story>> = {
	accepted: {
		title: "A held text is accepted",
		lead: "The contact says yes, and the text goes out.",
		name: "Emma",
		steps: [
			first,
			{ ...accept, say: `${asked} Say yes.` },
			{ ...sendText(1), say: "The held text went out, and the window is open for 24 hours. Send another text." },
		],
		end: "It went out at once. “queued: true” in an answer means that the text still waits for the contact's yes.",
	},
	refused: {
		title: "A held text is refused",
		lead: "The contact says no. What happens to the text?",
		name: "Liam",
		steps: [
			first,
			{
				does: "Decline as NAME",
				until: /^consent\.declined/,
				call: (phone) => here(`contacts/${phone}/declines`),
				say: `${asked} Say no.`,
			},
			{ ...sendText(1), say: "The text was dropped: it is never sent. Send another one." },
		],
		end: "It went out, because the tap on No opened the window like any message. Let your CRM stop after a no.",
		endHeld: "It is held, and NAME is asked once more. Let your CRM stop after a no.",
	},
	expired: {
		title: "A held text expires",
		lead: "The contact does not answer in time.",
		name: "Nora",
		steps: [
			first,
			{
				does: "Let the time pass",
				until: /^text\.dropped/,
				call: () => post("clock/advanceTo", { at: thread.value?.held?.expiresAt }),
				say: `${asked} Let the time for an answer pass.`,
			},
			{ ...accept, say: "The text was dropped: it is never sent. Say yes now, too late." },
		],
		end: "Nothing was held any more, so nothing went out. But the window is open: a new text goes out at once.",
	},
	replaced: {
		title: "A held text is replaced",
		lead: "Two sends are answered with 200. One text arrives.",
		name: "Omar",
		steps: [
			first,
			{
				...sendText(1, "Send another text", /^text\.replaced/),
				say: "The text is held until NAME says yes. Send another one meanwhile.",
			},
			{ ...accept, say: "It took the first one's place, and both were answered with 200. Say yes." },
		],
		end: "NAME got the second text only. Wait until a text is sent before you send the next one.",
	},
	lost: {
		title: "An answer is lost",
		lead: "The CRM repeats a send. How many texts arrive?",
		name: "Ruth",
		wrote: "Is the flat in the Kerkstraat still free?",
		steps: [
			{
				does: "Lose the next answer",
				until: /^fault\.added/,
				call: () => post("faults/add", { operation: "messages.send", phase: "after", effect: "hang", times: 1 }),
				say: "NAME has just written, so the window is open. Arm a fault that loses the answer to the next send.",
			},
			{ ...sendText(0), say: "Now send NAME a text." },
			{
				...sendText(0, "Repeat with the same id", /^messages\.send 200/),
				say: "NAME has the text, but the CRM got no answer and cannot know that. Repeat the request.",
			},
		],
		end: "NAME still has one text. Without an operationId there would be two.",
	},
};

/** The story that is told, and its contact. */
export const told = signal<{ readonly id: string; readonly phone: string } | null>(null);

/** How many steps of the story are done. */
export function stepsDone({ steps }: Story, phone: string): number {
	const own = events.value.filter((event) => !("contact" in event) || event.contact === phone);
	let done = 0;
	for (const event of own.slice(own.findIndex((event) => "contact" in event))) {
		if (steps[done]?.until.test(named(event))) done++;
	}
	return done;
}

function named(event: SandboxEvent): string {
	if (event.type === "request") return `${event.operation} ${event.status}`;
	// The text that was held is no step of the reader's.
	return event.type === "text.sent" && event.queueId !== null ? "" : event.type;
}

/** Opens what the path of the address names: a story with the contact that it had or with a new one, or the list. */
export async function openStory(): Promise<void> {
	const [path, id = "", phone] = location.hash.match(/^#\/stories\/?(\w*)\/?(\+\d+)?/) ?? [];
	const story = stories[id];
	told.value = phone === undefined ? null : { id, phone };
	if (path === undefined) return;
	if (phone !== undefined && phone !== selected.value) select(phone);
	pane.value = "phone";
	// Until the page is connected, it cannot make a contact.
	if (phone === undefined && story && now.value > 0) await begin(id, story);
}

async function begin(id: string, { name, wrote }: Story): Promise<void> {
	const phone = await freeNumber();
	await perform(here(`contacts/${phone}`, { name }));
	if (wrote !== undefined) await perform(here(`contacts/${phone}/writes`, { text: wrote }));
	// A reload and Back go on with the story, and begin no other one.
	const query = new URLSearchParams({ agency: chosenAgencyId.value, contact: phone });
	if (!chosenAgencyId.value) query.delete("agency");
	history.replaceState(null, "", `#/stories/${id}/${phone}?${query}`);
	told.value = { id, phone };
	select(phone);
}

async function freeNumber(): Promise<string> {
	for (let last = 201; ; last++) {
		const phone = `+447700900${last}`;
		const { exists, name } = await read<ConversationState>(here(`conversations/${phone}`).path);
		if (!exists && name === null) return phone;
	}
}
