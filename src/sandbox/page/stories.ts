import type { SandboxEvent } from "../index.ts";
import { perform, read } from "./control.ts";
import { send } from "./crm.tsx";
import { agency, here, post, select, standing } from "./model.ts";
import { type Call, sandbox, view } from "./store.ts";

interface Action {
	/** The words on its button. NAME is the contact's. */
	readonly does: string;
	readonly call: (phone: string) => Call;
	/** The event that shows that it was done, here or anywhere else. */
	readonly until: string;
}

interface Step extends Action {
	/** What has happened, and what to do now. */
	readonly say: string;
}

interface Story {
	readonly title: string;
	readonly lead: string;
	readonly name: string;
	/** What the contact wrote, which opens the window. */
	readonly wrote?: string;
	readonly steps: readonly Step[];
	/** What the reader should remember. */
	readonly end: string;
	/** The same, when the last text is held: under another policy a no does not open the window. */
	readonly endHeld?: string;
}

const first = ["thursday", "Would Thursday at 14:00 suit you?"] as const;
const second = ["friday", "Or would Friday at 10:00 be better?"] as const;

const sendText = ([id, text]: typeof first | typeof second, until = "sent", does = "Send as the CRM"): Action => ({
	does,
	until,
	call: (phone) => send(phone, text, `${id}-${phone.slice(-3)}`, agency.value?.consent.defaultLanguage),
});

const tap = (verb: string, until: string): Action => ({
	does: `${verb} as NAME`,
	until,
	call: (phone) => here(`contacts/${phone}/${verb.toLowerCase()}s`),
});
const accept = tap("Accept", "consent.accepted");

const begins: Step = {
	...sendText(first),
	say: "NAME has never written to the agency, so the 24-hour window is closed. Send a text.",
};

const asked = "The text is held, and the phone asks NAME for permission.";
const dropped = "The text was dropped: it is never sent.";

/** The stories, by the name in their address. */
export const stories: Readonly<Record<string, Story>> = {
	accepted: {
		title: "A held text is accepted",
		lead: "The contact says yes, and the text goes out.",
		name: "Emma",
		steps: [
			begins,
			{ ...accept, say: `${asked} Say yes.` },
			{ ...sendText(second), say: "The held text went out, and the window is open for 24 hours. Send another text." },
		],
		end: "It went out at once. “queued: true” in an answer means that the text still waits for the contact's yes.",
	},
	refused: {
		title: "A held text is refused",
		lead: "The contact says no. What happens to the text?",
		name: "Liam",
		steps: [
			begins,
			{ ...tap("Decline", "consent.declined"), say: `${asked} Say no.` },
			{ ...sendText(second), say: `${dropped} Send another text.` },
		],
		end: "It went out, because the tap on No opened the window like any message. Let your CRM stop after a no.",
		endHeld: "It is held, and NAME is asked once more. Let your CRM stop after a no.",
	},
	expired: {
		title: "A held text expires",
		lead: "The contact does not answer in time.",
		name: "Nora",
		steps: [
			begins,
			{
				does: "Let the time pass",
				until: "text.dropped",
				call: () => post("clock/advanceTo", { at: sandbox.thread.value?.held?.expiresAt }),
				say: `${asked} Give no answer.`,
			},
			{ ...accept, say: `${dropped} Say yes now, too late.` },
		],
		end: "Nothing was held any more, so nothing went out. But the window is open: a new text goes out at once.",
	},
	replaced: {
		title: "A held text is replaced",
		lead: "Two sends are answered with 200. One text arrives.",
		name: "Omar",
		steps: [
			begins,
			{ ...sendText(second, "text.replaced", "Send another text"), say: `${asked} Send another text meanwhile.` },
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
				until: "fault.added",
				call: () => post("faults/add", { operation: "messages.send", phase: "after", effect: "hang" }),
				say: "NAME has just written, so the window is open. Arm a fault that loses the answer to the next send.",
			},
			{ ...sendText(first), say: "Send a text." },
			{
				...sendText(first, "200", "Repeat with the same id"),
				say: "NAME has the text, but the CRM got no answer and cannot know that. Repeat the request.",
			},
		],
		end: "NAME still has one text. Without an operationId there would be two.",
	},
};

/** How many steps of the story are done. */
export function stepsDone({ steps }: Story, phone: string): number {
	const own = standing.value.filter((event) => !("contact" in event) || event.contact === phone);
	let done = 0;
	for (const event of own.slice(own.findIndex((event) => "contact" in event))) {
		if (steps[done]?.until === named(event)) done++;
	}
	return done;
}

function named(event: SandboxEvent): string {
	const { type } = event;
	if (type === "request") return event.operation === "messages.send" ? String(event.status) : "";
	// A held text that goes out later is not a step of the reader's.
	return type === "text.held" || (type === "text.sent" && event.queueId === null) ? "sent" : type;
}

/** Opens what the path of the address names: a story with the contact that it had or with a new one, or the list. */
export async function openStory(): Promise<void> {
	const [path, id = "", phone] = location.hash.match(/^#\/stories\/?(\w*)\/?(\+\d+)?/) ?? [];
	const story = stories[id];
	view.story.value = phone === undefined ? null : { id, phone };
	if (path === undefined) return;
	if (phone !== undefined && phone !== view.contact.value) select(phone);
	view.pane.value = "phone";
	// Until the page is connected, it cannot make a contact.
	if (phone === undefined && story && sandbox.now.value > 0) await begin(id, story);
}

async function begin(id: string, { name, wrote }: Story): Promise<void> {
	const [place, agencyId] = [placeNow(), view.agencyId.value];
	const phone = await freeNumber();
	await perform(here(`contacts/${phone}`, { name }));
	if (wrote !== undefined) await perform(here(`contacts/${phone}/writes`, { text: wrote }));
	// Somebody has gone on meanwhile.
	if (place !== placeNow() || agencyId !== view.agencyId.value) return;
	// A reload and Back continue the story, and begin no other one.
	const query = new URLSearchParams({ agency: view.agencyId.value, contact: phone });
	if (!view.agencyId.value) query.delete("agency");
	history.replaceState(null, "", `#/stories/${id}/${phone}?${query}`);
	view.story.value = { id, phone };
	select(phone);
}

/** The path of the address, which another choice changes. */
const placeNow = (): string | undefined => location.hash.split("?")[0];

/** The first of the drama numbers that the agency does not know. */
async function freeNumber(): Promise<string> {
	const known = await read<{ phoneNumber: string }[]>(here("contacts").path);
	const taken = new Set(known.map(({ phoneNumber }) => phoneNumber));
	let last = 201;
	while (taken.has(`+447700900${last}`)) last++;
	return `+447700900${last}`;
}
