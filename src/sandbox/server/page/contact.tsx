import type { ConversationState } from "../../index.ts";
import { Act, ActForm, textOf } from "./act.tsx";
import type { Call } from "./control.ts";
import { signal } from "./signal.ts";
import { here, post } from "./store.ts";

const staffText = signal("");
const aiText = signal("");

/** What everybody but the CRM and the contact can do in a conversation. */
export function ContactControls({ state }: { readonly state: ConversationState }) {
	const { phoneNumber: contact, ai, window, reachable, flows } = state;
	return (
		<details class="controls">
			<summary>Staff, AI, flows and more</summary>
			<TextForm label="Send as staff" text={staffText} call={here("staff/sends", { contact, text: staffText.value })} />
			<TextForm
				label="Reply as AI"
				text={aiText}
				call={here("ai/replies", { contact, text: aiText.value })}
				disabled={!ai.enabled || !window.open}
			/>
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
	readonly text: typeof staffText;
	readonly call: Call;
	readonly disabled?: boolean;
}

function TextForm({ label, text, call, disabled = false }: TextFormProps) {
	return (
		<ActForm class="row" label={label} call={call} onDone={() => (text.value = "")}>
			<input
				aria-label={`Text: ${label}`}
				placeholder="Text"
				required
				value={text.value}
				onInput={(event) => (text.value = textOf(event))}
			/>
			<Act submit call={call} disabled={disabled}>
				{label}
			</Act>
		</ActForm>
	);
}
