import type { Archive, ArchivedAgency } from "./archive.ts";

/*
 * Checks that the parts of an archive fit together. Parts that do not would make answers that the service never gives.
 */

export function assertWhole({ integrations, keys, agencies, counters, faults }: Archive): void {
	const integrationIds = new Set(
		unique(
			"integrations",
			integrations.map(({ id }) => id),
		),
	);
	unique(
		"keys",
		keys.map(({ id }) => id),
	);
	unique(
		"faults",
		faults.map(({ id }) => id),
	);
	const agencyIds = new Set(
		unique(
			"agencies",
			agencies.map(({ id }) => id),
		),
	);
	for (const [place, { integrationId }] of [...keys.entries()])
		if (!integrationIds.has(integrationId)) refuse(`keys[${place}].integrationId names no integration`);
	if (agencies.length === 0) refuse("agencies must have at least one");
	for (const [place, agency] of agencies.entries()) {
		const { languages, defaultLanguage } = agency.consent;
		if (defaultLanguage !== null && !languages.includes(defaultLanguage))
			refuse(`agencies[${place}].consent.defaultLanguage must be one of languages, or null`); // R168
		if (!integrationIds.has(agency.integrationId)) refuse(`agencies[${place}].integrationId names no integration`);
		assertThreads(`agencies[${place}]`, agency, agencyIds);
	}
	const threads = agencies.flatMap((agency) => agency.threads);
	// An agency sees one conversation of each number, its own or a shared one.
	const seen = threads.flatMap(({ phone, views }) => views.map(({ agencyId }) => `${agencyId} ${phone}`));
	unique("the phone numbers of an agency's threads", seen);
	unique(
		"the serials of threads",
		threads.map(({ serial }) => serial),
	);
	const ids = unique(
		"the ids of messages",
		threads.flatMap(({ messages }) => messages.map(({ id }) => id)),
	);
	// A new message, thread or flow must not get the id of an old one.
	const given = new Map(counters);
	const highest = (numbers: readonly number[]): number => numbers.reduce((most, number) => Math.max(most, number), 0);
	for (const [kind, most] of [
		["message", highest(ids)],
		["thread", highest(threads.map(({ serial }) => serial))],
		["flow", highest(threads.flatMap(({ flows }) => flows.map(({ id }) => id)))],
	] as const) {
		if ((given.get(kind) ?? 0) < most) refuse(`counters has given out fewer ids of kind "${kind}" than there are`);
	}
}

function assertThreads(place: string, { id, threads }: ArchivedAgency, agencyIds: ReadonlySet<string>): void {
	for (const [index, { views, messages, ai, held, windowFrom }] of threads.entries()) {
		const where = `${place}.threads[${index}]`;
		if (views[0]?.agencyId !== id) refuse(`${where}.views must begin with the agency's own`);
		for (const { agencyId } of views) if (!agencyIds.has(agencyId)) refuse(`${where}.views names no agency`);
		if (new Set(views.map(({ agencyId }) => agencyId)).size < views.length) refuse(`${where}.views names one twice`);
		if (messages.some((message, at) => message.id <= (messages[at - 1]?.id ?? 0)))
			refuse(`${where}.messages must have rising ids`);
		if (ai.enabled !== (ai.reason === null) || ai.enabled !== (ai.at === null))
			refuse(`${where}.ai must have a reason and a time exactly while it is off`); // R169
		if (windowFrom !== null && !messages.some(({ outbound, at }) => !outbound && at === windowFrom))
			refuse(`${where}.windowFrom must be the time of an inbound message`);
		if (held && held.updatedAt < held.createdAt) refuse(`${where}.held was changed before it was created`);
	}
}

function unique<Item extends string | number>(what: string, items: readonly Item[]): readonly Item[] {
	if (new Set(items).size < items.length) refuse(`${what} must differ from each other`);
	return items;
}

function refuse(rule: string): never {
	throw new TypeError(`import: ${rule}.`);
}
