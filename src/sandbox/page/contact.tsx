import type { ConversationState } from "../index.ts";
import { Act, TextForm } from "./act.tsx";
import { here, isOpen, post } from "./model.ts";

/** The controls of everybody but the CRM and the contact in a conversation. */
export function ContactControls({ state }: { readonly state: ConversationState }) {
	const { phoneNumber: contact, name, ai, reachable, flows, visibility } = state;
	const { hidden, reason } = visibility;
	return (
		<details class="controls">
			<summary>Staff, AI, flows and more</summary>
			<TextForm label="Send as staff" path="staff/sends" more={{ contact }} />
			<TextForm label="Reply as AI" path="ai/replies" more={{ contact }} disabled={!ai.enabled || !isOpen(state)} />
			<TextForm label="Rename the contact" path={`contacts/${contact}`} of="Name" now={name} />
			<div class="row">
				<Act call={here("staff/setAi", { contact, on: !ai.enabled })}>Turn AI {ai.enabled ? "off" : "on"}</Act>
				<Act call={here(`conversations/${contact}/takeOver`, { times: 1 })}>Take over: next send 409</Act>
				<Act call={here(`contacts/${contact}/reads`)}>Read all</Act>
				<Act call={here(`contacts/${contact}/setReachable`, { on: !reachable })}>
					{reachable ? "Block: sends fail" : "Unblock"}
				</Act>
				{hidden ? (
					<Act call={here(`conversations/${contact}/visibleAs`, { reason })}>Show to the agency</Act>
				) : (
					<Act call={here(`conversations/${contact}/hide`)}>Hide from the agency</Act>
				)}
				<Act call={here(`contacts/${contact}/startFlow`)}>Start a flow</Act>
			</div>
			{flows.map(({ id, status }) => (
				<div key={id} class="row">
					Flow {id} is {status}:
					{flowStatuses.map((each) => (
						<Act key={each} call={post(`flows/${id}/set`, { status: each })} disabled={each === status}>
							{each}
						</Act>
					))}
				</div>
			))}
		</details>
	);
}

const flowStatuses = ["active", "waiting", "completed", "cancelled", "failed", "timeout"];
