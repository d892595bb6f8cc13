import { Act } from "./act.tsx";
import type { Call } from "./control.ts";
import { newOperationId, renew } from "./crm.tsx";
import { apiKey, keys } from "./store.ts";
import { operationIdOf, type RequestEvent } from "./words.ts";

/** The call that makes a request again, with its own key. */
export const callOf = ({ method, path, query, body, keyId }: RequestEvent): Call => ({
	verb: method,
	path: path.slice(1) + (query && `?${query}`),
	body: body ?? undefined,
	key: keys.value.find(({ id }) => id === keyId)?.apiKey ?? apiKey.value,
});

/** Buttons that make a request of the log again. */
export function Again({ event }: { readonly event: RequestEvent }) {
	const call = callOf(event);
	const isSend = operationIdOf(event) !== undefined;
	const replay = isSend ? { ...call, body: { ...Object(event.body), operationId: newOperationId.value } } : call;
	return (
		<>
			{isSend && (
				<Act call={call} title="A retry: the same text with the same operationId">
					Repeat with the same id
				</Act>
			)}
			<Act call={replay} title={isSend ? "The same text as a new send, with a new operationId" : ""} onBegin={renew}>
				Replay
			</Act>
		</>
	);
}
