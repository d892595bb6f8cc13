import { describe, expect, test } from "vitest";
import { memoryStore } from "./memory.ts";
import type { OutboxStore, OutboxText } from "./port.ts";
import { type StoreCheck, storeChecks } from "./store-checks/index.ts";

/** Which checks fail, by title, and why. */
async function failures(checks: readonly StoreCheck[]): Promise<Record<string, string>> {
	const failed: Record<string, string> = {};
	for (const { title, run } of checks)
		await run().catch((error: unknown) => {
			failed[title] = String(error);
		});
	return failed;
}

/** What a mistake in a store changes. The field `of` is the store without it. */
type Mistake = (of: OutboxStore) => Partial<OutboxStore>;

const without = (row: OutboxText | undefined, change: Partial<OutboxText>) => row && { ...row, ...change };

/** Keeps what was noted last, even if it is an earlier time. */
const noteNewest: Mistake = (of) => {
	let last = {};
	return {
		note: async (recipient, facts) => {
			last = { ...last, ...facts };
			await of.note(recipient, facts, "reading");
		},
		facts: async (recipient) => ({ ...(await of.facts(recipient)), ...(recipient.agencyId === "agy_1" ? last : {}) }),
	};
};

/** A mistake of each kind that a store can make, and the method that some error must name. */
const mistakes: [what: string, named: RegExp, mistake: Mistake][] = [
	["a method is missing", /"renew"/, () => ({ renew: undefined as never })],
	["migrate deletes the texts", /find\("a"\)/, () => ({ find: async () => undefined })],
	[
		"a field is lost",
		/at notAfter: expected \d+, got null/,
		(of) => ({ find: async (id) => without(await of.find(id), { notAfter: null }) }),
	],
	[
		"numbers come back as bigint, as some drivers return them",
		/at nextAt: expected \d+, got the bigint \d+/,
		(of) => ({
			find: async (id) => {
				const row = await of.find(id);
				return row && { ...row, nextAt: BigInt(row.nextAt ?? 0) as never };
			},
		}),
	],
	[
		"insert stores a text twice",
		/second insert/,
		(of) => ({
			insert: async (text, tx) => ({ ...(await of.insert(text, tx)), body: text.body }),
		}),
	],
	[
		"save ignores the version",
		/save of an older row: expected false, got true/,
		(of) => ({
			save: async (text, options) => of.save({ ...text, version: (await of.find(text.id))?.version ?? 0 }, options),
		}),
	],
	[
		"save ignores unlessStopped",
		/save unlessStopped/,
		(of) => ({ save: (text, { lease, leaseMs = 0 } = {}) => of.save(text, { lease, leaseMs }) }),
	],
	[
		"stop without an agency does nothing",
		/isStopped/,
		(of) => ({
			stop: async (recipient) => {
				if (recipient.agencyId !== undefined) await of.stop(recipient, "cancelAll");
			},
		}),
	],
	[
		"stop without a number does nothing",
		/isStopped of the agency/,
		(of) => ({
			stop: async (recipient, source) => {
				if (recipient.to !== undefined) await of.stop(recipient, source);
			},
		}),
	],
	[
		"unfinished without a number finds nothing",
		/unfinished of an agency/,
		(of) => ({ unfinished: async (recipient) => (recipient.to === undefined ? [] : of.unfinished(recipient)) }),
	],
	[
		"unfinished without a number finds the texts of all agencies",
		/unfinished of an agency/,
		(of) => ({
			unfinished: async (recipient) =>
				recipient.to === undefined ? of.unfinished({ to: "+447700900101" }) : of.unfinished(recipient),
		}),
	],
	[
		"stop covers later texts",
		/isStopped/,
		(of) => ({ open: async (...args) => (await of.open(...args)).map((row) => ({ ...row, isStopped: true })) }),
	],
	[
		"open returns the newest first",
		/open: expected/,
		(of) => ({ open: async (...args) => (await of.open(...args)).reverse() }),
	],
	[
		"open ignores its limit",
		/open with limit 2/,
		(of) => ({ open: (recipient, _, now) => of.open(recipient, 99, now) }),
	],
	[
		"open lists texts whose time has not come",
		/open: expected/,
		(of) => ({ open: (recipient, limit) => of.open(recipient, limit, Number.POSITIVE_INFINITY) }),
	],
	[
		"unfinished leaves out other agencies",
		/unfinished of a number/,
		(of) => ({ unfinished: (recipient) => of.unfinished({ agencyId: "agy_1", ...recipient }) }),
	],
	[
		"followed ignores the time",
		/followed before/,
		(of) => ({ followed: (recipient) => of.followed(recipient, Number.POSITIVE_INFINITY) }),
	],
	["wake does nothing", /after wake/, () => ({ wake: async () => {} })],
	["recover does nothing", /after recover/, () => ({ recover: async () => {} })],
	[
		"nextOf ignores its time",
		/nextOf a time after all texts/,
		(of) => ({ nextOf: (recipient) => of.nextOf(recipient, 0) }),
	],
	[
		"claim leases a queue twice",
		/a second claim/,
		(of) => ({
			claim: async (options) => {
				const leases = await of.claim(options);
				for (const lease of leases) await of.release(lease, { at: options.now, band: lease.band });
				return leases;
			},
		}),
	],
	[
		"claim ignores the priority",
		/the first queue/,
		(of) => ({
			insert: (text, tx) => of.insert(text, tx),
			claim: async (options) => {
				const all = await of.claim({ ...options, limit: 1_000, each: 1_000 });
				all.sort((one, other) => other.band - one.band);
				for (const lease of all.slice(options.limit)) await of.release(lease, { at: options.now, band: lease.band });
				return all.slice(0, options.limit);
			},
		}),
	],
	[
		"two claims take the turn of one agency",
		/the agencies of two claims/,
		(of) => ({ claim: (options) => of.claim(options.limit === 1 ? { ...options, probing: "agy_1" } : options) }),
	],
	["pause does nothing", /paused: expected/, () => ({ pause: async () => {} })],
	[
		"claim ignores the agencies to leave out",
		/without agency 1/,
		(of) => ({ claim: (options) => of.claim({ ...options, without: [] }) }),
	],
	[
		"claim mixes reads with the rest",
		/claim:/,
		(of) => ({ claim: (options) => of.claim({ ...options, probing: "" }) }),
	],
	[
		"release forgets what came into the queue",
		/claim after a new text/,
		(of) => ({ release: async (lease, next) => (next ? of.release(lease, next) : undefined) }),
	],
	["save ignores the lease", /save with the old lease/, (of) => ({ save: (text) => of.save(text) })],
	["facts finds nothing", /facts: after/, () => ({ facts: async () => ({}) })],
	["note keeps the earlier time", /facts: after an earlier time/, noteNewest],
	[
		"openWithFacts knows nothing",
		/facts of openWithFacts/,
		(of) => ({ openWithFacts: async (...given) => ({ texts: await of.open(...given), facts: {} }) }),
	],
	["rest releases what is due", /rest while a text is due/, () => ({ rest: async () => true })],
	["heal finds what is not missing", /heal of texts that are new/, () => ({ heal: async () => 1 })],
	["watched finds nothing", /watched: expected/, () => ({ watched: async () => [] })],
	["renew does nothing", /claim after both/, () => ({ renew: async () => {} })],
	["paused finds nothing", /paused: expected/, () => ({ paused: async () => [] })],
	["probe lets everybody in", /probe of another time/, () => ({ probe: async () => true })],
	["asleep finds nothing", /asleep: expected/, () => ({ asleep: async () => [] })],
	["awaken does nothing", /times after awaken/, () => ({ awaken: async () => {} })],
	["agencies finds nothing", /agencies: expected/, () => ({ agencies: async () => [] })],
	[
		"consent finds nothing",
		/consent: expected/,
		() => ({ consent: async () => ({ consent: null, revision: 0, isKnown: false }) }),
	],
	["keepConsent believes everybody", /one who knew less/, () => ({ keepConsent: async () => true })],
	["resume does nothing", /paused after resume/, () => ({ resume: async () => {} })],
	[
		"claimed ignores the agency",
		/claimed of another agency/,
		(of) => ({ claimed: ({ to }) => of.claimed({ to } as never) }),
	],
	["byMessage finds nothing", /byMessage\("SM1"\)/, () => ({ byMessage: async () => undefined })],
	[
		"unacknowledged ignores its limit",
		/unacknowledged\(1\)/,
		(of) => ({ unacknowledged: () => of.unacknowledged(99) }),
	],
	[
		"acknowledge ignores the revision",
		/after an older revision/,
		(of) => ({
			acknowledge: async (changes, tx) => {
				for (const { id } of changes) {
					const revision = (await of.find(id))?.unacknowledged;
					if (typeof revision === "number") await of.acknowledge([{ id, revision }], tx);
				}
			},
		}),
	],
	[
		"unacknowledged lists held texts unasked",
		/without held/,
		(of) => ({ unacknowledged: (limit) => of.unacknowledged(limit, { held: true }) }),
	],
	[
		"insertMany loses the order",
		/insertMany: expected/,
		(of) => ({ insertMany: async (texts, tx) => (await of.insertMany(texts, tx)).reverse() }),
	],
	[
		"restored marks nothing",
		/restored, at count: expected 2/,
		() => ({ restored: async () => ({ count: 0, isNew: true }) }),
	],
	["finishRestore never ends", /finishRestore: expected true/, () => ({ finishRestore: async () => false })],
	["restoration finds nothing", /restoration: expected/, () => ({ restoration: async () => undefined })],
	["erase does nothing", /an erased row, at to/, () => ({ erase: async () => {} })],
	["purge deletes nothing", /purge: expected 1, got 0/, () => ({ purge: async () => 0 })],
	["suspend does nothing", /suspended: expected/, () => ({ suspend: async () => {} })],
	["suspended finds nothing", /suspended: expected/, () => ({ suspended: async () => [] })],
	[
		"endSuspension leaves the queues as they are",
		/claim after endSuspension/,
		(of) => ({ endSuspension: (agencyId) => of.endSuspension(agencyId, Number.POSITIVE_INFINITY) }),
	],
	[
		"endSuspension ends all of them",
		/endSuspension of another agency/,
		(of) => ({
			endSuspension: async (_, now) => {
				const all = await of.suspended();
				for (const { agencyId } of all) await of.endSuspension(agencyId, now);
				return all.length > 0;
			},
		}),
	],
	[
		"claim ignores a suspension",
		/claim while an agency is suspended/,
		(of) => ({
			claim: async (options) => {
				const all = await of.suspended();
				for (const { agencyId } of all) await of.endSuspension(agencyId, 0);
				const leases = await of.claim(options);
				for (const each of all) await of.suspend(each);
				return leases;
			},
		}),
	],
	[
		"claim does not say that an agency is suspended",
		/claim of reads while it is suspended/,
		(of) => ({
			claim: async (options) => (await of.claim(options)).map((lease) => ({ ...lease, isSuspended: false })),
		}),
	],
	[
		"save ignores a suspension of everybody",
		/save with a lease while everybody is suspended/,
		(of) => ({
			save: async (text, options) => {
				const everybody = (await of.suspended()).find(({ agencyId }) => agencyId === "");
				if (everybody) await of.endSuspension("", 0);
				const isSaved = await of.save(text, options);
				if (everybody) await of.suspend(everybody);
				return isSaved;
			},
		}),
	],
	["beat does nothing", /the worker a/, () => ({ beat: async () => ({ restore: 0, isRestoring: false }) })],
	["leave does nothing", /workers after leave/, () => ({ leave: async () => {} })],
	["workers finds nothing", /the worker a/, () => ({ workers: async () => [] })],
	[
		"counts ignores its limit",
		/counts of at most 1/,
		(of) => ({ counts: (now) => of.counts(now, Number.POSITIVE_INFINITY) }),
	],
	["takeLease gives a lease to everybody", /takeLease of another owner/, () => ({ takeLease: async () => true })],
	["takeLease gives a lease to nobody", /takeLease: expected/, () => ({ takeLease: async () => false })],
	[
		"prolongLeases asks for no owner",
		/prolongLeases: expected/,
		() => ({ prolongLeases: async (_topic, _owner, names) => [...names] }),
	],
	["endLease does nothing", /after its owner has ended it/, () => ({ endLease: async () => {} })],
	["countLeases ignores the topic", /countLeases: expected/, () => ({ countLeases: async () => 5 })],
	["each call gives another id of the outbox", /outboxId/, () => ({ outboxId: async () => crypto.randomUUID() })],
	[
		"search ignores the state",
		/of a state/,
		(of) => ({ search: ({ state: _, ...filter }, limit) => of.search(filter, limit) }),
	],
	[
		"search begins with the newest",
		/those after them/,
		(of) => ({ search: ({ before: _, ...filter }, limit) => of.search(filter, limit) }),
	],
	["contacts finds nothing", /: contacts: expected 3/, () => ({ contacts: async () => [] })],
	[
		"contacts begins anew",
		/contacts/,
		(of) => {
			let pages = 0;
			return { contacts: async () => (pages++ < 5 ? of.contacts() : []) };
		},
	],
	["contactsOf finds nothing", /who told it/, () => ({ contactsOf: async () => [] })],
	["learn does nothing", /contacts, each once/, () => ({ learn: async () => {} })],
	[
		"learn takes an earlier time",
		/an earlier time/,
		(of) => ({
			learn: async (contacts) =>
				of.learn(
					contacts.map((each) => ({ ...each, facts: each.facts.map((fact) => ({ ...fact, at: fact.at + 9 })) })),
				),
		}),
	],
	["keys finds nothing", /: keys, at/, () => ({ keys: async () => new Map() })],
	["addKeys does nothing", /: keys, at/, () => ({ addKeys: async () => {} })],
	["checkKeys misses a key", /checkKeys, a key missing/, () => ({ checkKeys: async () => {} })],
	["numbers finds nothing", /numbers: expected/, () => ({ numbers: async () => [] })],
	[
		"nobody has declared anything",
		/resumed: expected/,
		() => ({ declared: async () => ({ resumed: [], restored: null }) }),
	],
	[
		"countDays ignores when a text is planned",
		/countDays, at/,
		(of) => ({ countDays: async (id, bounds) => (await of.countDays(id, bounds)).map((row) => ({ ...row, day: 0 })) }),
	],
	["nextAgency gives the same agency again", /nextAgency: expected/, () => ({ nextAgency: async () => "agy_1" })],
	["list ignores the agency", /list of an agency/, (of) => ({ list: (state, limit) => of.list(state, limit) })],
	[
		"erase keeps the journal",
		/the journal after erase/,
		(of) => ({
			erase: async (which) => {
				const a = await of.find("a");
				await of.erase(which);
				const erased = await of.find("a");
				if (erased && a) await of.save({ ...erased, progress: { ...erased.progress, journal: a.progress.journal } });
			},
		}),
	],
];

test("each method of a store appears in a mistake, so that each is known to be checked", () => {
	const tried = new Set([
		"migrate",
		"insert",
		"find",
		// Only in transactions, see below.
		"supersede",
		"cancelIn",
		"confirmLease",
		...mistakes.flatMap(([, , mistake]) => Object.keys(mistake(memoryStore()))),
	]);
	const { all: _, nextDue: __, dump: ___, snapshot: ____, forget: _____, "~outbox": ______, ...store } = memoryStore();
	expect([...tried].sort()).toEqual(Object.keys(store).sort());
});

test.each(mistakes)("the checks find that %s", async (_, named, mistake) => {
	const failed = await failures(
		storeChecks(() => {
			const store = memoryStore();
			return { ...store, ...mistake(store) };
		}),
	);
	expect(Object.values(failed).join("\n")).toMatch(named);
});

describe("with a function for transactions", () => {
	/** A store whose transactions put everything back if they fail. */
	function withTransactions(mistake: Mistake = () => ({})) {
		const memory = memoryStore();
		async function transaction(act: (tx: unknown) => Promise<void>): Promise<void> {
			const restore = memory.snapshot();
			await act({}).catch((error: unknown) => {
				restore();
				throw error;
			});
		}
		return { store: { ...memory, ...mistake(memory) }, transaction };
	}

	/** The checks of a store with a mistake. */
	async function failuresOf(mistake: Mistake): Promise<string> {
		let opened = withTransactions(mistake);
		const checks = storeChecks(
			() => {
				opened = withTransactions(mistake);
				return opened.store;
			},
			{ transaction: (act) => opened.transaction(act) },
		);
		return Object.values(await failures(checks)).join("\n");
	}

	test.each<[what: string, named: RegExp, mistake: Mistake]>([
		["confirmLease confirms every lease", /confirmLease of another owner/, () => ({ confirmLease: async () => true })],
		["cancelIn does nothing", /cancelIn: expected/, (of) => ({ cancelIn: (id) => of.find(id) })],
		[
			"cancelIn ends what may have been sent",
			/cancelIn: expected/,
			(of) => ({
				cancelIn: async (id, now, tx) => {
					const row = await of.cancelIn(id, now, tx);
					if (row?.state === "waiting") await of.save({ ...row, state: "cancelled" });
					return of.find(id);
				},
			}),
		],
		[
			"supersede leaves the earlier text",
			/supersede: expected/,
			(of) => ({
				supersede: async (text, { id }) => ({ text: await of.insert(text, undefined), old: await of.find(id) }),
			}),
		],
		[
			"supersede ignores that the earlier text is being sent",
			/its mark, at cancelRequested: expected/,
			(of) => ({
				supersede: async (text, old, tx) => {
					const isSending = (await of.find(old.id))?.state === "sending";
					return isSending
						? { text: await of.insert(text, tx), old: await of.find(old.id) }
						: of.supersede(text, old, tx);
				},
			}),
		],
		[
			"supersede cancels although the text is there",
			/supersede with an id that is there: expected/,
			(of) => ({
				supersede: async (text, old, tx) => {
					if (await of.find(text.id)) await of.cancelIn(old.id, 0, tx);
					return of.supersede(text, old, tx);
				},
			}),
		],
		[
			"supersede takes an id for enough",
			/supersede at another agency: expected/,
			(of) => ({
				supersede: async (text, { id }, tx) =>
					of.supersede(text, { id, agencyId: (await of.find(id))?.agencyId ?? "" }, tx),
			}),
		],
	])("the checks find that %s", async (_, named, mistake) => {
		expect(await failuresOf(mistake)).toMatch(named);
	});

	test("a store that takes part in the transaction passes", async () => {
		let opened = withTransactions();
		const checks = storeChecks(
			() => {
				opened = withTransactions();
				return opened.store;
			},
			{ transaction: (act) => opened.transaction(act) },
		);
		expect(await failures(checks)).toEqual({});
		expect(checks.length - storeChecks(memoryStore).length).toBe(7);
	});

	test("a store that ignores the transaction fails each check of transactions", async () => {
		const checks = storeChecks(memoryStore, { transaction: (act) => act({}) });
		const failed = Object.values(await failures(checks));
		expect(failed).toEqual([
			expect.stringContaining('the rows after a rollback: expected [], got ["a"]'),
			expect.stringContaining('the rows after a rollback of insertMany: expected [], got ["a","b"]'),
			expect.stringContaining("the row after a rollback of cancelIn"),
			expect.stringContaining("the rows after a rollback of supersede"),
			expect.stringContaining("the text to another number after a rollback"),
			expect.stringContaining('unacknowledged after a rollback: expected ["a"], got []'),
		]);
	});

	test("an error of the transaction itself is the check's error", async () => {
		const refused = Object.assign(new Error("no connection"), { code: "ECONNREFUSED" });
		const checks = storeChecks(memoryStore, { transaction: () => Promise.reject(refused) });
		expect(Object.values(await failures(checks))).toEqual(Array(7).fill("Error: no connection"));
	});

	test("a transaction that swallows the error is found", async () => {
		const checks = storeChecks(memoryStore, { transaction: (act) => act({}).catch(() => {}) });
		expect(Object.values(await failures(checks)).join()).toContain(
			'expected "rejected with the error", got "resolved"',
		);
	});
});

test("a failed check has both values for the test runner's diff", async () => {
	const found = [{ messageId: "SM9", wasHeld: true }];
	const [, ...checks] = storeChecks(() => ({ ...memoryStore(), claimed: async () => found }));
	const errors: unknown[] = [];
	for (const { run } of checks) await run().catch((error: unknown) => errors.push(error));
	expect(errors[0]).toMatchObject({
		message: 'claimed, at [0].messageId: expected "SM1", got "SM9"',
		actual: found,
		expected: [{ messageId: "SM1", wasHeld: true }],
	});
});

test("each title is used once", () => {
	const titles = storeChecks(memoryStore, { transaction: (act) => act({}) }).map(({ title }) => title);
	expect(new Set(titles).size).toBe(titles.length);
	expect(titles.length).toBeGreaterThan(25);
});
