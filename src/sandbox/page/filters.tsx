import { into } from "./act.tsx";
import { ask, isOfContact, kind, order, pausedAt, text } from "./entries.ts";
import { operations } from "./faults.tsx";
import { events, requests, selected, tab, thread } from "./store.ts";

/** Chooses what the log shows. */
export function Filters() {
	const name = thread.value?.name ?? selected.value;
	return (
		<search class="filters" aria-label="Filter the log">
			{tab.value === "Requests" && (
				<select aria-label="Which requests" value={kind.value} onChange={into(kind)}>
					<option value="">All requests</option>
					<option value="notable">Without reads that went well</option>
					<option value="messages.send">Sends</option>
					<option value="errors">Errors</option>
					{operations.slice(1).map((name) => (
						<option key={name}>{name}</option>
					))}
				</select>
			)}
			<input
				type="search"
				aria-label="Text in the log"
				placeholder="Words, status:401, outcome:held"
				title="Words, and status:401 op:send contact:Anna outcome:held key:revoked"
				value={text.value}
				onInput={(event) => {
					into(text)(event);
					ask();
				}}
			/>
			<Pause />
			{tab.value === "Requests" && (
				<button
					type="button"
					aria-pressed={order.value === "oldest"}
					onClick={() => {
						order.value = order.value === "oldest" ? "newest" : "oldest";
						ask(0);
					}}
				>
					Oldest first
				</button>
			)}
			{name !== null && (
				<label>
					<input
						type="checkbox"
						checked={isOfContact.value}
						onChange={() => (isOfContact.value = !isOfContact.value)}
					/>{" "}
					only {name}
				</label>
			)}
		</search>
	);
}

/** Stops the log, so that one can read it, and says how much has come meanwhile. */
function Pause() {
	const last = pausedAt.value;
	const newest = events.value.at(-1)?.id ?? 0;
	const lines = tab.value === "Requests" ? requests.value : events.value;
	const news = last === null ? 0 : lines.filter(({ id }) => id > last).length;
	return (
		<>
			<button
				type="button"
				aria-pressed={last !== null}
				onClick={() => (pausedAt.value = last === null ? newest : null)}
			>
				Pause
			</button>
			{news > 0 && (
				<button type="button" class="primary" onClick={() => (pausedAt.value = newest)}>
					{news} new
				</button>
			)}
		</>
	);
}
