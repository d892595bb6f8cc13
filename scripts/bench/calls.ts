// One call after another, and 64 in flight.
import { castOf } from "./cast.ts";
import { contenderNames } from "./contenders.ts";
import { type Block, print, ratios, shown, spread } from "./rounds.ts";

const [baseUrl = "", rounds = "30"] = process.argv.slice(2);

/** How a process lays out and compiles its code is chance, worth a tenth of its time: so each plays in several casts. */
const casts = 3;

const work = [
	{ call: "send", what: "send", count: 1000 },
	{ call: "list", what: "list of 50 rows", count: 600 },
] as const;
/** The blocks of all casts, by what was done. */
const taken = new Map<string, Map<string, Block[]>>();

function keep(what: string, blocks: ReadonlyMap<string, Block[]>): void {
	const all = taken.get(what) ?? new Map<string, Block[]>();
	for (const [name, more] of blocks) all.set(name, [...(all.get(name) ?? []), ...more]);
	taken.set(what, all);
}

for (let index = 0; index < casts; index++) {
	const cast = await castOf(contenderNames, baseUrl);
	console.error(`cast ${index + 1} of ${casts}`);
	for (const { call, count } of work) {
		// Until its code is compiled a caller is slower than it stays; starts.ts measures that.
		await cast.inTurn({ call, count: 6000, width: 1 }, 0);
		keep(`${call} alone`, await cast.inTurn({ call, count, width: 1 }, Math.ceil(Number(rounds) / casts)));
		const times = Math.ceil(Number(rounds) / (2 * casts));
		keep(`${call} crowded`, await cast.inTurn({ call, count, width: 64 }, times));
	}
	cast.leave();
}

for (const { call, what, count } of work) {
	const alone = taken.get(`${call} alone`) ?? new Map<string, Block[]>();
	const crowded = taken.get(`${call} crowded`) ?? new Map<string, Block[]>();
	const each = [...alone].map(([name, blocks]) => [name, spread(blocks.map(({ ms }) => (ms * 1000) / count))] as const);
	print(
		`${what}: ratio to bare fetch + json(), median (min–max) of ${rounds} interleaved rounds in ${casts} casts`,
		{
			"one call": new Map(each.map(([name, { median }]) => [name, `${median.toFixed(0)} µs`])),
			time: shown(ratios(alone, "fetch")),
			"against fetch + own timer": shown(ratios(alone, "fetch + own timer")),
			CPU: shown(ratios(alone, "fetch", "cpuMs")),
			"64 in flight: time": shown(ratios(crowded, "fetch")),
			"64 in flight: against fetch + own timer": shown(ratios(crowded, "fetch + own timer")),
		},
		{
			id: call,
			title: `One ${what}`,
			columns: {
				"time, bare fetch = 1": "time",
				"CPU time": "CPU",
				"64 at a time": "64 in flight: time",
			},
		},
	);
}
