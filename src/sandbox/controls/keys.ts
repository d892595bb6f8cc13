import { listOf, optional } from "../../validation.ts";
import { aString, assertValid, fields, oneOf } from "../base/input.ts";
import { addKey, apiKeyOf, type Key, type Scope, scopes, type World } from "../world/world.ts";

/** An API key as it is created; the service shows it once, the sandbox as often as you like. */
export interface CreatedKey {
	/** Names the key to the controls of keys; it is no secret. */
	readonly id: string;
	/** The whole key, as a client is given it. */
	readonly apiKey: string;
}

/** A key as it is at one moment. */
export interface KeyState {
	/** Names it to the other controls. */
	readonly id: string;
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

export function createKeysControl(world: World, integrationId: string): KeysControl {
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
				.map(({ id, scopes, state }) => ({ id, scopes: [...scopes], state })),
	};
}
