import type { BreakpointState } from "../index.ts";
import { Act } from "./act.tsx";
import { targetOf } from "./entries.ts";
import { post } from "./model.ts";
import { type HeldState, sandbox } from "./store.ts";
import { secondOf } from "./time.ts";
import { presets } from "./words.ts";

const add = (options: object) => post("breakpoints/add", options);

const isNextSend = ({ operation, agencyId, contact }: BreakpointState): boolean =>
	operation === "messages.send" && agencyId === null && contact === null;

/** Holds the next send, or takes that back. */
export function HoldNextSend() {
	const armed = sandbox.breakpoints.value.find(isNextSend);
	return (
		<Act
			call={armed ? post(`breakpoints/${armed.id}/remove`) : add({ operation: "messages.send" })}
			pressed={armed !== undefined}
			title="The next send waits here, until you let it go on. More are under “Faults…”."
		>
			Hold the next send
		</Act>
	);
}

/** The requests that wait, each with the ways to let it through. */
export function HeldRequests() {
	if (sandbox.heldRequests.value.length === 0) return null;
	return (
		<section class="waiting" aria-label="Held requests">
			<ol class="log mono">
				{sandbox.heldRequests.value.map((request) => (
					<Held key={request.correlationId} request={request} />
				))}
			</ol>
		</section>
	);
}

function Held({ request }: { readonly request: HeldState }) {
	const { correlationId, operation, at } = request;
	const go = (options?: object) => post(`held/${correlationId}/resume`, options);
	return (
		<li>
			<time dateTime={at}>{secondOf(at)}</time> <b>{operation}</b> <span class="warn">waits at a breakpoint</span>
			<p class="dim">{targetOf(request)}</p>
			<div class="row">
				<Act class="primary" call={go({})} title="It is carried out as it came">
					Let it through
				</Act>
				{presets.map(([words, options]) => (
					<Act key={words} call={go(options)}>
						{words}
					</Act>
				))}
			</div>
		</li>
	);
}

/** Breakpoints of each kind, and those that wait for a request. */
export function BreakpointsForm() {
	const contact = sandbox.thread.value;
	const name = contact && (contact.name ?? contact.phoneNumber);
	return (
		<>
			<h3>Hold a request until you let it go on</h3>
			<div class="row">
				<Act call={add({ operation: "messages.send" })}>The next send</Act>
				<Act call={add({ operation: "conversations.list" })}>The next list</Act>
				{contact && <Act call={add({ contact: contact.phoneNumber, times: null })}>Everything of {name}</Act>}
			</div>
			<ul class="plain">
				{sandbox.breakpoints.value.map((each) => (
					<li class="row" key={each.id}>
						<span>{wordsOf(each)}</span>
						<span class="spring" />
						<Act call={post(`breakpoints/${each.id}/remove`)} label={`Remove breakpoint ${each.id}`}>
							Remove
						</Act>
					</li>
				))}
			</ul>
		</>
	);
}

const wordsOf = ({ operation, contact, remaining }: BreakpointState): string =>
	`Holds ${operation ?? "any operation"}${contact ? ` of ${contact}` : ""}, ${remaining === null ? "without end" : `${remaining} left`}`;
