import type { Schemas } from "../base/contract.ts";
import type { Agency, Key, World } from "../world/world.ts";
import { explainHidden } from "./explain.ts";
import { notFound, type Refusal } from "./refusal.ts";

/** `me.get`: the key's integration, its agencies sorted by name, its scopes. */
export function getMe(world: World, key: Key): Schemas["Me"] | Refusal {
	const integration = world.integrations.get(key.integrationId);
	if (!integration || integration.hidden)
		return notFound("The integration does not exist.", explainHidden(integration)); // R38
	const agencies = [...world.agencies.values()]
		.filter((agency) => agency.linked && agency.integrationId === integration.id) // R43
		.sort(byName)
		.map(({ id, name }) => ({ id, name }));
	// R44: in the order read, write.
	return {
		integration: { id: integration.id, name: integration.name },
		agencies,
		scopes: [...new Set(key.scopes)].sort(),
	};
}

/** R41: case does not count, null names last, ties by id. */
function byName(a: Agency, b: Agency): number {
	if (a.name === null || b.name === null)
		return Number(a.name === null) - Number(b.name === null) || compare(a.id, b.id);
	return compare(a.name.toLowerCase(), b.name.toLowerCase()) || compare(a.id, b.id);
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
