import { Act } from "./act.tsx";
import { dialog } from "./dialog.tsx";
import { agencies, agencyId, chooseAgency, faults, isOpen, now, post, thread, violations } from "./store.ts";
import { instantOf } from "./time.ts";
import { counted } from "./words.ts";

export function Header() {
	return (
		<header class="top">
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
			{faults.value.length > 0 && (
				<button type="button" class="badge warn" onClick={() => (dialog.value = "faults")}>
					{counted(faults.value.length, "fault")} armed
				</button>
			)}
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
				<button type="button" onClick={() => (dialog.value = "faults")}>
					Faults…
				</button>
				<button type="button" onClick={() => (dialog.value = "world")}>
					Scenario…
				</button>
				<button type="button" class="quiet" onClick={() => (dialog.value = "reset")}>
					Reset…
				</button>
			</div>
		</header>
	);
}

/** Moves the sandbox's clock; what falls due on the way happens. */
function ClockBar() {
	const end = thread.value && isOpen(thread.value) ? thread.value.window.expiresAt : null;
	const expiry = thread.value?.held?.expiresAt ?? null;
	return (
		<section class="clock" aria-label="Clock">
			<time dateTime={new Date(now.value).toISOString()}>
				{instantOf(now.value)} <small class="dim">UTC</small>
			</time>
			<Act id="clock" call={post("clock/advance", { hours: 1 })}>
				+1 h
			</Act>
			<Act call={post("clock/advance", { hours: 24 })}>+24 h</Act>
			<Act call={post("clock/advanceTo", { at: end })} disabled={end === null}>
				→ window end
			</Act>
			<Act call={post("clock/advanceTo", { at: expiry })} disabled={expiry === null}>
				→ expiry
			</Act>
		</section>
	);
}
