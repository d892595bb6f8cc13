import { linkTo } from "./address.ts";
import { CallLine } from "./call-line.tsx";
import { Copy } from "./copy.tsx";
import { keys } from "./keyboard.ts";
import { apiKey } from "./model.ts";
import { calls, connection } from "./store.ts";

const links = {
	connected: { tone: "ok", words: "● connected" },
	connecting: { tone: "dim", words: "○ connecting" },
	lost: { tone: "warn", words: "○ not connected, trying again" },
} as const;

export function Footer() {
	const { tone, words } = links[connection.link.value];
	return (
		<footer>
			<span role="status" class={tone}>
				{words}
			</span>
			<span class="base">
				{location.origin}/api/v1
				<Copy what="key" text={() => apiKey.value}>
					copy key
				</Copy>
				<Copy what="link" text={linkTo}>
					copy link
				</Copy>
			</span>
			{(calls.shown.value ?? calls.made.value) ? <CallLine /> : <Hints />}
		</footer>
	);
}

function Hints() {
	return (
		<span class="hints">
			{keys.map(({ key, does }) => (
				<span key={key}>
					{" "}
					<kbd>{key}</kbd> {does}
				</span>
			))}
		</span>
	);
}
