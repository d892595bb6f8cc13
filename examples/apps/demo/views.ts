// Renders the CRM's HTML. live.js updates the elements with data-live, whose children have ids.
import { forecast, type Look, timeOf } from "./forecast.ts";
import { type Html, html } from "./html.ts";
import type { Contact, Line } from "./records.ts";

export interface Page {
	contacts: Contact[];
	now: Date;
	chat?: Chat;
	/** The problem with the visitor's request. */
	problem?: string;
}

export interface Chat {
	phone: string;
	look: Look;
	lines: Line[];
	/** The id of the text that the form would send. */
	textId: string;
}

export function pageView({ contacts, now, chat, problem }: Page): string {
	const name = chat && (contacts.find(({ phone }) => phone === chat.phone)?.name ?? chat.phone);
	const main = chat && name ? chatView(chat, name) : html`<p>Choose a contact, or type a number.</p>`;
	return html`<!doctype html>
<html lang="en">
<head>
	<meta charset="utf-8">
	<meta name="viewport" content="width=device-width">
	<title>${name && `${name} · `}CRM</title>
	<link rel="icon" href="data:,">
	<link rel="stylesheet" href="/colours.css">
	<link rel="stylesheet" href="/style.css">
	<script type="module" src="/live.js"></script>
</head>
<body>
	<header><h1><a href="/">CRM</a></h1> <output id="connection"></output></header>
	<nav aria-label="Contacts">
		<form action="/contacts">
			<input name="phone" type="tel" required aria-label="Phone number" placeholder="Phone number">
			<button>Open</button>
		</form>
		<ul id="contacts" data-live>${contacts.map((contact) => contactView(contact, now, chat?.phone))}</ul>
	</nav>
	<main>${problem ? html`<p role="alert">${problem}</p>` : main}</main>
</body>
</html>`.html;
}

function contactView({ phone, name, lastBody, lastAt }: Contact, now: Date, shown: string | undefined): Html {
	const current = phone === shown ? html`aria-current="page"` : null;
	return html`<li id="contact-${phone}"><a href="/contacts/${encodeURIComponent(phone)}" ${current}>
		<b>${name ?? phone}</b> <time>${timeOf(lastAt, now)}</time> <span>${lastBody}</span></a></li>`;
}

function chatView({ phone, look, lines, textId }: Chat, name: string): Html {
	const sentences = forecast(look, lines).map(
		(sentence, index) => html`<span id="forecast-${index}">${sentence} </span>`,
	);
	return html`<h2>${name} <small>${name !== phone && phone}</small></h2>
		<div id="messages" role="log" aria-label="Messages" tabindex="0" data-live>
			${lines.map((line) => lineView(line, look, name))}
		</div>
		<form method="post" action="/contacts/${encodeURIComponent(phone)}/texts">
			<input type="hidden" name="id" value="${textId}">
			<p id="forecast" role="status" data-live>${sentences}</p>
			<p id="languages" data-live>${languagesView(look)}</p>
			<textarea name="body" required rows="2" aria-label="Text to ${name}" aria-describedby="forecast"></textarea>
			<button>Send</button>
		</form>`;
}

/** An agency with several consent languages needs one of them with each text. */
function languagesView({ conversation }: Look): Html | null {
	const languages = conversation?.windowReopenReadiness.availableLanguages ?? [];
	if (languages.length < 2) return null;
	const options = languages.map((language) => html`<option>${language}</option>`);
	return html`<label id="language">Consent is asked for in <select name="consentLanguage">${options}</select></label>`;
}

function lineView(line: Line, look: Look, name: string): Html {
	const { key, isInbound, body, at, template, text } = line;
	const author = isInbound ? name : text ? "This CRM" : template ? `Template ${template}` : "The agency, not this CRM";
	return html`<article id="${key}" class="${isInbound ? "in" : "out"} ${text?.state}">
		<p dir="auto">${body ?? "a file"}</p>
		<small>${author} · <time datetime="${at.toISOString()}">${timeOf(at, look.now)}</time> <b>${stateOf(line, look)}</b></small>
	</article>`;
}

/** Says what became of a text, in the outbox's words. */
function stateOf({ text, body, failed }: Line, { conversation }: Look): string | false {
	if (!text) return failed && "It did not reach the phone.";
	const { state, description, error, attempts } = text;
	// The outbox waits for the settling time before it calls a text dropped.
	if (state === "held" && conversation && conversation.queuedMessages[0]?.body !== body)
		return "Not held any more. Its end is read in a moment.";
	if (error && ["waiting", "sending", "refused", "unknown"].includes(state)) return `${description} ${error.message}`;
	return attempts > 1 ? `${description} ${attempts} requests.` : description;
}
