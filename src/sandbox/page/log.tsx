import type { TargetedEvent, TargetedKeyboardEvent } from "preact";
import type { SandboxEvent } from "../index.ts";
import { Copy } from "./copy.tsx";
import { curlOfRequest } from "./curl.ts";
import { More } from "./more.tsx";
import { signal } from "./signal.ts";
import {
	agency,
	apiKey,
	consequences,
	events,
	hasOlderEvents,
	loadOlderEvents,
	loadOlderMessages,
	requests,
	selected,
	thread,
	wholeEvent,
} from "./store.ts";
import { minuteOf, secondOf } from "./time.ts";
import { isAbout } from "./timeline.ts";
import { faultWords, type RequestEvent, reasonIn, wordsOf } from "./words.ts";

const tabs = ["Requests", "Events", "State"] as const;
const tab = signal<(typeof tabs)[number]>("Requests");
const isOfContact = signal(false);
const most = signal(100);

/** The requests of the CRM with their consequences, the events, and the state. */
export function Log() {
	const move = (event: TargetedKeyboardEvent<HTMLElement>) => {
		const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
		if (step === 0) return;
		tab.value = tabs[(tabs.indexOf(tab.value) + step + tabs.length) % tabs.length] ?? "Requests";
		document.getElementById(`tab-${tab.value}`)?.focus();
	};
	return (
		<aside class="journal" aria-label="Log">
			<div class="tabs" role="tablist" aria-label="Log" onKeyDown={move}>
				{tabs.map((name) => (
					<button
						type="button"
						role="tab"
						key={name}
						id={`tab-${name}`}
						aria-controls="tab-panel"
						aria-selected={tab.value === name}
						tabIndex={tab.value === name ? 0 : -1}
						onClick={() => (tab.value = name)}
					>
						{name}
					</button>
				))}
			</div>
			<div class="panel" role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab.value}`} tabIndex={0}>
				{tab.value === "Requests" && <Requests />}
				{tab.value === "Events" && <Events />}
				{tab.value === "State" && <State />}
			</div>
		</aside>
	);
}

function OnlyThis() {
	const name = thread.value?.name ?? selected.value;
	if (name === null) return null;
	return (
		<label class="only">
			<input type="checkbox" checked={isOfContact.value} onChange={() => (isOfContact.value = !isOfContact.value)} />{" "}
			only {name}
		</label>
	);
}

const isShown = (event: SandboxEvent): boolean => !isOfContact.value || !thread.value || isAbout(event, thread.value);

function Requests() {
	const all = requests.value.filter(isShown).reverse();
	const earlier = firstWithOperationId();
	return (
		<>
			<OnlyThis />
			{all.length === 0 && (
				<p class="hint">No request yet. What a CRM asks of {location.origin}/api/v1 appears here.</p>
			)}
			<div role="log" aria-label="Requests">
				<ol class="log mono" reversed>
					{all.slice(0, most.value).map((event) => (
						<Request key={event.id} event={event} first={earlier.get(operationIdOf(event) ?? "")} />
					))}
				</ol>
			</div>
			<Older count={all.length} />
		</>
	);
}

/** The first request of each operationId: later ones are retries. */
function firstWithOperationId(): ReadonlyMap<string, RequestEvent> {
	const first = new Map<string, RequestEvent>();
	for (const event of requests.value) {
		const id = operationIdOf(event);
		if (id !== undefined && !first.has(id)) first.set(id, event);
	}
	return first;
}

function operationIdOf({ body }: RequestEvent): string | undefined {
	return typeof body === "object" && body !== null && "operationId" in body ? String(body.operationId) : undefined;
}

function Request({ event, first }: { readonly event: RequestEvent; readonly first: RequestEvent | undefined }) {
	const { id, at, operation, method, path, status, ms, fault, answer, correlationId } = event;
	const isGood = status !== null && status < 400;
	const followed = consequences.value.get(correlationId ?? "") ?? [];
	return (
		<li class={fault ? "fault" : ""}>
			<details onToggle={fill(event)}>
				<summary>
					<time dateTime={at}>{secondOf(at)}</time> <b>{operation ?? `${method} ${path}`}</b>{" "}
					<span class={isGood ? "ok" : "bad"}>{status ?? "no answer"}</span>{" "}
					<span class="dim">{Math.round(ms)} ms</span>
				</summary>
				<pre />
			</details>
			<Copy what={`request-${id}`} text={() => curlOfRequest(event, apiKey.value)}>
				curl
			</Copy>
			{(followed.length > 0 || fault || !isGood || (first && first.id !== id)) && (
				<ul class="then">
					{fault && <li class="bad">{faultWords(fault)}</li>}
					{status !== null && !isGood && <li>{reasonIn(answer)}</li>}
					{first && first.id !== id && <li>same operationId as the request at {minuteOf(first.at)}</li>}
					{followed.map((each) => {
						const { text, tone } = wordsOf(each);
						return (
							<li key={each.id} class={tone}>
								{text}
							</li>
						);
					})}
				</ul>
			)}
		</li>
	);
}

/** An event is written out when it is opened: most never are, and an answer may be long. */
const fill =
	(event: SandboxEvent) =>
	async ({ currentTarget: { lastElementChild } }: TargetedEvent<HTMLElement>): Promise<void> => {
		const whole = (await wholeEvent(event).catch(() => undefined)) ?? event;
		if (lastElementChild) lastElementChild.textContent = whole.type === "request" ? exchange(whole) : pretty(whole);
	};

/** A request and its answer, as they were sent. */
const exchange = ({ method, path, query, body, status, answer, correlationId }: RequestEvent): string =>
	`${method} ${path}${query && `?${query}`}${body === null ? "" : `\n${pretty(body)}`}

→ ${status ?? "no answer"}${answer === null ? "" : `\n${pretty(answer)}`}

X-Correlation-Id: ${correlationId}`;

const pretty = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

function Events() {
	const all = events.value.filter(isShown).reverse();
	return (
		<>
			<OnlyThis />
			<div role="log" aria-label="Events">
				<ol class="log mono" reversed>
					{all.slice(0, most.value).map((event) => {
						const { text, tone } = wordsOf(event);
						return (
							<li key={event.id}>
								<details onToggle={fill(event)}>
									<summary>
										<time dateTime={event.at}>{secondOf(event.at)}</time> <b>{event.type}</b>{" "}
										<span class={tone}>{text}</span>
									</summary>
									<pre />
								</details>
							</li>
						);
					})}
				</ol>
			</div>
			<Older count={all.length} />
		</>
	);
}

/** Shows more of what is loaded, and then loads more. */
function Older({ count }: { readonly count: number }) {
	if (count <= most.value && !hasOlderEvents.value) return null;
	const load = () => {
		if (count <= most.value) loadOlderEvents();
		most.value += 200;
	};
	return <More load={load} />;
}

function State() {
	const state = thread.value;
	return (
		<>
			{state && (
				<>
					<h2>GET /_sandbox/conversations/{state.phoneNumber}</h2>
					<pre>{pretty(state)}</pre>
					{state.messages.length < state.totalMessages && <More load={loadOlderMessages} />}
				</>
			)}
			<h2>GET /_sandbox/agencies</h2>
			<pre>{pretty(agency.value ?? null)}</pre>
		</>
	);
}
