import "server-only";
import { type Client, createClient } from "messaging-conversations";

const shared = globalThis as { messaging?: Client };

/** One for the process: bundlers give each route a copy of this file. */
export const client = (shared.messaging ??= createClient({
	baseUrl: process.env.MESSAGING_BASE_URL,
	apiKey: process.env.MESSAGING_API_KEY,
}));

/** A function, because the build has no environment. */
export function openAgency() {
	const { MESSAGING_AGENCY_ID: id } = process.env;
	if (!id)
		throw new Error(
			"Set MESSAGING_AGENCY_ID to the agency whose contacts this site shows.",
		);
	return client.agency(id);
}
