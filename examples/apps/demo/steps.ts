// The steps of the demo: what to do, what to see then, and the event of the sandbox by which a step is done.
import type { Sandbox, SandboxEvent } from "messaging-conversations/sandbox";

export const annasPhone = "+447700900101";
export const beasPhone = "+447700900102";

/** What a button of a step does: let Anna write, lose the next answer, leave it out, kill the CRM, let a day pass. */
export type Act = "write" | "lose" | "hang" | "kill" | "day";

export interface Step {
	title: string;
	todo: string;
	see: string;
	buttons: readonly { act: Act; label: string }[];
	isDone(event: SandboxEvent): boolean;
}

const about = (event: SandboxEvent, type: SandboxEvent["type"], contact: string): boolean =>
	event.type === type && "contact" in event && event.contact === contact;

const isHit = (event: SandboxEvent, kind: string): boolean => event.type === "fault.hit" && event.fault.kind === kind;

export const steps: readonly Step[] = [
	{
		title: "A contact writes",
		todo: "Anna Peeters is on the phone and in the CRM. Write something as her, or let her write.",
		see: "Her message is in the CRM after two seconds at most. The change feed found it.",
		buttons: [{ act: "write", label: "Let Anna write" }],
		isDone: (event) => about(event, "contact.wrote", annasPhone),
	},
	{
		title: "A closed window",
		todo: "In the CRM, open Bea Janssens and send her a text. She wrote 30 hours ago, so her window is closed.",
		see: "The CRM said beforehand that the text would be held. Choose Bea on the phone: it waits there for her consent.",
		buttons: [],
		isDone: (event) => about(event, "text.held", beasPhone),
	},
	{
		title: "A second text",
		todo: "Send Bea another text.",
		see: "It replaced the first one, which is never sent. The CRM had named it beforehand.",
		buttons: [],
		isDone: (event) => about(event, "text.replaced", beasPhone),
	},
	{
		title: "Her answer",
		todo: "On the phone, choose Bea and accept or decline.",
		see: "If she accepted, both show the text sent. If she declined, the phone shows it struck through, and the CRM says so.",
		buttons: [],
		isDone: (event) => about(event, "consent.accepted", beasPhone) || about(event, "consent.declined", beasPhone),
	},
	{
		title: "A lost answer",
		todo: "Lose the answer to the next send. Then send Anna a text in the CRM.",
		see: "The CRM got no answer, and found out that the text was sent. Anna has it once.",
		buttons: [{ act: "lose", label: "Lose the next answer" }],
		isDone: (event) => isHit(event, "reset"),
	},
	{
		title: "A crash",
		todo: "Leave the next send without an answer, and send Anna a text in the CRM. Then kill the CRM's process.",
		see: "The process was killed between its request and the answer. It started again, and Anna has the text once.",
		buttons: [
			{ act: "hang", label: "Hang the next send" },
			{ act: "kill", label: "Kill the CRM" },
		],
		isDone: (event) => isHit(event, "hang"),
	},
	{
		title: "A day later",
		todo: "Let a day pass.",
		see: "Anna's window has closed: a text to her would be held now, and the CRM says so.",
		buttons: [{ act: "day", label: "+24 h" }],
		isDone: (event) => about(event, "window.closed", annasPhone),
	},
];

/** Does what a button says, except for the CRM's process, which is not the sandbox's. */
export function perform(sandbox: Sandbox, act: Exclude<Act, "kill">): void {
	if (act === "day") sandbox.clock.advance({ hours: 24 });
	else if (act === "write") sandbox.agency().contact(annasPhone).writes("Could I come on Thursday?");
	else {
		const effect = act === "lose" ? "reset" : "hang";
		sandbox.faults.add({ operation: "messages.send", phase: "after", effect });
	}
}
