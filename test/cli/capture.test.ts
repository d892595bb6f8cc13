// A live conversation becomes a bug file in which nothing is anybody's. The sandbox plays the live service.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { type ConversationSummary, createClient } from "messaging-conversations";
import { createSandbox, type Sandbox } from "messaging-conversations/sandbox";
import { expect, onTestFinished, test } from "vitest";
import { isLong } from "../length.ts";
import { start } from "./run.ts";

const phone = "+447700900101";

function folder(): string {
	const made = mkdtempSync(join(tmpdir(), "capture-"));
	onTestFinished(() => rmSync(made, { recursive: true }));
	return made;
}

const envOf = ({ connection }: Sandbox) => ({
	MESSAGING_BASE_URL: connection.baseUrl,
	MESSAGING_API_KEY: connection.apiKey,
});

/** Runs the command to its end. */
async function capture(args: readonly string[], sandbox: Sandbox, fetch: typeof globalThis.fetch = sandbox.fetch) {
	const running = start(["capture", ...args], envOf(sandbox), fetch);
	const code = await running.status;
	return { code, out: running.out(), err: running.err() };
}

/** What may happen in a conversation. Each text has words that are nowhere else. */
const acts = [
	"writes",
	"files",
	"answers",
	"lists",
	"staff",
	"crm",
	"taps",
	"accepts",
	"declines",
	"hour",
	"day",
	"delivered",
	"read",
	"failed",
	"paused",
	"code",
	"flow",
	"flow ends",
	"toggle",
] as const;

async function play(sandbox: Sandbox, seen: readonly (typeof acts)[number][]): Promise<string[]> {
	const agency = sandbox.agency();
	const anna = agency.contact(phone, { name: "Annabella Privatovic" });
	const client = createClient({ ...sandbox.connection }).agency(agency.id);
	const secrets = ["Annabella", "Privatovic"];
	let count = 0;
	const text = (): string => {
		const secret = `zq${count++}xuniqueword`;
		secrets.push(secret);
		return `Bonjour ${secret} please`;
	};
	const newest = () => agency.conversation(phone).state().messages.at(-1);
	const report = (act: (id: number) => void): void => {
		const message = newest();
		if (message && message.author !== "contact") act(message.id);
	};
	for (const act of seen) {
		try {
			if (act === "writes") anna.writes({ body: text(), replyTo: newest()?.id });
			if (act === "files") {
				secrets.push(`photo${count}private`);
				anna.writes({ media: [{ url: `https://private.invalid/photo${count++}private`, contentType: "image/jpeg" }] });
			}
			if (act === "answers")
				agency.ai.replies({
					contact: anna,
					text: text(),
					interactiveContent: { quickReplies: [{ code: "visit_yes", text: text() }] },
				});
			if (act === "lists") {
				const items = [{ id: "slot_one", title: text(), description: text() }];
				const ctaButtons = [{ type: "PHONE_NUMBER", title: text(), phone: "+447700900777", ttl_minutes: 60 }];
				agency.ai.replies({
					contact: anna,
					text: text(),
					templateName: "visit_times",
					interactiveContent: { listPicker: { items }, ctaButtons },
				});
			}
			if (act === "staff") agency.staff.sends({ contact: anna, text: text() });
			if (act === "crm")
				await client.messages.send({ to: phone, body: text(), operationId: `private-operation-${count}` });
			if (act === "taps") anna.taps("visit_yes");
			if (act === "accepts") anna.accepts();
			if (act === "declines") anna.declines();
			if (act === "hour") sandbox.clock.advance({ hours: 1, ms: 7 });
			if (act === "day") sandbox.clock.advance({ days: 1, minutes: 3 });
			if (act === "delivered" || act === "read") report((id) => agency.message(id)[act]());
			if (act === "failed") report((id) => agency.message(id).failed({ errorCode: 63016 }));
			if (act === "paused") report((id) => agency.message(id).set("paused"));
			if (act === "code") report((id) => agency.message(id).set("sent", { errorCode: 30008 }));
			if (act === "flow") agency.startFlow(anna);
			if (act === "flow ends") agency.startFlow(anna).complete();
			if (act === "toggle") agency.staff.setAi({ contact: anna, on: !anna.state().ai.enabled });
		} catch {
			// Not everything can happen at any time.
		}
	}
	if (!anna.state().exists) agency.conversation(phone).open();
	return secrets;
}

const texts = new Set("body text title description lastMessagePreview contactName profileName buttonText".split(" "));
const replaced = new Set(
	"input id messageSid cursor nextCursor phoneNumber url stored_url original_url storage_path phone".split(" "),
);
const codes = new Set(["templateName", "buttonClicked", "code"]);
const statuses = new Set(["status", "latestFlowStatus"]);

/** A read of the service with what the redaction replaces made alike, and its times counted from a moment. */
function alike(value: unknown, from: number, name = ""): unknown {
	if (Array.isArray(value)) return value.map((each) => alike(each, from, name));
	if (typeof value === "object" && value !== null)
		return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, alike(each, from, key)]));
	if (value === null || value === undefined || typeof value === "boolean") return value;
	if (name.endsWith("Name") && name !== "templateName") return "a name";
	if (texts.has(name)) return String(value).length;
	if (replaced.has(name)) return "another one";
	if (codes.has(name) && !String(value).startsWith("consent_") && value !== "window_reopen_consent") return "a code";
	if (statuses.has(name) && value === "paused") return "other";
	if (typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value)) return Date.parse(value) - from;
	return value;
}

async function readsOf(sandbox: Sandbox, number: string, now: number): Promise<unknown> {
	const { conversations } = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
	const reads = [
		await conversations.get(number, { pageSize: 3 }),
		await conversations.listMessages(number, { pageSize: 100 }).page(),
		await conversations.list().page(),
		await conversations.lookup([number]),
	];
	return alike(JSON.parse(JSON.stringify(reads)), now);
}

test("a captured conversation holds nothing of anybody, and answers each read as the original does", async () => {
	const home = folder();
	let number = 0;
	await fc.assert(
		fc.asyncProperty(fc.array(fc.constantFrom(...acts), { maxLength: 25 }), async (seen) => {
			const live = createSandbox();
			const secrets = await play(live, seen);
			const file = join(home, `${number++}.json`);
			const methods: string[] = [];
			const { code, out, err } = await capture(
				["--agency", live.agency().id, "--contact", phone, "--out", file, "--yes"],
				live,
				(input, init) => {
					methods.push(new Request(input, init).method);
					return live.fetch(input, init);
				},
			);
			expect([code, err]).toEqual([0, ""]);
			expect(new Set(methods)).toEqual(new Set(["GET"]));
			const text = readFileSync(file, "utf8");
			const sids = live
				.agency()
				.conversation(phone)
				.state()
				.messages.map(({ messageSid }) => messageSid);
			const digits = phone.slice(1);
			const own = [
				...secrets,
				...[digits, `0${digits.slice(2)}`, `00${digits}`, "7700 900101", "7700900777", "private"],
				...[live.connection.apiKey, "Lakeside", "Sandbox CRM", "operation-"],
			];
			for (const [what, shown] of Object.entries({ file: text.toLowerCase(), screen: `${out}${err}`.toLowerCase() }))
				for (const each of own) expect(shown.includes(each.toLowerCase()), `${what}: ${each}`).toBe(false);
			// The captured world counts its own messages, so that ids may be the same by chance, but no more than those.
			expect(sids.length).toBe(JSON.parse(text).world.agencies[0]?.threads[0]?.messages.length);
			const captured = createSandbox({ from: text });
			const [contact] = captured.agency().contacts();
			const newest = live.agency().conversation(phone).state();
			const anchor = captured.clock.now().getTime();
			const read = Math.max(
				Math.floor(live.clock.now().getTime() / 1000) * 1000,
				...newest.messages.map(({ at }) => Date.parse(at)),
			);
			expect(await readsOf(captured, contact?.phoneNumber ?? "", anchor)).toEqual(await readsOf(live, phone, read));
		}),
		{ numRuns: isLong ? 500 : 60 },
	);
});

test("without --yes it asks, shows what it will write, and writes for y alone", async () => {
	const live = createSandbox({ scenario: "held" });
	const home = folder();
	for (const [key, code, isWritten] of [
		["n", 1, false],
		["y", 0, true],
	] as const) {
		const file = join(home, `${key}.json`);
		const asking = start(
			["capture", "--agency", live.agency().id, "--contact", phone, "--out", file],
			envOf(live),
			live.fetch,
			{
				columns: 80,
			},
		);
		await expect.poll(asking.out).toContain("Write it?");
		expect(asking.out()).toContain("pseudonymous data of a person");
		expect(asking.out()).toContain("1 text that waits for consent");
		expect(existsSync(file)).toBe(false);
		asking.press(key);
		expect(await asking.status).toBe(code);
		expect(existsSync(file)).toBe(isWritten);
	}
	expect(
		createSandbox({ from: readFileSync(join(home, "y.json"), "utf8") })
			.agency()
			.conversations()[0]?.held,
	).toBeTruthy();
});

test("it overwrites nothing, asks nobody who is not there, and names what it lacks without the number", async () => {
	const live = createSandbox({ scenario: "held" });
	const file = join(folder(), "bug.json");
	const of = (...args: string[]) => capture(args, live);
	const agency = live.agency().id;
	expect((await of("--agency", agency)).err).toContain("capture needs --contact");
	expect((await of("--contact", phone)).err).toContain("capture needs --agency");
	const unknown = await of("--agency", agency, "--contact", "+447700900199", "--yes", "--out", file);
	expect([unknown.code, unknown.err]).toEqual([
		1,
		"The agency has no conversation with this contact, or it is hidden.\n",
	]);
	const wrong = await of("--agency", agency, "--contact", "Anna 0477", "--yes", "--out", file);
	expect(wrong.code).toBe(1);
	expect(wrong.err).not.toContain("0477");
	expect((await of("--agency", agency, "--contact", phone, "--out", file)).err).toContain("--yes writes the file");
	writeFileSync(file, "mine");
	expect((await of("--agency", agency, "--contact", phone, "--out", file, "--yes")).err).toContain("exists");
	expect(readFileSync(file, "utf8")).toBe("mine");
});

test("a captured world goes on: the contact accepts, and the held text goes out", async () => {
	const live = createSandbox({ scenario: "held" });
	const file = join(folder(), "bug.json");
	await capture(["--agency", live.agency().id, "--contact", phone, "--out", file, "--yes"], live);
	const sandbox = createSandbox({ from: readFileSync(file, "utf8") });
	const [contact] = sandbox.agency().contacts();
	expect(contact?.accepts()).toEqual({ hadHeldText: true });
	expect(sandbox.events().map(({ type }) => type)).toContain("text.sent");
});

/** Captures what the sandbox answers after a change, and returns the text of the file; undefined if there is none. */
async function captureOf(live: Sandbox, change: (answer: ReturnType<typeof JSON.parse>) => void) {
	const file = join(folder(), "bug.json");
	const args = ["--agency", live.agency().id, "--contact", phone, "--out", file, "--yes"];
	const { code, err } = await capture(args, live, async (input, init) => {
		const { status, headers, ...answer } = await answered(await live.fetch(input, init));
		change(answer.json);
		return new Response(JSON.stringify(answer.json), { status, headers });
	});
	return { code, err, text: existsSync(file) ? readFileSync(file, "utf8") : undefined };
}

const answered = async (answer: Response) => ({
	status: answer.status,
	headers: answer.headers,
	json: await answer.json(),
});

const detailOf = async (text: string | undefined) => {
	const sandbox = createSandbox({ from: text });
	const [contact] = sandbox.agency().contacts();
	const agency = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
	return agency.conversations.get(contact?.phoneNumber ?? "");
};

test("times and statuses that are null stay null, until a report says otherwise", async () => {
	const live = createSandbox();
	await play(live, ["writes", "hour", "crm", "hour", "writes", "crm"]);
	const { conversations } = createClient({ ...live.connection }).agency(live.agency().id);
	const original = await conversations.get(phone);
	const sinceLast = ({ lastMessageAt, windowExpiresAt }: ConversationSummary) =>
		Date.parse(windowExpiresAt ?? "") - Date.parse(lastMessageAt ?? "");
	for (const [field, which] of [
		["createdAt", [0]],
		["createdAt", [1, 2]],
		["createdAt", [0, 1, 2, 3]],
		["status", [0, 1]],
		["status", [0, 1, 2, 3]],
	] as const) {
		const { text } = await captureOf(live, ({ messagePage }) => {
			for (const index of which) messagePage.messages[index][field] = null;
		});
		const { conversation, messagePage } = await detailOf(text);
		const nulls = messagePage.messages.flatMap((message, index) => (message[field] === null ? [index] : []));
		expect(nulls).toEqual(which);
		expect(sinceLast(conversation.summary)).toBe(sinceLast(original.conversation.summary));
		const sandbox = createSandbox({ from: text });
		sandbox.message(4).delivered();
		const again = await detailOf(JSON.stringify(sandbox.bug()));
		expect(again.messagePage.messages[0]?.status).toBe("delivered");
	}
});

test("languages stay, or stay apart, and each text has the length that it had", async () => {
	const live = createSandbox();
	const contact = live.agency().contact(phone);
	const bodies = ["a", "b", "ok", "no", "👍", "é", "yes", "Anna!", "line\nbreak", "x".repeat(700)];
	const short = Array.from({ length: 60 }, (_, index) => `k${String.fromCharCode(97 + (index % 26))}`);
	for (const body of [...bodies, ...short]) contact.writes(body);
	const languages = ["nl", "es-419", "zh-Hans-CN", "pt_BR", "english", "Bob's own", "es-Bob"];
	const { text } = await captureOf(live, ({ conversation }) => {
		if (!conversation) return;
		conversation.windowReopenReadiness.availableLanguages = languages;
		conversation.windowReopenReadiness.defaultLanguage = "Bob's own";
	});
	const { conversation } = await detailOf(text);
	const { availableLanguages, defaultLanguage } = conversation.windowReopenReadiness;
	expect(availableLanguages.slice(0, 4)).toEqual(languages.slice(0, 4));
	expect(new Set(availableLanguages).size).toBe(languages.length);
	expect(defaultLanguage).toBe(availableLanguages[5]);
	expect(text).not.toMatch(/bob|english/i);
	const [row] = createSandbox({ from: text }).agency().contacts();
	const captured = row?.state().messages ?? [];
	expect(captured.map(({ body }) => body?.length)).toEqual([...bodies, ...short].map(({ length }) => length));
});

test("a time that is none, or far from any, is refused with its field and what to do", async () => {
	const live = createSandbox({ scenario: "held" });
	for (const at of ["yesterday", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "Anna"]) {
		const changes: readonly (readonly [string, (answer: ReturnType<typeof JSON.parse>) => unknown])[] = [
			["a message", ({ messagePage }) => (messagePage.messages[0].createdAt = at)],
			["the held text", ({ conversation }) => (conversation.queuedMessages[0].createdAt = at)],
			[
				"a reply",
				({ messagePage: { messages } }) =>
					(messages[0].replyTo = {
						body: "",
						direction: "inbound",
						createdAt: at,
						templateName: null,
						hasMedia: false,
					}),
			],
		];
		for (const [what, change] of changes) {
			const { code, err, text } = await captureOf(live, change);
			expect([code, text], `${what}: ${at}`).toEqual([what === "a reply" && /^\d/.test(at) ? code : 1, text]);
			if (code === 0) continue;
			expect(err.replace(/\s+/g, " ")).toMatch(
				/^The service answered with a value that no sandbox can have.*command doctor/,
			);
			expect(err).not.toContain("agencies[0]");
			expect(err).not.toContain(at);
		}
	}
});

/** Adds fields that the contract does not know to each object, and puts a secret into each word that is not copied. */
function spoiled(value: unknown, name = ""): unknown {
	if (Array.isArray(value)) return value.map((each) => spoiled(each, name));
	if (typeof value === "object" && value !== null) {
		const fields = Object.entries(value).map(([key, each]) => [key, spoiled(each, key)]);
		return {
			...Object.fromEntries(fields),
			note: "Zq Secretperson",
			secretperson: "+447700900888",
			"+447700900888": 1,
		};
	}
	if (typeof value === "number" && /^(size|index|ttl_minutes)$/.test(name)) return 447700900888;
	if (/^(contentType|content_type)$/.test(name)) return "image/secretperson";
	if (name === "code" || name === "buttonClicked") return value === null ? null : `call_0900_888_${value}`;
	if (/^(availableLanguages|defaultLanguage|flowCodes|missingTemplates|latestFlowStatus)$/.test(name) && value !== null)
		return `Secretperson ${value}`;
	return (name === "status" || name === "templateName") && value !== null ? `Secretperson, ${value}` : value;
}

test("fields that the contract does not know, and words that are no codes, do not survive", async () => {
	const live = createSandbox();
	await play(live, ["writes", "files", "answers", "taps", "lists", "crm", "flow", "day", "crm", "delivered"]);
	live.agency().consent.set({ languages: ["nl", "fr"], missingTemplates: ["visit_times"] });
	const file = join(folder(), "bug.json");
	const { code, out } = await capture(
		["--agency", live.agency().id, "--contact", phone, "--out", file, "--yes"],
		live,
		async (input, init) => {
			const answer = await live.fetch(input, init);
			return new Response(JSON.stringify(spoiled(await answer.json())), {
				status: answer.status,
				headers: answer.headers,
			});
		},
	);
	expect(code).toBe(0);
	const text = readFileSync(file, "utf8");
	for (const each of ["secretperson", "900888", "0900_888", "note"]) {
		expect(text.toLowerCase()).not.toContain(each);
		expect(out.toLowerCase()).not.toContain(each);
	}
	expect(createSandbox({ from: text }).agency().conversations()).toHaveLength(1);
});
