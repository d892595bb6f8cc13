import type { TargetedEvent } from "preact";
import { Act } from "./act.tsx";
import { post, showAt } from "./model.ts";
import { log, sandbox, view } from "./store.ts";
import { instantOf } from "./time.ts";
import { brief, wordsOf } from "./words.ts";

/** What happened last at the moment that is shown. */
function wordsAt(at: number): string {
	const event = log.events.value.filter(({ id }) => id <= at).at(-1);
	if (!event) return log.hasOlder.value ? "before the oldest line that is loaded" : "before all that is known";
	return brief(wordsOf(event).text || event.type, 80);
}

/** Goes back to right after any event: the phone, the list and the clock are as they were. */
export function Slider() {
	const [from, newest] = [sandbox.historyFrom.value, log.events.value.at(-1)?.id ?? 0];
	if (from === null || newest <= from) return null;
	const at = view.at.value;
	const move = ({ currentTarget: { valueAsNumber } }: TargetedEvent<HTMLInputElement>) =>
		showAt(valueAsNumber >= (log.events.value.at(-1)?.id ?? 0) ? null : valueAsNumber);
	return (
		<section class="slider" aria-label="Time">
			<input
				type="range"
				aria-label="Go back in time"
				aria-valuetext={at === null ? "now" : `${instantOf(sandbox.now.value)}: ${wordsAt(at)}`}
				min={from}
				max={newest}
				value={at ?? newest}
				onInput={move}
			/>
			{at === null ? (
				<span class="dim">now</span>
			) : (
				<>
					<p role="status">
						{instantOf(sandbox.now.value)}: {wordsAt(at)}
					</p>
					<div class="row">
						<Act class="primary" call={post("history/continueFrom", { event: at })} onDone={() => showAt(null)}>
							Continue from here
						</Act>
						<button type="button" onClick={() => showAt(null)}>
							Back to now
						</button>
					</div>
				</>
			)}
		</section>
	);
}

/** Says that an earlier moment is shown, wherever the slider is not: above it, it would move the slider while one drags. */
export function Earlier() {
	if (view.at.value === null) return null;
	return (
		<section class="banner bug earlier" aria-label="Earlier moment">
			Everything as it was {instantOf(sandbox.now.value)}.{" "}
			<button type="button" onClick={() => showAt(null)}>
				Show the present
			</button>
		</section>
	);
}
