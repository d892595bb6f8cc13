/*
 * What the work on the queue of one recipient uses.
 */
import type { CheckedOptions } from "../options.ts";
import type { Contact, OptOutReader } from "../policy/contact.ts";
import type { Lease } from "../store.ts";
import type { OutboxText } from "../text.ts";
import type { Consents } from "./consents.ts";
import type { Gateway } from "./gateway.ts";
import type { Pauses } from "./pauses.ts";
import type { QuietClock } from "./quiet.ts";
import type { SettingsCache } from "./settings.ts";
import type { Summaries } from "./watch.ts";

/** The parts of the outbox that the work on a queue uses. */
export interface QueueContext {
	options: CheckedOptions;
	pauses: Pauses;
	gateway: Gateway;
	settings: SettingsCache;
	summaries: Summaries;
	consents: Consents;
	optOuts: OptOutReader;
	quiet: QuietClock;
	/** Called after each change of state that is stored. */
	onChange: (text: OutboxText) => Promise<void>;
	/** The right to work on the queue. */
	lease: Lease;
	contact: Contact;
	/** The ids of its texts that take the place of the one that the service holds. */
	heirs: ReadonlySet<string>;
	/** Until when the agency was paused when the step of the queue began, in milliseconds. */
	pausedUntil: number;
	/** The calls of one step use one key, so that asking for it does not come between the reading and the request. */
	keyScope?: object | undefined;
	/** How long a lease lasts, in milliseconds. */
	leaseMs: number;
}
