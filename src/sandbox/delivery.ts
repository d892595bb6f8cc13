import { findMessage, sidOf } from "./sid.ts";
import type { StoredMessage, World } from "./state.ts";
import { aNumber, aString, assertValid, fields, optional, orNull } from "./strict.ts";
import { change } from "./world.ts";

/**
 * What the messaging provider reports of a message that the agency sent; it shows on the next read (§6). Of a contact's
 * own message there is nothing to report: each of these throws.
 */
export interface MessageControl {
	/** `id` of the message, as it is read. */
	readonly id: number;
	/** `messageSid` of the message, as it is read. */
	readonly messageSid: string;
	/** @example sandbox.message(sent.messageId).sent(); */
	sent(): void;
	/** Fills `deliveredAt`. @example sandbox.message(sent.messageId).delivered(); */
	delivered(): void;
	/** Fills `readAt`, and `deliveredAt` when that was missing. @example sandbox.message(sent.messageId).read(); */
	read(): void;
	/** @example sandbox.message(sent.messageId).failed({ errorCode: 63016 }); */
	failed(options?: { errorCode?: number | null }): void;
	/** @example sandbox.message(sent.messageId).undelivered(); */
	undelivered(options?: { errorCode?: number | null }): void;
	/** Any word, also one that no client knows (R161). @example sandbox.message(sent.messageId).set("paused"); */
	set(status: string, options?: { errorCode?: number | null }): void;
}

type Report = { errorCode?: number | null };
const reportRule = fields<Report>({ errorCode: optional(orNull(aNumber)) });

export function createMessageControl(world: World, id: number | string): MessageControl {
	const find = () => {
		const found = findMessage(world, id);
		if (!found) throw new Error(`The sandbox has no message ${id}.`);
		return found;
	};
	const report = (status: string, times: Partial<StoredMessage> = {}, options: Report = {}): void => {
		assertValid("message: status", status, aString);
		assertValid("message", options, reportRule);
		const { errorCode = null } = options;
		const { thread, message } = find();
		if (!message.outbound) throw new Error("A contact's message is `received`, and nothing is reported of it."); // R82
		const before = countsAsFailed(message);
		Object.assign(message, times, { status, errorCode });
		world.messages.delete(message);
		change(world, thread, () => {
			thread.failed += Number(countsAsFailed(message)) - Number(before);
		});
	};
	const number = find().message.id;
	return {
		id: number,
		messageSid: sidOf(number),
		sent: () => report("sent"),
		// R172: the first report of each stands.
		delivered: () => report("delivered", { deliveredAt: find().message.deliveredAt ?? world.clock.now() }),
		read() {
			const { deliveredAt, readAt } = find().message;
			const now = world.clock.now();
			report("read", { readAt: readAt ?? now, deliveredAt: deliveredAt ?? now });
		},
		failed: (options) => report("failed", {}, options),
		undelivered: (options) => report("undelivered", {}, options),
		set: (status, options) => report(status, {}, options),
	};
}

/** R158 */
function countsAsFailed({ outbound, status, errorCode }: StoredMessage): boolean {
	return outbound && (status === "failed" || status === "undelivered" || errorCode !== null);
}
