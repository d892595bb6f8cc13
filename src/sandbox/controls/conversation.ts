import { flag, oneOf, optional } from "../../shared/validation.ts";
import { aString, assertValid, fields, isRecord, wholeFrom } from "../base/input.ts";
import {
	about,
	agencyById,
	placeInLists,
	type Thread,
	type View,
	type VisibilityReason,
	viewOf,
	visibilityReasons,
	type World,
} from "../world/world.ts";
import { type ConversationState, stateOf } from "./state.ts";

/** How an agency sees one conversation. */
export interface ConversationControl {
	/**
	 * Returns its content at present. Reading it leaves no trace in requests, faults or counters.
	 * @example agency.conversation(anna).state().held?.body;
	 */
	state(): ConversationState;
	/** Makes a conversation without messages. @example agency.conversation(anna).open(); */
	open(): void;
	/**
	 * Why the agency sees it; shows it again after {@link hide}, and opens it. Whether other agencies see it too
	 * (`isShared`) does not follow from the reason: see {@link share}.
	 * @example agency.conversation(anna).visibleAs("tagged");
	 */
	visibleAs(reason: VisibilityReason): void;
	/** Marks it as one that other agencies may see; `share(false)` takes it back. @example agency.conversation(anna).share(); */
	share(on?: boolean): void;
	/**
	 * Another agency of the sandbox sees it too: the same messages, window, held text and AI. Throws when that agency has
	 * a conversation of its own with the contact, and when it is this agency.
	 * @example agency.conversation(anna).shareWith(sandbox.link({ name: "Second" }));
	 */
	shareWith(
		agency: string | { readonly id: string },
		options?: {
			/** Why the other agency sees it. @default "tagged" */
			reason?: VisibilityReason | undefined;
		},
	): void;
	/**
	 * The agency sees it no more: not in lists, null in lookups, 404 when read. A send still works.
	 * @example agency.conversation(anna).hide();
	 */
	hide(): void;
	/**
	 * Another party takes over: the next sends are answered 409, so many and no more.
	 * @example agency.conversation(anna).takeOver({ times: 1 });
	 */
	takeOver(options?: {
		/** How many sends. @default 1 */
		times?: number | undefined;
	}): void;
}

const takeOverRule = fields<{ times?: number }>({ times: optional(wholeFrom(0)) });
const reasonRule = oneOf(...visibilityReasons);
const sharingRule = fields<{ reason?: VisibilityReason }>({ reason: optional(reasonRule) });

/** `find` gives the thread and makes it when there is none; `peek` makes none. */
export function createConversationControl(
	world: World,
	agencyId: string,
	find: () => Thread,
	peek: () => Thread,
): ConversationControl {
	const alter = (act: (thread: Thread, view: View) => void): void => {
		const thread = find();
		const view = viewOf(thread, agencyId);
		if (!view) throw new Error("The agency does not see this conversation.");
		act(thread, view);
		if (thread.opened) placeInLists(world, thread);
		world.events.add({ type: "conversation.changed", ...about(thread) });
	};
	return {
		state: () => stateOf(world, agencyId, peek()),
		open: () => alter((thread) => (thread.opened = true)),
		visibleAs(reason) {
			assertValid("visibleAs: reason", reason, reasonRule);
			alter((thread, view) => {
				thread.opened = true;
				Object.assign(view, { reason, hidden: false });
			});
		},
		share(on = true) {
			assertValid("share: on", on, flag);
			alter((thread) => Object.assign(thread, { shared: on, opened: true }));
		},
		shareWith(given, options = {}) {
			assertValid("shareWith", options, sharingRule);
			const { reason = "tagged" } = options;
			const id: unknown = isRecord(given) ? given.id : given;
			assertValid("shareWith: agency", id, aString);
			const other = agencyById(world, String(id));
			if (other.id === agencyId)
				throw new Error("shareWith: agency must be another one. visibleAs changes its own view.");
			alter((thread) => {
				const known = viewOf(thread, other.id);
				const own = other.threads.get(thread.phone);
				if (!known && own?.opened) throw new Error("That agency has a conversation of its own with this contact.");
				thread.opened = true;
				if (known) Object.assign(known, { reason, hidden: false });
				else thread.views.push({ agencyId: other.id, reason, hidden: false });
				other.threads.set(thread.phone, thread);
			});
		},
		hide: () => alter((_, view) => (view.hidden = true)),
		takeOver(options = {}) {
			assertValid("takeOver", options, takeOverRule);
			const { times = 1 } = options;
			alter((thread) => (thread.conflicts = times));
		},
	};
}
