import type { Observed, ObservedPoll, ObservedText } from "../index.ts";
import { hrefOf, hrefOfRequest } from "./address.ts";
import { read } from "./control.ts";
import { requests, rowOf } from "./model.ts";
import { sandbox, view } from "./store.ts";
import { instantOf, realInstantOf, secondsOf } from "./time.ts";
import { counted, type Tone } from "./words.ts";

const everyMs = 1_000;
let isReading = false;

/** Asks again while the tab is open, because a text of an outbox changes without an event of the sandbox. */
export async function lookAtOutbox(): Promise<void> {
	if (view.tab.value !== "Outbox" || document.hidden || isReading) return;
	isReading = true;
	try {
		const next = await read<Observed>("observed");
		if (JSON.stringify(next) !== JSON.stringify(sandbox.observed.value)) sandbox.observed.value = next;
	} catch {
		// It shows as a lost connection.
	}
	isReading = false;
}

/** Looks at once and then every second. */
export function followOutbox(): void {
	lookAtOutbox();
	setInterval(lookAtOutbox, everyMs);
}

/** The texts of the outboxes and the polls of the feeds that use this sandbox. */
export function Outbox() {
	const shown = sandbox.observed.value;
	if (!shown) {
		lookAtOutbox();
		return null;
	}
	const { isOn, texts, polls, outboxes, unreadable } = shown;
	if (!isOn) return <p class="hint">This sandbox was made with observe: false.</p>;
	return (
		<>
			<h2>Outbox</h2>
			{unreadable > 0 && (
				<p class="hint bad">
					{unreadable} of {outboxes} outboxes cannot be read. Is the database open?
				</p>
			)}
			{texts.length === 0 && (
				<p class="hint">
					{outboxes > 0
						? "No text waits, and none has changed since the process started."
						: "No outbox yet. One whose client has the sandbox's connection, or sandboxFetch, appears here."}
				</p>
			)}
			<ol class="log lane mono" aria-label="Texts of the outbox">
				{texts.map((text) => (
					<Text key={text.id} {...text} />
				))}
			</ol>
			<h2>Feed</h2>
			{polls.length === 0 && (
				<p class="hint">No poll yet. What changes, watch and watchAgencies deliver appears here.</p>
			)}
			<ol class="log lane mono" aria-label="Polls of the feed">
				{folded(polls).map(({ poll, times }) => (
					<Poll key={poll.feed + poll.agencyId + poll.at} poll={poll} times={times} />
				))}
			</ol>
		</>
	);
}

const tones: Readonly<Record<string, Tone>> = {
	...{ sent: "ok", delivered: "ok", read: "ok", waiting: "warn", sending: "warn", held: "warn" },
	...{ cancelled: "", replaced: "bad", dropped: "bad", expired: "bad", refused: "bad", failed: "bad", unknown: "bad" },
};

function Text({ id, to, agencyId, body, state, reason, description, ...rest }: ObservedText) {
	const { since, nextAttemptAt, attempts, operationId, error } = rest;
	const send = operationId && requests.value.filter(({ body }) => Object(body).operationId === operationId).at(-1);
	return (
		<li>
			<div class="row">
				<b>{id}</b>
				<span class={`badge ${tones[state] ?? ""}`}>{state}</span>
				{reason && <span>{reason}</span>}
				{to && <Contact agencyId={agencyId} phone={to} />}
			</div>
			<p>{description}</p>
			<p class="dim">
				{nextAttemptAt && (
					<>
						next attempt <time dateTime={nextAttemptAt}>{instantOf(nextAttemptAt)}</time>,{" "}
					</>
				)}
				{state} since <time dateTime={since}>{instantOf(since)}</time>, {counted(attempts, "attempt")}
				{error && `, last error ${error}`}
				{send && (
					<>
						{" "}
						<a class="became" href={hrefOfRequest(send.correlationId ?? "")}>
							its newest request
						</a>
					</>
				)}
			</p>
			{to && <p class="dim">“{body}”</p>}
		</li>
	);
}

function Contact({ agencyId, phone }: { readonly agencyId: string; readonly phone: string }) {
	return (
		<a class="became" href={hrefOf({ agencyId, contact: phone, line: "" })}>
			{rowOf(phone)?.name ?? phone}
		</a>
	);
}

interface Folded {
	/** The newest. */
	readonly poll: ObservedPoll;
	readonly times: number;
}

const isIdle = ({ count, remaining, unread, error }: ObservedPoll): boolean =>
	count + remaining + unread === 0 && error === null;

/** Polls in a row that found nothing, of one feed, are one line. */
function folded(polls: readonly ObservedPoll[]): Folded[] {
	const all: Folded[] = [];
	for (const poll of polls) {
		const last = all.at(-1);
		const isSame = last && last.poll.feed === poll.feed && last.poll.agencyId === poll.agencyId;
		if (isSame && isIdle(poll) && isIdle(last.poll)) all[all.length - 1] = { ...last, times: last.times + 1 };
		else all.push({ poll, times: 1 });
	}
	return all;
}

function Poll({ poll, times }: Folded) {
	const { feed, agencyId, at, ms, delivered, count, remaining, unread, error } = poll;
	const left = [
		remaining > 0 && `left ${remaining} for the next poll`,
		unread > 0 && `could not read ${unread}`,
		error && `ended with ${error}`,
	].filter(Boolean);
	return (
		<li>
			<div class="row">
				<time dateTime={at} title={realInstantOf(at)}>
					{realInstantOf(at).slice(-8)}
				</time>
				<b>
					{feed}
					{times > 1 && ` ×${times}`}
				</b>
				<span class="dim">{secondsOf(ms)}</span>
			</div>
			<p>
				{isIdle(poll) ? <span class="dim">nothing new</span> : count > 0 && "delivered "}
				{delivered.map(({ phoneNumber, messages }, i) => (
					<span key={phoneNumber + i}>
						{i > 0 && ", "}
						<Contact agencyId={agencyId} phone={phoneNumber} /> {counted(messages, "message")}
					</span>
				))}
				{count > delivered.length && ` and ${count - delivered.length} more`}
				{left.length > 0 && (
					<span class={error ? "bad" : "warn"}>
						{count > 0 && "; "}
						{left.join(", ")}
					</span>
				)}
			</p>
		</li>
	);
}
