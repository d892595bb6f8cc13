import type { AgencyClient, Client, WindowReopenReadiness } from "messaging-conversations";
import type { Reading } from "../match.ts";
import { failureOf } from "./failure.ts";

/** Whether an agency can ask for consent, and in which languages. */
export type Settings = Pick<WindowReopenReadiness, "eligibleForManualSend" | "availableLanguages" | "defaultLanguage">;

/** The agencies' settings, as far as the outbox has read them. */
export interface SettingsCache {
	/** Of the reading, or else of the agency's newest conversation. Undefined if they cannot be read. */
	of: (agencyId: string, reading: Reading | null, call?: Call) => Promise<Settings | undefined>;
	/** Reads them anew. */
	fresh: (agencyId: string, to: string, signal?: AbortSignal) => Promise<Settings | undefined>;
}

interface Call {
	signal?: AbortSignal | undefined;
	keyScope?: object | undefined;
}

const keepMs = 60_000;

export function createSettingsCache(client: Client, now: () => number): SettingsCache {
	const known = new Map<string, { settings: Settings; readAt: number }>();
	function keep(agencyId: string, settings: Settings | undefined): Settings | undefined {
		if (settings) known.set(agencyId, { settings, readAt: now() });
		return settings;
	}
	const newestOf = new Map<string, Promise<Settings | undefined>>();
	/** The texts of an agency that need them at the same time share one read. */
	async function newest(agencyId: string, call: Call | undefined): Promise<Settings | undefined> {
		const running = newestOf.get(agencyId) ?? orUndefined(() => ofNewest(client.agency(agencyId), call));
		newestOf.set(agencyId, running);
		return keep(agencyId, await running.finally(() => newestOf.delete(agencyId)));
	}
	return {
		async of(agencyId, reading, call) {
			if (reading) return keep(agencyId, reading.conversation.windowReopenReadiness);
			const found = known.get(agencyId);
			return found && Math.abs(now() - found.readAt) < keepMs ? found.settings : newest(agencyId, call);
		},
		async fresh(agencyId, to, signal) {
			known.delete(agencyId);
			const agency = client.agency(agencyId);
			const own = await orUndefined(
				async () => (await agency.conversations.get(to, { signal })).conversation.windowReopenReadiness,
			);
			return keep(agencyId, own ?? (await orUndefined(() => ofNewest(agency, { signal }))));
		},
	};
}

async function ofNewest(agency: AgencyClient, call: Call = {}): Promise<Settings | undefined> {
	const { conversations } = await agency.conversations.list({ pageSize: 1, readAhead: false, ...call });
	const newest = conversations[0];
	if (!newest) return undefined;
	return (await agency.conversations.get(newest.phoneNumber, call)).conversation.windowReopenReadiness;
}

/** A read that fails leaves the settings unknown. The send that follows meets the same error, and reports it. */
async function orUndefined(read: () => Promise<Settings | undefined>): Promise<Settings | undefined> {
	try {
		return await read();
	} catch (error) {
		failureOf(error, "conversations.get");
		return undefined;
	}
}

/** Whether the agency can ask for consent in a language; null for its only one. */
export function canAsk({ eligibleForManualSend, availableLanguages }: Settings, language: string | null): boolean {
	const hasLanguage = language === null ? availableLanguages.length <= 1 : availableLanguages.includes(language);
	return eligibleForManualSend && hasLanguage;
}

export function isSameSettings(one: Settings | undefined, other: Settings | undefined): boolean {
	return one !== undefined && other !== undefined && fingerprint(one) === fingerprint(other);
}

function fingerprint({ eligibleForManualSend, availableLanguages, defaultLanguage }: Settings): string {
	return JSON.stringify([eligibleForManualSend, [...availableLanguages].sort(), defaultLanguage]);
}
