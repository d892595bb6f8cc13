import { hourMs } from "./instant.ts";
import type { Agency, Fate, Held, Operation, World } from "./world.ts";

/*
 * The life of an operationId: a send takes it, its text is sent, held or lost, and that decides the answer to a retry.
 */

/** R139: an id belongs to integration and agency, not to a key, so that retries survive a rotated key. */
export const operationKey = (agency: Agency, operationId: string): string =>
	`${agency.integrationId} ${agency.id} ${operationId}`;

/** R140: never forgotten, unless the policy gives the hours. */
export function recallOperation(world: World, key: string): Operation | undefined {
	const operation = world.operations.get(key);
	const ttl = world.policy.operationIdTtlHours;
	if (!operation || ttl === null || world.now < operation.at + ttl * hourMs) return operation;
	world.operations.delete(key);
	world.history.operated(key);
	world.journal.forgotten(key);
	return undefined;
}

/** Takes the id for a send that is about to happen. */
export function takeOperation(world: World, key: string, payload: string): void {
	world.operations.set(key, { payload, at: world.now, fate: { state: "taken" } });
	world.history.operated(key);
}

/**
 * Notes what became of the text, if its send had an operationId. `queueId` is the entry in which it waited. An id that was
 * forgotten (R140) may belong to another send by now, and then nothing changes.
 */
export function settleOperation(world: World, key: string | null, fate: Fate, queueId: string | null = null): void {
	const operation = key === null ? undefined : world.operations.get(key);
	if (key === null || !operation) return;
	const { fate: before } = operation;
	if (before.state !== "taken" && (before.state !== "held" || before.queueId !== queueId)) return;
	world.operations.set(key, { ...operation, fate });
	world.history.operated(key);
}

/** Notes that a held text is never sent. */
export function loseOperation(world: World, { operation: key, id }: Held, state: "dropped" | "replaced"): void {
	const operation = key === null ? undefined : world.operations.get(key);
	if (operation?.fate.state === "held") settleOperation(world, key, { ...operation.fate, state }, id);
}

/** The effect of a retry with the same payload: the answer of the first send, or another send. */
export type Retry = { readonly answer: Exclude<Fate, { state: "taken" }> } | "send";

/** Whether the retry of an operation gets the answer of the first send, or runs like a first send. */
export function retryOf(world: World, { fate }: Operation, isOpen: boolean): Retry {
	const { retryAfterDelivery, retryAfterDrop, retryAfterReplace } = world.policy;
	switch (fate.state) {
		case "sent": // R131, R141, R142
			return fate.wasHeld && retryAfterDelivery === "resend" ? "send" : { answer: fate };
		case "held": // R133: the held text is replaced by the same text; an open window lets it out at once (rule 1).
			return isOpen ? "send" : { answer: fate };
		case "dropped": // R143, R185
			return retryAfterDrop === "resend" ? "send" : { answer: fate };
		case "replaced": // R186
			return retryAfterReplace === "resend" ? "send" : { answer: fate };
		case "taken":
			return "send";
	}
}
