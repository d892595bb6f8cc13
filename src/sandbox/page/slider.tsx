import type { TargetedEvent } from "preact";
import type { SandboxEvent } from "../index.ts";
import { Act } from "./act.tsx";
import { targetOf } from "./entries.ts";
import { known, post, showAt } from "./model.ts";
import { log, sandbox, view } from "./store.ts";
import { instantOf } from "./time.ts";
import { brief, wordsOf } from "./words.ts";

/** What happened last at the moment that is shown. */
function wordsAt(at: number): string {
	const event = known.value.filter(({ id }) => id <= at).at(-1);
	if (!event) return log.hasOlder.value ? "before the oldest line that is loaded" : "before all that is known";
	const text = wordsOf(event).text || event.type;
	if (event.type === "request") return brief(`${text}, ${targetOf(event)}`, 100);
	const name = "contact" in event ? (event.name ?? event.contact) : "";
	return brief(text.includes(name) ? text : `${name}: ${text}`, 100);
}

/** The event at which to stop instead of one amid a request: the last of the request, or backwards the one before it. */
function stepAt(wanted: number, isBack: boolean): number {
	const all = known.value;
	const at = all.findIndex(({ id }) => id === wanted);
	const request = all[at]?.correlationId ?? null;
	if (request === null || all[at + 1]?.correlationId !== request) return wanted;
	const [before, after] = [all.slice(0, at).reverse(), all.slice(at)];
	const isOther = ({ correlationId }: SandboxEvent) => correlationId !== request;
	if (isBack) return before.find(isOther)?.id ?? wanted;
	const end = after.findIndex(isOther);
	return (end < 0 ? after : after.slice(0, end)).at(-1)?.id ?? wanted;
}

/** Goes back to right after any request and anything else that happened: the phone, the list and the clock are as they were. */
export function Slider() {
	const [from, newest] = [sandbox.historyFrom.value, log.events.value.at(-1)?.id ?? 0];
	if (from === null || newest <= from) return null;
	const at = view.at.value;
	const move = ({ currentTarget: { valueAsNumber } }: TargetedEvent<HTMLInputElement>) => {
		const to = Math.max(stepAt(valueAsNumber, valueAsNumber < (at ?? newest)), from);
		showAt(to >= newest ? null : to);
	};
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
						<Continue at={at} />
						<button type="button" onClick={leave}>
							Back to now
						</button>
					</div>
				</>
			)}
		</section>
	);
}

/** Shows the present. */
function leave(): void {
	showAt(null);
	refocus();
}

/** Once the button in focus is gone: goes to the slider, or to the phone where no slider is shown. */
export function refocus(): void {
	setTimeout(() => {
		for (const place of [".slider input", "main"])
			if (document.activeElement === document.body) document.querySelector<HTMLElement>(place)?.focus();
	});
}

function Continue({ at }: { readonly at: number }) {
	return (
		<Act class="primary" call={post("history/continueFrom", { event: at })} onDone={leave}>
			Continue from here
		</Act>
	);
}

/** Says that an earlier moment is shown, wherever the slider is not: above it, it would move the slider while one drags. */
export function Earlier() {
	const at = view.at.value;
	if (at === null) return null;
	return (
		<section class="banner bug earlier" aria-label="Earlier moment">
			Everything as it was {instantOf(sandbox.now.value)}.{" "}
			<span class="narrow">
				<Continue at={at} />{" "}
			</span>
			<button type="button" onClick={leave}>
				Show the present
			</button>
		</section>
	);
}
