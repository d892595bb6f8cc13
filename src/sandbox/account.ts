import { type AgencyControl, createAgencyControl, nameRule, sendersFrom } from "./agency.ts";
import { type ConsentSettings, consentFrom } from "./consent.ts";
import { type Integration, type Key, type Scope, scopes, type World } from "./state.ts";
import { aString, assertValid, fields, listOf, oneOf, optional, trueOrFalse } from "./strict.ts";
import { addAgency, addIntegration, addKey, apiKeyOf, consentFlow } from "./world.ts";

/** An API key as it is created; the service shows it once, the sandbox as often as you like. */
export interface CreatedKey {
	/** Names the key to the controls of keys; it is no secret. */
	readonly id: string;
	/** The whole key, as a client is given it. */
	readonly apiKey: string;
}

/** API keys (§5). A key is named by its id, or by the whole API key. */
export interface KeysControl {
	/** @example sandbox.keys.create({ scopes: ["conversations:read"] }).apiKey; */
	create(options?: { scopes?: readonly Scope[] }): CreatedKey;
	/** Every call with the key is 401 at once. @example sandbox.keys.revoke(id); */
	revoke(key: string): void;
	/** @example sandbox.keys.expire(id); */
	expire(key: string): void;
	/** @example sandbox.keys.setScopes(id, ["conversations:read"]); */
	setScopes(key: string, scopes: readonly Scope[]): void;
	/** All keys of the integration, the oldest first. @example sandbox.keys.list().at(0)?.id; */
	list(): {
		/** Names the key to the other controls. */
		id: string;
		/** What it may do. */
		scopes: readonly Scope[];
		/** Whether it is good, revoked or expired. */
		state: Key["state"];
	}[];
}

/** What a new agency is made with. */
export interface LinkOptions {
	/** Its name; null for an agency without one. */
	readonly name: string | null;
	/** Its consent flow. @default one language, all approved */
	readonly consent?: ConsentSettings;
	/** Its senders by UUID, the default one first. @default one */
	readonly senders?: readonly string[];
	/** Whether it keeps copies of files. @default false */
	readonly storesMedia?: boolean;
}

/** A partner CRM (§1) with keys and agencies of its own. */
export interface IntegrationControl {
	/** As `me.get` gives it. */
	readonly id: string;
	/** As `me.get` gives it. */
	readonly name: string;
	/** Its first API key. */
	readonly apiKey: string;
	/** Its keys. */
	readonly keys: KeysControl;
	/** Makes an agency and links it. @example const second = sandbox.link({ name: "Second" }); */
	link(options: LinkOptions): AgencyControl;
	/** `GET /me` is 404 and all else 403, until {@link restore}. @example sandbox.integration.hide(); */
	hide(): void;
	/** @example sandbox.integration.restore(); */
	restore(): void;
}

const scopesRule = listOf(oneOf(...scopes));
const keyRule = fields<{ scopes?: readonly Scope[] }>({ scopes: optional(scopesRule) });

function createKeysControl(world: World, integrationId: string): KeysControl {
	const find = (name: string): Key => {
		assertValid("keys: the key", name, aString);
		const id = name.split(".")[1] ?? name;
		const key = world.keys.get(id);
		if (!key) throw new Error(`The sandbox has no key ${id}.`);
		return key;
	};
	return {
		create(options = {}) {
			assertValid("keys.create", options, keyRule);
			const { scopes } = options;
			const key = addKey(world, integrationId, scopes && [...scopes]);
			return { id: key.id, apiKey: apiKeyOf(key) };
		},
		revoke(key) {
			find(key).state = "revoked";
		},
		expire(key) {
			find(key).state = "expired";
		},
		setScopes(key, scopes) {
			assertValid("keys.setScopes: scopes", scopes, scopesRule);
			find(key).scopes = [...scopes];
		},
		list: () =>
			[...world.keys.values()]
				.filter((key) => key.integrationId === integrationId)
				.map(({ id, scopes, state }) => ({ id, scopes: [...scopes], state })),
	};
}

const linkRule = fields<LinkOptions>({
	name: nameRule,
	// These two name their own fields.
	consent: () => undefined,
	senders: () => undefined,
	storesMedia: optional(trueOrFalse),
});

export function createIntegrationControl(world: World, id: string): IntegrationControl {
	const find = (): Integration => {
		const found = world.integrations.get(id);
		if (!found) throw new Error(`The sandbox has no integration ${id}.`);
		return found;
	};
	return {
		id,
		name: find().name,
		get apiKey() {
			const first = [...world.keys.values()].find((key) => key.integrationId === id);
			if (!first) throw new Error("The integration has no key.");
			return apiKeyOf(first);
		},
		keys: createKeysControl(world, id),
		link(options) {
			assertValid("link", options, linkRule);
			const { name, consent, senders, storesMedia = false } = options;
			// All is checked before there is an agency.
			const given = {
				...(consent === undefined ? {} : { consent: consentFrom(consentFlow(), consent) }),
				...(senders === undefined ? {} : { senders: sendersFrom(senders) }),
				storesMedia,
			};
			const agency = Object.assign(addAgency(world, id, name), given);
			return createAgencyControl(world, agency.id);
		},
		hide() {
			find().hidden = true;
		},
		restore() {
			find().hidden = false;
		},
	};
}

/** A new integration with a first key. */
export function foundIntegration(world: World, name: string): Integration {
	const integration = addIntegration(world, name);
	addKey(world, integration.id);
	return integration;
}
