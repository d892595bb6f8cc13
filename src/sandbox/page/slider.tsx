import type { TargetedEvent } from "preact";
import { Act } from "./act.tsx";
import { post, showAt } from "./model.ts";
import { differenceFrom, type Kind, momentAt, moments, wordsAt } from "./moments.ts";
import { log, sandbox, view } from "./store.ts";
import { instantOf } from "./time.ts";

/** The place that was asked for last: an older one may still be looked up. */
let wanted = 0;

async function move(to: number, isBack: boolean, from: number, newest: number): Promise<void> {
	wanted = to;
	const shown = view.at.value;
	const moment = Math.max(await momentAt(to, isBack), from);
	// A button may have gone to another moment meanwhile.
	if (to === wanted && shown === view.at.value) showAt(moment >= newest ? null : moment);
}

/** Goes back to right after any action: the phone, the list and the clock are as they were. */
export function Slider() {
	const [from, newest] = [sandbox.historyFrom.value, log.events.value.at(-1)?.id ?? 0];
	if (from === null || newest <= from) return null;
	const at = view.at.value;
	const since = at === null ? "" : differenceFrom(at);
	const onInput = ({ currentTarget: { valueAsNumber: to } }: TargetedEvent<HTMLInputElement>) =>
		// A failure shows as a lost connection.
		move(to, to < (at ?? newest), from, newest).catch(() => undefined);
	return (
		<section class="slider" aria-label="Time">
			<div>
				<input
					type="range"
					aria-label="Go back in time"
					aria-valuetext={at === null ? "now" : `${instantOf(sandbox.now.value)}: ${wordsAt(at)}. ${since}`}
					min={from}
					max={newest}
					value={at ?? newest}
					onInput={onInput}
				/>
				<Ticks from={from} newest={newest} />
			</div>
			{at === null ? (
				<span class="dim">now</span>
			) : (
				<>
					<p role="status">
						{instantOf(sandbox.now.value)}: {wordsAt(at)}
					</p>
					<p class="dim">{since}</p>
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

const kinds: readonly Kind[] = ["other", "request", "contact", "trouble"];
/** How many places ticks have: of those at one place the last one shows. */
const places = 400;

/** A tick for each moment, by the colour of its kind. */
function Ticks({ from, newest }: { readonly from: number; readonly newest: number }) {
	const at = new Map<number, Kind>();
	for (const { id, kind } of moments.value) {
		if (id < from) continue;
		const place = Math.round(((id - from) / (newest - from)) * places);
		if (at.get(place) !== "trouble") at.set(place, kind);
	}
	const lines = (kind: Kind): string =>
		[...at].flatMap(([place, each]) => (each === kind ? [`M${place} 0v6`] : [])).join("");
	return (
		<svg class="moments" viewBox={`0 0 ${places} 6`} preserveAspectRatio="none" aria-hidden="true">
			<title>Blue: requests. Green: the contact. Red: what went wrong. Grey: everything else.</title>
			{kinds.map((kind) => (
				<path key={kind} class={kind} d={lines(kind)} />
			))}
		</svg>
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
