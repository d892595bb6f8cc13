import { acceptCode, consentTemplate, declineCode, readinessOf } from "../world/consent.ts";
import type { SendDecision, SendFacts } from "../world/decision.ts";
import { iso, isoOrNull } from "../world/instant.ts";
import { isWindowOpen, windowExpiresAt } from "../world/thread.ts";
import type { Agency, Fate, Thread, World } from "../world/world.ts";

/** Notes what a send meets. `thread` is undefined for a contact whom the agency does not know. */
export function factsOf(world: World, agency: Agency, thread: Thread | undefined, before: Fate | undefined): SendFacts {
	const { ai, held } = thread ?? nobody;
	const { openedBy, lastConsent } = learn(world, thread ?? nobody);
	return {
		window: {
			open: thread !== undefined && isWindowOpen(thread, world.now),
			expiresAt: thread ? isoOrNull(windowExpiresAt(thread)) : null,
			openedBy,
		},
		consent: { canBeAsked: readinessOf(agency).eligibleForManualSend, last: lastConsent },
		ai: { enabled: ai.enabled, disabledReason: ai.reason },
		held: held && { queueId: held.id, since: iso(held.updatedAt), became: "kept" },
		before: before === undefined || before.state === "taken" ? null : before.state,
	};
}

const nobody: Pick<Thread, "ai" | "held" | "messages" | "windowFrom"> = {
	ai: { enabled: true, reason: null, at: null },
	held: null,
	messages: [],
	windowFrom: null,
};

/** What the messages of a conversation say, until one of them. They are only added, so that each is looked at once. */
interface Known {
	readonly count: number;
	readonly windowFrom: number | null;
	readonly openedBy: SendDecision["window"]["openedBy"];
	readonly lastConsent: SendDecision["consent"]["last"];
}

const known = new WeakMap<Thread["messages"], Known>();

function learn({ policy }: World, { messages, windowFrom }: Pick<Thread, "messages" | "windowFrom">): Known {
	const before = known.get(messages);
	let { lastConsent } = before ?? { lastConsent: null };
	let openedBy = windowFrom === null ? null : before?.windowFrom === windowFrom ? before.openedBy : "message";
	for (const { at, outbound, extras } of messages.slice(before?.count ?? 0)) {
		const code = extras?.buttonClicked;
		const answer = answers.get(code);
		lastConsent = answer ?? (extras?.templateName === consentTemplate ? "asked" : lastConsent);
		const opens = !outbound && at === windowFrom && (answer !== "declined" || policy.declineOpensWindow);
		if (opens) openedBy = answer ?? (code === undefined ? "message" : "button");
	}
	const learnt = { count: messages.length, windowFrom, openedBy, lastConsent };
	known.set(messages, learnt);
	return learnt;
}

/** The answers to the consent template, by the code of the button. */
const answers: ReadonlyMap<string | undefined, "accepted" | "declined"> = new Map([
	[acceptCode, "accepted"],
	[declineCode, "declined"],
]);
