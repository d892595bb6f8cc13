import { into } from "./act.tsx";
import { HoldNextSend } from "./breakpoints.tsx";
import { operations } from "./faults.tsx";
import { requests } from "./model.ts";
import { log, sandbox, view } from "./store.ts";

/** The head of an open line stays below the filters, however many rows they take. */
const watched = new ResizeObserver((all) => {
	for (const { target } of all)
		if (target instanceof HTMLElement) target.parentElement?.style.setProperty("--filters", `${target.offsetHeight}px`);
});

const watch = (place: HTMLElement | null): void => {
	if (place) watched.observe(place);
};

/** Chooses what the log shows. */
export function Filters() {
	const name = sandbox.thread.value?.name ?? view.contact.value;
	return (
		<search class="filters" aria-label="Filter the log" ref={watch}>
			{view.tab.value === "Requests" ? (
				<input
					type="search"
					aria-label="Text in the log"
					placeholder="Words, status:401, outcome:held"
					title="Words, and status:401 op:send contact:Anna outcome:held key:revoked"
					value={log.text.value}
					onInput={into(log.text)}
				/>
			) : (
				<input
					type="search"
					aria-label="Words in the loaded events"
					placeholder="Words in the loaded events"
					value={log.eventText.value}
					onInput={into(log.eventText)}
				/>
			)}
			<Pause />
			{view.tab.value === "Requests" && (
				<select aria-label="Which requests" value={log.kind.value} onChange={into(log.kind)}>
					<option value="">All requests</option>
					<option value="notable">Without reads that went well</option>
					<option value="messages.send">Sends</option>
					<option value="errors">Errors</option>
					{operations.slice(1).map((name) => (
						<option key={name}>{name}</option>
					))}
				</select>
			)}
			{view.tab.value === "Requests" && <HoldNextSend />}
			{view.tab.value === "Requests" && (
				<button
					type="button"
					aria-pressed={log.order.value === "oldest"}
					onClick={() => (log.order.value = log.order.value === "oldest" ? "newest" : "oldest")}
				>
					Oldest first
				</button>
			)}
			{name !== null && (
				<label>
					<input
						type="checkbox"
						checked={log.isOfContact.value}
						onChange={() => (log.isOfContact.value = !log.isOfContact.value)}
					/>{" "}
					only {name}
				</label>
			)}
		</search>
	);
}

/** Stops the log, so that one can read it, and says how much has come meanwhile, or while one read further down. */
function Pause() {
	const pausedAt = log.pausedAt.value;
	const newest = log.events.value.at(-1)?.id ?? 0;
	const lines = view.tab.value === "Requests" ? requests.value : log.events.value;
	const last = pausedAt ?? (log.order.value === "oldest" || log.seen.value === 0 ? newest : log.seen.value);
	const news = lines.filter(({ id }) => id > last).length;
	const show = () => {
		if (pausedAt !== null) log.pausedAt.value = newest;
		log.from.value = 0;
		document.getElementById("tab-panel")?.scrollTo(0, 0);
	};
	return (
		<>
			<button
				type="button"
				aria-pressed={pausedAt !== null}
				onClick={() => (log.pausedAt.value = pausedAt === null ? newest : null)}
			>
				Pause
			</button>
			{news > 0 && (
				<button type="button" class="primary" onClick={show}>
					{news} new
				</button>
			)}
		</>
	);
}
