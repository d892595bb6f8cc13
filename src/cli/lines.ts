import type { Sandbox, SandboxEvent } from "../sandbox/index.ts";
import { printable } from "./text.ts";

type Request = Extract<SandboxEvent, { type: "request" }>;

/**
 * Prints one line for a request, one for its explanation, and one for each consequence. They hold no key, no whole number and
 * no text of a message. Only an operationId that was reused is shown with its two texts.
 */
export function printEvents(sandbox: Sandbox, print: (line: string) => void): void {
	const line = (text: string): void => print(printable(text));
	/** The consequences of the request that is being answered. */
	let consequences: string[] = [];
	sandbox.subscribe((event) => {
		if (event.type === "request") {
			line(requestLine(event));
			if (event.explanation !== null) line(`${indent}${event.explanation}`);
			for (const consequence of consequences.splice(0)) line(`${indent}${consequence}`);
			return;
		}
		const words = consequenceOf(event);
		if (words === undefined) return;
		if (event.correlationId === null) line(`${timeOf(event)} ${words}`);
		else consequences = [...consequences, words];
	});
}

const indent = " ".repeat(9);

const timeOf = ({ at }: SandboxEvent): string => at.slice(11, 19);

function requestLine(event: Request): string {
	const { operation, method, path, status, ms } = event;
	const what = operation ?? `${method} ${masked(path)}`;
	return [timeOf(event), what, status === null ? "no answer" : String(status), `${Math.round(ms)} ms`].join("  ");
}

const longestPath = 200;

/** A path that is none of the service's can hold a key by mistake, and a number with spaces or other signs in it. */
function masked(path: string): string {
	const segments = path.split("/").map((segment) => (segment.includes("_live.") ? "{key}" : segment));
	// Spaces are decoded first: the digits of %20 would each begin a number that ends at the last %20.
	const spaced = segments.join("/").replaceAll("%20", " ");
	const text = spaced.replace(/(\+|%2B)?\d([-. ()]*\d){5,}/gi, "{phone}");
	return text.length > longestPath ? `${text.slice(0, longestPath)}…` : text;
}

/** An event in words; undefined when it needs no line. */
function consequenceOf(event: SandboxEvent): string | undefined {
	switch (event.type) {
		case "contact.wrote":
			return event.buttonClicked === null ? `${who(event)} wrote` : `${who(event)} tapped ${event.buttonClicked}`;
		case "text.sent":
			return `${event.author === "api" ? "sent" : `${event.author} sent`} to ${who(event)}${event.queueId === null ? "" : ", after it was held"}`;
		case "text.held":
			return `held for ${who(event)}, consent asked`;
		case "text.replaced":
			return `replaced the text held for ${who(event)}: that one is never sent`;
		case "text.dropped":
			return `dropped the text held for ${who(event)}: ${event.reason}, never sent`;
		case "window.closed":
			return `window of ${who(event)} closed`;
		case "ai.on":
			return `AI on for ${who(event)}`;
		case "ai.off":
			return `AI off for ${who(event)}`;
		case "message.status":
			return `message to ${who(event)} ${event.status}${event.errorCode === null ? "" : ` ${event.errorCode}`}`;
		case "violation":
			return `violation ${event.rule}: ${event.message}`;
		case "sandbox.reset":
			return "reset";
		default:
			return undefined;
	}
}

/** A contact by name, or by the last digits of the number. */
const who = ({ name, contact }: { readonly name: string | null; readonly contact: string }): string =>
	name ?? `…${contact.slice(-4)}`;
