import type { TargetedEvent } from "preact";
import { Act, ActForm, draftOf, into } from "./act.tsx";
import { agency, agencyId, apiKey } from "./model.ts";
import { type Call, typed } from "./store.ts";

export function renew(): void {
	typed.newOperationId.value = `page-${Math.random().toString(36).slice(2, 10)}`;
}
renew();

/** A call that sends a text, as a CRM does. */
export const send = (to: string, body: string, operationId: string, language?: string | null): Call => ({
	verb: "POST",
	path: `agencies/${agencyId.value}/messages`,
	body: { to, body, operationId, consentLanguage: language || undefined },
	key: apiKey.value,
});

/** Sends as the CRM, through the API. */
export function SendAsCrm({ to }: { readonly to: string }) {
	const text = draftOf(`crm ${to}`);
	const words = text.value;
	const typedId = draftOf(`operationId ${to}`);
	const language = draftOf("language");
	// A text whose send failed may have gone out all the same. It keeps its id for another attempt, and no other text gets it.
	const attempts = draftOf(`attempts ${to}`);
	const ids = (): Record<string, string> => JSON.parse(attempts.value || "{}");
	const keepId = (id?: string): void => {
		const { [words]: _, ...others } = ids();
		const kept = id === undefined ? others : { ...others, [words]: id };
		attempts.value = Object.keys(kept).length === 0 ? "" : JSON.stringify(kept);
	};
	const id = typedId.value || (ids()[words] ?? "");
	const call = send(to, words, id || typed.newOperationId.value, language.value);
	const begin = () => {
		keepId(id || typed.newOperationId.value);
		typedId.value = "";
		renew();
	};
	const done = () => keepId();
	const type = (event: TargetedEvent<HTMLInputElement>) => {
		keepId();
		into(typedId)(event);
	};
	return (
		<ActForm class="write crm" label="Send as the CRM" call={call} text={text} onBegin={begin} onDone={done}>
			<input
				id="send"
				autocomplete="off"
				aria-label="Text from the CRM"
				placeholder="Send as the CRM"
				value={text.value}
				onInput={into(text)}
			/>
			<Act submit class="primary" call={call} disabled={text.value.trim() === ""} label="Send as the CRM">
				Send
			</Act>
			<input
				class="mono"
				aria-label="operationId"
				placeholder="operationId (random)"
				autocomplete="off"
				value={id}
				onInput={type}
			/>
			<select aria-label="Consent language" value={language.value} onChange={into(language)}>
				<option value="">no language</option>
				{agency.value?.consent.languages.map((each) => (
					<option key={each}>{each}</option>
				))}
			</select>
		</ActForm>
	);
}
