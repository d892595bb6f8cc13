import { into } from "./act.tsx";
import { isOfContact, kind, text } from "./entries.ts";
import { operations } from "./faults.tsx";
import { selected, tab, thread } from "./store.ts";

/** Chooses what the log shows. */
export function Filters() {
	const name = thread.value?.name ?? selected.value;
	return (
		<search class="filters" aria-label="Filter the log">
			{tab.value === "Requests" && (
				<select aria-label="Which requests" value={kind.value} onChange={into(kind)}>
					<option value="">All requests</option>
					<option value="messages.send">Sends</option>
					<option value="errors">Errors</option>
					{operations.slice(1).map((name) => (
						<option key={name}>{name}</option>
					))}
				</select>
			)}
			<input type="search" aria-label="Text in the log" placeholder="Filter" value={text.value} onInput={into(text)} />
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
