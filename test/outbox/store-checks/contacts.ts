// What is known of contacts goes from one store to another, under keys that both know then.
import type { OutboxStore, StoredContact } from "../port.ts";
import { equal } from "./assert.ts";
import { type Check, change, noon, otherAgency, otherNumber, recipient, textOf } from "./check.ts";

const keyId = "0123456789abcdef".repeat(2);
const key = "fedcba9876543210".repeat(4);
const hash = (at: number): string => `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`;

const stranger = (at: number, rest: Partial<StoredContact> = {}): StoredContact => ({
	...{ keyId, hash: hash(at), agencyId: "agy_1", facts: [], erasedAt: null },
	...rest,
});

const optedOut = { fact: "optedOut", clock: "own", at: noon, source: "optOut", by: "Ann" } as const;

async function allOf(store: OutboxStore): Promise<StoredContact[]> {
	const all: StoredContact[] = [];
	for (let page = await store.contacts(); page.length > 0; page = await store.contacts(page.at(-1))) all.push(...page);
	return all;
}

const sorted = ({ facts }: StoredContact) =>
	[...facts].sort((one, other) => (one.fact + one.clock < other.fact + other.clock ? -1 : 1));

export const contactChecks: Check[] = [
	{
		title: "contacts gives what was noted, with its source and who told it, until erase takes the name",
		async run(given) {
			const store = await given(textOf("a"));
			equal("contacts of a new store", await store.contacts(), []);
			await store.suspend({ agencyId: "agy_1", reason: "No contact", by: "Ann", since: noon });
			await store.note(recipient, { optedOut: { own: noon }, declined: { service: noon - 1 } }, "optOut", "Ann");
			await store.note(recipient, { optedOut: { own: noon - 1 } }, "observe", "Nobody");
			await store.note({ to: recipient.to }, { optedIn: { own: noon } }, "optIn", "Bob");
			await store.note(otherNumber, { optedIn: { own: noon } }, "optIn");
			const told = (to: string) => async () =>
				(await store.contactsOf([to])).map(({ contact }) => [contact.agencyId, sorted(contact).map(({ by }) => by)]);
			const names = async () => (await told(recipient.to)()).sort();
			equal("who told it", await names(), [
				["", ["Bob"]],
				["agy_1", [null, "Ann"]],
			]);
			equal("contacts", (await allOf(store)).length, 3);
			const [known] = (await store.contactsOf([recipient.to])).filter(({ contact }) => contact.agencyId === "agy_1");
			equal("contactsOf", known && sorted(known.contact)[1], optedOut);
			equal("contactsOf nobody", await store.contactsOf(["+447700900199"]), []);
			await change(store, "a", { state: "cancelled", nextAt: null });
			await store.erase(recipient, noon + 5);
			equal("who told it, after erase of an agency", await names(), [
				["", ["Bob"]],
				["agy_1", [null, null]],
			]);
			await store.erase({ to: recipient.to }, noon + 6);
			equal("who told it, after erase", await names(), [
				["", [null]],
				["agy_1", [null, null]],
			]);
			const erased = (await allOf(store)).map(({ agencyId, erasedAt }) => [agencyId, erasedAt]);
			equal("erasedAt", erased.filter(([, at]) => at !== null).sort(), [
				["", noon + 6],
				["agy_1", noon + 5],
			]);
		},
	},
	{
		title: "learn keeps the later time of each fact, and contacts gives any number of them once",
		async run(given) {
			const store = await given();
			await store.addKeys(new Map([[keyId, key]]));
			const many = Array.from({ length: 1_203 }, (_, at) => stranger(at, { facts: [optedOut] }));
			await store.learn(many);
			await store.learn([
				stranger(7, { facts: [{ ...optedOut, at: noon - 1, by: "Earlier" }], erasedAt: noon }),
				stranger(8, { facts: [{ ...optedOut, at: noon + 1, by: null, source: "observe" }], erasedAt: null }),
				stranger(8, { agencyId: "", facts: [{ ...optedOut, clock: "service" }] }),
			]);
			await store.learn([stranger(7, { erasedAt: noon - 1 })]);
			const all = await allOf(store);
			equal("contacts, each once", [all.length, new Set(all.map((each) => JSON.stringify(each))).size], [1_204, 1_204]);
			equal(
				"an earlier time",
				all.find((each) => each.hash === hash(7)),
				stranger(7, { facts: [optedOut], erasedAt: noon }),
			);
			equal(
				"a later time",
				all.find((each) => each.hash === hash(8) && each.agencyId !== ""),
				{
					...stranger(8),
					facts: [{ ...optedOut, at: noon + 1, by: null, source: "observe" }],
				},
			);
		},
	},
	{
		title: "addKeys keeps the keys that are there, and what is known under them",
		async run(given) {
			const store = await given(textOf("a"));
			const before = await store.keys();
			await store.note(recipient, { optedOut: { service: noon } }, "reading");
			await store.addKeys(new Map([[keyId, key]]));
			const [own = ""] = before.keys();
			await store.addKeys(
				new Map([
					[own, key],
					[keyId, "other"],
				]),
			);
			equal("keys", Object.fromEntries(await store.keys()), Object.fromEntries([...before, [keyId, key]]));
			equal("facts under the first key", await store.facts(recipient), { optedOut: { service: noon } });
		},
	},
	{
		title: "checkKeys rejects while something is known under a key that is missing",
		async run(given) {
			const store = await given();
			const isRefused = (): Promise<boolean> =>
				store.checkKeys("optIn").then(
					() => false,
					() => true,
				);
			await store.note(recipient, { optedOut: { service: noon } }, "reading");
			equal("checkKeys, every key known", await isRefused(), false);
			await store.learn([stranger(1, { facts: [optedOut] })]);
			equal("checkKeys, a key missing", await isRefused(), true);
			await store.addKeys(new Map([[keyId, key]]));
			equal("checkKeys, the key added", await isRefused(), false);
		},
	},
	{
		title: "numbers gives each number that a text has, once, and none that was erased",
		async run(given) {
			const to = (at: number) => `+4477008${String(at).padStart(5, "0")}`;
			const store = await given(textOf("a"), textOf("b"), textOf("x", otherAgency), textOf("y", otherNumber));
			await store.insertMany(
				Array.from({ length: 700 }, (_, at) => textOf(`t${at}`, { to: to(at) })),
				undefined,
			);
			await change(store, "y", { state: "cancelled", nextAt: null });
			const all = async () => {
				const found: string[] = [];
				for (let page = await store.numbers(""); page.length > 0; page = await store.numbers(page.at(-1) ?? ""))
					found.push(...page);
				return [found.length, new Set(found).size, found.includes(otherNumber.to)];
			};
			equal("numbers", await all(), [702, 702, true]);
			await store.erase({ to: otherNumber.to });
			equal("numbers after erase", await all(), [701, 701, false]);
		},
	},
	{
		title: "declared tells who ended a suspension, and who declared a restore",
		async run(given) {
			const store = await given(textOf("a"));
			equal("declared of a new store", await store.declared(0), { resumed: [], restored: null });
			await store.endSuspension("agy_1", noon, { at: noon, by: "Nobody" });
			for (const agencyId of ["", "agy_1"]) {
				await store.suspend({ agencyId, reason: "Price", by: null, since: noon });
				await store.endSuspension(agencyId, noon, { at: noon + 1, by: agencyId === "" ? null : "Ann" });
			}
			await store.restored({ from: noon, to: noon + 1 }, "restored", "Bob");
			const { resumed, restored } = await store.declared(noon);
			equal(
				"resumed",
				resumed.sort((one, other) => (one.agencyId < other.agencyId ? -1 : 1)),
				[
					{ agencyId: "", at: noon + 1, by: null },
					{ agencyId: "agy_1", at: noon + 1, by: "Ann" },
				],
			);
			equal("restored", restored, { from: noon, to: noon + 1, by: "Bob" });
			equal("resumed later", (await store.declared(noon + 1)).resumed, []);
		},
	},
];
