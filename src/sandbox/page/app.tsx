import { TimeDialog } from "./clock.tsx";
import { isRefused, keepToken, token } from "./control.ts";
import { Conversations } from "./conversations.tsx";
import { dialog } from "./dialog.tsx";
import { FaultsDialog } from "./faults.tsx";
import { Footer } from "./footer.tsx";
import { Header } from "./header.tsx";
import { KeysDialog } from "./keys.tsx";
import { Log } from "./log.tsx";
import { Phone } from "./phone.tsx";
import { SettingsDialog } from "./settings.tsx";
import { agency, allNews, now, pane } from "./store.ts";
import { reconnect } from "./stream.ts";
import { ResetDialog, ViolationsDialog, WorldDialog } from "./world.tsx";

const panes = [
	["conversations", "Conversations"],
	["phone", "Phone"],
	["requests", "Requests"],
] as const;

const dialogs = {
	faults: FaultsDialog,
	world: WorldDialog,
	reset: ResetDialog,
	violations: ViolationsDialog,
	keys: KeysDialog,
	settings: SettingsDialog,
	time: TimeDialog,
} as const;

export function App() {
	const news = allNews.value;
	document.title = `${news > 0 ? `(${news}) ` : ""}Sandbox${agency.value?.name ? ` · ${agency.value.name}` : ""}`;
	if (isRefused.value) return <TokenForm />;
	if (now.value === 0) return <Footer />; // until the first answers: nothing is known of the sandbox
	const Open = dialog.value && dialogs[dialog.value];
	return (
		<div id="page" data-pane={pane.value}>
			<Header />
			<Conversations />
			<Phone />
			<Log />
			<nav class="panes" aria-label="Panes">
				{panes.map(([name, title]) => (
					<button type="button" key={name} aria-current={pane.value === name} onClick={() => (pane.value = name)}>
						{title}
					</button>
				))}
			</nav>
			<Footer />
			{Open && <Open />}
		</div>
	);
}

const focus = (field: HTMLElement | null) => field?.focus();

/** The sandbox refused the token, or the address had none. */
function TokenForm() {
	const submit = (event: SubmitEvent) => {
		event.preventDefault();
		keepToken(document.querySelector("input")?.value.trim() ?? "");
		isRefused.value = false;
		reconnect();
	};
	return (
		<main class="token">
			<h1>{token.value ? "Wrong token" : "Sandbox"}</h1>
			<form onSubmit={submit}>
				<label for="token">Control token</label>
				<input id="token" type="password" required autocomplete="off" ref={focus} />
				<button type="submit" class="primary">
					Open
				</button>
				The sandbox prints it when it starts, after #token=.
			</form>
		</main>
	);
}
