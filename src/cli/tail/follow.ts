import {
	type Agency,
	type AgencyClient,
	type AttemptEvent,
	isPartnerError,
	type PartnerError,
} from "messaging-conversations";
import { type Change, watch } from "messaging-conversations/sync";

export interface FollowOptions {
	readonly everyMs: number;
	readonly signal: AbortSignal;
	readonly onChange: (change: Change, agency: Agency) => void;
	/** Gets what goes wrong once, until it is well again. */
	readonly onTrouble: (text: string, agency: Agency) => void;
}

/** The feed of an agency. `attempted` is to be told of each request. */
export interface Follower {
	/** Ends with the signal; false when the feed ended by an error that does not pass. */
	readonly run: (agency: AgencyClient) => Promise<boolean>;
	readonly attempted: (event: AttemptEvent) => void;
}

/** Follows an agency from now on. */
export function createFollower(agency: Agency, { everyMs, signal, onChange, onTrouble }: FollowOptions): Follower {
	let trouble: string | undefined;
	const note = (error: PartnerError): void => {
		const { _tag, message } = error;
		if (trouble === _tag) return;
		trouble = _tag;
		onTrouble(`${message} (tries again)`, agency);
	};
	return {
		async run(client) {
			try {
				const maxMs = Math.max(30_000, everyMs);
				for await (const change of watch(client, {
					since: "now",
					statuses: "read",
					minMs: everyMs,
					maxMs,
					signal,
					onError: note,
				}))
					onChange(change, agency);
				return true;
			} catch (error) {
				if (!isPartnerError(error)) throw error;
				onTrouble(`${error.message} (ended)`, agency);
				return false;
			}
		},
		attempted({ agencyId, errorTag }) {
			if (trouble === undefined || agencyId !== agency.id || errorTag !== undefined) return;
			trouble = undefined;
			onTrouble("the service answers again", agency);
		},
	};
}
