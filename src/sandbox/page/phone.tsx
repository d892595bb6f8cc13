import { Fragment, type TargetedEvent } from "preact";
import type { ConversationRow, ConversationState } from "../index.ts";
import { Bubble, HeldBubble, LostBubble } from "./bubble.tsx";
import { Composer } from "./composer.tsx";
import { ContactControls } from "./contact.tsx";
import { WindowBadge } from "./conversations.tsx";
import { SendAsCrm, send } from "./crm.tsx";
import { curlOf } from "./curl.ts";
import { hasOlderMessages, loadOlderMessages, rowOf } from "./model.ts";
import { More } from "./more.tsx";
import { Earlier } from "./slider.tsx";
import { sandbox, view } from "./store.ts";
import { Guide, Stories } from "./story.tsx";
import { dayOf, minuteOf } from "./time.ts";
import { type Item, openTemplate, timelineOf } from "./timeline.ts";

export function Phone() {
	const phone = view.contact.value;
	if (phone === null) return <Welcome />;
	const state = sandbox.thread.value;
	const row = state ?? rowOf(phone);
	const name = row?.name ?? phone;
	// The keys that follow j or k at once find the composer, though the conversation is still being read.
	return (
		<main class="phone" tabIndex={-1} aria-label={`Phone of ${name}`}>
			<Earlier />
			<div class="who">
				<div class="row">
					<h2 title={name}>{name}</h2>
					{name !== phone && <span class="dim">{phone}</span>}
					<span class="spring" />
					{row && <Badges row={row} />}
				</div>
				{state && <ContactControls state={state} />}
			</div>
			<Guide />
			{state ? <Chat key={phone} state={state} name={name} /> : <div class="chat" />}
			<div class="composers" data-writer={view.writer.value}>
				<Composer phone={phone} name={name} />
				<SendAsCrm to={phone} />
				<button type="button" class="switch" onClick={switchWriter}>
					{view.writer.value === "crm" ? "as contact" : "as CRM"}
				</button>
			</div>
		</main>
	);
}

/** Puts the other field in the place of this one. */
function switchWriter(): void {
	view.writer.value = view.writer.value === "crm" ? "contact" : "crm";
	queueMicrotask(() => document.getElementById(view.writer.value === "crm" ? "send" : "write")?.focus());
}

function Badges({ row }: { readonly row: ConversationRow }) {
	const { reachable, takeOvers } = row;
	return (
		<>
			<WindowBadge row={row} long />
			<span class="badge">{aiWords(row)}</span>
			{!reachable && <span class="badge bad">cannot be reached</span>}
			{takeOvers > 0 && <span class="badge warn">next {takeOvers === 1 ? "send" : `${takeOvers} sends`}: 409</span>}
		</>
	);
}

function aiWords({ ai }: ConversationRow): string {
	if (ai.enabled) return "AI on";
	return ai.disabledReason === "user_toggle" ? "AI off: by staff" : "AI off: after a manual send";
}

interface ChatProps {
	readonly state: ConversationState;
	readonly name: string;
}

let followed = { phone: "", first: 0, height: 0 };
let isAtEnd = true;

/** New messages come into view, unless the reader has scrolled up. Older ones leave what is read in its place. */
function follow(log: HTMLElement | null, { phoneNumber: phone, messages }: ConversationState): void {
	if (log === null) return;
	const first = messages[0]?.id ?? 0;
	isAtEnd ||= followed.phone !== phone;
	if (isAtEnd) log.scrollTop = log.scrollHeight;
	else if (followed.first !== first) log.scrollTop += log.scrollHeight - followed.height;
	followed = { phone, first, height: log.scrollHeight };
}

function onScroll({ currentTarget: log }: TargetedEvent<HTMLElement>): void {
	isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
}

function Chat({ state, name }: ChatProps) {
	const items = timelineOf(state);
	const template = openTemplate(state);
	return (
		<div
			class="chat"
			role="log"
			aria-label="Messages"
			tabIndex={0}
			ref={(log) => follow(log, state)}
			onScroll={onScroll}
		>
			{hasOlderMessages.value && <More load={loadOlderMessages} />}
			{items.length === 0 && !state.held && <p class="note">No message yet. Write as {name} below.</p>}
			{items.map((item, i, all) => (
				<Fragment key={item.key}>
					{dayOf(item.at) !== dayOf(all[i - 1]?.at ?? 0) && <p class="day">{dayOf(item.at)}</p>}
					<Line item={item} name={name} isOpenTemplate={item.kind === "message" && item.message === template} />
				</Fragment>
			))}
			{state.held && (
				<HeldBubble held={state.held} hope={template ? `goes out if ${name} accepts` : "its template failed"} />
			)}
		</div>
	);
}

interface LineProps {
	readonly item: Item;
	readonly name: string;
	readonly isOpenTemplate: boolean;
}

function Line({ item, name, isOpenTemplate }: LineProps) {
	if (item.kind === "message") return <Bubble message={item.message} name={name} isOpenTemplate={isOpenTemplate} />;
	if (item.kind === "lost") return <LostBubble event={item.event} />;
	const { at, times, words } = item;
	return (
		<p class={`note ${words.tone}`}>
			{words.text} {times > 1 && `×${times} `}· {minuteOf(at)}
		</p>
	);
}

function Welcome() {
	return (
		<main class="welcome" tabIndex={-1}>
			<Earlier />
			<h2>What happens to a text?</h2>
			<p>Five stories, three clicks each. No message reaches anybody.</p>
			<Stories />
			<h2>A contact's phone</h2>
			<p>Choose a conversation, or type a new number in the search field. Or send a text from your CRM:</p>
			<pre>{curlOf(send("+447700900101", "Hello", "hello-1"))}</pre>
		</main>
	);
}
