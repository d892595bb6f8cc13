import { callLine, made, shown } from "./control.ts";
import { Copy } from "./copy.tsx";
import { curlOfCall } from "./curl.ts";
import { brief } from "./words.ts";

/** The control call of the button under the pointer or in focus, else the last one that was made with what came of it. */
export function CallLine() {
	const call = shown.value ?? made.value?.call;
	return (
		<div class="calls">
			{call && (
				<>
					<code class="call">{callLine(call)}</code>
					<Copy what="call" text={() => curlOfCall(call)}>
						curl
					</Copy>
				</>
			)}
			<span role="status" class="outcome">
				{shown.value === null && made.value && (
					<span class={made.value.error === undefined ? "ok" : "bad"}>
						{made.value.error ?? `→ ${brief(JSON.stringify(made.value.answer))}`}
					</span>
				)}
			</span>
		</div>
	);
}
