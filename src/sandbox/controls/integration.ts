import { anything, flag, listOf, oneOf, optional } from "../../shared/validation.ts";
import { aString, assertValid, fields, stringOrNull } from "../base/input.ts";
import { withoutInJson } from "../base/unlogged.ts";
import { type ConsentSettings, consentFrom, initialConsent } from "../world/consent.ts";
import {
	addAgency,
	addIntegration,
	addKey,
	apiKeyOf,
	type Integration,
	type Key,
	type Scope,
	scopes,
	type World,
} from "../world/world.ts";
import { type AgencyControl, createAgencyControl, sendersFrom } from "./agency.ts";

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
	/** Its oldest API key that is neither revoked nor expired; if there is none, its oldest one. */
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
	const control: IntegrationControl = {
		id,
		name: find().name,
		get hidden() {
			return find().hidden;
		},
		get apiKey() {
			const own = [...world.keys.values()].filter((key) => key.integrationId === id);
			const key = own.find(({ state }) => state === "live") ?? own[0];
			if (!key) throw new Error("The integration has no key.");
			return apiKeyOf(key);
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
	return withoutInJson(control, "apiKey");
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
	return world.events.together(null, () => {
		const integration = addIntegration(world, name);
		addKey(world, integration.id);
		return integration;
	});
}

/** An API key as it is created; the service shows it once, the sandbox as often as you like. */
export interface CreatedKey {
	/** Identifies the key in the controls of keys. It is not a secret. */
	readonly id: string;
	/** The whole key, as a client is given it. */
	readonly apiKey: string;
}

/** A key as it is at one moment. */
export interface KeyState extends CreatedKey {
	/** The scopes of the key. */
	readonly scopes: readonly Scope[];
	/** Whether it is good, revoked or expired. */
	readonly state: Key["state"];
}

/** API keys. A key is named by its id, or by the whole API key. */
export interface KeysControl {
	/** Makes a key, with both scopes if none are named. @example sandbox.keys.create({ scopes: ["conversations:read"] }).apiKey; */
	create(options?: { scopes?: readonly Scope[] | undefined }): CreatedKey;
	/** Every call with the key is 401 at once. @example sandbox.keys.revoke(id); */
	revoke(key: string): void;
	/** Every call with the key is 401 at once. @example sandbox.keys.expire(id); */
	expire(key: string): void;
	/** Gives a key these scopes in place of its own. @example sandbox.keys.setScopes(id, ["conversations:read"]); */
	setScopes(key: string, scopes: readonly Scope[]): void;
	/** All keys of the integration, the oldest first. @example sandbox.keys.list().at(0)?.id; */
	list(): KeyState[];
}

const scopesRule = listOf(oneOf(...scopes));
const keyRule = fields<{ scopes?: readonly Scope[] }>({ scopes: optional(scopesRule) });

function createKeysControl(world: World, integrationId: string): KeysControl {
	const alter = (name: string, act: (key: Key) => void): void => {
		assertValid("keys: the key", name, aString);
		const id = name.split(".")[1] ?? name;
		const key = world.keys.get(id);
		if (!key) throw new Error(`The sandbox has no key ${id}.`);
		act(key);
		world.events.add({ type: "access.changed", integrationId: key.integrationId });
	};
	return {
		create(options = {}) {
			assertValid("keys.create", options, keyRule);
			const { scopes } = options;
			const key = addKey(world, integrationId, scopes && [...scopes]);
			return { id: key.id, apiKey: apiKeyOf(key) };
		},
		revoke: (name) => alter(name, (key) => (key.state = "revoked")),
		expire: (name) => alter(name, (key) => (key.state = "expired")),
		setScopes(name, given) {
			assertValid("keys.setScopes: scopes", given, scopesRule);
			alter(name, (key) => (key.scopes = [...given]));
		},
		list: () =>
			[...world.keys.values()]
				.filter((key) => key.integrationId === integrationId)
				.map((key) => ({ id: key.id, apiKey: apiKeyOf(key), scopes: [...key.scopes], state: key.state })),
	};
}
