// Which texts and recipients come next, and when.
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

/** Behind a queue that is longer than one page of a typical query, each of `count` other recipients is found once. */
function longQueue(count: number): Check {
	return {
		title: `due finds each of ${count} other recipients once behind a long queue`,
		async run(given) {
			const others = Array.from({ length: count }, (_, at) => ({ to: `+4477008${String(at).padStart(5, "0")}` }));
			const store = await given(
				...Array.from({ length: 230 }, (_, at) => textOf(`a${at}`)),
				...others.map((each, at) => textOf(`x${at}`, { ...each, createdAt: noon + 1 + at })),
				textOf("y", { ...otherAgency, createdAt: noon + 900 }),
				textOf("late", { to: "+447700900999", createdAt: noon + 9_000 }),
				textOf("low", { to: "+447700900998", priority: -1 }),
			);
			const all = [recipient.to, ...others.map(({ to }) => to), otherAgency.to, "+447700900998"];
			const found = async (limit: number) => (await store.due(noon + 1_000, limit)).map(({ to }) => to);
			equal("the numbers of due", await found(1_000), all);
			equal("the numbers of due with limit 2", await found(2), all.slice(0, 2));
		},
	};
}

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
		title: "postpone, wake and recover leave a text alone until its time comes",
		async run(given) {
			const store = await given(textOf("later", { notBefore: noon + 100 }), textOf("now"));
			const times = async () => [(await rowOf(store, "later")).nextAt, (await rowOf(store, "now")).nextAt];
			await store.postpone(recipient, noon + 500, noon);
			equal("nextAt of both after postpone", await times(), [noon + 100, noon + 500]);
			await store.putOff(recipient, noon + 700);
			await store.wake(recipient, noon);
			equal("nextAt of both after wake", await times(), [noon + 100, noon]);
			await store.putOff(recipient, noon + 700);
			await store.recover(noon);
			equal("nextAt of both after recover", await times(), [noon + 100, noon]);
			await store.putOff(recipient, noon + 700);
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
		title: "due lists the recipients with a text that is due, and postpone moves only those that are due earlier",
		async run(given) {
			const store = await given(textOf("a"), textOf("b"), textOf("x", { ...otherAgency, createdAt: noon + 10 }));
			equal("due too early", await store.due(noon - 1, 10), []);
			like("due", await store.due(noon, 10), [recipient]);
			like("due ten milliseconds later", await store.due(noon + 10, 10), [recipient, otherAgency]);
			equal("nextDue", await store.nextDue(), noon);
			await store.postpone(recipient, noon + 50, noon + 50);
			like("due after postpone", await store.due(noon + 10, 10), [otherAgency]);
			await store.postpone(recipient, noon + 20, noon + 50);
			like("due after postpone to an earlier time", await store.due(noon + 49, 10), [otherAgency]);
			like("due at the postponed time", await store.due(noon + 50, 10), [otherAgency, recipient]);
		},
	},
	{
		title: "due lists a recipient once, however many of their texts are due",
		async run(given) {
			const many = Array.from({ length: 250 }, (_, at) => textOf(`a${at}`));
			const store = await given(...many, textOf("x", { ...otherAgency, createdAt: noon + 10 }));
			like("due with limit 2", await store.due(noon + 10, 2), [recipient, otherAgency]);
			like("due with limit 1", await store.due(noon + 10, 1), [recipient]);
			equal("nextDue after an earlier time", await store.nextDue(noon - 1), noon);
			equal("nextDue after the first time", await store.nextDue(noon), noon + 10);
			equal("nextDue after the last time", await store.nextDue(noon + 10), undefined);
		},
	},
	{
		title: "due lists recipients with a text of a higher priority first, then the one that has been due longest",
		async run(given) {
			const store = await given(
				textOf("a", { createdAt: noon - 20 }),
				textOf("b", { ...otherNumber, priority: 1, createdAt: noon - 10 }),
				textOf("x", { ...otherAgency, priority: 1 }),
				textOf("late", { to: "+447700900103", priority: 9, createdAt: noon + 1 }),
				textOf("low", { to: "+447700900104", priority: -1 }),
			);
			const all = [otherNumber, otherAgency, recipient, { ...recipient, to: "+447700900104" }];
			like("due", await store.due(noon, 10), all);
			like("due with limit 2", await store.due(noon, 2), all.slice(0, 2));
			const [first] = await store.due(noon, 1);
			equal("seq of the first recipient of due", first?.seq, (await rowOf(store, "b")).seq);
		},
	},
	longQueue(3),
	longQueue(205),
	longQueue(700),
	{
		title: "wake makes the texts of a number due, in one agency or in all",
		async run(given) {
			const store = await given(textOf("a"), textOf("x", otherAgency));
			for (const each of [recipient, otherAgency]) await store.postpone(each, noon + 1_000, noon + 50);
			await store.wake(recipient, noon);
			like("due after wake of a recipient", await store.due(noon, 10), [recipient]);
			await store.wake({ to: recipient.to }, noon);
			equal("the number of recipients that are due after wake of a number", (await store.due(noon, 10)).length, 2);
		},
	},
	{
		title: "wake does not touch texts that are sending or sent, and recover makes what is unfinished due",
		async run(given) {
			const store = await given(textOf("a"), textOf("x", otherAgency));
			await change(store, "a", { state: "sending", nextAt: noon + 65_000 });
			await change(store, "x", { state: "sent", nextAt: noon + 65_000 });
			await store.wake({ to: recipient.to }, noon);
			equal("due after wake", await store.due(noon, 10), []);
			await store.recover(noon);
			like("due after recover", await store.due(noon, 10), [recipient]);
		},
	},
	{
		title: "putOff moves every text of a recipient that is due earlier, and nextOf finds the next time",
		async run(given) {
			const store = await given(textOf("a"), textOf("b"), textOf("c"), textOf("x", otherAgency));
			await change(store, "a", { state: "sent" });
			await change(store, "b", { state: "sent", nextAt: null });
			await change(store, "c", { nextAt: noon + 50 });
			equal("nextOf", await store.nextOf(recipient), noon);
			await store.putOff(recipient, noon + 20);
			equal("nextOf after putOff", await store.nextOf(recipient), noon + 20);
			await store.putOff(recipient, noon + 70);
			const times = [];
			for (const id of ["a", "b", "c"]) times.push((await rowOf(store, id)).nextAt);
			equal("nextAt of all texts after putOff", times, [noon + 70, null, noon + 70]);
			equal("nextOf another agency", await store.nextOf(otherAgency), noon);
			equal("nextOf a number without texts", await store.nextOf(otherNumber), undefined);
		},
	},
];
