import { Act } from "./act.tsx";
import { ClockSteps, ClockTime } from "./clock.tsx";
import { agencyId, chooseAgency, post, readState } from "./model.ts";
import { Earlier, refocus } from "./slider.tsx";
import { connection, sandbox, view } from "./store.ts";
import { counted } from "./words.ts";

/** A button, because the address has no room for a target: it names what is shown. */
function skip(): void {
	view.pane.value = "phone";
	queueMicrotask(() => document.querySelector("main")?.focus());
}

/** Where there is no room for its buttons, they are in a menu. */
export function showMenu(): void {
	const menu = document.getElementById("menu");
	if (menu && !menu.checkVisibility()) menu.showPopover();
}

/** Goes to the requests that wait. */
function showRequests(): void {
	view.tab.value = "Requests";
	view.pane.value = "requests";
	queueMicrotask(() => document.querySelector<HTMLElement>(".waiting button")?.focus());
}

export function Header() {
	const armed = sandbox.faults.value.length;
	const waiting = sandbox.heldRequests.value.length;
	return (
		<header class="top">
			{connection.link.value === "lost" && (
				<div role="alert" class="banner">
					The sandbox does not answer. The page shows what it had last, and tries again by itself.
				</div>
			)}
			{sandbox.bug.value.isReadOnly && (
				<section class="banner bug" aria-label="Bug file">
					A bug file, read-only.{" "}
					{sandbox.bug.value.bug?.content === "generated" && "Its numbers, names and texts are generated. "}
					{view.at.value === null && (
						<Act call={post("continue")} onDone={() => readState().then(refocus)}>
							Continue from here
						</Act>
					)}
				</section>
			)}
			<Earlier />
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
					{sandbox.agencies.value.map(({ id, name, linked }) => (
						<option key={id} value={id}>
							{name ?? id}
							{linked ? "" : " (not linked)"}
						</option>
					))}
				</select>
				{waiting > 0 && (
					<button type="button" class="badge warn" onClick={showRequests}>
						{waiting} <span class="wide">{waiting === 1 ? "request" : "requests"}</span> held
					</button>
				)}
				{sandbox.violations.value.length > 0 && (
					<button type="button" class="badge bad" onClick={() => (view.dialog.value = "violations")}>
						{counted(sandbox.violations.value.length, "violation")}
					</button>
				)}
				<span class="spring" />
				<ClockTime />
				<button type="button" id="menu-button" popovertarget="menu">
					Menu
				</button>
				<div id="menu" popover="auto">
					<ClockSteps />
					<div class="row">
						<button type="button" onClick={() => (view.dialog.value = "settings")}>
							Settings…
						</button>
						<a class="button" href="#/stories">
							Stories
						</a>
						<button type="button" class={armed ? "warn" : ""} onClick={() => (view.dialog.value = "faults")}>
							{armed ? `${counted(armed, "fault")} armed` : "Faults…"}
						</button>
						<button type="button" onClick={() => (view.dialog.value = "world")}>
							Scenario…
						</button>
						<button type="button" class="quiet" onClick={() => (view.dialog.value = "reset")}>
							Reset…
						</button>
					</div>
				</div>
			</div>
		</header>
	);
}
