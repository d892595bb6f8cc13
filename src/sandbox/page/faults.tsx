import { Act, ActForm, into } from "./act.tsx";
import { callLine } from "./control.ts";
import { Dialog } from "./dialog.tsx";
import { computed, signal } from "./signal.ts";
import { faults, post, thread } from "./store.ts";
import { faultWords } from "./words.ts";

export const operations = [
	"messages.send",
	"conversations.list",
	"conversations.get",
	"conversations.listMessages",
	"conversations.lookup",
	"me.get",
];

const effects = "status reset hang latency html empty truncated not-json redirect missing-field".split(" ");

const operation = signal("messages.send");
const phase = signal("before");
const effect = signal("status");
const status = signal("503");
const retryAfter = signal("");
const latencyMs = signal("2000");
const field = signal("");
const times = signal("1");

const call = computed(() =>
	post("faults/add", {
		...(operation.value === "" ? {} : { operation: operation.value }),
		phase: phase.value,
		effect: effectOf(),
		times: times.value === "" ? null : Number(times.value),
	}),
);

function effectOf(): unknown {
	if (effect.value === "status")
		return {
			status: Number(status.value),
			...(retryAfter.value === "" ? {} : { retryAfter: Number(retryAfter.value) }),
		};
	if (effect.value === "latency") return { latencyMs: Number(latencyMs.value) };
	if (effect.value === "missing-field" && field.value !== "") return { kind: "missing-field", field: field.value };
	return effect.value;
}

/** The contact whose phone is shown: a preset is for its next send alone. */
const contact = computed(() => thread.value);

const presets: readonly (readonly [string, object])[] = [
	["Lose its answer", { phase: "after", effect: "hang" }],
	["Answer 503", { effect: { status: 503 } }],
	["Reset the connection", { effect: "reset" }],
	["Delay it by 5 s", { effect: { latencyMs: 5_000 } }],
	[
		"A gateway's 404",
		{ effect: { kind: "html", status: 404, body: "default backend - 404", contentType: "text/plain" } },
	],
];

const preset = (options: object) =>
	post("faults/add", {
		operation: "messages.send",
		...(contact.value === null ? {} : { contact: contact.value.phoneNumber }),
		...options,
	});

interface FieldProps {
	readonly label: string;
	readonly state: typeof operation;
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
			<h3>Any fault</h3>
			<ActForm class="fields" label="New fault" call={call.value}>
				<label>
					Operation
					<select value={operation.value} onChange={into(operation)}>
						{operations.map((name) => (
							<option key={name}>{name}</option>
						))}
						<option value="">any</option>
					</select>
				</label>
				<label>
					Phase
					<select value={phase.value} onChange={into(phase)}>
						<option value="before">before: nothing is done</option>
						<option value="after">after: it is done, the answer is lost</option>
					</select>
				</label>
				<label>
					Effect
					<select value={effect.value} onChange={into(effect)}>
						{effects.map((name) => (
							<option key={name}>{name}</option>
						))}
					</select>
				</label>
				{effect.value === "status" && <Field label="Status" state={status} />}
				{effect.value === "status" && <Field label="Retry-After, seconds" state={retryAfter} placeholder="none" />}
				{effect.value === "latency" && <Field label="Milliseconds" state={latencyMs} />}
				{effect.value === "missing-field" && (
					<Field label="Field" state={field} placeholder="the first one" pattern=".*" />
				)}
				<Field label="Times" state={times} placeholder="without end" />
				<code class="call">{callLine(call.value)}</code>
				<Act submit class="primary" call={call.value}>
					Arm the fault
				</Act>
			</ActForm>
			<h3>Armed</h3>
			{faults.value.length === 0 && <p class="dim">No fault waits.</p>}
			<ul class="plain">
				{faults.value.map((fault) => (
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
			{faults.value.length > 1 && <Act call={post("faults/clear")}>Remove all</Act>}
		</Dialog>
	);
}
