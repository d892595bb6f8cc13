import { type AgencyClient, type AttemptEvent, isPartnerError, type PartnerError } from "messaging-conversations";
import { type Change, watch } from "messaging-conversations/sync";

/** How long `tail` waits between two polls without news. */
export const longestPauseMs = 30_000;

export interface FollowOptions {
	readonly everyMs: number;
	readonly signal: AbortSignal;
	readonly onChange: (change: Change) => void;
	/** Gets each kind of failure once, until the service answers again. */
	readonly onProblem: (text: string) => void;
}

/** The feed of an agency. */
export interface Follower {
	/** Ends with the signal, or with the message of an error that does not pass. */
	readonly run: (agency: AgencyClient) => Promise<string | undefined>;
	/** Gets each attempt of the agency's client. */
	readonly attempted: (event: AttemptEvent) => void;
}

/** Follows an agency from now on. */
export function createFollower({ everyMs, signal, onChange, onProblem }: FollowOptions): Follower {
	const problems = new Set<string>();
	const listing = "conversations.list";
	const note = (error: PartnerError): void => {
		const { _tag, operation, message } = error;
		// The key was read once, so that it does not become right by waiting. To throw it ends the feed.
		if (_tag === "PartnerUnauthorized") throw error;
		const problem = `${operation} ${_tag}`;
		if (problems.has(problem)) return;
		problems.add(problem);
		onProblem(`${message} (tries again)`);
	};
	return {
		async run(client) {
			const pauses = { minMs: everyMs, maxMs: Math.max(longestPauseMs, everyMs) };
			try {
				for await (const change of watch(client, { since: "now", statuses: "read", ...pauses, signal, onError: note }))
					onChange(change);
				return undefined;
			} catch (error) {
				if (!isPartnerError(error)) throw error;
				onProblem(`${error.message} (ended)`);
				return error.message;
			}
		},
		// One unreadable conversation does not mean an outage, and reading another one does not end it.
		attempted({ operation, errorTag }) {
			if (operation !== listing || errorTag !== undefined) return;
			if (![...problems].some((problem) => problem.startsWith(listing))) return;
			problems.clear();
			onProblem("the service answers again");
		},
	};
}
