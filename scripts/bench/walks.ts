// Lists to their end, and a lookup of many numbers.
import { castOf } from "./cast.ts";
import { contenderNames, nodeHttp, ours } from "./contenders.ts";
import { interleaved, print, ratios, shown, timed } from "./rounds.ts";

const [baseUrl = "", rounds = "30"] = process.argv.slice(2);
const few = Math.max(3, Math.ceil(Number(rounds) / 6));

const everybody = await castOf(contenderNames, baseUrl);
const through = await everybody.inTurn({ walk: "agy_p2000", pauseMs: 0 }, few);
everybody.leave();
print(`iteration of 2,000 pages, row by row: ratio to a loop over bare fetch, ${few} rounds`, {
	time: shown(ratios(through, "fetch")),
	CPU: shown(ratios(through, "fetch", "cpuMs")),
});

const readers = await castOf(["fetch", "this package", "this package, nodeHttp"], baseUrl);
const working = await readers.inTurn({ walk: "agy_p40_d10", pauseMs: 10 }, few);
readers.leave();
print(`iteration of 40 pages, server 10 ms and consumer 10 ms a page: ratio to the sequential loop, ${few} rounds`, {
	time: shown(ratios(working, "fetch")),
});

const own = [
	{ name: "this package", client: ours(baseUrl) },
	{ name: "this package, nodeHttp", client: ours(baseUrl, nodeHttp()) },
];
const numbers = Array.from({ length: 10_000 }, (_, index) => `+3247${String(index).padStart(7, "0")}`);
const asWritten = numbers.map((number) => `0${number.slice(3, 6)} ${number.slice(6, 8)} ${number.slice(8)}`);
/** The 100 requests alone, their bodies ready. */
async function requests(agencyId: string): Promise<void> {
	const bodies = Array.from({ length: 100 }, (_, index) =>
		JSON.stringify({ phoneNumbers: numbers.slice(index * 100, (index + 1) * 100) }),
	).values();
	const worker = async () => {
		for (const body of bodies) {
			const url = `${baseUrl}/agencies/${agencyId}/conversations/lookup`;
			await (await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })).json();
		}
	};
	await Promise.all(Array.from({ length: 4 }, worker));
}
for (const [agencyId, what] of [
	["agy_p1", "at once"],
	["agy_p1_d20", "after 20 ms"],
] as const) {
	const looked = await interleaved(
		[
			{ name: "fetch", work: () => timed(() => requests(agencyId)) },
			...own.map(({ name, client }) => ({
				name: `${name}, E.164`,
				work: () => timed(async () => client.agency(agencyId).conversations.lookup(numbers)),
			})),
			...own.map(({ name, client }) => ({
				name: `${name}, as people write them`,
				work: () => timed(async () => client.agency(agencyId).conversations.lookup(asWritten)),
			})),
		],
		few,
	);
	print(`lookup of 10,000 numbers, 4 requests at a time, answered ${what}: ratio to the 100 requests by bare fetch`, {
		time: shown(ratios(looked, "fetch")),
	});
}
process.exit();
