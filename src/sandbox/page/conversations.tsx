import type { ConversationRow } from "../index.ts";
import { Act } from "./act.tsx";
import { Refusal } from "./call-line.tsx";
import { forgetRefusal, perform } from "./control.ts";
import { digitsIn, here, isOpen, keyOf, loadMoreRows, lostTexts, newsOf, rows, searchFor, select } from "./model.ts";
import { More } from "./more.tsx";
import { list, sandbox, view } from "./store.ts";
import { lengthOf, relativeTo } from "./time.ts";
import { authors, counted } from "./words.ts";

export function Conversations() {
	const [first] = rows.value;
	const text = list.search.value.trim();
	/** Whether the search is the number of a contact to be. */
	const isNew = !first && digitsIn(text).length >= 6;
	const create = here(`contacts/${encodeURIComponent(text)}`);
	const submit = (event: Event) => {
		event.preventDefault();
		document.getElementById("search")?.blur(); // so that the keys work
		if (first) select(first.phoneNumber);
		else if (isNew) perform(create, { onDone: choose, form: "search" });
	};
	return (
		<nav class="list" aria-label="Conversations">
			<form onSubmit={submit}>
				<input
					type="search"
					id="search"
					aria-label="Search or new number"
					placeholder="Search or new number"
					value={list.search.value}
					onInput={({ currentTarget }) => {
						forgetRefusal();
						searchFor(currentTarget.value);
					}}
				/>
				<Refusal form="search" />
			</form>
			<ul>
				{rows.value.map((row) => (
					<Row key={row.phoneNumber} row={row} />
				))}
			</ul>
			{list.edge.value && <More load={loadMoreRows} />}
			{isNew && (
				<Act class="more primary" call={create} onDone={choose} form="search">
					New contact {text}
				</Act>
			)}
			{!first && !isNew && list.isRead.value && (
				<p class="hint">
					{text ? (
						<>
							Nobody has “{text}”.{" "}
							<button type="button" onClick={() => searchFor("")}>
								Show all
							</button>
						</>
					) : (
						<>
							No conversation yet. Begin with <a href="#/stories">a story</a>, type a number above, or send through the
							API.
						</>
					)}
				</p>
			)}
		</nav>
	);
}

function choose({ phoneNumber }: { readonly phoneNumber: string }): void {
	searchFor("");
	select(phoneNumber);
}

function Row({ row }: { readonly row: ConversationRow }) {
	const { phoneNumber, name, exists, lastMessage, held, ai, activeFlows, visibility } = row;
	const news = newsOf(row);
	const lost = lostTexts.value.get(keyOf(row.agencyId, phoneNumber)) ?? 0;
	return (
		<li>
			<button
				type="button"
				class={name === null ? "nameless" : ""}
				title={name ?? phoneNumber}
				aria-current={view.contact.value === phoneNumber}
				onClick={() => select(phoneNumber)}
			>
				<span>
					<b>{name ?? phoneNumber}</b>
					{news > 0 && <span class="news">{news} new</span>}
				</span>
				{lastMessage && <time dateTime={lastMessage.at}>{relativeTo(lastMessage.at, sandbox.now.value)}</time>}
				<p>{preview(row)}</p>
				{exists && (
					<span class="row">
						<WindowBadge row={row} />
						{held && <span class="badge warn">1 held</span>}
						{lost > 0 && <span class="badge bad">{lost} never sent</span>}
						<span class="badge">{ai.enabled ? "AI on" : "AI off"}</span>
						{activeFlows > 0 && <span class="badge">flow</span>}
						{visibility.hidden && <span class="badge">hidden</span>}
					</span>
				)}
			</button>
		</li>
	);
}

/** The state of the window, counted in the sandbox's time. */
export function WindowBadge({ row, long = false }: { readonly row: ConversationRow; readonly long?: boolean }) {
	const { window } = row;
	if (window.expiresAt === null) return <span class="badge bad">window never opened</span>;
	const left = Date.parse(window.expiresAt) - sandbox.now.value;
	if (isOpen(row)) return <span class="badge ok">{`${long ? "window " : ""}open ${lengthOf(left)}`}</span>;
	return <span class="badge bad">{`window closed${long ? ` ${lengthOf(left)} ago` : ""}`}</span>;
}

function preview({ lastMessage }: ConversationRow): string {
	if (!lastMessage) return "no message yet";
	const { author, body, media } = lastMessage;
	const text = body ?? counted(media.length, "file");
	return author === "contact" ? text : `${author === "template" ? "Template" : authors[author]}: ${text}`;
}
