import { isPartnerError, type PartnerError } from "messaging-conversations";
import { untilAborted } from "../shared/signals.ts";
import type { WatchAgenciesOptions } from "./agencies.ts";
import { encode, memoryFrom } from "./checkpoint.ts";
import { ofCaller } from "./input.ts";
import { forget, type Memory } from "./memory.ts";

/** Where the feed of one agency is, as the caller stores it, and the contacts that are to leave it. */
export interface Position {
	/** The checkpoint that was loaded or stored last. */
	readonly checkpoint: string | undefined;
	/** Contacts that leave the stored checkpoint with the next one. */
	readonly erased: ReadonlySet<string>;
	/** The memory of a poll that begins, without those contacts. */
	load: (stop: AbortSignal) => Promise<Memory>;
	/** Stores where a poll has ended. */
	store: (memory: Memory) => Promise<void>;
	/** Lets a contact leave the stored checkpoint. Resolves when it is stored. */
	erase: (phoneNumber: string) => Promise<void>;
	/** Stores the checkpoint without those contacts, between two polls. Nothing is stored if it is another process's. */
	storeErased: (isOurs: () => Promise<boolean>, stop: AbortSignal) => Promise<void>;
}

/** What the caller is asked for fails as a `PartnerConfigurationError` that names it. */
export async function ofCallers<Result>(
	field: string,
	agencyId: string,
	run: () => Result | PromiseLike<Result>,
): Promise<Result> {
	try {
		return await run();
	} catch (error) {
		throw ofCaller("watchAgencies", field, error, agencyId);
	}
}

export function createPosition<Tx>(
	{ load, save, lease, since }: Pick<WatchAgenciesOptions<Tx>, "load" | "save" | "lease"> & { since: string },
	agencyId: string,
): Position {
	let stored: string | undefined;
	/** Each contact with who waits for that. */
	const waiting = new Map<string, ((failure?: PartnerError) => void)[]>();

	async function loaded(stop: AbortSignal): Promise<Memory> {
		// Without `save` the body of the loop stores checkpoints, and what it has not stored is still true. With a lease another
		// process may have gone on.
		if (save || lease || stored === undefined)
			stored = (await ofCallers("load", agencyId, () => untilAborted(load(agencyId), stop))) ?? undefined;
		return memoryFrom("watchAgencies", "load", stored ?? since, agencyId);
	}

	async function store(memory: Memory): Promise<void> {
		const erased = [...waiting.keys()];
		for (const phoneNumber of erased) forget(memory, phoneNumber);
		const checkpoint = encode(memory);
		if (save && checkpoint !== stored) await ofCallers("save", agencyId, () => save(agencyId, checkpoint));
		stored = checkpoint;
		settle(erased);
	}

	function settle(erased: readonly string[], failure?: PartnerError): void {
		for (const phoneNumber of erased) {
			for (const end of waiting.get(phoneNumber) ?? []) end(failure);
			waiting.delete(phoneNumber);
		}
	}

	return {
		get checkpoint() {
			return stored;
		},
		get erased() {
			return new Set(waiting.keys());
		},
		async load(stop) {
			const memory = await loaded(stop);
			for (const phoneNumber of waiting.keys()) forget(memory, phoneNumber);
			return memory;
		},
		store,
		erase: (phoneNumber) =>
			new Promise((resolve, reject) => {
				const end = (failure?: PartnerError): void => (failure ? reject(failure) : resolve());
				waiting.set(phoneNumber, [...(waiting.get(phoneNumber) ?? []), end]);
			}),
		async storeErased(isOurs, stop) {
			const erased = [...waiting.keys()];
			let failure: PartnerError | undefined;
			try {
				const memory = (await isOurs()) ? await loaded(stop) : undefined;
				if (memory && stored !== undefined) await store(memory);
			} catch (error) {
				if (!isPartnerError(error)) throw error;
				failure = error;
			}
			settle(erased, failure);
		},
	};
}
