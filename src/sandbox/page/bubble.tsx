import type { HeldState, MessageState } from "../index.ts";
import { Act, into } from "./act.tsx";
import { here, post } from "./model.ts";
import { sandbox, typed, view } from "./store.ts";
import { lengthOf, minuteOf, relativeTo } from "./time.ts";
import type { LostEvent } from "./timeline.ts";
import { authors, dropReasons, hasFailed } from "./words.ts";

interface OfferProps {
	readonly content: NonNullable<MessageState["interactiveContent"]>;
}

interface BubbleProps {
	readonly message: MessageState;
	readonly name: string;
	readonly isOpenTemplate: boolean;
}

export function Bubble({ message, name, isOpenTemplate }: BubbleProps) {
	const { author, body, at, buttonClicked, media } = message;
	const isOwn = author === "contact";
	return (
		<article
			id={`m${message.id}`}
			tabIndex={-1}
			aria-label={isOwn ? name : authorOf(message)}
			class={`b ${isOwn ? "" : "out"} ${hasFailed(message) ? "failed" : ""}`}
		>
			{message.replyTo && <blockquote>{message.replyTo.body ?? message.replyTo.templateName ?? "a file"}</blockquote>}
			{body !== null && <p dir="auto">{body}</p>}
			{media.map(({ url, contentType, content_type }) => (
				<p key={url}>
					{contentType ?? content_type ?? "file"} <span class="mono">{url}</span>
				</p>
			))}
			{isOwn ? (
				<small>
					{buttonClicked !== null && <span>tapped {buttonClicked} · </span>}
					<time dateTime={at}>{minuteOf(at)}</time>
				</small>
			) : (
				<Ticks message={message} />
			)}
			{author !== "template" && message.interactiveContent && <Offer content={message.interactiveContent} />}
			{isOpenTemplate && <Answer name={name} />}
		</article>
	);
}

/** Who wrote a message of the agency. */
const authorOf = ({ author }: MessageState): string =>
	author === "template" ? "Consent template" : authors[author] || "Contact";

const ticks: Readonly<Record<string, string>> = { sent: "✓", delivered: "✓✓", read: "✓✓" };

/** The author and the status of a message. Opened, it has buttons for the reports of the messaging provider. */
function Ticks({ message }: { readonly message: MessageState }) {
	const { id, author, templateCode, language, at, status } = message;
	const code = typed.errorCode.value;
	// To a reader a text that the provider has "queued" is sent. Beside held texts that word would mislead.
	const shown = /queued|accepted/.test(status) ? "sent" : status;
	return (
		<details class="ticks">
			<summary>
				<span>{author === "template" ? `${templateCode}${language ? ` · ${language}` : ""}` : authors[author]}</span>
				{" · "}
				<time dateTime={at}>{minuteOf(at)}</time>
				{" · "}
				<span class={shown}>{[shown, message.errorCode, ticks[shown]].filter(Boolean).join(" ")}</span>
			</summary>
			<div class="row">
				<code>{status}</code>
				<Act call={post(`messages/${id}/delivered`)}>delivered</Act>
				<Act call={post(`messages/${id}/read`)}>read</Act>
				<Act call={post(`messages/${id}/failed`, { errorCode: /^\d+$/.test(code) ? Number(code) : null })}>failed</Act>
				<input
					aria-label="Error code of a failure"
					inputMode="numeric"
					size={6}
					value={typed.errorCode.value}
					onInput={into(typed.errorCode)}
				/>
			</div>
		</details>
	);
}

/** The quick replies and list items that the contact can tap. Links are shown as text, because they lead nowhere here. */
function Offer({ content: { quickReplies, listPicker, ctaButtons } }: OfferProps) {
	const items = listPicker?.items.map(({ id, title, description }) => [id, title, description]);
	const choices = [...(quickReplies ?? []).map(({ code, text }) => [code, text]), ...(items ?? [])];
	return (
		<div class="row answer">
			{choices.map(([code, text, more]) => (
				<Act key={code} call={here(`contacts/${view.contact.value}/taps`, { code })}>
					{text} <small>{more}</small>
				</Act>
			))}
			{ctaButtons?.map(({ title, url, phone, code, type }) => (
				<span key={title}>
					<u>{title}</u> <small class="mono">{url ?? phone ?? code ?? type}</small>
				</span>
			))}
		</div>
	);
}

/** The template's buttons, as the contact taps them. They step back once no text is held. */
function Answer({ name }: { readonly name: string }) {
	const isHeld = sandbox.thread.value?.held !== null;
	return (
		<div class="row answer">
			<Act class={isHeld ? "primary" : "quiet"} call={here(`contacts/${view.contact.value}/accepts`)}>
				Accept{" "}
				<span aria-hidden="true">
					<kbd>a</kbd>
				</span>
			</Act>
			<Act class={isHeld ? "" : "quiet"} call={here(`contacts/${view.contact.value}/declines`)}>
				Decline{" "}
				<span aria-hidden="true">
					<kbd>d</kbd>
				</span>
			</Act>
			<span class="dim">{isHeld ? `as ${name}` : "no text is held"}</span>
		</div>
	);
}

interface HeldProps {
	readonly held: HeldState;
	/** The condition under which it is sent, or why it cannot be. */
	readonly hope: string;
}

export function HeldBubble({ held, hope }: HeldProps) {
	const { body, author, updatedAt, expiresAt } = held;
	const left = lengthOf(Date.parse(expiresAt) - sandbox.now.value);
	return (
		<article id="held" tabIndex={-1} aria-label={`Held, ${authors[author]}`} class="b out held">
			<strong class="warn">Held, not sent</strong>
			<p dir="auto">{body}</p>
			<small>
				{authors[author]} · held since {relativeTo(updatedAt, sandbox.now.value)} · {hope} · expires{" "}
				{relativeTo(expiresAt, sandbox.now.value)}, in {left}
			</small>
		</article>
	);
}

/** A text that waited for consent, and that the contact never gets. */
export function LostBubble({ event }: { readonly event: LostEvent }) {
	const isReplaced = event.type === "text.replaced";
	const lost = isReplaced ? event.replaced : event;
	return (
		<article id={`e${event.id}`} tabIndex={-1} aria-label="Never sent" class="b out gone">
			<strong class="bad">Never sent</strong>
			<p dir="auto">
				<s>{lost.body}</s>
			</p>
			<small>
				held at {relativeTo(lost.heldAt, sandbox.now.value)} · {isReplaced ? "replaced" : "dropped"} at{" "}
				{relativeTo(event.at, sandbox.now.value)}
				{isReplaced ? ` by “${event.body}”` : `: ${dropReasons[event.reason]}`}
			</small>
		</article>
	);
}
