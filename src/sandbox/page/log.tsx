import type { TargetedKeyboardEvent } from "preact";
import { fits, untilPause } from "./entries.ts";
import { Filters } from "./filters.tsx";
import { After, Before, firstLine, keepPlace, Line, look, olderEvents, pretty, shownLines } from "./lines.tsx";
import { agency, hasOlderMessages, isLater, loadOlderMessages, undoneBy } from "./model.ts";
import { More } from "./more.tsx";
import { Outbox } from "./outbox.tsx";
import { Requests } from "./requests.tsx";
import { Slider } from "./slider.tsx";
import { log, sandbox, tabs, view } from "./store.ts";
import { counted, wordsOf } from "./words.ts";

/** The requests of the CRM with their consequences, the events, and the state. */
export function Log() {
	const move = (event: TargetedKeyboardEvent<HTMLElement>) => {
		const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
		if (step === 0) return;
		view.tab.value = tabs[(tabs.indexOf(view.tab.value) + step + tabs.length) % tabs.length] ?? "Requests";
		document.getElementById(`tab-${view.tab.value}`)?.focus();
	};
	return (
		<aside class="journal" aria-label="Log">
			<p role="status" class="unseen">
				{log.said.value}
			</p>
			<div class="tabs" role="tablist" aria-label="What the log shows" onKeyDown={move}>
				{tabs.map((name) => (
					<button
						type="button"
						role="tab"
						key={name}
						id={`tab-${name}`}
						aria-controls="tab-panel"
						aria-selected={view.tab.value === name}
						tabIndex={view.tab.value === name ? 0 : -1}
						onClick={() => (view.tab.value = name)}
					>
						{name}
					</button>
				))}
			</div>
			<Slider />
			<div
				class="panel"
				key={view.tab.value}
				role="tabpanel"
				id="tab-panel"
				aria-labelledby={`tab-${view.tab.value}`}
				tabIndex={0}
				onScroll={({ currentTarget }) => look(currentTarget)}
			>
				{view.tab.value === "Requests" && <Requests />}
				{view.tab.value === "Outbox" && <Outbox />}
				{view.tab.value === "Events" && <Events />}
				{view.tab.value === "State" && <State />}
			</div>
		</aside>
	);
}

function Events() {
	const all = untilPause(log.events.value).filter(fits).reverse();
	const isFiltered = log.eventText.value !== "" || log.isOfContact.value;
	return (
		<>
			<Filters />
			{isFiltered && (
				<p class="hint" role="status">
					{all.length} of the {counted(log.events.value.length, "event")} that{" "}
					{log.events.value.length === 1 ? "is" : "are"} loaded
					{log.hasOlder.value && ": the newest ones"}.
				</p>
			)}
			<Before />
			<div role="log" aria-live="off" aria-label="Events">
				<ol class="log mono" reversed ref={(list) => keepPlace(list)}>
					{shownLines(all).map((event, row) => {
						const { text, tone } = wordsOf(event);
						const i = firstLine(all.length) + row;
						return (
							<Line
								key={event.id}
								event={event}
								before={all[i + 1]}
								above={row > 0 ? all[i - 1] : undefined}
								place={i + 1}
								size={log.hasOlder.value ? -1 : all.length}
								words={text}
								tone={tone}
								class={isLater(event) || undoneBy(event) ? "undone" : ""}
							>
								<b>{event.type}</b>
							</Line>
						);
					})}
				</ol>
			</div>
			<After count={all.length} loadMore={olderEvents()} />
		</>
	);
}

function State() {
	const state = sandbox.thread.value;
	return (
		<>
			{state && (
				<>
					<h2>GET /_sandbox/conversations/{state.phoneNumber}</h2>
					<pre>{pretty(state)}</pre>
					{hasOlderMessages.value && <More load={loadOlderMessages} />}
				</>
			)}
			<h2>GET /_sandbox/agencies</h2>
			<pre>{pretty(agency.value ?? null)}</pre>
		</>
	);
}
