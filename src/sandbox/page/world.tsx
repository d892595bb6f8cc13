import type { ComponentChildren, TargetedEvent } from "preact";
import type { Found } from "../index.ts";
import { Act, into } from "./act.tsx";
import { hrefOfRequest } from "./address.ts";
import { perform, read } from "./control.ts";
import { close, Dialog } from "./dialog.tsx";
import { post, requests, select } from "./model.ts";
import { Rule } from "./rule.tsx";
import { type Call, calls, sandbox, typed, view } from "./store.ts";
import { instantOf } from "./time.ts";
import type { RequestEvent } from "./words.ts";

/** The effect of each scenario. A scenario that this page does not know is shown by its name alone. */
const descriptions: Readonly<Record<string, string>> = {
	fresh: "nobody yet",
	busy: "250 conversations, one of 130 messages",
	closed: "one contact, who wrote 30 hours ago",
	held: "the same, and a text that waits for consent",
	ineligible: "closed, and the consent template awaits approval",
	twoLanguages: "closed, and two consent languages",
	unlinked: "a conversation that no agency owns",
	readOnlyKey: "a key that may not send",
	oddData: "null names, files alone, older records",
};

const readSnapshots = async (): Promise<void> => {
	sandbox.snapshots.value = await read("snapshots");
};

/** Reads them each time the dialog opens: another program may have taken some. */
const onOpen = (form: Element | null): void => {
	if (form) readSnapshots().catch(() => undefined);
};

/** Scenarios, snapshots and bug files. */
export function WorldDialog() {
	return (
		<Dialog title="Scenario and state">
			<h3>Add a scenario</h3>
			<ul class="plain">
				{sandbox.scenarios.value.map((scenario) => (
					<li class="row" key={scenario}>
						<Act call={post("loadScenario", { scenario })}>{scenario}</Act>{" "}
						<span class="dim">{descriptions[scenario]}</span>
					</li>
				))}
			</ul>
			<h3>Snapshots</h3>
			<div class="row" ref={onOpen}>
				<input
					aria-label="Name of the snapshot"
					placeholder="Name"
					value={typed.snapshotName.value}
					onInput={into(typed.snapshotName)}
				/>
				<Act
					call={post("snapshot", { name: typed.snapshotName.value || null })}
					text={typed.snapshotName}
					onDone={readSnapshots}
				>
					Take a snapshot
				</Act>
			</div>
			<ul class="plain">
				{sandbox.snapshots.value.map(({ snapshot, name, at }) => (
					<li class="row" key={snapshot}>
						<Act call={post("restore", { snapshot })}>
							Restore {name ?? snapshot}
							{sandbox.snapshots.value.some((each) => each.name === name && each.snapshot !== snapshot) &&
								` (${snapshot})`}
						</Act>
						<span class="dim">{instantOf(at)}</span>
						<span class="spring" />
						<Act
							class="quiet"
							call={post(`snapshots/${snapshot}/remove`)}
							onDone={readSnapshots}
							label={`Delete snapshot ${snapshot}`}
						>
							Delete
						</Act>
					</li>
				))}
			</ul>
			<h3>Bug files</h3>
			<p class="dim">
				A bug file has the world, all requests with their reasons, and what you look at. It holds no key.
			</p>
			<label class="check">
				<input
					type="checkbox"
					checked={typed.keepContent.value}
					onChange={() => (typed.keepContent.value = !typed.keepContent.value)}
				/>
				Keep numbers, names and texts, which are generated otherwise
			</label>
			<div class="row">
				<Export>Export as a file</Export>
				<Import />
			</div>
		</Dialog>
	);
}

interface ExportProps {
	readonly children: ComponentChildren;
	readonly class?: string;
	readonly title?: string;
}

/** Exports a bug file of what the page shows, which takes a while for a long log. */
export function Export({ children, ...rest }: ExportProps) {
	const isBusy = calls.running.value.some(({ path }) => /^bug\b/.test(path));
	return (
		<Act {...rest} call={exportCall()} onDone={download} busy={isBusy}>
			{isBusy ? "Exporting…" : children}
		</Act>
	);
}

function exportCall(): Call {
	const query = new URLSearchParams();
	const place = { contact: view.contact.value, agencyId: view.agencyId.value, request: view.request.value };
	for (const [name, value] of Object.entries(place)) if (value) query.set(name, value);
	if (typed.keepContent.value) query.set("keepContent", "true");
	return { verb: "GET", path: `bug${query.size > 0 ? `?${query}` : ""}` };
}

function download(bug: unknown): void {
	const text = JSON.stringify(bug);
	const link = document.createElement("a");
	link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
	link.download = "bug.json";
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 1_000);
}

function Import() {
	const load = async ({ currentTarget: input }: TargetedEvent<HTMLInputElement>) => {
		const file = input.files?.[0];
		if (file) await perform(post("import", file), { onDone: close });
		input.value = "";
	};
	return (
		<label title="POST /_sandbox/import">
			Import a file <input type="file" accept="application/json,.json" onChange={load} />
		</label>
	);
}

export function ResetDialog() {
	const done = () => {
		close();
		select(null);
	};
	return (
		<Dialog title="Reset everything?">
			<p>Conversations, keys, faults, events and the clock are as new. Base URL, key and the agency's id stay.</p>
			<Act class="primary" call={post("reset")} onDone={done}>
				Reset
			</Act>
		</Dialog>
	);
}

/** Lets the link do its work, and then opens the contact of a request that was not loaded. */
function follow(correlationId: string): void {
	close();
	if (requests.value.some((each) => each.correlationId === correlationId)) return;
	const contact = view.contact.value;
	findRequest(correlationId)
		.then((found) => {
			// Unless somebody has gone on meanwhile.
			const isAsBefore = view.request.value === correlationId && view.contact.value === contact;
			if (found && isAsBefore) location.hash = hrefOfRequest(correlationId, found);
		})
		.catch(() => undefined); // a lost connection shows by itself
}

async function findRequest(correlationId: string): Promise<RequestEvent | undefined> {
	const { events } = await read<Found>(`search?search=${correlationId}`);
	const all = events.filter((event) => event.type === "request");
	return all.find((event) => event.correlationId === correlationId);
}

export function ViolationsDialog() {
	return (
		<Dialog title="Violations">
			<ul class="plain mono">
				{sandbox.violations.value.map(({ rule, message, explanation, method, path, correlationId }) => (
					<li key={correlationId}>
						<Rule id={rule} /> <span class="bad">{message}</span>
						<br />
						{explanation}
						<br />
						<a class="became" href={hrefOfRequest(correlationId)} onClick={() => follow(correlationId)}>
							{method} {path}
						</a>
					</li>
				))}
			</ul>
		</Dialog>
	);
}
