import { Act } from "./act.tsx";
import { clientOfRequest, curlOfRequest, fetchOfRequest } from "./code.ts";
import { Copy } from "./copy.tsx";
import { renew } from "./crm.tsx";
import { post } from "./model.ts";
import { type Call, typed } from "./store.ts";
import { operationIdOf, type RequestEvent } from "./words.ts";

/** Makes a request again as it was, or with a good key, or as a new send. */
const replay = ({ correlationId }: RequestEvent, options: object = {}): Call => ({
	...post(`requests/${correlationId}/replay`, options),
	isRequest: true,
});

/** Buttons that make a request of the log again, on the sandbox itself. */
export function Again({ event }: { readonly event: RequestEvent }) {
	const isSend = operationIdOf(event) !== undefined;
	const isBad = event.key.state !== "valid";
	const again = isSend ? { operationId: typed.newOperationId.value } : {};
	return (
		<>
			{isSend && (
				<Act call={replay(event)} title="A retry: the same text with the same operationId">
					Repeat with the same id
				</Act>
			)}
			<Act
				call={replay(event, again)}
				title={isSend ? "The same text as a new send, with a new operationId" : "The same request, as it was"}
				onBegin={renew}
			>
				Replay
			</Act>
			{isBad && (
				<Act call={replay(event, { ...again, key: "good" })} title="The same request, with a key that is good">
					Replay with a good key
				</Act>
			)}
		</>
	);
}

/** The request as code, to make it again elsewhere. A key that was bad is $BAD_KEY there, and the code says so. */
export function AsCode({ event }: { readonly event: RequestEvent }) {
	const client = clientOfRequest(event);
	return (
		<>
			<Copy what={`curl ${event.id}`} text={() => curlOfRequest(event)}>
				curl
			</Copy>
			<Copy what={`fetch ${event.id}`} text={() => fetchOfRequest(event)}>
				fetch
			</Copy>
			{client !== undefined && (
				<Copy what={`client ${event.id}`} text={() => client}>
					client
				</Copy>
			)}
		</>
	);
}
