import { masked } from "../sandbox/base/mask.ts";
import type { Sandbox, SandboxEvent, SendDecision } from "../sandbox/index.ts";
import { type Colour, coloured, type Look, wrapped } from "./look.ts";
import { createDateLine, printable } from "./text.ts";

type Request = Extract<SandboxEvent, { type: "request" }>;

/**
 * Prints one line for a request, one for its explanation, and one for each consequence. They hold no key, no whole number and
 * no text of a message. Only an operationId that was reused is shown with its two texts. Polls that take turns are counted,
 * and told once something else happens. Returns what ends it.
 */
export function printEvents(sandbox: Sandbox, look: Look, print: (line: string) => void): () => void {
	const dateLine = createDateLine(sandbox.clock.now());
	/** Prints a paragraph: the time and what happened, then what belongs to it. */
	const tell = (event: SandboxEvent, gap: string, text: string, more: readonly string[] = []): void => {
		for (const line of dateLine(event.at)) print(coloured(look, "gray", line));
		const width = look.columns() - indent.length - 1;
		const [first, ...rest] = [text, ...more].flatMap((each) => wrapped(each, width));
		print(`${coloured(look, "gray", event.at.slice(11, 19))}${gap}${first}`);
		for (const line of rest) print(`${indent}${line}`);
	};
	/** The polls since the last line, and how often each came again. Only the first one of each is printed. */
	const polls = new Map<string, { last: Request; further: number }>();
	const endPolls = (): void => {
		for (const { last, further } of polls.values())
			if (further > 0) tell(last, "  ", `${requestLine(last, look)}${further > 1 ? `  ${further} more` : ""}`);
		polls.clear();
	};
	/** The consequences of the request that is being answered. */
	let consequences: string[] = [];
	const tellRequest = (event: Request): void => {
		const { operation, status, explanation, decision, path, keyId } = event;
		const isQuiet =
			explanation === null && consequences.length === 0 && status === 200 && operation !== "messages.send";
		const poll = isQuiet ? JSON.stringify([operation, path, keyId, dayOf(event)]) : undefined;
		const before = poll === undefined ? undefined : polls.get(poll);
		if (before) return void Object.assign(before, { last: event, further: before.further + 1 });
		if (poll === undefined || [...polls.values()].some(({ last }) => dayOf(last) !== dayOf(event))) endPolls();
		if (poll !== undefined) polls.set(poll, { last: event, further: 0 });
		const more = [
			...(explanation === null ? [] : [printable(explanation)]),
			...(decision && isSurprising(decision) ? [printable(`${decision.reason} (${decision.rule})`)] : []),
			...consequences,
		];
		tell(event, "  ", requestLine(event, look), more);
	};
	const stop = sandbox.subscribe((event) => {
		if (event.type === "request.held") {
			endPolls();
			tell(event, "  ", `${event.operation}  waits at a breakpoint`);
			return;
		}
		if (event.type === "request") {
			tellRequest(event);
			consequences = [];
			return;
		}
		const whole = consequenceOf(event);
		if (whole === undefined) return;
		const words = printable(masked(whole));
		const text = event.type === "violation" ? coloured(look, "yellow", words) : words;
		if (event.correlationId === null) {
			endPolls();
			tell(event, " ", text);
		} else consequences = [...consequences, text];
	});
	return () => {
		stop();
		endPolls();
	};
}

/** Whether a reader would take the answer for something else: a repeat has the answer of a send, and a "No" opens the window. */
const isSurprising = ({ outcome, window }: SendDecision): boolean =>
	outcome === "repeat" || (window.open && window.openedBy === "declined");

const indent = " ".repeat(9);

const dayOf = ({ at }: SandboxEvent): string => at.slice(0, 10);

function requestLine({ operation, method, path, status, ms }: Request, look: Look): string {
	const what = operation ?? `${method} ${printable(shortened(masked(path)))}`;
	const answer = coloured(look, colourOf(status), status === null ? "no answer" : String(status));
	return [what, answer, `${Math.round(ms)} ms`].join("  ");
}

function colourOf(status: number | null): Colour {
	if (status === null || status >= 500) return "red";
	if (status >= 400) return "yellow";
	return status >= 300 ? "cyan" : "green";
}

const longestPath = 200;

const shortened = (path: string): string => (path.length > longestPath ? `${path.slice(0, longestPath)}…` : path);

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
