// Situations in which an outbox can only wait, and how often it asks its store meanwhile.
import { createClient } from "messaging-conversations";
import { createOutbox, type EnqueuedText, type OutboxOptions, type Transaction } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { expect } from "vitest";
import type { OutboxStore } from "./port.ts";

/** A store that counts what it is asked, and fails once that is more than any worker that waits would ask. */
function counting(store: OutboxStore) {
	const counter = { made: 0, most: Number.POSITIVE_INFINITY };
	const counted = new Proxy(store, {
		get(target, name) {
			const given: unknown = Reflect.get(target, name);
			if (typeof given !== "function") return given;
			return (...values: unknown[]) => {
				if (++counter.made > counter.most) throw new Error(`more than ${counter.most} calls of the store`);
				return Reflect.apply(given, target, values);
			};
		},
	});
	return { counter, counted };
}

/** A store, and a transaction on its database. */
export interface IdleStore {
	store: OutboxStore;
	transaction: (act: (tx: Transaction) => Promise<unknown>) => Promise<unknown>;
}

function createIdleWorld({ store, transaction }: IdleStore, options: Partial<OutboxOptions> = {}) {
	const sandbox = createSandbox();
	const first = sandbox.agency();
	const second = sandbox.link({ name: "Second" });
	const network = { isAway: false, page: 0 };
	const fetch: typeof globalThis.fetch = async (url, init) => {
		const cause = Object.assign(new Error("connect"), { code: "ECONNREFUSED", syscall: "connect" });
		if (network.isAway) throw Object.assign(new TypeError("fetch failed"), { cause });
		if (network.page > 0) return new Response("<html>", { status: network.page });
		return sandbox.fetch(url, init);
	};
	const { counter, counted } = counting(store);
	let aheadMs = 0;
	const clock = {
		setBack: (ms: number) => {
			aheadMs -= ms;
		},
	};
	const client = createClient({ ...sandbox.connection, fetch, retry: false });
	const told: string[] = [];
	const now = () => sandbox.clock.now().getTime() + aheadMs;
	const all = {
		client,
		store: counted,
		now,
		onPaused: ({ reason }: { reason: string }) => told.push(reason),
		...options,
	};
	const outbox = createOutbox(all);
	let people = 0;
	/** A text to somebody who has just written, or to whom nobody has. */
	async function text(
		id: string,
		agency = first,
		{ isOpen = true, ...rest }: Partial<EnqueuedText> & { isOpen?: boolean } = {},
	) {
		const contact = agency.contact(rest.to ?? `+4477009${String(10_000 + ++people)}`);
		if (isOpen) contact.writes("Hello");
		const given = { id, agencyId: agency.id, body: `Text ${id}`, ...rest, to: contact.phoneNumber };
		await outbox.enqueue(given);
		return { contact, given };
	}
	async function pass(seconds: number): Promise<void> {
		await outbox.runOnce();
		for (let second = 0; second < seconds; second++) {
			sandbox.clock.advance({ ms: 1_000 });
			await outbox.runOnce();
		}
	}
	const ago = (ms: number): Date => new Date(now() - ms);
	const inHours = (hours: number): Date => ago(-hours * 3_600_000);
	return { sandbox, first, second, network, clock, told, outbox, text, pass, ago, inHours, transaction, counter, all };
}

type IdleWorld = ReturnType<typeof createIdleWorld>;

export interface Situation {
	title: string;
	options?: Partial<OutboxOptions>;
	arrange: (world: IdleWorld) => Promise<unknown>;
	/** A store that does not do all that it should. */
	broken?: (store: OutboxStore) => OutboxStore;
}

const hourMs = 3_600_000;

/** Six texts of an agency whose link has ended, until its pause is long. */
async function unlinked({ first, text, pass }: IdleWorld): Promise<void> {
	first.unlink();
	for (let at = 0; at < 6; at++) await text(`a-${at}`);
	await pass(40);
}

/** Everybody is paused, and nothing of the other agency is due once the pause is over. */
async function outage({ network, second, outbox, text, pass, told }: IdleWorld): Promise<void> {
	network.isAway = true;
	await text("b", second);
	await pass(2);
	expect(told).toContain("unreachable");
	await outbox.cancel("b");
	network.isAway = false;
}

async function restoredTomorrow({ outbox, text, ago, inHours }: IdleWorld) {
	const found = await text("old", undefined, { notBefore: inHours(24) });
	await outbox.restored({ backupAt: ago(hourMs) });
	return found;
}

/** The key may read and not send, with texts to both agencies. */
async function readOnly({ sandbox, second, text, pass, told }: IdleWorld): Promise<void> {
	sandbox.keys.setScopes(sandbox.integration.apiKey, ["conversations:read"]);
	for (let at = 0; at < 6; at++) await text(`c-${at}`, at % 2 === 0 ? undefined : second);
	await pass(5);
	expect(told).toContain("forbidden");
}

const quietHours = { from: "20:00", to: "08:00", timeZone: "UTC" };

export const situations: Situation[] = [
	{ title: "nothing at all", arrange: async () => {} },
	{ title: "an agency is paused", arrange: unlinked },
	{ title: "everybody is paused", arrange: outage },
	{
		title: "everybody is paused, and an agency with due texts for longer",
		arrange: async (world) => {
			await unlinked(world);
			await outage(world);
		},
	},
	{
		title: "a firewall refuses everybody, and an agency has a pause of its own",
		arrange: async (world) => {
			await unlinked(world);
			world.network.page = 403;
			await world.text("b", world.second);
			// me.get was asked less than a minute ago.
			await world.pass(65);
			expect(world.told).toContain("gateway");
			await world.outbox.cancel("b");
			world.network.page = 0;
		},
	},
	{
		title: "the service takes no more requests for a moment, and an agency has a pause of its own",
		arrange: async (world) => {
			await unlinked(world);
			world.network.page = 429;
			await world.text("b", world.second);
			await world.pass(3);
			world.network.page = 0;
		},
	},
	{
		title: "everybody is paused, and two agencies too",
		arrange: async (world) => {
			const third = world.sandbox.link({ name: "Third" });
			await world.text("sent", third);
			world.second.unlink();
			await world.text("c", world.second);
			await unlinked(world);
			await outage({ ...world, second: third });
		},
	},
	{
		title: "an agency is paused, and another process has ended the pause of everybody",
		arrange: async (world) => {
			await unlinked(world);
			await outage(world);
			const other = createOutbox(world.all);
			await other.runOnce();
		},
	},
	{ title: "the key may not send, so that everybody's sends are paused", arrange: readOnly },
	{
		title: "everybody's sends are paused, and an agency and everybody too",
		arrange: async (world) => {
			await world.text("sent", world.second);
			await world.pass(1);
			await readOnly(world);
			await unlinked(world);
			world.network.isAway = true;
			await world.pass(150);
			expect(world.told).toContain("unreachable");
			world.network.isAway = false;
		},
	},
	{
		title: "everybody's sends are paused, an agency is suspended, and a text of a backup was cancelled",
		arrange: async (world) => {
			await readOnly(world);
			await restoredTomorrow(world);
			await world.outbox.suspend({ agencyId: world.second.id, reason: "Stop" });
			await world.transaction((tx) => world.outbox.cancel("old", { tx }));
		},
	},
	{
		title: "an agency is suspended",
		arrange: async ({ outbox, first, text, pass }) => {
			await outbox.suspend({ agencyId: first.id, reason: "Stop" });
			for (let at = 0; at < 3; at++) await text(`a-${at}`);
			await pass(5);
		},
	},
	{
		title: "everybody is suspended, with a text that is held and one that was sent",
		arrange: async ({ outbox, first, text, pass }) => {
			await text("sent");
			await text("held", first, { isOpen: false });
			await pass(1);
			await outbox.suspend({ reason: "Stop" });
			await text("waits");
			await pass(5);
		},
	},
	{
		title: "an agency is suspended and paused",
		arrange: async (world) => {
			await unlinked(world);
			await world.outbox.suspend({ agencyId: world.first.id, reason: "Stop" });
			await world.pass(5);
		},
	},
	{
		title: "an agency is suspended, and everybody is paused",
		arrange: async (world) => {
			await world.outbox.suspend({ agencyId: world.first.id, reason: "Stop" });
			await world.text("a");
			await outage(world);
		},
	},
	{
		title: "everybody is suspended and paused, and an agency has a pause of its own",
		arrange: async (world) => {
			await unlinked(world);
			await outage(world);
			await world.outbox.suspend({ reason: "Stop" });
		},
	},
	{ title: "a text of tomorrow came back with a backup", arrange: restoredTomorrow },
	{
		title: "a text of tomorrow came back with a backup, and was cancelled in a transaction",
		arrange: async (world) => {
			await restoredTomorrow(world);
			await world.transaction((tx) => world.outbox.cancel("old", { tx }));
		},
	},
	{
		title: "a text of tomorrow came back with a backup, and was superseded in a transaction",
		arrange: async (world) => {
			const { given } = await restoredTomorrow(world);
			const text = { ...given, id: "new", supersedes: "old", notBefore: world.inHours(48) };
			await world.transaction((tx) => world.outbox.enqueue(text, { tx }));
		},
	},
	{
		title: "a text that came back with a backup was cancelled while its agency is paused, and everybody",
		arrange: async (world) => {
			await unlinked(world);
			await restoredTomorrow(world);
			await world.transaction((tx) => world.outbox.cancel("old", { tx }));
			await outage(world);
		},
	},
	{
		title: "a text that came back with a backup was cancelled while its agency is suspended",
		arrange: async (world) => {
			await restoredTomorrow(world);
			await world.outbox.suspend({ agencyId: world.first.id, reason: "Stop" });
			await world.transaction((tx) => world.outbox.cancel("old", { tx }));
		},
	},
	{
		title: "a text that came back with a backup is too old, and its agency is suspended",
		arrange: async (world) => {
			await world.text("old", undefined, { notAfter: world.inHours(1) });
			await world.outbox.restored({ backupAt: world.ago(hourMs) });
			await world.outbox.suspend({ agencyId: world.first.id, reason: "Stop" });
			world.sandbox.clock.advance({ hours: 2 });
		},
	},
	{
		title: "a text that came back with a backup was erased",
		arrange: async (world) => {
			const { given } = await restoredTomorrow(world);
			await world.outbox.erase({ to: given.to, everyAgency: true });
		},
	},
	{
		title: "the clock was set back while a text waits for tomorrow and an agency is paused",
		arrange: async (world) => {
			await world.text("tomorrow", world.second, { notBefore: world.inHours(24) });
			await unlinked(world);
			world.clock.setBack(hourMs);
		},
	},
	{
		title: "the clock was set back while everybody is paused, and an agency for longer",
		arrange: async (world) => {
			await unlinked(world);
			await outage(world);
			world.clock.setBack(hourMs);
		},
	},
	{
		title: "the clock was set back by two seconds while everybody is paused, and an agency for longer",
		arrange: async (world) => {
			await unlinked(world);
			await outage(world);
			world.clock.setBack(2_000);
		},
	},
	{
		title: "the clock was set back behind the time of a text that was due",
		arrange: async (world) => {
			world.second.unlink();
			await world.text("late", world.second, { notBefore: world.ago(1_000) });
			await world.pass(10);
			world.clock.setBack(hourMs);
		},
	},
	{
		title: "texts are held, and others wait behind them",
		arrange: async ({ first, text, pass }) => {
			const { given } = await text("held", first, { isOpen: false });
			await pass(1);
			for (const purpose of ["notice", "reply", "marketing"] as const)
				await text(purpose, first, { isOpen: false, to: given.to, purpose, onHeld: "wait" });
			await pass(60);
		},
	},
	{
		title: "a text waits behind one of somebody else",
		arrange: async ({ first, text, pass }) => {
			const anna = first.contact("+447700900101");
			first.staff.sends({ contact: anna, text: "Of somebody else" });
			for (const purpose of ["notice", "reply", "marketing"] as const)
				await text(purpose, first, { isOpen: false, to: anna.phoneNumber, purpose });
			await pass(60);
		},
	},
	{
		title: "quiet hours",
		options: { quietHours },
		arrange: async ({ sandbox, first, text, pass }) => {
			sandbox.clock.advanceTo(new Date("2026-01-06T21:00:00Z"));
			for (const purpose of ["notice", "reply", "marketing"] as const)
				await text(purpose, first, { isOpen: purpose !== "reply", purpose });
			await pass(10);
		},
	},
	{
		title: "quiet hours, and a text that came back with a backup was cancelled",
		options: { quietHours },
		arrange: async (world) => {
			world.sandbox.clock.advanceTo(new Date("2026-01-06T21:00:00Z"));
			await restoredTomorrow(world);
			await world.transaction((tx) => world.outbox.cancel("old", { tx }));
		},
	},
	{
		title: "a hook that puts a text off to a time that has passed",
		options: { beforeSend: (_, { now }) => ({ waitUntil: new Date(now.getTime() - hourMs), because: "Later" }) },
		arrange: ({ text }) => text("a"),
	},
	{
		title: "a hook that puts every text off until tomorrow",
		options: { beforeSend: (_, { now }) => ({ waitUntil: new Date(now.getTime() + 24 * hourMs), because: "Later" }) },
		arrange: ({ text }) => text("a"),
	},
	{
		title: "a hook that fails",
		options: {
			beforeSend: () => {
				throw new Error("no");
			},
		},
		arrange: ({ text }) => text("a"),
	},
	{
		title: "an agency that cannot ask for consent",
		arrange: async ({ first, text, pass }) => {
			first.consent.set({ unapprovedTemplates: [{ templateCode: "consent_en", status: "pending" }] });
			for (let at = 0; at < 3; at++) await text(`a-${at}`, first, { isOpen: false });
			await pass(10);
		},
	},
	{
		title: "a contact who wants no texts, and a time zone that cannot be had",
		options: {
			quietHours: {
				...quietHours,
				timeZone: () => {
					throw new Error("no");
				},
			},
		},
		arrange: ({ text }) => text("a"),
	},
	{
		title: "a conversation that cannot be read, and a send whose result is not known",
		arrange: async ({ sandbox, text, pass }) => {
			sandbox.faults.add({ operation: "messages.send", times: 1, phase: "after", effect: { status: 500 } });
			await text("lost");
			await pass(1);
			sandbox.faults.add({ operation: "conversations.get", times: 10_000, effect: { status: 503 } });
			await text("unread");
			await pass(30);
		},
	},
	{
		title: "an engine that asks a thousand times a second",
		options: {
			engine: {
				start: async () => {},
				wake: async () => {},
				work: async (wake) => {
					const timer = setInterval(wake, 1);
					return async () => clearInterval(timer);
				},
			},
		},
		arrange: ({ text, inHours }) => text("a", undefined, { notBefore: inHours(1) }),
	},
	{
		title: "a store that lets a worker try an agency whose pause has not ended",
		broken: (store) => ({
			...store,
			async claim(options) {
				if (options.probing !== "") return store.claim(options);
				for (const { agencyId } of await store.paused()) {
					const leases = agencyId === "" ? [] : await store.claim({ ...options, probing: agencyId });
					if (leases.length > 0) return leases;
				}
				return [];
			},
		}),
		arrange: async (world) => {
			await unlinked(world);
			await outage(world);
		},
	},
	{
		title: "a row that no worker can change",
		broken: (store) => ({ ...store, save: async () => false }),
		arrange: ({ text }) => text("a"),
	},
];

/** Whatever a worker is told to do in a second, it needs fewer statements than this, and one that spins makes thousands. */
const mostAtOnce = 500;
const mostASecond = 60;
const seconds = 30;

/** Expects that an outbox that can only wait makes few statements, that `runOnce` ends, and that timers have their turn. */
export async function expectCalm({ arrange, options, broken }: Situation, opened: IdleStore): Promise<void> {
	const { store } = opened;
	const world = createIdleWorld({ ...opened, store: broken ? broken(store) : store }, options);
	const { outbox, counter, pass, sandbox } = world;
	await store.migrate();
	counter.most = 20_000;
	await arrange(world);
	counter.most = counter.made + mostAtOnce;
	await outbox.runOnce();
	counter.most = counter.made + mostASecond * seconds;
	await pass(seconds);
	const stop = new AbortController();
	counter.most = counter.made + mostAtOnce;
	// A worker that never sleeps lets this timer stand still, until the counter ends it.
	const timer = setTimeout(() => stop.abort(), 1_200);
	await outbox.work({ signal: stop.signal });
	clearTimeout(timer);
	expect(stop.signal.aborted).toBe(true);
	// Nothing is left behind.
	counter.most = counter.made + 20_000;
	sandbox.clock.advance({ hours: 49 });
	await outbox.runOnce();
}
