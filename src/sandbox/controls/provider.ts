import { optional, orNull } from "../../shared/validation.ts";
import { aNumber, assertValid, fields, someText } from "../base/input.ts";
import { findMessage, messageSidOf, report } from "../world/message.ts";
import type { World } from "../world/world.ts";

/**
 * Reports of the messaging provider on a message that the agency sent. A report shows on the next read. Each of these
 * throws for a contact's own message, because nothing is reported of it.
 */
export interface MessageControl {
	/** `id` of the message, as it is read. */
	readonly id: number;
	/** `messageSid` of the message, as it is read. */
	readonly messageSid: string;
	/** Makes it `sent`: it is under way. @example sandbox.message(sent.messageId).sent(); */
	sent(): void;
	/** Fills `deliveredAt`. @example sandbox.message(sent.messageId).delivered(); */
	delivered(): void;
	/** Fills `readAt`, and `deliveredAt` when that was missing. @example sandbox.message(sent.messageId).read(); */
	read(): void;
	/**
	 * Makes it `failed`, so that it is not in the contact's inbox. `errorCode` is seen in `state()` alone, as no read shows it.
	 * @example sandbox.message(sent.messageId).failed({ errorCode: 63016 });
	 */
	failed(options?: { errorCode?: number | null | undefined }): void;
	/** Makes it `undelivered`, with the same effect as {@link failed}. @example sandbox.message(sent.messageId).undelivered(); */
	undelivered(options?: { errorCode?: number | null | undefined }): void;
	/** Any word, also one that no client knows. @example sandbox.message(sent.messageId).set("paused"); */
	set(status: string, options?: { errorCode?: number | null | undefined }): void;
}

type ReportOptions = { errorCode?: number | null | undefined };
const reportRule = fields<ReportOptions>({ errorCode: optional(orNull(aNumber)) });

export function createMessageControl(world: World, id: number | string): MessageControl {
	const find = () => {
		const found = findMessage(world, id);
		if (!found) throw new Error(`The sandbox has no message ${id}.`);
		return found;
	};
	const set = (status: string, options: ReportOptions = {}): void => {
		assertValid("message: status", status, someText);
		assertValid("message", options, reportRule);
		const { thread, message } = find();
		if (!message.outbound) throw new Error("A contact's message is `received`, and nothing is reported of it."); // R82
		report(world, thread, message, { status, errorCode: options.errorCode ?? null });
	};
	const number = find().message.id;
	return {
		id: number,
		messageSid: messageSidOf(number),
		sent: () => set("sent"),
		delivered: () => set("delivered"),
		read: () => set("read"),
		failed: (options) => set("failed", options),
		undelivered: (options) => set("undelivered", options),
		set,
	};
}
