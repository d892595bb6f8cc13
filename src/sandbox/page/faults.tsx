import { computed } from "@preact/signals";
import { Act, ActForm, into } from "./act.tsx";
import { BreakpointsForm } from "./breakpoints.tsx";
import { callLine } from "./control.ts";
import { Dialog } from "./dialog.tsx";
import { post } from "./model.ts";
import { faultForm, sandbox } from "./store.ts";
import { faultWords, presets } from "./words.ts";

export const operations = [
	"messages.send",
	"conversations.list",
	"conversations.get",
	"conversations.listMessages",
	"conversations.lookup",
	"me.get",
];

const effects = "status reset hang latency html empty truncated not-json redirect missing-field".split(" ");

const call = computed(() =>
	post("faults/add", {
		...(faultForm.operation.value === "" ? {} : { operation: faultForm.operation.value }),
		phase: faultForm.phase.value,
		effect: effectOf(),
		times: faultForm.times.value === "" ? null : Number(faultForm.times.value),
	}),
);

function effectOf(): unknown {
	if (faultForm.effect.value === "status")
		return {
			status: Number(faultForm.status.value),
			...(faultForm.retryAfter.value === "" ? {} : { retryAfter: Number(faultForm.retryAfter.value) }),
		};
	if (faultForm.effect.value === "latency") return { latencyMs: Number(faultForm.latencyMs.value) };
	if (faultForm.effect.value === "missing-field" && faultForm.field.value !== "")
		return { kind: "missing-field", field: faultForm.field.value };
	return faultForm.effect.value;
}

/** The contact whose phone is shown: a preset is for its next send alone. */
const contact = computed(() => sandbox.thread.value);

const preset = (options: object) =>
	post("faults/add", {
		operation: "messages.send",
		...(contact.value === null ? {} : { contact: contact.value.phoneNumber }),
		...options,
	});

interface FieldProps {
	readonly label: string;
	readonly state: typeof faultForm.operation;
	readonly placeholder?: string;
	readonly pattern?: string;
}

/** A field of the builder; a number, unless its pattern is another. */
function Field({ label, state, placeholder = "", pattern = "\\d*" }: FieldProps) {
	return (
		<label>
			{label}
			<input value={state.value} placeholder={placeholder} pattern={pattern} onInput={into(state)} />
		</label>
	);
}

/** Arms a fault for the requests to come, and shows those that wait. */
export function FaultsDialog() {
	return (
		<Dialog title="Faults">
			<h3>
				{contact.value === null
					? "The next send"
					: `The next send to ${contact.value.name ?? contact.value.phoneNumber}`}
			</h3>
			<div class="row">
				{presets.map(([words, options]) => (
					<Act key={words} call={preset(options)}>
						{words}
					</Act>
				))}
			</div>
			<BreakpointsForm />
			<h3>Armed</h3>
			{sandbox.faults.value.length === 0 && <p class="dim">No fault waits.</p>}
			<ul class="plain">
				{sandbox.faults.value.map((fault) => (
					<li class="row" key={fault.id}>
						<span>
							{fault.operation ?? "any operation"}
							{fault.contact && ` of ${fault.contact}`}: {faultWords({ ...fault, ...fault.effect })}
						</span>
						<span class="spring" />
						<Act call={post(`faults/${fault.id}/remove`)}>Remove</Act>
					</li>
				))}
			</ul>
			{sandbox.faults.value.length > 1 && <Act call={post("faults/clear")}>Remove all</Act>}
			<h3>Any fault</h3>
			<ActForm class="fields" label="New fault" call={call.value}>
				<label>
					Operation
					<select value={faultForm.operation.value} onChange={into(faultForm.operation)}>
						{operations.map((name) => (
							<option key={name}>{name}</option>
						))}
						<option value="">any</option>
					</select>
				</label>
				<label>
					Phase
					<select value={faultForm.phase.value} onChange={into(faultForm.phase)}>
						<option value="before">before: nothing is done</option>
						<option value="after">after: it is done, the answer is lost</option>
					</select>
				</label>
				<label>
					Effect
					<select value={faultForm.effect.value} onChange={into(faultForm.effect)}>
						{effects.map((name) => (
							<option key={name}>{name}</option>
						))}
					</select>
				</label>
				{faultForm.effect.value === "status" && <Field label="Status" state={faultForm.status} />}
				{faultForm.effect.value === "status" && (
					<Field label="Retry-After, seconds" state={faultForm.retryAfter} placeholder="none" />
				)}
				{faultForm.effect.value === "latency" && <Field label="Milliseconds" state={faultForm.latencyMs} />}
				{faultForm.effect.value === "missing-field" && (
					<Field label="Field" state={faultForm.field} placeholder="the first one" pattern=".*" />
				)}
				<Field label="Times" state={faultForm.times} placeholder="without end" />
				<code class="call">{callLine(call.value)}</code>
				<Act submit class="primary" call={call.value}>
					Arm the fault
				</Act>
			</ActForm>
		</Dialog>
	);
}
