import { callLine, made, shown } from "./control.ts";
import { Copy } from "./copy.tsx";
import { curlOfCall } from "./curl.ts";
import { brief } from "./words.ts";

/** The control call of the button under the pointer or in focus, else the last one that was made with what came of it. */
export function CallLine() {
	const call = shown.value ?? made.value?.call;
	return (
		<div class="calls" hidden={!made.value && !call}>
			{call && (
				<>
					<code class="call">{callLine(call)}</code>
					<Copy what="call" text={() => curlOfCall(call)}>
						curl
					</Copy>
				</>
			)}
			<span role="status" class="outcome">
				{shown.value === null && <Outcome />}
			</span>
		</div>
	);
}

function Outcome() {
	if (made.value === null) return null;
	const { answer, error } = made.value;
	return <span class={error === undefined ? "ok" : "bad"}>{error ?? `→ ${brief(JSON.stringify(answer))}`}</span>;
}
