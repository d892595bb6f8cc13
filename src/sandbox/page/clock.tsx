import { Act, ActForm, into } from "./act.tsx";
import { close, Dialog, dialog } from "./dialog.tsx";
import { signal } from "./signal.ts";
import { isOpen, now, post, thread } from "./store.ts";
import { instantOf } from "./time.ts";

const isoOf = (ms: number): string => new Date(ms).toISOString();

/** Moves the sandbox's clock; what falls due on the way happens. */
export function ClockBar() {
	const end = thread.value && isOpen(thread.value) ? thread.value.window.expiresAt : null;
	const expiry = thread.value?.held?.expiresAt ?? null;
	return (
		<section class="row clock" aria-label="Clock">
			<button type="button" class="quiet" title="Go to another time" onClick={() => (dialog.value = "time")}>
				<time dateTime={isoOf(now.value)}>
					{instantOf(now.value)} <small class="dim">UTC</small>
				</time>
			</button>
			<Act id="clock" call={post("clock/advance", { hours: 1 })}>
				+1 h
			</Act>
			<Act call={post("clock/advance", { hours: 24 })}>+24 h</Act>
			<Act call={post("clock/advanceTo", { at: end })} disabled={end === null}>
				→ window end
			</Act>
			<Act call={post("clock/advanceTo", { at: expiry })} disabled={expiry === null}>
				→ expiry
			</Act>
		</section>
	);
}

const chosen = signal("");

/** Goes to a time of the reader's choice. */
export function TimeDialog() {
	const at = chosen.value || isoOf(now.value + 60_000).slice(0, 16);
	const call = post("clock/advanceTo", { at: `${at}Z` });
	const done = () => {
		chosen.value = "";
		close();
	};
	return (
		<Dialog title="Go to another time">
			<ActForm class="row" label="Go to another time" call={call} onDone={done}>
				<label>
					Date and time, UTC <input type="datetime-local" required value={at} onInput={into(chosen)} />
				</label>
				<Act submit class="primary" call={call}>
					Go there
				</Act>
			</ActForm>
			<p class="dim">What falls due on the way happens.</p>
		</Dialog>
	);
}
