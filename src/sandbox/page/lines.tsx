import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { SandboxEvent } from "../index.ts";
import { loadOlderEvents, wholeEvent } from "./model.ts";
import { More } from "./more.tsx";
import { log, mostLines, view } from "./store.ts";
import { dayOf, gapOf, realInstantOf, secondOf } from "./time.ts";
import type { RequestEvent, Tone } from "./words.ts";

/** The place of the first line that is shown. There may be fewer lines than before. */
export const firstLine = (count: number): number =>
	Math.min(log.from.value, Math.max(0, Math.floor((count - 1) / mostLines) * mostLines));

/** The lines that are in the page now. */
export function shownLines<Item>(all: readonly Item[]): readonly Item[] {
	const first = firstLine(all.length);
	return all.slice(first, first + mostLines);
}

/** Goes to other lines. What was read before is above them no more. */
function showLines(from: number): void {
	log.from.value = Math.max(0, from);
	document.getElementById("tab-panel")?.scrollTo(0, 0);
}

/** Goes back to the lines before those that are shown. */
export function Before({ words = "Show newer" }: { readonly words?: string }) {
	if (log.from.value === 0) return null;
	return <More load={async () => showLines(log.from.value - mostLines)} words={words} />;
}

/** What the log shows. If the user has chosen something else meanwhile, it does not jump to the lines that were loaded. */
const shownLog = (): string =>
	JSON.stringify([view.tab, log.kind, log.text, log.order, log.isOfContact, log.from].map(({ value }) => value));

interface AfterProps {
	/** How many lines are loaded. */
	readonly count: number;
	/** Loads more of them; undefined if there are no more. */
	readonly loadMore: (() => Promise<void>) | undefined;
	readonly words?: string;
}

/** Goes on to the lines after those that are shown, and loads more before they run out. */
export function After({ count, loadMore, words }: AfterProps) {
	const next = log.from.value + mostLines;
	if (count <= next && !loadMore) return null;
	const load = async () => {
		const before = shownLog();
		if (count <= next) await loadMore?.();
		if (before === shownLog()) showLines(next);
	};
	return <More load={load} {...(words && { words })} />;
}

/** Loads older events, if there are any. */
export const olderEvents = (): (() => Promise<void>) | undefined => (log.hasOlder.value ? loadOlderEvents : undefined);

interface LineProps {
	readonly event: SandboxEvent;
	/** The events whose text is shown when the line is opened. @default the event itself */
	readonly whole?: readonly SandboxEvent[];
	/** What came before it, and the line above it. */
	readonly before: SandboxEvent | undefined;
	readonly above: SandboxEvent | undefined;
	readonly words: string;
	readonly tone?: Tone;
	/** Its place in the whole list, from 1, and how long that is; -1 if nobody knows. */
	readonly place: number;
	readonly size: number;
	/** What comes before the words, and after them. */
	readonly children: ComponentChildren;
	readonly after?: ComponentChildren;
	/** What an open line shows above the text of the event. It is made only then: most lines never are open. */
	readonly more?: () => ComponentChildren;
	/** What a closed line shows below. */
	readonly below?: ComponentChildren;
	readonly class?: string;
}

/** A line of the log: the sandbox's time, and how long it came after the line before. It opens to show the whole event. */
export function Line({
	event,
	whole = [event],
	before,
	above,
	words,
	tone,
	children,
	after,
	more,
	below,
	place,
	size,
	...rest
}: LineProps) {
	const { at, realAt, correlationId } = event;
	const isOpen = useSignal(false);
	return (
		<>
			{dayOf(at) !== dayOf(above?.at ?? 0) && <li class="date">{dayOf(at)}</li>}
			<li {...rest} aria-posinset={place} aria-setsize={size}>
				<details
					id={event.type === "request" ? `r${correlationId}` : undefined}
					onToggle={({ currentTarget }) => {
						isOpen.value = currentTarget.open;
						noteOpen(currentTarget, whole);
					}}
				>
					<summary>
						<span class="times">
							<time dateTime={at}>{secondOf(at)}</time>{" "}
							<time class="gap" dateTime={realAt} title={realInstantOf(realAt)}>
								{gapOf(realAt, before?.realAt)}
							</time>
						</span>
						{children}
						<span class={`target ${tone || "dim"}`}>{words}</span>
						{after}
					</summary>
					{isOpen.value && (
						<>
							{more?.()}
							<pre ref={(place) => void fill(place, whole)} />
						</>
					)}
				</details>
				{!isOpen.value && below}
			</li>
		</>
	);
}

function noteOpen({ open, id }: HTMLDetailsElement, whole: readonly SandboxEvent[]): void {
	const request = id.slice(1);
	if (request && open) view.request.value = request;
	else if (whole.some(({ correlationId }) => correlationId === view.request.value)) view.request.value = "";
}

/** Writes events out while their line is open: most never are, and an answer may be long. */
async function fill(place: HTMLPreElement | null, whole: readonly SandboxEvent[]): Promise<void> {
	const { dataset, parentElement } = place ?? {};
	const ids = whole.map(({ id }) => id).join();
	if (!place || !dataset || dataset.events === ids || !(parentElement instanceof HTMLDetailsElement)) return;
	if (!parentElement.open) return;
	dataset.events = ids;
	const texts = whole.map(async (event) => {
		const read = (await wholeEvent(event).catch(() => undefined)) ?? event;
		return read.type === "request" ? exchange(read) : pretty(read);
	});
	const text = (await Promise.all(texts)).join("\n\n\n");
	if (dataset.events === ids) place.textContent = text;
}

/** Notes what has been seen: at its top, the log shows what is newest. */
export function look(panel: Element | null | undefined): void {
	if (panel && panel.scrollTop < 40 && log.from.value === 0) log.seen.value = log.events.value.at(-1)?.id ?? 0;
}

let anchor: { readonly line: Element; readonly top: number } | undefined;

/** Leaves the line that is open where it is, when lines come above it. Called when the lines were drawn. */
export function keepPlace(list: HTMLElement | null): void {
	const panel = list?.closest(".panel");
	const line = list?.querySelector<HTMLElement>("details[open]");
	if (!list || !panel || !line) {
		if (list) anchor = undefined;
		look(panel);
		return;
	}
	const top = line.getBoundingClientRect().top - panel.getBoundingClientRect().top + panel.scrollTop;
	if (anchor?.line === line) panel.scrollTop += top - anchor.top;
	anchor = { line, top };
	look(panel);
}

/** A request and its answer, as they were sent. */
const exchange = ({ method, path, query, body, status, answer, correlationId, realAt, ms }: RequestEvent): string =>
	`${method} ${path}${query && `?${query}`}${body === null ? "" : `\n${pretty(body)}`}

→ ${status ?? "no answer"} after ${Math.round(ms)} ms${answer === null ? "" : `\n${pretty(answer)}`}

X-Correlation-Id: ${correlationId}
${realInstantOf(realAt)} by your clock`;

export const pretty = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
