import { Act } from "./act.tsx";
import { ClockBar } from "./clock.tsx";
import { dialog } from "./dialog.tsx";
import { agencies, agencyId, chooseAgency, faults, pane, post, readState, shownBug, violations } from "./store.ts";
import { link } from "./stream.ts";
import { counted } from "./words.ts";

/** A button, because the address has no room for a target: it names what is shown. */
function skip(): void {
	pane.value = "phone";
	queueMicrotask(() => document.querySelector("main")?.focus());
}

export function Header() {
	const armed = faults.value.length;
	return (
		<header class="top">
			{link.value === "lost" && (
				<div role="alert" class="banner">
					The sandbox does not answer. The page shows what it had last, and tries again by itself.
				</div>
			)}
			{shownBug.value.isReadOnly && (
				<section class="banner bug" aria-label="Bug file">
					A bug file, read-only.{" "}
					{shownBug.value.bug?.content === "generated" && "Its numbers, names and texts are generated. "}
					<Act call={post("continue")} onDone={readState}>
						Continue from here
					</Act>
				</section>
			)}
			<div class="bar">
				<button type="button" class="skip" onClick={skip}>
					Skip to the phone
				</button>
				<h1>Sandbox</h1>
				<select
					aria-label="Agency"
					value={agencyId.value}
					onChange={({ currentTarget }) => chooseAgency(currentTarget.value)}
				>
					{agencies.value.map(({ id, name, linked }) => (
						<option key={id} value={id}>
							{name ?? id}
							{linked ? "" : " (not linked)"}
						</option>
					))}
				</select>
				<button type="button" onClick={() => (dialog.value = "settings")}>
					Settings…
				</button>
				{violations.value.length > 0 && (
					<button type="button" class="badge bad" onClick={() => (dialog.value = "violations")}>
						{counted(violations.value.length, "violation")}
					</button>
				)}
				<span class="spring" />
				<ClockBar />
				<div class="row">
					<a class="button" href="#/stories">
						Stories
					</a>
					<button type="button" class={armed ? "warn" : ""} onClick={() => (dialog.value = "faults")}>
						{armed ? `${counted(armed, "fault")} armed` : "Faults…"}
					</button>
					<button type="button" onClick={() => (dialog.value = "world")}>
						Scenario…
					</button>
					<button type="button" class="quiet" onClick={() => (dialog.value = "reset")}>
						Reset…
					</button>
				</div>
			</div>
		</header>
	);
}
