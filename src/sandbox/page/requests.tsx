import { Fragment } from "preact";
import { hrefOf, linkTo } from "./address.ts";
import { Again, AsCode } from "./again.tsx";
import { HeldRequests } from "./breakpoints.tsx";
import { Copy } from "./copy.tsx";
import {
	answered,
	consequencesOf,
	type Entry,
	entries,
	findMore,
	isAsked,
	isGood,
	shownCount,
	targetOf,
} from "./entries.ts";
import { Filters } from "./filters.tsx";
import { After, firstLine, keepPlace, Line, Before as LinesBefore, olderEvents, shownLines } from "./lines.tsx";
import { requests as allRequests, isLater, known, showAt, undoneBy } from "./model.ts";
import { type Outcome, outcomes } from "./outcomes.ts";
import { Rule } from "./rule.tsx";
import { log, mostLines, sandbox } from "./store.ts";
import { secondOf, secondsOf } from "./time.ts";
import { counted, type RequestEvent, reasonIn, type Tone, type Words, withoutRest, wordsOf } from "./words.ts";
import { Export } from "./world.tsx";

/** The requests of the CRM, with what followed from each. */
export function Requests() {
	const all = entries.value;
	const isOldestFirst = log.order.value === "oldest";
	const hasMore = (answered.value?.count ?? 0) > shownCount.value;
	const isWhole = answered.value ? !hasMore : !log.hasOlder.value;
	return (
		<>
			<Filters />
			<HeldRequests />
			{answered.value && (
				<p class="hint" role="status">
					{counted(answered.value.count, "request")} {answered.value.query === "" ? "in the log" : "found"}
					{hasMore &&
						`, the ${log.order.value} ${shownCount.value} are ${shownCount.value > mostLines ? "loaded" : "shown"}`}
					.
				</p>
			)}
			{answered.value?.hints.map((hint) => (
				<p class="hint" key={hint}>
					{hint}
				</p>
			))}
			{all.length === 0 && sandbox.heldRequests.value.length === 0 && <p class="hint">{emptyWords()}</p>}
			<LinesBefore words={isOldestFirst ? "Show older" : "Show newer"} />
			<div role="log" aria-live="off" aria-label="Requests">
				<ol class="log mono" reversed ref={(list) => keepPlace(list)}>
					{shownLines(all).map((entry, row) => {
						const i = firstLine(all.length) + row;
						return (
							<Request
								key={entry.requests[0]?.id}
								entry={entry}
								before={all[isOldestFirst ? i - 1 : i + 1]?.newest}
								above={row > 0 ? all[i - 1]?.newest : undefined}
								place={i + 1}
								size={isWhole ? all.length : -1}
							/>
						);
					})}
				</ol>
			</div>
			<After
				count={all.length}
				loadMore={answered.value ? (hasMore ? findMore : undefined) : olderEvents()}
				words={isOldestFirst ? "Load newer" : "Load older"}
			/>
			<Forgotten />
		</>
	);
}

/** Why no request is shown. */
function emptyWords(): string {
	if (isAsked.value && !answered.value) return "Searching the whole log…";
	if (isAsked.value || allRequests.value.length > 0) return "No request fits the filter.";
	return `No request yet. What a CRM asks of ${location.origin}/api/v1 appears here.`;
}

/** Says what the sandbox no longer keeps: nothing is left out without a word. */
function Forgotten() {
	const { requests, answers } = sandbox.forgotten.value;
	if (requests + answers === 0) return null;
	return (
		<p class="hint">
			{requests > 0 && `${counted(requests, "older request")} no longer kept. `}
			{answers > 0 && `${counted(answers, "old request")} kept without the answer.`}
		</p>
	);
}

const toneOf = (event: RequestEvent): Tone => (isGood(event) ? "ok" : "bad");
const answerOf = ({ status }: RequestEvent): string => (status === null ? "no answer" : String(status));

interface RequestProps {
	readonly entry: Entry;
	readonly before: RequestEvent | undefined;
	readonly above: RequestEvent | undefined;
	readonly place: number;
	readonly size: number;
}

function Request({ entry: { kind, requests, newest }, ...rest }: RequestProps) {
	const { id, operation, method, correlationId, key } = newest;
	const isSend = kind === "attempts";
	const undone = undoneBy(newest) || isLater(newest);
	const story = kind === "polls" ? nothing : storyOf(requests);
	return (
		<Line
			{...rest}
			event={newest}
			whole={isSend ? requests : [newest]}
			words={targetOf(newest)}
			class={`${requests.some(({ fault }) => fault) ? "fault" : ""} ${undone ? "undone" : ""}`}
			after={
				<>
					{key.state !== "valid" && <span class="bad">key {key.state}</span>}
					<span class={toneOf(newest)}>{answerOf(newest)}</span>
				</>
			}
			more={() => (
				<>
					<Then {...story} />
					{isSend && <Attempts requests={requests} />}
					<div class="row">
						<Again event={newest} />
						<AsCode event={newest} />
						<Before request={requests[0] ?? newest} />
						<Copy what={`link ${id}`} text={() => linkTo(correlationId ?? "")}>
							copy link
						</Copy>
						<Export class="quiet copy" title="A bug file of this sandbox, opened at this request">
							export
						</Export>
					</div>
				</>
			)}
			below={<Brief {...story} requests={isSend ? requests : []} />}
		>
			<b>
				{operation ?? method}
				{kind === "polls" && ` ×${requests.length}`}
			</b>
		</Line>
	);
}

/** Goes back to right before a request, as the slider does. */
function Before({ request: { id, correlationId } }: { readonly request: RequestEvent }) {
	const first = known.value.find((event) => event.correlationId === correlationId)?.action ?? id;
	const from = sandbox.historyFrom.value;
	if (from === null || first - 1 < from) return null;
	return (
		<button type="button" class="quiet copy" onClick={() => showAt(first - 1)}>
			go back to before this
		</button>
	);
}

/** The attempts of one send as a bar, with the waits between them. */
function Attempts({ requests }: { readonly requests: readonly RequestEvent[] }) {
	const parts = requests.map((event, i) => {
		const started = Date.parse(event.realAt) - event.ms;
		const before = requests[i - 1];
		return { event, wait: before ? Math.max(started - Date.parse(before.realAt), 0) : 0 };
	});
	return (
		<div class="attempts">
			<div class="waits" aria-hidden="true">
				{parts.map(({ event, wait }) => (
					<Fragment key={event.id}>
						<span style={{ flexGrow: wait }} />
						<span class={`attempt ${toneOf(event)}`} style={{ flexGrow: event.ms }} />
					</Fragment>
				))}
			</div>
			<span>
				{requests.length} attempts of one operationId:{" "}
				{parts.map(({ event, wait }, i) => (
					<Fragment key={event.id}>
						{i > 0 && <span class="dim">, {secondsOf(wait)} later </span>}
						<span class={toneOf(event)}>{answerOf(event)}</span>
					</Fragment>
				))}
			</span>
		</div>
	);
}

interface Reason extends Words {
	readonly rule: string | undefined;
}

/** What became of a request, and why. */
interface Story {
	readonly outcome: Outcome | undefined;
	readonly reasons: readonly Reason[];
	/** The one that says most. */
	readonly first: Reason | undefined;
}

const nothing: Story = { outcome: undefined, reasons: [], first: undefined };

function storyOf(requests: readonly RequestEvent[]): Story {
	let outcome: Outcome | undefined;
	let decided: Reason | undefined;
	/** The attempts of one send mostly have the same reasons. */
	const reasons = new Map<string, Reason>();
	const say = (words: Words, rule?: string): Reason => {
		const reason = { ...words, rule };
		reasons.set(withoutRest(words.text), reason);
		return reason;
	};
	for (const event of requests) {
		const { status, answer, explanation, decision, correlationId } = event;
		const undone = undoneBy(event);
		if (undone) {
			const how =
				undone === "another world" ? "another world was loaded" : `restored to before it at ${secondOf(undone.at)}`;
			say({ text: `undone: ${how}`, tone: "" });
			continue;
		}
		if (isLater(event)) {
			say({ text: "later than what is shown", tone: "" });
			continue;
		}
		outcome = outcomes.value.get(correlationId) ?? outcome;
		if (explanation) say({ text: explanation, tone: "bad" });
		if (status !== null && !isGood(event)) say({ text: reasonIn(answer), tone: "" });
		if (decision) decided = say({ text: decision.reason, tone: "" }, decision.rule);
		// That a text is held says that consent was asked.
		for (const each of consequencesOf(event)) {
			const isSaid = each.type === "violation" && each.message === reasonIn(answer);
			const rule = each.type === "violation" ? each.rule : undefined;
			if (each.type !== "consent.asked" && !isSaid) say(wordsOf(each), rule);
			else if (isSaid) say({ text: "violation", tone: "bad" }, rule);
		}
	}
	const all = [...reasons.values()];
	const bad = all.find(({ tone }) => tone === "bad");
	const violation = all.find(({ text }) => text.startsWith("violation"));
	const first = bad && violation && bad !== violation ? { ...violation, text: `violation: ${bad.text}` } : bad;
	return { outcome, reasons: all, first: first ?? decided ?? all[0] };
}

/** The outcome of a send, which leads to the phone. */
function Became({ outcome }: Pick<Story, "outcome">) {
	if (!outcome) return null;
	return (
		<a class={`became ${outcome.tone}`} href={hrefOf(outcome)}>
			{outcome.steps.join(" → ")}
		</a>
	);
}

/** The outcome and one reason. Of several attempts, their answers. */
function Brief({ outcome, first, requests }: Story & { readonly requests: readonly RequestEvent[] }) {
	if (!outcome && !first) return null;
	return (
		<p class="brief">
			<Became outcome={outcome} />
			<span class="why">
				{requests.length > 1 ? (
					<span>{`${requests.length} attempts of one operationId: ${requests.map(answerOf).join(", ")}`}</span>
				) : (
					<span>{first?.text}</span>
				)}
				{first?.rule && <Rule id={first.rule} />}
			</span>
		</p>
	);
}

/** The outcome, and every reason. */
function Then({ outcome, reasons }: Story) {
	if (!outcome && reasons.length === 0) return null;
	return (
		<ul class="then">
			{outcome && (
				<li>
					<Became outcome={outcome} />
				</li>
			)}
			{reasons.map(({ text, tone, rule }) => (
				<li key={text} class={tone}>
					{text}
					{rule && <Rule id={rule} />}
				</li>
			))}
		</ul>
	);
}
