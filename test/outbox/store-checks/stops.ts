// A stop ends what was enqueued before it, and nothing that is enqueued later.
import type { ContactFacts, OutboxStore, Recipient } from "../port.ts";
import { equal, like } from "./assert.ts";
import { type Check, change, idsOf, noon, otherAgency, otherNumber, recipient, rowOf, textOf } from "./check.ts";

/** Whether each text of a recipient was stopped, by id. */
async function stopsOf(store: OutboxStore, { agencyId, to }: Recipient): Promise<Record<string, boolean>> {
	const open = await store.open({ agencyId, to }, 10, noon);
	return Object.fromEntries(open.map(({ id, isStopped }) => [id, isStopped]));
}

/** Without the facts that are undefined, in one order. */
const known = (facts: ContactFacts): object => {
	const defined = (all: object) => Object.entries(all).filter(([, value]) => value !== undefined);
	const times = defined(facts).map(([fact, at]) => [fact, Object.fromEntries(defined(at).sort())]);
	return Object.fromEntries(times.sort());
};

/** What `save` says to the change that begins a request. */
async function begin(store: OutboxStore, id: string): Promise<boolean> {
	return store.save({ ...(await rowOf(store, id)), state: "sending" }, { unlessStopped: true });
}

export const stopChecks: Check[] = [
	{
		title: "stop covers the recipient's existing texts, and none that is inserted later",
		async run(given) {
			const store = await given(textOf("a"), textOf("b"), textOf("x", otherAgency));
			const before = await rowOf(store, "a");
			await store.stop(recipient, "cancelAll");
			await store.insert(textOf("c"), undefined);
			equal("isStopped of open", await stopsOf(store, recipient), { a: true, b: true, c: false });
			equal("isStopped of open at another agency", await stopsOf(store, otherAgency), { x: false });
			equal("save unlessStopped of a stopped text", await begin(store, "a"), false);
			equal("the row after it", await store.find("a"), before);
			equal("save unlessStopped of a later text", await begin(store, "c"), true);
			equal("save unlessStopped of another agency's text", await begin(store, "x"), true);
			await change(store, "a", { state: "cancelled", nextAt: null });
			await store.stop(recipient, "cancelAll");
			like("isStopped after a second stop", await stopsOf(store, recipient), { b: true, c: true });
		},
	},
	{
		title: "openWithFacts gives what open and facts give, also without texts or facts",
		async run(given) {
			const store = await given(textOf("a"), textOf("b"), textOf("later", { notBefore: noon + 1 }));
			const ask = async (who: Recipient) => {
				const { texts, facts } = await store.openWithFacts(who, 10, noon);
				equal("texts of openWithFacts", texts, await store.open(who, 10, noon));
				return { ids: texts.map(({ id }) => id), facts: known(facts) };
			};
			equal("openWithFacts of an unknown contact", await ask(recipient), { ids: ["a", "b"], facts: {} });
			await store.note(recipient, { optedOut: { service: noon, own: noon - 5 } }, "reading");
			await store.note({ to: recipient.to }, { optedOut: { service: noon + 5 } }, "reading");
			await store.note(otherAgency, { declined: { own: noon } }, "reading");
			await store.stop(recipient, "cancelAll");
			const optedOut = { own: noon - 5, service: noon + 5 };
			equal("facts of openWithFacts", (await ask(recipient)).facts, { optedOut });
			equal("facts of openWithFacts without texts", await ask(otherAgency), {
				ids: [],
				facts: { declined: { own: noon }, optedOut: { service: noon + 5 } },
			});
			equal("openWithFacts of nobody", await ask(otherNumber), { ids: [], facts: {} });
			await change(store, "b", { state: "held", nextAt: noon + 50 });
			equal("openWithFacts of a held text", (await ask(recipient)).ids, ["b", "a"]);
		},
	},
	{
		title:
			"facts of a contact stay with their latest time by each clock, for one agency or for all of them, also after erase",
		async run(given) {
			const store = await given(textOf("a"));
			equal("facts of an unknown contact", known(await store.facts(recipient)), {});
			await store.note(recipient, { optedOut: { service: noon } }, "reading");
			await store.note(
				recipient,
				{ optedOut: { service: noon - 1 }, optedIn: { service: noon + 1, own: noon - 9 } },
				"reading",
			);
			const expected = { optedIn: { own: noon - 9, service: noon + 1 }, optedOut: { service: noon } };
			equal("facts: after an earlier time", known(await store.facts(recipient)), expected);
			equal("facts of another agency", known(await store.facts(otherAgency)), {});
			await store.note({ to: recipient.to }, { optedOut: { own: noon - 2 } }, "reading");
			const both = { ...expected, optedOut: { own: noon - 2, service: noon } };
			equal("facts: by the other clock, of all agencies", known(await store.facts(recipient)), both);
			await store.note({ to: recipient.to }, { optedOut: { service: noon + 2 } }, "reading");
			const latest = { own: noon - 2, service: noon + 2 };
			equal("facts: of all agencies", known(await store.facts(recipient)), { ...expected, optedOut: latest });
			equal("facts: of all agencies, at another one", known(await store.facts(otherAgency)), { optedOut: latest });
			equal("facts of another number", known(await store.facts(otherNumber)), {});
			await store.note(otherAgency, { wrongNumber: { service: noon }, refused: { service: noon - 3 } }, "reading");
			const more = { optedOut: latest, refused: { service: noon - 3 }, wrongNumber: { service: noon } };
			equal("facts: what they wrote", known(await store.facts(otherAgency)), more);
			await change(store, "a", { state: "cancelled", nextAt: null });
			await store.erase({ to: recipient.to });
			equal("facts: after erase", known(await store.facts(otherAgency)), more);
		},
	},
	{
		title: "stop without an agency covers the number in all agencies",
		async run(given) {
			const store = await given(textOf("a"), textOf("x", otherAgency), textOf("z", otherNumber));
			await store.stop({ to: recipient.to }, "cancelAll");
			await store.insert(textOf("y", otherAgency), undefined);
			equal("isStopped at one agency", await stopsOf(store, recipient), { a: true });
			equal("isStopped at the other agency", await stopsOf(store, otherAgency), { x: true, y: false });
			equal("isStopped of another number", await stopsOf(store, otherNumber), { z: false });
			equal("save unlessStopped of a stopped text", await begin(store, "x"), false);
		},
	},
	{
		title: "stop without a number covers all of the agency's existing texts, and none that is inserted later",
		async run(given) {
			const store = await given(textOf("a"), textOf("x", otherAgency), textOf("z", otherNumber), textOf("sent"));
			await change(store, "sent", { state: "sent", nextAt: noon + 5 });
			const agency = { agencyId: recipient.agencyId };
			equal("unfinished of an agency", idsOf(await store.unfinished(agency)), ["a", "z"]);
			equal("unfinished of nobody", await store.unfinished({}), []);
			await store.stop(agency, "cancelAll");
			await store.insert(textOf("b"), undefined);
			await store.insert(textOf("y", otherNumber), undefined);
			equal("isStopped of the agency", await stopsOf(store, recipient), { a: true, b: false });
			equal("isStopped of another number", await stopsOf(store, otherNumber), { z: true, y: false });
			equal("isStopped at another agency", await stopsOf(store, otherAgency), { x: false });
			equal(
				"openWithFacts of a stopped agency",
				(await store.openWithFacts(recipient, 10, noon)).texts[0]?.isStopped,
				true,
			);
			equal("save unlessStopped of a stopped text", await begin(store, "z"), false);
			equal("save unlessStopped of a later text", await begin(store, "y"), true);
			equal("save unlessStopped of another agency's text", await begin(store, "x"), true);
			equal("unfinished after the stop", idsOf(await store.unfinished(agency)), ["a", "z", "b", "y"]);
			// An earlier stop of the contact stays beside it.
			await store.stop(otherNumber, "cancelAll");
			equal("isStopped by a later stop of the contact", await stopsOf(store, otherNumber), { y: true, z: true });
			equal("isStopped of the first number then", await stopsOf(store, recipient), { a: true, b: false });
		},
	},
	{
		title: "stop of an agency and its suspension leave each other as they are",
		async run(given) {
			const store = await given(textOf("a"));
			const { agencyId } = recipient;
			await store.suspend({ agencyId, reason: "Closed", by: null, since: noon });
			await store.stop({ agencyId }, "cancelAll");
			like("suspended after stop", await store.suspended(), [{ agencyId, reason: "Closed", since: noon }]);
			equal("endSuspension after stop", await store.endSuspension(agencyId, noon), true);
			equal("isStopped after endSuspension", await stopsOf(store, recipient), { a: true });
			equal("save unlessStopped after endSuspension", await begin(store, "a"), false);
			equal("suspended after endSuspension", await store.suspended(), []);
			equal("contacts of a stopped agency", await store.contacts(), []);
		},
	},
	{
		title: "purge and erase leave a stop as it is",
		async run(given) {
			const store = await given(textOf("a"), textOf("b"));
			await store.stop(recipient, "cancelAll");
			await change(store, "a", { state: "cancelled", nextAt: null, since: noon - 9 });
			equal("purge", await store.purge(noon), 1);
			await store.erase({ to: recipient.to });
			await store.insert(textOf("c"), undefined);
			equal("isStopped after purge and erase", await stopsOf(store, recipient), { b: true, c: false });
			equal("save unlessStopped after purge", await begin(store, "b"), false);
			equal("save unlessStopped of a later text", await begin(store, "c"), true);
		},
	},
];
