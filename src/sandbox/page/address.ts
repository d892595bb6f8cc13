import { agencyId, chooseAgency, requests, rowOf, select } from "./model.ts";

import type { Outcome } from "./outcomes.ts";
import { connection, tabs, view } from "./store.ts";
import { openStory } from "./stories.ts";
import type { RequestEvent } from "./words.ts";

/*
 * The address of what the page shows: #/?contact=%2B447700900101&tab=Events&request=sandbox-00000003. A path before the
 * question mark is kept while its contact is shown.
 */

const named = { agency: view.agencyId, contact: view.contact, tab: view.tab, request: view.request, line: view.line };

function hashOf(some: Readonly<Record<string, string>> = {}): string {
	const query = new URLSearchParams();
	for (const [name, { value }] of Object.entries(named)) {
		const given = some[name] ?? value;
		if (given && given !== tabs[0]) query.set(name, given);
	}
	const [path = ""] = location.hash.split("?");
	const contact = query.get("contact");
	const kept = (contact ? path.endsWith(contact) : /^#\/stories(\/\w+)?$/.test(path)) ? path : "";
	return kept || query.size > 0 ? `${kept || "#/"}?${query}` : "";
}

const placeIn = (hash: string): string => hash.replace(/[?&](request|line)=[^&]*|\?$/g, "");

let writtenAt = 0;

/** Writes what the page shows into the address. Another conversation, agency or tab is a step that Back undoes. */
export function writeAddress(): void {
	const hash = hashOf();
	if (hash === location.hash || agencyId.value === "") return;
	// A held key goes through many conversations, of which only the last is worth a step.
	const isStep = placeIn(hash) !== placeIn(location.hash) && Date.now() - writtenAt > 300;
	writtenAt = Date.now();
	history[isStep ? "pushState" : "replaceState"](null, "", location.pathname + hash);
}

/** Shows what the address names. */
export function openAddress(): void {
	document.querySelector<HTMLElement>("#menu:popover-open")?.hidePopover();
	const query = new URLSearchParams(location.hash.split("?")[1]);
	const agency = query.get("agency") ?? "";
	const contact = query.get("contact");
	if (agency !== view.agencyId.value) chooseAgency(agency);
	if (contact !== view.contact.value) select(contact);
	view.tab.value = tabs.find((each) => each === query.get("tab")) ?? tabs[0];
	view.request.value = query.get("request") ?? "";
	view.line.value = query.get("line") ?? "";
	view.pane.value = view.request.value && !view.line.value ? "requests" : contact ? "phone" : "conversations";
	openStory();
}

/** The address of what became of a send, on the phone. */
export function hrefOf({ agencyId: owner, contact, line }: Pick<Outcome, "agencyId" | "contact" | "line">): string {
	const isHere = owner === agencyId.value || rowOf(contact)?.agencyId === owner;
	return hashOf({ ...(isHere ? {} : { agency: owner }), contact, line });
}

/** The address of a request in the log, beside the phone of its contact where that is known. */
export function hrefOfRequest(
	correlationId: string,
	request: RequestEvent | undefined = requests.value.find((each) => each.correlationId === correlationId),
): string {
	const { agencyId: of, contact } = request ?? {};
	const there = contact ? { contact, ...(of && of !== agencyId.value && { agency: of }) } : {};
	return hashOf({ request: correlationId, tab: "", line: "", ...there });
}

/** The address of the conversation that is shown, without its story. */
export const hrefOfContact = (): string => `#/?${hashOf().split("?")[1] ?? ""}`;

/** A link to what the page shows, or to a request. It holds the token, so that it works anywhere on this machine. */
export const linkTo = (request?: string): string =>
	`${location.origin}${location.pathname}${hashOf(request ? { request } : {}) || "#/?"}&token=${connection.token.value}`;
