import { callLine } from "./control.ts";
import { Copy } from "./copy.tsx";
import { curlOf } from "./curl.ts";
import { requests } from "./model.ts";
import { calls } from "./store.ts";
import { brief } from "./words.ts";

/** The control call of the button under the pointer or in focus, else the last one that was made with what came of it. */
export function CallLine() {
	const call = calls.shown.value ?? calls.made.value?.call;
	return (
		<div class="calls">
			{call && (
				<>
					<code class="call">{callLine(call)}</code>
					<Copy what="call" text={() => curlOf(call)}>
						curl
					</Copy>
				</>
			)}
			<span role="status" class="outcome">
				{calls.shown.value === null && calls.made.value && <Outcome {...calls.made.value} />}
			</span>
		</div>
	);
}

function Outcome({ error, form, answer }: { error?: string; form?: string | undefined; answer?: unknown }) {
	if (error === undefined) return <span class="ok">→ {answer === null ? "done" : brief(JSON.stringify(answer))}</span>;
	return form === undefined ? <span class="bad">{error}</span> : null;
}

/** The refusal of a form's last call, beside its fields. */
export function Refusal({ form }: { readonly form: string }) {
	const { error, form: of, cause } = calls.made.value ?? {};
	if (of !== form || error === undefined) return null;
	// The service keeps its reasons to itself. The sandbox adds them to the events a moment later.
	const refused = cause ? requests.value.find(({ correlationId }) => correlationId === cause) : undefined;
	return (
		<p role="alert" class="refusal">
			{error} {refused?.explanation}
		</p>
	);
}
