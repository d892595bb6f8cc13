import { Act, ActForm, into } from "./act.tsx";
import { close, Dialog } from "./dialog.tsx";
import { isOpen, post } from "./model.ts";
import { sandbox, typed, view } from "./store.ts";
import { instantOf } from "./time.ts";

const isoOf = (ms: number): string => new Date(ms).toISOString();

/** The sandbox's time, which leads to any other. */
export function ClockTime() {
	const [weekday, date = "", time] = instantOf(sandbox.now.value).split(", ");
	const [day, year] = [date.slice(0, -5), date.slice(-4)];
	return (
		<button type="button" class="quiet clock" title="Go to another time" onClick={() => (view.dialog.value = "time")}>
			<time dateTime={isoOf(sandbox.now.value)}>
				<span class="wide">{weekday}, </span>
				{day}
				<span class="wide"> {year}</span>, {time} <small class="dim">UTC</small>
			</time>
		</button>
	);
}

/** Moves the sandbox's clock; what falls due on the way happens. */
export function ClockSteps() {
	const end = sandbox.thread.value && isOpen(sandbox.thread.value) ? sandbox.thread.value.window.expiresAt : null;
	const expiry = sandbox.thread.value?.held?.expiresAt ?? null;
	return (
		<section class="row" aria-label="Clock">
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

/** Goes to a time of the reader's choice. */
export function TimeDialog() {
	const at = typed.time.value || isoOf(sandbox.now.value + 60_000).slice(0, 16);
	const call = post("clock/advanceTo", { at: `${at}Z` });
	const done = () => {
		typed.time.value = "";
		close();
	};
	return (
		<Dialog title="Go to another time">
			<ActForm class="row" label="Go to another time" call={call} onDone={done}>
				<label>
					Date and time, UTC <input type="datetime-local" required value={at} onInput={into(typed.time)} />
				</label>
				<Act submit class="primary" call={call}>
					Go there
				</Act>
			</ActForm>
			<p class="dim">What falls due on the way happens.</p>
		</Dialog>
	);
}
