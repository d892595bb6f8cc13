/* A loop over all agencies that is left in the middle, and what its body does meanwhile: save, erase, pollNow. */
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { type AgencyChange, type WatchAgenciesOptions, watchAgencies } from "messaging-conversations/sync";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

const second = 1_000;
const [anna, bert] = ["+447700900101", "+447700900102"];

beforeEach(() => {
	vi.useFakeTimers({ now: new Date("2026-01-05T09:00:00Z") });
});
afterEach(() => {
	vi.useRealTimers();
});

function open(agencies: number, options: Partial<WatchAgenciesOptions> = {}) {
	const sandbox = createSandbox();
	for (let index = 1; index < agencies; index++) sandbox.link({ name: `Agency ${index}` });
	const client = createClient({ ...sandbox.connection, retry: false });
	const stored = new Map<string, string>();
	const stop = new AbortController();
	const feed = watchAgencies(client, {
		load: async (agencyId) => stored.get(agencyId),
		save: async (agencyId, checkpoint) => void stored.set(agencyId, checkpoint),
		requestsPerSecond: 1_000,
		signal: stop.signal,
		...options,
	});
	const rows: string[] = [];
	/** Stores each change as the guide does, and then calls `body`. */
	const start = async (body: (change: AgencyChange, count: number) => unknown): Promise<string> => {
		let count = 0;
		try {
			for await (const change of feed) {
				rows.push(...change.messages.map(({ body }) => `${body}`));
				if ((await body(change, ++count)) === "break") break;
			}
		} catch (error) {
			return String(error);
		}
		return "ended";
	};
	const pass = async (ms: number) => {
		for (let passed = 0; passed < ms; passed += second) {
			sandbox.clock.advance({ ms: second });
			await vi.advanceTimersByTimeAsync(second);
		}
	};
	return { sandbox, client, stored, stop, feed, rows, start, pass };
}

const ways = ["break", "throw", "signal"] as const;

describe.each(ways)("a loop that is left by %s", (way) => {
	test.each([1, 2, 3, 4, 5, 6, 7, 8, 9])("at change %i of three agencies ends, and leaves nothing", async (at) => {
		for (const isSlow of [true, false]) {
			const { sandbox, stop, start, pass } = open(3);
			for (const agency of sandbox.agencies())
				for (const name of ["A", "B", "C"]) agency.contact(`+44770090010${"ABC".indexOf(name)}`).writes(name);
			const run = start(async ({ save }, count) => {
				if (count === at && way === "throw") throw new Error("left");
				if (count === at && way === "signal") stop.abort();
				if (count === at && way === "break") return "break";
				if (isSlow) await new Promise((resolve) => setTimeout(resolve, 3));
				await save();
				return undefined;
			});
			await pass(10 * second);
			expect(await Promise.race([run, "hangs"])).toBe(way === "throw" ? "Error: left" : "ended");
			expect(vi.getTimerCount()).toBe(0);
		}
	});

	test("after save was called for the change does not deliver it again", async () => {
		const { sandbox, client, stored, stop, rows, start, pass } = open(1);
		for (const [phone, text] of [
			[anna, "1"],
			[bert, "2"],
		] as const)
			sandbox.agency().contact(phone).writes(text);
		const run = start(async ({ save }) => {
			await save();
			if (way === "throw") throw new Error("after the commit");
			if (way === "signal") stop.abort();
			return "break";
		});
		await pass(5 * second);
		await run;
		const again = watchAgencies(client, { load: (agencyId) => stored.get(agencyId), save: () => {} });
		const second_ = (async () => {
			for await (const { messages } of again) {
				rows.push(...messages.map(({ body }) => `${body}`));
				break;
			}
		})();
		await pass(5 * second);
		await second_;
		expect(rows.sort()).toEqual(["1", "2"]);
	});
});

describe("erase", () => {
	/** A `save` that takes a while, during which the poll has ended and is not stored. */
	function openSlow() {
		let storing: (() => void) | undefined;
		const stored = new Map<string, string>();
		const world = open(1, {
			load: (agencyId) => stored.get(agencyId),
			async save(agencyId, checkpoint) {
				storing?.();
				await new Promise((resolve) => setTimeout(resolve, 500));
				stored.set(agencyId, checkpoint);
			},
		});
		const whileStoring = (act: () => unknown): void => {
			storing = () => {
				storing = undefined;
				act();
			};
		};
		return { ...world, stored, whileStoring };
	}

	test.each(["goes on", "is stopped"])(
		"while the end of a poll is stored removes the number, if the loop %s",
		async (then) => {
			const { sandbox, stored, stop, feed, start, pass, whileStoring } = openSlow();
			sandbox.agency().contact(anna).writes("1");
			let forgotten: Promise<void> | undefined;
			whileStoring(() => {
				forgotten = feed.erase(anna);
				if (then === "is stopped") stop.abort();
			});
			const run = start(() => {});
			await pass(5 * second);
			await forgotten;
			expect(stored.size).toBe(1);
			expect(JSON.stringify([...stored])).not.toContain(anna);
			stop.abort();
			await pass(second);
			await run;
		},
	);

	test("that is called twice at once resolves twice", async () => {
		const { sandbox, stop, feed, start, pass, stored } = open(1);
		sandbox.agency().contact(anna).writes("1");
		const run = start(() => {});
		await pass(5 * second);
		let resolved = 0;
		for (let call = 0; call < 3; call++) feed.erase(anna).then(() => resolved++);
		await pass(second);
		expect(resolved).toBe(3);
		expect(JSON.stringify([...stored])).not.toContain(anna);
		stop.abort();
		await pass(second);
		await run;
	});
});

test("a process that gets a lease back continues where the other one was, also without save", async () => {
	const stored = new Map<string, string>();
	let owner = "A";
	const rows: string[] = [];
	const { sandbox, client, pass } = open(1);
	const stop = new AbortController();
	const run = async (name: string) => {
		const feed = watchAgencies(client, {
			load: (agencyId) => stored.get(agencyId),
			lease: async () => owner === name,
			minMs: second,
			maxMs: 4 * second,
			onPoll: ({ agencyId, checkpoint }) => void (checkpoint && stored.set(agencyId, checkpoint)),
			signal: stop.signal,
		});
		for await (const { messages } of feed) rows.push(...messages.map(({ body }) => `${name} ${body}`));
	};
	const runs = [run("A"), run("B")];
	for (const [index, name] of ["A", "B", "A", "B"].entries()) {
		owner = name;
		await pass(10 * second);
		sandbox.agency().contact(anna).writes(`${index}`);
		await pass(20 * second);
	}
	expect(rows).toEqual(["A 0", "B 1", "A 2", "B 3"]);
	stop.abort();
	await pass(second);
	await Promise.all(runs);
});

test("pollNow in the body polls at once when the poll has ended", async () => {
	const { sandbox, client, feed, stop, rows, start, pass } = open(1);
	const agency = client.agency(sandbox.agency().id);
	const run = start(async ({ agencyId, messages }) => {
		if (messages[0]?.direction !== "inbound") return;
		await agency.messages.send({ to: anna, body: "Answer" });
		feed.pollNow(agencyId);
	});
	await pass(5 * second);
	sandbox.agency().contact(anna).writes("Question");
	await pass(100 * second);
	rows.length = 0;
	sandbox.agency().contact(anna).writes("Another one");
	feed.pollNow(sandbox.agency().id);
	await pass(2 * second);
	expect(rows).toEqual(["Another one", "Answer"]);
	stop.abort();
	await pass(second);
	await run;
});
