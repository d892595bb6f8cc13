import { expect, test } from "vitest";
import { createSandbox, type Sandbox, type SandboxOptions } from "../../src/sandbox/index.ts";
import {
	ANNA,
	type Box,
	BRAM,
	call,
	first,
	get,
	lengthThrough,
	list,
	listAll,
	me,
	messages,
	only,
	present,
	send,
	throughEachEntryPoint,
	walkMessages,
} from "./entry-points.ts";

type Scenario = NonNullable<SandboxOptions["scenario"]>;

const names = [
	"fresh",
	"busy",
	"closed",
	"held",
	"ineligible",
	"twoLanguages",
	"unlinked",
	"readOnlyKey",
	"oddData",
] as const satisfies readonly Scenario[];

/** Every agency with its conversations, so many of them in detail; every answer is held to the contract on the way. */
async function survey(box: Box, inDetail: number) {
	const rows = [];
	for (const agency of (await me(box)).ok().agencies) {
		const all = await listAll(box, { pageSize: 100 }, { agencyId: agency.id });
		const numbers = all.map(({ phoneNumber }) => phoneNumber);
		expect(numbers.filter((number) => !/^\+447700900\d{3}$/.test(number))).toEqual([]);
		for (const row of all.slice(0, inDetail)) {
			const detail = (await get(box, row.phoneNumber, { pageSize: 100 }, { agencyId: agency.id })).ok();
			expect(detail.conversation.summary).toEqual({ ...row, cursor: null });
			rows.push({ agencyId: agency.id, row, detail });
		}
	}
	return rows;
}

function withoutKeys({ sandbox }: Box): void {
	const { world, journal } = sandbox.snapshot();
	sandbox.restore({ journal, world: { ...world, keys: [] } });
}

throughEachEntryPoint((open, entryPoint) => {
	const inDetail = lengthThrough(entryPoint, 25, 4);

	for (const scenario of names) {
		test(`scenario ${scenario} is a sound world of dead numbers, the same each time`, async () => {
			const reported = [];
			for (let round = 0; round < 2; round += 1) {
				const box = await open({ scenario, check: scenario === "oddData" ? "open values" : "exact" });
				const rows = await survey(box, inDetail);
				for (const { row } of rows) {
					expect(Date.parse(row.lastMessageAt ?? "2026-01-05")).toBeLessThanOrEqual(box.sandbox.clock.now().getTime());
				}
				const writing = first(rows.length > 0 ? rows : [null])?.row.phoneNumber;
				if (writing)
					expect(await walkMessages(box, writing)).toHaveLength(
						(await get(box, writing)).ok().conversation.summary.totalMessages,
					);
				reported.push(JSON.stringify(rows), JSON.stringify(box.sandbox.snapshot().world));
				await box.close();
			}
			expect(reported.slice(0, 2)).toEqual(reported.slice(2));
		});
	}

	test("scenario fresh is what createSandbox makes by itself", async () => {
		const [fresh, bare] = [await open({ scenario: "fresh" }), createSandbox({ now: "2026-01-05T09:00:00.000Z" })];
		expect(JSON.stringify(fresh.sandbox.snapshot().world)).toBe(JSON.stringify(bare.snapshot().world));
		expect((await list(fresh)).ok().conversations).toEqual([]);
	});

	test("scenario busy has 250 conversations and one of 130 messages, three pages each", async () => {
		const box = await open({ scenario: "busy" });
		const rows = await listAll(box, { pageSize: 100 });
		expect(new Set(rows.map((row) => row.phoneNumber)).size).toBe(250);
		const long = only(rows.filter((row) => row.totalMessages === 130));
		const pages = [];
		let cursor: string | null = null;
		do {
			const page: { nextCursor: string | null } = (
				await messages(box, long.phoneNumber, cursor ? { cursor } : {})
			).ok();
			pages.push(page);
			cursor = page.nextCursor;
		} while (cursor);
		expect(pages).toHaveLength(3);
		expect(await walkMessages(box, long.phoneNumber)).toHaveLength(130);
	});

	test("scenario closed has a contact whose window has closed", async () => {
		const box = await open({ scenario: "closed" });
		const rows = (await list(box)).ok().conversations.filter((row) => row.windowExpiresAt !== null);
		const { phoneNumber, windowExpiresAt } = first(rows);
		expect(Date.parse(present(windowExpiresAt))).toBeLessThanOrEqual(box.sandbox.clock.now().getTime());
		expect((await send(box, { to: phoneNumber, body: "Hi" })).ok().queued).toBe(true);
	});

	test("scenario held has a contact with a held text, who may accept it", async () => {
		const box = await open({ scenario: "held" });
		const { phoneNumber } = first((await list(box)).ok().conversations.filter((row) => row.queuedMessages === 1));
		const { body } = only((await get(box, phoneNumber)).ok().conversation.queuedMessages);
		const contact = box.agency.contact(phoneNumber);
		expect(contact.accepts()).toEqual({ hadHeldText: true });
		expect(contact.inbox().at(-1)).toMatchObject({ kind: "text", body });
	});

	test("scenario ineligible has an agency that cannot hold a text", async () => {
		const box = await open({ scenario: "ineligible" });
		const { phoneNumber } = first((await list(box)).ok().conversations);
		const { windowReopenReadiness } = (await get(box, phoneNumber)).ok().conversation;
		expect(windowReopenReadiness.eligibleForManualSend).toBe(false);
		(await send(box, { to: "+447700900999", body: "Never wrote" })).refused(400);
	});

	test("scenario twoLanguages asks for a consentLanguage", async () => {
		const box = await open({ scenario: "twoLanguages" });
		const { phoneNumber } = first((await list(box)).ok().conversations);
		const { availableLanguages } = (await get(box, phoneNumber)).ok().conversation.windowReopenReadiness;
		expect(availableLanguages).toHaveLength(2);
		const request = { to: "+447700900999", body: "Never wrote" };
		expect((await send(box, request)).refused(400).message).toMatch(/consentLanguage/);
		(await send(box, { ...request, consentLanguage: first(availableLanguages) })).ok();
	});

	test("scenario unlinked has a conversation that no agency owns", async () => {
		const box = await open({ scenario: "unlinked" });
		const row = first((await list(box)).ok().conversations.filter((each) => each.isUnlinked));
		expect(row.visibility.reason).toBe("unlinked");
	});

	test("scenario readOnlyKey has a key that cannot send", async () => {
		const box = await open({ scenario: "readOnlyKey" });
		expect((await me(box)).ok().scopes).toEqual(["conversations:read"]);
		(await list(box)).ok();
		(await send(box, { to: "+447700900101", body: "Hi" })).refused(403);
	});

	test("scenario oddData has null names, unicode, messages of files only and the older content_type", async () => {
		const box = await open({ scenario: "oddData", check: "open values" });
		const rows = await survey(box, 25);
		const names = rows.map(({ row }) => row.contactName);
		expect(names).toContain(null);
		expect(rows.map(({ detail }) => JSON.stringify(detail)).join()).toMatch(/[^\x20-\x7e]/);
		const all = rows.flatMap(({ detail }) => detail.messagePage.messages);
		expect(all.some((message) => message.body === null && (message.numMedia ?? 0) > 0)).toBe(true);
		expect(all.flatMap((message) => message.media ?? []).some((file) => file.content_type !== undefined)).toBe(true);
	});

	test("scenarios can be loaded later too, and add up", async () => {
		const box = await open();
		box.sandbox.loadScenario("held");
		const [one] = (await list(box)).ok().conversations;
		expect(one?.queuedMessages).toBe(1);
		box.sandbox.loadScenario("twoLanguages");
		const rows = (await list(box)).ok().conversations;
		expect(rows.map((row) => row.phoneNumber)).toContain(one?.phoneNumber);
		const { windowReopenReadiness } = (await get(box, present(one).phoneNumber)).ok().conversation;
		expect(windowReopenReadiness.availableLanguages).toHaveLength(2);
		box.sandbox.loadScenario("readOnlyKey");
		expect((await me(box)).ok().scopes).toEqual(["conversations:read"]);
	});

	for (const scenario of names) {
		test(`scenario ${scenario} loads whatever happened before`, async () => {
			const box = await open({ check: "open values" });
			(await send(box, { to: ANNA, body: "First" })).ok();
			box.agency.consent.set({
				configured: false,
				languages: [],
				missingTemplates: ["consent"],
				answerWithinHours: 0.5,
			});
			const { windowReopenReadiness: before } = (await get(box, ANNA)).ok().conversation;
			box.agency.contact(BRAM).writes("Hello");
			for (const phone of [ANNA, BRAM, "+447700900103"]) box.agency.staff.setAi({ contact: phone, on: false });
			for (let round = 0; round < 2; round += 1) {
				box.sandbox.loadScenario(scenario);
				await survey(box, inDetail);
				if (scenario !== "held") continue;
				const { queuedMessages, windowReopenReadiness } = (await get(box, ANNA)).ok().conversation;
				expect(queuedMessages).toHaveLength(1);
				expect(windowReopenReadiness).toEqual(before);
			}
			box.sandbox.clock.advance({ hours: 1 });
			await survey(box, inDetail);
			if (scenario === "held") expect(box.agency.contact(ANNA).accepts()).toEqual({ hadHeldText: true });
		});
	}

	test("a scenario that fails half-way leaves nothing behind", async () => {
		const box = await open();
		box.agency.contact(BRAM).writes("Hello");
		withoutKeys(box);
		const before = box.sandbox.snapshot();
		expect(() => box.sandbox.loadScenario("readOnlyKey")).toThrow("The integration has no key.");
		expect(box.sandbox.snapshot()).toEqual(before);
		box.agency.contact(BRAM).writes("Still there");
		expect(box.sandbox.message(2).id).toBe(2);
	});

	test("a scenario that throws takes back no act that is to happen during a request", async () => {
		const box = await open();
		const act = box.sandbox.during({}, () => box.agency.contact(ANNA).writes("Hello"));
		expect(() => Reflect.apply(box.sandbox.loadScenario, undefined, ["quiet"])).toThrow(/no scenario "quiet"/);
		expect(act.remaining).toBe(1);
		withoutKeys(box);
		const later = box.sandbox.during({}, () => box.agency.contact(ANNA).writes("Hello"));
		expect(() => box.sandbox.loadScenario("readOnlyKey")).toThrow("The integration has no key.");
		expect(later.remaining).toBe(1);
	});

	test("a scenario that does not exist is refused", async () => {
		const unknown: object = { scenario: "quiet" };
		await expect(open(unknown)).rejects.toThrow(/quiet/);
		expect((await call(await open(), "GET", "/me")).status).toBe(200);
	});
});

const sendTo = (sandbox: Sandbox, body: string) =>
	sandbox.request({ method: "POST", path: `/agencies/${sandbox.agency().id}/messages`, body: { to: ANNA, body } });

test.for([
	["a text of the CRM", (box: Sandbox) => sendTo(box, "First")],
	["a text of staff", (box: Sandbox) => box.agency().staff.sends({ contact: ANNA, text: "First" })],
	[
		"a text that replaced another one later",
		async (box: Sandbox) => {
			await sendTo(box, "First");
			box.clock.advance({ minutes: 90 });
			await sendTo(box, "Second");
		},
	],
	["the text of the same scenario", (box: Sandbox) => box.loadScenario("held")],
] as const)(
	"a scenario with a held text that meets %s makes a world that can be restored and opened",
	async ([, hold]) => {
		const sandbox = createSandbox();
		await hold(sandbox);
		const before = sandbox.agency().contact(ANNA).state().held;
		expect(before).not.toBeNull();
		sandbox.loadScenario("held");
		const { held } = sandbox.agency().contact(ANNA).state();
		expect(held).toMatchObject({ body: "It is. Shall we plan a visit?", updatedAt: before?.updatedAt });
		sandbox.restore(sandbox.snapshot());
		expect(sandbox.agency().contact(ANNA).state().held).toEqual(held);
		const opened = createSandbox({ from: sandbox.bug({ keepContent: true }) });
		expect(opened.agency().contact(ANNA).state().held).toEqual(held);
	},
);
