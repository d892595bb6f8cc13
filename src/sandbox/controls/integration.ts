import { anything, flag, optional } from "../../validation.ts";
import { aString, assertValid, fields, stringOrNull } from "../base/input.ts";
import { type ConsentSettings, consentFrom, initialConsent } from "../world/consent.ts";
import { addAgency, addIntegration, addKey, apiKeyOf, type Integration, type World } from "../world/world.ts";
import { type AgencyControl, createAgencyControl, sendersFrom } from "./agency.ts";
import { createKeysControl, type KeysControl } from "./keys.ts";

/** Options of a new agency. */
export interface LinkOptions {
	/** Its name; null for an agency without one. */
	readonly name: string | null;
	/** Its consent flow. @default one language, all approved */
	readonly consent?: ConsentSettings | undefined;
	/** Its senders by UUID, the default one first. @default one */
	readonly senders?: readonly string[] | undefined;
	/** Whether it keeps copies of files. @default false */
	readonly storesMedia?: boolean | undefined;
}

/** A partner CRM with keys and agencies of its own. */
export interface IntegrationControl {
	/** As `me.get` gives it. */
	readonly id: string;
	/** As `me.get` gives it. */
	readonly name: string;
	/** Whether it is hidden. */
	readonly hidden: boolean;
	/** Its first API key. */
	readonly apiKey: string;
	/** Its keys. */
	readonly keys: KeysControl;
	/** Makes an agency and links it. @example const second = sandbox.link({ name: "Second" }); */
	link(options: LinkOptions): AgencyControl;
	/** Its agencies, linked or not, in order of creation. @example sandbox.integration.agencies().length; */
	agencies(): AgencyControl[];
	/** `me.get` is 404 and all else 403, until {@link restore}. @example sandbox.integration.hide(); */
	hide(): void;
	/** Ends {@link hide}. @example sandbox.integration.restore(); */
	restore(): void;
}

/** The CRMs of a sandbox. */
export interface IntegrationsControl {
	/** Another CRM, with keys and agencies of its own. @example sandbox.integrations.add({ name: "Other" }).apiKey; */
	add(options: { name: string }): IntegrationControl;
	/** The CRM with this id; an unknown one throws. @example sandbox.integrations.get(sandbox.integration.id).name; */
	get(id: string): IntegrationControl;
	/** All CRMs, the default one first. @example sandbox.integrations.list().length; */
	list(): IntegrationControl[];
}

const linkRule = fields<LinkOptions>({
	name: stringOrNull,
	// These two name their own fields.
	consent: optional(anything),
	senders: optional(anything),
	storesMedia: optional(flag),
});

const integrationRule = fields<{ name: string }>({ name: aString });

export function createIntegrationControl(world: World, id: string): IntegrationControl {
	const find = (): Integration => {
		const found = world.integrations.get(id);
		if (!found) throw new Error(`The sandbox has no integration ${id}.`);
		return found;
	};
	const setHidden = (hidden: boolean): void => {
		find().hidden = hidden;
		world.events.add({ type: "access.changed", integrationId: id });
	};
	return {
		id,
		name: find().name,
		get hidden() {
			return find().hidden;
		},
		get apiKey() {
			const first = [...world.keys.values()].find((key) => key.integrationId === id);
			if (!first) throw new Error("The integration has no key.");
			return apiKeyOf(first);
		},
		keys: createKeysControl(world, id),
		link(options) {
			assertValid("link", options, linkRule);
			const { name, consent, senders, storesMedia = false } = options;
			// Everything is checked before there is an agency.
			const agency = addAgency(world, find().id, name, {
				...(consent === undefined ? {} : { consent: consentFrom(initialConsent, consent) }),
				...(senders === undefined ? {} : { senders: sendersFrom(senders) }),
				storesMedia,
			});
			return createAgencyControl(world, agency.id);
		},
		agencies: () =>
			[...world.agencies.values()]
				.filter((agency) => agency.integrationId === id)
				.map((agency) => createAgencyControl(world, agency.id)),
		hide: () => setHidden(true),
		restore: () => setHidden(false),
	};
}

export function createIntegrationsControl(world: World): IntegrationsControl {
	return {
		add(options) {
			assertValid("integrations.add", options, integrationRule);
			return createIntegrationControl(world, foundIntegration(world, options.name).id);
		},
		get: (id) => createIntegrationControl(world, id),
		list: () => [...world.integrations.keys()].map((id) => createIntegrationControl(world, id)),
	};
}

/** A new integration with a first key. */
export function foundIntegration(world: World, name: string): Integration {
	const integration = addIntegration(world, name);
	addKey(world, integration.id);
	return integration;
}
