// Every interleaving of some workers, depth first. A run is played from its beginning for each branch, because what a process
// has in its hands cannot be copied.
import { type Bounds, type Choice, type Code, World } from "./world.ts";

export interface Found {
	/** Different states that were visited. */
	states: number;
	/** Runs that were played to see them. */
	runs: number;
	/** What went wrong, and how it came to it. */
	wrong?: { what: string; trace: string } | undefined;
}

/**
 * Ends at the first thing that goes wrong.
 *
 * @param start what has happened already
 * @param isWhole whether each run is played on until all has ended, to see that nothing is lost
 */
export async function explore(
	bounds: Bounds,
	code: Code,
	{ isWhole = true, start = [] as readonly Choice[] } = {},
): Promise<Found> {
	const seen = new Set<string>();
	const open: { path: Choice[]; from?: string }[] = [{ path: [...start] }];
	const real = { date: Date.now, performance: performance.now.bind(performance), random: Math.random };
	let world: World | undefined;
	let runs = 0;
	// The digests of ids are made by other threads. Each is the same every time.
	const digests = new Map<string, Promise<ArrayBuffer>>();
	const { digest } = crypto.subtle;
	crypto.subtle.digest = (name, data) => {
		const text = Buffer.from(data as Uint8Array).toString("base64");
		const known = digests.get(text) ?? digest.call(crypto.subtle, name, data);
		digests.set(text, known);
		return known;
	};
	const { stackTraceLimit } = Error;
	Error.stackTraceLimit = 0;
	Math.random = () => 0.5;
	Date.now = () => world?.clocks.date() ?? real.date();
	performance.now = () => world?.clocks.performance() ?? real.performance();
	try {
		for (let next = open.pop(); next; next = open.pop()) {
			let { path } = next;
			runs++;
			world = new World({ ...bounds }, code);
			await world.begin();
			for (const [at, choice] of path.entries()) {
				if (at === path.length - 1 && next.from !== undefined && world.key() !== next.from)
					throw new Error(`A run was played differently: ${traceOf(path)}`);
				await world.do(choice);
			}
			for (;;) {
				const key = world.key();
				if (seen.has(key)) break;
				seen.add(key);
				const [first, ...others] = world.wrong.length > 0 ? [] : world.choices();
				for (const other of others) open.push({ path: [...path, other], from: key });
				if (!first) {
					if (world.wrong.length === 0 && isWhole) await world.complete();
					const [what] = world.wrong;
					if (what !== undefined) return { states: seen.size, runs, wrong: { what, trace: traceOf(path) } };
					break;
				}
				path = [...path, first];
				await world.do(first);
			}
			world.dispose();
		}
		return { states: seen.size, runs };
	} finally {
		world?.dispose();
		Error.stackTraceLimit = stackTraceLimit;
		Math.random = real.random;
		Date.now = real.date;
		crypto.subtle.digest = digest;
		delete (performance as { now?: unknown }).now;
	}
}

const traceOf = (path: readonly Choice[]): string =>
	path.map(([act, worker]) => (worker === undefined ? act : `${worker} ${act}`)).join(" > ");
