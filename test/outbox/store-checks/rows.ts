// Texts are stored as they were given, changed by one writer at a time, and erased or deleted when asked.
import type { TextError } from "messaging-conversations/outbox";
import { newProgress, type OutboxText } from "../port.ts";
import { equal, like } from "./assert.ts";
import { attempted, type Check, change, idsOf, noon, otherAgency, recipient, rowOf, stored, textOf } from "./check.ts";

const error: TextError = { tag: "PartnerConflict", message: "409" };

export const rowChecks: Check[] = [
	{
		title: "migrate can run twice, and keeps the texts",
		async run(given) {
			const store = await given(textOf("a"));
			await store.migrate();
			like('find("a") after a second migrate', await store.find("a"), { id: "a", state: "waiting" });
		},
	},
	{
		title: "insert stores every field of a text, and find returns it",
		async run(given) {
			const text = textOf("a", {
				body: "Één 'quoted' \"text\"; --\n👋 $1 ?",
				subaccountId: "6f9619ff-8b86-4011-b42d-00c04fc964ff",
				consentLanguage: "nl",
				notBefore: noon - 1,
				notAfter: noon + 1,
				purpose: "marketing",
				priority: -3,
				byWhom: "Ann",
				why: "The visit has moved",
				given: { onHeld: "wait", whenClosed: "ask", supersedes: "b", meta: { $1: "?" } },
			});
			const store = await given();
			const row = await store.insert(text, undefined);
			equal("the type of seq", typeof row.seq, "number");
			const fresh = {
				state: "waiting",
				reason: null,
				since: noon,
				sentAt: null,
				endedAt: null,
				nextAt: noon,
				readyAt: noon - 1,
				version: 0,
			};
			const empty = { messageId: null, queueId: null, unacknowledged: null };
			equal("insert", row, { ...text, ...fresh, ...empty, progress: newProgress, seq: row.seq });
			equal('find("a")', await store.find("a"), row);
			equal("find of an unknown id", await store.find("b"), undefined);
		},
	},
	{
		title: "insert returns the existing row if the id is taken",
		async run(given) {
			const store = await given(textOf("a"));
			like("a second insert", await store.insert(textOf("a", { body: "Another" }), undefined), { body: "Text a" });
			const [one, two] = await Promise.all([
				store.insert(textOf("b"), undefined),
				store.insert(textOf("b"), undefined),
			]);
			equal("the second of two inserts at the same moment", two, one);
		},
	},
	{
		title: "insertMany stores each text as insert does, and returns the rows in their order",
		async run(given) {
			const store = await given(textOf("b"));
			const texts = ["c", "a", "b"].map((id) => textOf(id, { priority: 2, notBefore: noon + 9 }));
			const rows = await store.insertMany(texts, undefined);
			equal("insertMany", idsOf(rows), ["c", "a", "b"]);
			equal('find("a") after insertMany', await store.find("a"), rows[1]);
			like("a new row of insertMany", rows[0], { ...textOf("c"), priority: 2, notBefore: noon + 9, nextAt: noon + 9 });
			like("the row that was there", rows[2], { priority: 0, notBefore: null });
			const leases = await store.claim({ now: noon + 9, limit: 9, each: 9, leaseMs: 1_000, isReading: false });
			equal("the queues after insertMany", leases.length, 1);
		},
	},
	{
		title: "restored marks the texts that are unfinished, and no others",
		async run(given) {
			const store = await given(...["a", "b", "c"].map((id) => textOf(id)));
			await change(store, "b", { state: "held" });
			await change(store, "c", { state: "sent" });
			const row = await rowOf(store, "a");
			const restored = { from: noon - 9, to: noon };
			equal("restored", await store.restored(restored, "restored"), { count: 2, isNew: true });
			for (const id of ["a", "b"])
				like(`find("${id}") after restored`, (await rowOf(store, id)).progress, { restored });
			equal('find("c") after restored', (await rowOf(store, "c")).progress.restored, undefined);
			equal("save of a row from before restored", await store.save(row), false);
			await store.restored({ from: noon, to: noon + 1 }, "restored");
			like("a second restored", (await rowOf(store, "a")).progress.restored, { from: noon });
			equal("finishRestore", await store.finishRestore(), true);
			like("restoration", await store.restoration(), { from: noon, to: noon + 1, source: "restored", isDone: true });
		},
	},
	{
		title: "restored of the same time marks no text twice, and only its beginning moves back",
		async run(given) {
			const store = await given(...["a", "b"].map((id) => textOf(id)));
			equal("restored", await store.restored({ from: noon, to: noon + 10 }, "restored"), { count: 2, isNew: true });
			const row = await rowOf(store, "a");
			const { restored: _, ...read } = row.progress;
			await store.save({ ...row, progress: read });
			const again = await store.restored({ from: noon - 5, to: noon + 20 }, "restored");
			equal("restored of a time that begins earlier", again, { count: 1, isNew: false });
			equal("a text that was read since", (await rowOf(store, "a")).progress.restored, undefined);
			const earlier = { from: noon - 5, to: noon + 10 };
			like("a text that was not", (await rowOf(store, "b")).progress, { restored: earlier });
			await store.restored({ from: noon, to: noon + 20 }, "restored");
			like("a text after one that begins later", (await rowOf(store, "b")).progress, { restored: earlier });
			like("restoration", await store.restoration(), earlier);
		},
	},
	{
		title: "restored leaves a text alone whose request could not have begun by then",
		async run(given) {
			const store = await given(
				textOf("due"),
				textOf("later", { notBefore: noon + 50 }),
				textOf("over", { notAfter: noon - 20 }),
				textOf("new", { createdAt: noon + 20 }),
				textOf("asleep"),
				textOf("tried", { notBefore: noon + 50 }),
				textOf("put off"),
			);
			await change(store, "asleep", { reason: "quiet_hours", nextAt: noon + 50 });
			await change(store, "put off", { reason: "flow", nextAt: noon + 50 });
			const tried = await rowOf(store, "tried");
			await store.save({ ...tried, progress: { ...tried.progress, attempts: 1 } });
			await store.restored({ from: noon - 9, to: noon + 10 }, "restored");
			const ids = ["due", "later", "over", "new", "asleep", "tried", "put off"];
			const rows = await Promise.all(ids.map((id) => rowOf(store, id)));
			const marked = rows.filter(({ progress }) => progress.restored).map(({ id }) => id);
			equal("the texts that are marked", marked, ["due", "tried", "put off"]);
		},
	},
	{
		title: "save replaces a row, and refuses a row that was read before another change",
		async run(given) {
			const store = await given(textOf("a"));
			const row = await rowOf(store, "a");
			const changes: Partial<OutboxText> = {
				state: "sent",
				reason: "declined",
				since: noon + 5,
				sentAt: noon + 3,
				endedAt: noon + 4,
				nextAt: null,
				readyAt: noon + 6,
				messageId: "SM1",
				queueId: "q1",
				unacknowledged: 1,
				progress: {
					...row.progress,
					attempts: 3,
					failures: 2,
					restored: { from: noon - 1, to: noon },
					cancelRequested: true,
					superseded: true,
					error,
				},
			};
			const expected = await change(store, "a", changes);
			equal("save of an older row", await store.save({ ...row, state: "refused" }), false);
			equal('find("a") after save', await store.find("a"), expected);
			like('byMessage("SM1")', await store.byMessage("SM1"), { id: "a" });
			equal("byMessage of an unknown message", await store.byMessage("SM2"), undefined);
			equal("claimed", await store.claimed(recipient), [{ messageId: "SM1", wasHeld: true }]);
			equal("claimed of another agency", await store.claimed(otherAgency), []);
		},
	},
	{
		title: "save stores one of two changes that are made at the same moment",
		async run(given) {
			const store = await given(textOf("a"));
			const row = await rowOf(store, "a");
			const saves = await Promise.all([
				store.save({ ...row, state: "sending" }),
				store.save({ ...row, state: "cancelled" }),
			]);
			equal("the two results of save", saves.sort(), [false, true]);
		},
	},
	{
		title: "purge deletes only the texts that were finished before the given time",
		async run(given) {
			const store = await given(...["a", "b", "c", "d"].map((id) => textOf(id)));
			await change(store, "a", { state: "sent", since: noon - 1, nextAt: null });
			await change(store, "b", { state: "sent", since: noon, nextAt: null });
			await change(store, "c", { state: "sent", since: noon - 1, nextAt: noon });
			equal("purge", await store.purge(noon), 1);
			equal("the rows after purge", await stored(store, "a", "b", "c", "d"), ["b", "c", "d"]);
		},
	},
	{
		title: "unacknowledged lists final states until acknowledge names their latest revision",
		async run(given) {
			const store = await given(...["a", "b", "c"].map((id) => textOf(id)));
			equal("unacknowledged of waiting texts", await store.unacknowledged(10), []);
			await change(store, "b", { state: "sent", since: noon + 1, unacknowledged: 1 });
			await change(store, "a", { state: "cancelled", since: noon + 2, nextAt: null, unacknowledged: 1 });
			equal("unacknowledged(10)", idsOf(await store.unacknowledged(10)), ["b", "a"]);
			equal("unacknowledged(1)", idsOf(await store.unacknowledged(1)), ["b"]);
			await change(store, "b", { state: "delivered", since: noon + 3, unacknowledged: 2 });
			const older = ["a", "b", "unknown"].map((id) => ({ id, revision: 1 }));
			await store.acknowledge(older, undefined);
			const left = [{ id: "b", state: "delivered", unacknowledged: 2 }];
			like("unacknowledged after an older revision of b", await store.unacknowledged(10), left);
			await store.acknowledge([{ id: "b", revision: 2 }], undefined);
			equal("unacknowledged after the latest revision of b", await store.unacknowledged(10), []);
		},
	},
	{
		title: "unacknowledged lists held texts, and those with a wrong number, only if asked",
		async run(given) {
			const store = await given(...["a", "b", "c", "d"].map((id) => textOf(id)));
			await change(store, "d", { reason: "wrong_number", since: noon + 3, unacknowledged: 1 });
			await change(store, "a", { state: "held", since: noon + 1, unacknowledged: 1 });
			await change(store, "b", { state: "sending", unacknowledged: 1 });
			await change(store, "c", { state: "sent", since: noon + 2, unacknowledged: 1 });
			equal("unacknowledged without held", idsOf(await store.unacknowledged(10)), ["c"]);
			equal("unacknowledged with held", idsOf(await store.unacknowledged(10, { held: true })), ["a", "c", "d"]);
			await store.acknowledge([{ id: "a", revision: 1 }], undefined);
			equal("unacknowledged with held afterwards", idsOf(await store.unacknowledged(10, { held: true })), ["c", "d"]);
			await change(store, "d", { reason: null, unacknowledged: 1 });
			equal("unacknowledged of a right number", idsOf(await store.unacknowledged(10, { held: true })), ["c"]);
		},
	},
	{
		title: "acknowledge takes thousands of changes, and none",
		async run(given) {
			const store = await given(textOf("a"));
			await change(store, "a", { state: "sent", unacknowledged: 1 });
			await store.acknowledge([], undefined);
			equal("unacknowledged", idsOf(await store.unacknowledged(10)), ["a"]);
			const many = Array.from({ length: 2_001 }, (_, at) => ({ id: `t${at}`, revision: at }));
			await store.acknowledge([...many, { id: "a", revision: 1 }], undefined);
			equal("unacknowledged", await store.unacknowledged(10), []);
		},
	},
	{
		title: "erase removes number and text of finished texts, and keeps their ids",
		async run(given) {
			const personal = {
				subaccountId: "s",
				consentLanguage: "nl",
				byWhom: "Ann",
				why: "Anna called",
				given: { meta: 1 },
			};
			const store = await given(...["a", "b", "c", "d"].map((id) => textOf(id, personal)), textOf("x", otherAgency));
			const ended: Partial<OutboxText> = { state: "sent", since: noon - 9, messageId: "SM1", queueId: "q1" };
			for (const id of ["a", "b"]) await change(store, id, { ...ended, ...attempted });
			await change(store, "c", { state: "held" });
			await change(store, "x", { ...ended, messageId: "SM2", nextAt: null });
			await store.erase(recipient);
			const none = {
				...{ subaccountId: null, consentLanguage: null, byWhom: null, why: null, given: {} },
				...{ messageId: null, queueId: null, nextAt: null },
			};
			for (const id of ["a", "b"]) {
				const row = await rowOf(store, id);
				like("an erased row", row, { id, state: "sent", to: "", body: "", ...none, version: 2 });
				like("its progress", row.progress, { attempts: 0, requests: [], baseline: null, error: null });
				equal("insert of an erased id", await store.insert(textOf(id), undefined), row);
			}
			equal("byMessage of an erased text", await store.byMessage("SM1"), undefined);
			equal("claimed after erase", await store.claimed(recipient), []);
			like("an unfinished text of the number", await store.find("c"), recipient);
			like("a waiting text of the number", await store.find("d"), recipient);
			like("a text of another agency", await store.find("x"), otherAgency);
		},
	},
	{
		title: "erase of one id, or of a number in all agencies, leaves unfinished texts",
		async run(given) {
			const store = await given(textOf("c"), textOf("x", otherAgency));
			await change(store, "c", { state: "held" });
			await store.erase({ id: "c" });
			like("a held text after erase of its id", await store.find("c"), recipient);
			await change(store, "c", { state: "dropped", nextAt: null });
			await store.erase({ id: "c" });
			like("a dropped text after erase of its id", await store.find("c"), { to: "", state: "dropped" });
			await change(store, "x", { state: "sent", nextAt: null });
			await store.erase({ to: otherAgency.to });
			like("a text after erase of its number", await store.find("x"), { to: "", state: "sent" });
		},
	},
	{
		title: "purge keeps erased rows, because the service may remember their ids",
		async run(given) {
			const store = await given(textOf("a"), textOf("d", { to: "+447700900109" }));
			for (const id of ["a", "d"]) await change(store, id, { state: "sent", nextAt: null, since: noon - 9 });
			await store.erase(recipient);
			equal("purge", await store.purge(noon), 1);
			equal("the rows after purge", await stored(store, "a", "d"), ["a"]);
		},
	},
	{
		title: "purge keeps what was not acknowledged, once unacknowledged was called",
		async run(given) {
			const store = await given(textOf("a"), textOf("b"), textOf("c"));
			const end = (id: string) =>
				change(store, id, { state: "expired", nextAt: null, since: noon - 9, unacknowledged: 1 });
			await end("a");
			equal("purge before unacknowledged is used", await store.purge(noon), 1);
			await end("b");
			equal("unacknowledged", idsOf(await store.unacknowledged(10)), ["b"]);
			await end("c");
			await store.acknowledge([{ id: "c", revision: 1 }], undefined);
			equal("purge", await store.purge(noon), 1);
			equal("the rows after purge", await stored(store, "b", "c"), ["b"]);
			await store.acknowledge([{ id: "b", revision: 1 }], undefined);
			equal("purge after acknowledge", await store.purge(noon), 1);
		},
	},
];
