import type { ConversationState } from "../index.ts";
import { Act, ActForm, draftOf, into } from "./act.tsx";
import { here, isOpen, post } from "./store.ts";

/** The controls of everybody but the CRM and the contact in a conversation. */
export function ContactControls({ state }: { readonly state: ConversationState }) {
	const { phoneNumber: contact, ai, reachable, flows } = state;
	return (
		<details class="controls">
			<summary>Staff, AI, flows and more</summary>
			<TextForm label="Send as staff" path="staff/sends" contact={contact} />
			<TextForm label="Reply as AI" path="ai/replies" contact={contact} disabled={!ai.enabled || !isOpen(state)} />
			<div class="row">
				<Act call={here("staff/setAi", { contact, on: !ai.enabled })}>Turn AI {ai.enabled ? "off" : "on"}</Act>
				<Act call={here(`conversations/${contact}/takeOver`, { times: 1 })}>Take over: next send 409</Act>
				<Act call={here(`contacts/${contact}/reads`)}>Read all</Act>
				<Act call={here(`contacts/${contact}/setReachable`, { on: !reachable })}>
					{reachable ? "Block: sends fail" : "Unblock"}
				</Act>
				<Act call={here(`contacts/${contact}/startFlow`)}>Start a flow</Act>
				{flows
					.filter(({ status }) => status === "active" || status === "waiting")
					.map(({ id, status }) => (
						<Act key={id} call={post(`flows/${id}/complete`)}>
							Complete flow {id} ({status})
						</Act>
					))}
			</div>
		</details>
	);
}

interface TextFormProps {
	readonly label: string;
	readonly path: string;
	readonly contact: string;
	readonly disabled?: boolean;
}

function TextForm({ label, path, contact, disabled = false }: TextFormProps) {
	const text = draftOf(`${path} ${contact}`);
	const call = here(path, { contact, text: text.value });
	return (
		<ActForm class="row" label={label} call={call} text={text}>
			<input aria-label={`Text: ${label}`} placeholder="Text" required value={text.value} onInput={into(text)} />
			<Act submit call={call} disabled={disabled}>
				{label}
			</Act>
		</ActForm>
	);
}
