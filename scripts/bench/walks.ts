// Lists to their end, and a lookup of many numbers.
import { contendersAt, nodeFetch, ours } from "./contenders.ts";
import { interleaved, print, ratios, shown, timed } from "./rounds.ts";

const [baseUrl = "", rounds = "30"] = process.argv.slice(2);
const few = Math.max(3, Math.ceil(Number(rounds) / 6));
const contenders = contendersAt(baseUrl);
const overNode = nodeFetch();
const own = [
	{ name: "this package", client: ours(baseUrl) },
	{ name: "this package, nodeFetch", client: ours(baseUrl, overNode) },
];

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const walked = "agy_p2000";
const ownNames = new Set(own.map(({ name }) => name));

/** The loop that a caller writes by hand; `each` is what is done with a page. */
async function loop(list: (typeof contenders)[number]["list"], agencyId: string, each?: () => Promise<unknown>) {
	let cursor: string | undefined;
	let rows = 0;
	do {
		const page = await list(agencyId, cursor);
		for (const row of page.conversations) if (row.phoneNumber) rows++;
		await each?.();
		cursor = page.nextCursor ?? undefined;
	} while (cursor !== undefined);
	return rows;
}

async function walk(client: (typeof own)[number]["client"], agencyId: string, each?: () => Promise<unknown>) {
	let rows = 0;
	for await (const row of client.agency(agencyId).conversations.list({ pageSize: 50 })) {
		if (row.phoneNumber && ++rows % 50 === 0) await each?.();
	}
	return rows;
}

const through = await interleaved(
	[
		...contenders
			.filter(({ name }) => !ownNames.has(name))
			.map(({ name, list }) => ({ name, work: () => timed(() => loop(list, walked)) })),
		...own.map(({ name, client }) => ({ name, work: () => timed(() => walk(client, walked)) })),
	],
	few,
);
print(`walk of 2,000 pages, row by row: ratio to a loop over bare fetch, ${few} rounds`, {
	time: shown(ratios(through, "fetch")),
	CPU: shown(ratios(through, "fetch", "cpuMs")),
});

const slow = "agy_p40_d10";
const work = () => pause(10);
const bare = contenders[0]?.list ?? (() => Promise.reject(new Error("nobody")));
const working = await interleaved(
	[
		{ name: "fetch", work: () => timed(() => loop(bare, slow, work)) },
		...own.map(({ name, client }) => ({ name, work: () => timed(() => walk(client, slow, work)) })),
	],
	few,
);
print(`walk of 40 pages, server 10 ms and consumer 10 ms a page: ratio to the sequential loop, ${few} rounds`, {
	time: shown(ratios(working, "fetch")),
});

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
