import { TimeDialog } from "./clock.tsx";
import { keepToken } from "./control.ts";
import { Conversations } from "./conversations.tsx";
import { FaultsDialog } from "./faults.tsx";
import { Footer } from "./footer.tsx";
import { Header } from "./header.tsx";
import { KeysDialog } from "./keys.tsx";
import { Log } from "./log.tsx";
import { agency, allNews } from "./model.ts";
import { Phone } from "./phone.tsx";
import { RuleDialog } from "./rule.tsx";
import { SettingsDialog } from "./settings.tsx";
import { connection, sandbox, view } from "./store.ts";
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
	rule: RuleDialog,
} as const;

export function App() {
	const news = allNews.value;
	document.title = `${news > 0 ? `(${news}) ` : ""}Sandbox${agency.value?.name ? ` · ${agency.value.name}` : ""}`;
	if (connection.isRefused.value) return <TokenForm />;
	if (sandbox.now.value === 0) return <Footer />; // until the first answers: nothing is known of the sandbox
	const Open = view.dialog.value && dialogs[view.dialog.value];
	return (
		<div id="page" data-pane={view.pane.value}>
			<Header />
			<Conversations />
			<Phone />
			<Log />
			<nav class="panes" aria-label="Panes">
				{panes.map(([name, title]) => (
					<button
						type="button"
						key={name}
						aria-current={view.pane.value === name}
						onClick={() => (view.pane.value = name)}
					>
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
		connection.isRefused.value = false;
		reconnect();
	};
	return (
		<main class="token">
			<h1>{connection.token.value ? "Wrong token" : "Sandbox"}</h1>
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
