import { type Fault, faults, type Variant } from "./faults.ts";
import { hashOf, pick, randomFrom } from "./random.ts";
import type { Planned, Seen } from "./service.ts";

/** A connection that is not accepted. It fails before the server, so the caller's fetch plays it. */
const refused = "connect refused";

export interface Picker {
	/** True when the next attempt under this key is to be refused; counts it when it is. */
	refuses(key: string): boolean;
	plan(seen: Seen): Planned | undefined;
	/** From here on nothing fails. */
	stop(): void;
	/** How often each kind was played. */
	readonly played: ReadonlyMap<string, number>;
}

/** What a request is about, the same for each of its attempts. */
export function keyOf(path: string, fields: Readonly<Record<string, unknown>>): string {
	if (typeof fields.body === "string") return fields.body;
	if (Array.isArray(fields.phoneNumbers)) return fields.phoneNumbers.join();
	return path.slice(path.indexOf("/api/v1"));
}

const kinds = [...new Set(faults.map((fault) => fault.kind)), refused];

/** Fails `rate` of all attempts. The choice depends on seed, key and attempt alone, so a run can be repeated. */
export function createPicker({ seed, rate }: { seed: number; rate: number }): Picker {
	const attempts = new Map<string, number>();
	const played = new Map<string, number>();
	let stopped = false;

	function choose(key: string): { kind: string; fault?: Fault; variant: Variant } | undefined {
		const attempt = attempts.get(key) ?? 0;
		const random = randomFrom(seed ^ hashOf(`${attempt}:${key}`));
		if (stopped || random() >= rate) return undefined;
		const kind = pick(random, kinds);
		if (kind === refused) return { kind, variant: "unprocessed" };
		const fault = pick(
			random,
			faults.filter((each) => each.kind === kind),
		);
		return { kind, fault, variant: pick(random, fault.variants) };
	}

	function count(key: string, kind: string | undefined): void {
		attempts.set(key, (attempts.get(key) ?? 0) + 1);
		if (kind !== undefined) played.set(kind, (played.get(kind) ?? 0) + 1);
	}

	return {
		played,
		refuses(key) {
			const refusing = choose(key)?.kind === refused;
			if (refusing) count(key, refused);
			return refusing;
		},
		plan(seen) {
			const key = keyOf(seen.path, seen.fields);
			const choice = choose(key);
			count(key, choice?.kind);
			return choice?.fault === undefined ? undefined : { fault: choice.fault, variant: choice.variant };
		},
		stop() {
			stopped = true;
		},
	};
}
