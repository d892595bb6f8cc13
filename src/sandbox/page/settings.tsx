import type { AgencyState, KeyState } from "../index.ts";
import { Act, ActForm, draftOf, TextForm } from "./act.tsx";
import { Copy } from "./copy.tsx";
import { Dialog } from "./dialog.tsx";
import { agency, chooseAgency, here, post } from "./model.ts";
import { type Call, sandbox } from "./store.ts";

/** A control call of the CRM to which the chosen agency belongs. */
const ofCrm = (path: string, body?: object): Call => post(`integrations/${agency.value?.integrationId}/${path}`, body);

/** The agency, its consent flow, and the keys of its CRM. */
export function SettingsDialog() {
	const state = agency.value;
	if (!state) return null;
	const { linked } = state;
	const hidden = sandbox.isCrmHidden.value;
	return (
		<Dialog title="Agency and keys">
			<h3>Agency</h3>
			<TextForm label="Rename the agency" path="rename" of="Name" now={state.name} />
			<TextForm label="Link a new agency" path="link" of="Name" onDone={({ id }: { id: string }) => chooseAgency(id)} />
			<div class="row">
				<Act call={here(linked ? "unlink" : "link")}>{linked ? "Unlink: its paths are 403" : "Link again"}</Act>
				<Act call={ofCrm(`integration/${hidden ? "restore" : "hide"}`)}>
					{hidden ? "Show the CRM again" : "Hide the CRM: me.get is 404"}
				</Act>
			</div>
			<h3>Consent</h3>
			<p class="dim">A text outside the window is {state.eligibleForManualSend ? "held" : "refused with a 400"}.</p>
			<ConsentForm consent={state.consent} />
			<h3>Keys</h3>
			<ul class="plain">
				{sandbox.keys.value.map((key) => (
					<Key key={key.id} of={key} />
				))}
			</ul>
			<Act call={ofCrm("keys/create")}>New key</Act>
		</Dialog>
	);
}

type Consent = AgencyState["consent"];

const commas = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

/** The fields of a consent flow, each with its label and the value that a text stands for. */
const consentFields = [
	["languages", "Languages", commas],
	["defaultLanguage", "Default language", (text: string) => text || null],
	["answerWithinHours", "Hours to answer", Number],
	["missingFlowCodes", "Missing flows", commas],
	["missingTemplates", "Missing templates", commas],
	["unapprovedTemplates", "Templates not approved", commas],
] as const;

const textOf = (value: Consent[keyof Consent] | readonly string[]): string =>
	[value]
		.flat()
		.map((each) => (typeof each === "object" ? each?.templateCode : each))
		.join(", ");

function ConsentForm({ consent }: { readonly consent: Consent }) {
	// The settings that were changed and not saved yet.
	const draft = draftOf("consent");
	const changes: Partial<Consent> = draft.value === "" ? {} : JSON.parse(draft.value);
	const change = (name: string, value: unknown) => (draft.value = JSON.stringify({ ...changes, [name]: value }));
	const edited = { ...consent, ...changes };
	const call = here("consent/set", changes);
	return (
		<ActForm class="fields" label="Consent flow" call={call} text={draft}>
			<label class="check">
				<input
					type="checkbox"
					checked={edited.configured}
					onChange={({ currentTarget }) => change("configured", currentTarget.checked)}
				/>
				Turned on
			</label>
			{consentFields.map(([name, words, read]) => (
				<label key={name}>
					{words}
					<input
						defaultValue={textOf(edited[name])}
						placeholder="none"
						onInput={({ currentTarget }) => change(name, read(currentTarget.value))}
					/>
				</label>
			))}
			<Act submit call={call} disabled={draft.value === ""}>
				Save
			</Act>
		</ActForm>
	);
}

const allScopes = ["conversations:read", "messages:write"] as const;

function Key({ of: { id, apiKey, scopes, state } }: { readonly of: KeyState }) {
	const toggled = (scope: string) =>
		allScopes.filter((each) => (each === scope ? !scopes.includes(each) : scopes.includes(each)));
	return (
		<li>
			<div class="row">
				<code>{id}</code> <span class={`badge ${state === "live" ? "ok" : "bad"}`}>{state}</span>
				<Copy what={`key ${id}`} text={() => apiKey}>
					copy
				</Copy>
				<span class="spring" />
				<Act call={ofCrm(`keys/${id}/revoke`)} disabled={state !== "live"} label={`Revoke ${id}`}>
					Revoke
				</Act>
				<Act call={ofCrm(`keys/${id}/expire`)} disabled={state !== "live"} label={`Expire ${id}`}>
					Expire
				</Act>
			</div>
			<div class="row">
				{allScopes.map((scope) => (
					<Act
						key={scope}
						call={ofCrm(`keys/${id}/setScopes`, { scopes: toggled(scope) })}
						pressed={scopes.includes(scope)}
					>
						{scope}
					</Act>
				))}
			</div>
		</li>
	);
}
