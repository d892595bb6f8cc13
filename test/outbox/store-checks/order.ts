// Which texts of a recipient come next, and when.
import { equal, like } from "./assert.ts";
import {
	attempted,
	type Check,
	change,
	idsOf,
	noon,
	otherAgency,
	otherNumber,
	recipient,
	rowOf,
	textOf,
} from "./check.ts";

export const orderChecks: Check[] = [
	{
		title: "open lists a recipient's texts that are sending, then held, then waiting in the order of arrival",
		async run(given) {
			const store = await given(...["a", "b", "c", "d", "e"].map((id) => textOf(id)), textOf("x", otherAgency));
			await change(store, "c", { state: "sending" });
			await change(store, "b", { state: "held" });
			await change(store, "d", { state: "sent" });
			equal("open", idsOf(await store.open(recipient, 10, noon)), ["c", "b", "a", "e"]);
			equal("open with limit 2", idsOf(await store.open(recipient, 2, noon)), ["c", "b"]);
			equal("followed", idsOf(await store.followed(recipient, noon)), ["d"]);
			equal("followed before the text is due", idsOf(await store.followed(recipient, noon - 1)), []);
		},
	},
	{
		title: "open puts a higher priority first, but behind a text that was attempted",
		async run(given) {
			const store = await given(
				...[0, 5, -1, 5].map((priority, at) => textOf(`t${at}`, { priority })),
				textOf("x", { ...otherAgency, priority: 1 }),
			);
			const open = async (limit: number) => idsOf(await store.open(recipient, limit, noon));
			equal("open", await open(10), ["t1", "t3", "t0", "t2"]);
			await change(store, "t2", attempted);
			equal("open after t2 was attempted", await open(10), ["t2", "t1", "t3", "t0"]);
			await change(store, "t0", { state: "held", ...attempted });
			equal("open while t0 is held", await open(3), ["t0", "t2", "t1"]);
		},
	},
	{
		title: "open leaves out a text whose time has not come, and other texts do not wait for it",
		async run(given) {
			const store = await given(textOf("later", { notBefore: noon + 100 }), textOf("now"));
			like('find("later")', await store.find("later"), { nextAt: noon + 100, readyAt: noon + 100 });
			equal("open", idsOf(await store.open(recipient, 10, noon)), ["now"]);
			equal("open at its time", idsOf(await store.open(recipient, 10, noon + 100)), ["later", "now"]);
			await change(store, "later", attempted);
			equal("open after it was attempted", idsOf(await store.open(recipient, 10, noon)), ["later", "now"]);
		},
	},
	{
		title: "wake and recover leave a text alone until its time comes",
		async run(given) {
			const store = await given(textOf("later", { notBefore: noon + 100 }), textOf("now"));
			const times = async () => [(await rowOf(store, "later")).nextAt, (await rowOf(store, "now")).nextAt];
			const later = async () => {
				for (const id of ["later", "now"]) await change(store, id, { nextAt: noon + 700 });
			};
			await later();
			await store.wake(recipient, noon);
			equal("nextAt of both after wake", await times(), [noon + 100, noon]);
			await later();
			await store.recover(noon);
			equal("nextAt of both after recover", await times(), [noon + 100, noon]);
			await later();
			await change(store, "later", attempted);
			await store.wake(recipient, noon);
			equal("nextAt of both after wake, once both can be sent", await times(), [noon, noon]);
		},
	},
	{
		title: "unfinished lists the waiting, sending and held texts of a number, in one agency or in all",
		async run(given) {
			const store = await given(...["a", "b", "c", "d"].map((id) => textOf(id)), textOf("x", otherAgency));
			await change(store, "a", { state: "held" });
			await change(store, "b", { state: "sending" });
			await change(store, "c", { state: "sent" });
			await change(store, "d", { nextAt: noon + 9_000, readyAt: noon + 9_000 });
			equal("unfinished of a recipient", idsOf(await store.unfinished(recipient)), ["a", "b", "d"]);
			equal("unfinished of a number", idsOf(await store.unfinished({ to: recipient.to })), ["a", "b", "d", "x"]);
			equal("unfinished of another number", await store.unfinished({ to: otherNumber.to }), []);
		},
	},
	{
		title: "nextOf finds the recipient's first text that is due after a time, and what it waits for",
		async run(given) {
			const store = await given(textOf("a"), textOf("b"), textOf("c"), textOf("x", otherAgency));
			equal("nextOf a time after all texts", await store.nextOf(recipient, noon), undefined);
			await change(store, "a", { state: "sent", nextAt: noon + 20 });
			await change(store, "b", { state: "sent", nextAt: null });
			await change(store, "c", { nextAt: noon + 50 });
			equal("nextOf", await store.nextOf(recipient, noon), { at: noon + 20, band: 3 });
			equal("nextOf a later time", await store.nextOf(recipient, noon + 20), { at: noon + 50, band: 1 });
			equal("nextOf another agency", await store.nextOf(otherAgency, noon - 1), { at: noon, band: 1 });
			equal("nextOf a number without texts", await store.nextOf(otherNumber, 0), undefined);
		},
	},
];
