// `messaging-conversations outbox …` over the drivers of a project, and six nights in which nothing is sent, each told by one command.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Libsql from "libsql";
import { createClient } from "messaging-conversations";
import { createOutbox, type OutboxOptions } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { start } from "../../cli/run.ts";
import { mysqlStore, type OutboxStore, postgresStore, sqliteStore } from "../port.ts";
import { newText } from "../store-suite.ts";
import { mysqlKinds, useMysql } from "./mysql-server.ts";
import { newFile } from "./open.ts";
import { usePostgres } from "./server.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const empty = mkdtempSync(join(tmpdir(), "project-"));
afterAll(() => rmSync(empty, { recursive: true }));

interface Place {
	url: string;
	cwd?: string;
	prefix?: string;
}

/** Runs the command as a person does, in the folder of a project. */
async function run({ url, cwd = here, prefix }: Place, ...args: string[]) {
	const more = prefix === undefined ? [] : ["--prefix", prefix];
	const running = start(["outbox", ...args, ...more], { DATABASE_URL: url }, fetch, undefined, cwd);
	const code = await running.status;
	return { code, out: running.out(), err: running.err() };
}

/** An office on this machine's clock, whose contact has just written. */
function createOffice(store: OutboxStore, options: Partial<OutboxOptions> = {}, fetched?: typeof fetch) {
	const sandbox = createSandbox({ now: new Date() });
	const agency = sandbox.agency();
	const anna = agency.contact("+447700900101");
	anna.writes("Hello");
	const client = createClient({ ...sandbox.connection, ...(fetched && { fetch: fetched }) });
	const outbox = createOutbox({ client, store, now: sandbox.clock.now, ...options });
	const enqueue = (id: string) =>
		outbox.enqueue({
			...{ id, agencyId: agency.id, to: anna.phoneNumber, body: "Secret words", meta: { visit: 7 } },
			...{ by: "Colleague Cleo", why: "Because Dora called" },
		});
	return { sandbox, agency, anna, outbox, enqueue };
}

async function openFile(): Promise<Place & { store: OutboxStore }> {
	const url = newFile();
	const store = sqliteStore(new Libsql(url));
	await store.migrate();
	return { url, store };
}

const inWords = (out: string): string => out.replace(/\s+/g, " ");

describe("six nights in which nothing is sent", () => {
	test("no worker runs", async () => {
		const { store, ...place } = await openFile();
		await createOffice(store).enqueue("note-1");
		const { code, out } = await run(place, "explain", "note-1");
		expect([code, inWords(out)]).toEqual([
			0,
			expect.stringContaining("No worker is running: each one that ran has stopped in order"),
		]);
		const health = await run(place, "health");
		expect([health.code, health.out]).toEqual([2, expect.stringMatching(/✗ fail +workers +No worker is running/)]);
	});

	test("the key is refused", async () => {
		const { store, ...place } = await openFile();
		const refused: typeof fetch = async () =>
			Response.json({ _tag: "PartnerUnauthorized", message: "No." }, { status: 401 });
		const { outbox, enqueue } = createOffice(store, {}, refused);
		await enqueue("note-1");
		await outbox.runOnce();
		const { code, out } = await run(place, "explain", "note-1");
		expect([code, inWords(out)]).toEqual([
			0,
			expect.stringMatching(/All texts are paused .*the service refuses the API key/),
		]);
		const health = await run(place, "health");
		expect([health.code, inWords(health.out)]).toEqual([1, expect.stringContaining("the service refuses the API key")]);
	});

	test("somebody has suspended the agency", async () => {
		const { store, ...place } = await openFile();
		const { agency, outbox, enqueue } = createOffice(store);
		await outbox.suspend({ agencyId: agency.id, reason: "Wrong price in the campaign", by: "Ann" });
		await enqueue("note-1");
		await outbox.runOnce();
		const { code, out } = await run(place, "explain", "note-1");
		expect([code, inWords(out)]).toEqual([
			0,
			expect.stringMatching(/suspended by Ann on .* UTC: Wrong price in the campaign\./),
		]);
	});

	test("it is quiet", async () => {
		const { store, ...place } = await openFile();
		const hour = new Date().getUTCHours();
		const at = (add: number) => `${String((hour + add) % 24).padStart(2, "0")}:00`;
		const { outbox, enqueue } = createOffice(store, { quietHours: { from: at(23), to: at(3), timeZone: "UTC" } });
		await enqueue("note-1");
		await outbox.runOnce();
		const { code, out } = await run(place, "explain", "note-1");
		expect([code, inWords(out)]).toEqual([0, expect.stringContaining("Waits for the end of the quiet hours, at ")]);
	});

	test("the agency's template is not approved", async () => {
		const { store, ...place } = await openFile();
		const { sandbox, agency, outbox, enqueue } = createOffice(store, { now: undefined });
		agency.consent.set({ unapprovedTemplates: ["consent"] });
		sandbox.clock.advance({ hours: 25 });
		await enqueue("note-1");
		await outbox.runOnce();
		const { code, out } = await run(place, "explain", "note-1");
		expect([code, inWords(out)]).toEqual([0, expect.stringContaining("its template is not approved")]);
		const health = await run(place, "health");
		expect([health.code, inWords(health.out)]).toEqual([
			1,
			expect.stringMatching(
				new RegExp(`Agency ${agency.id} is paused: it cannot ask contacts.* doctor --agency ${agency.id} `),
			),
		]);
	});

	test.each([
		["sends alone", ({ method }: Request) => method === "POST"],
		["everything", () => true],
	])("a firewall refuses %s, and health says whom to call, because the doctor only reads", async (_what, refuses) => {
		const { store, ...place } = await openFile();
		const firewall: typeof fetch = async (input, init) => {
			const request = new Request(input, init);
			return refuses(request) ? new Response("<h1>Blocked", { status: 403 }) : sandbox.fetch(request);
		};
		const { sandbox, outbox, enqueue } = createOffice(store, { now: undefined }, firewall);
		await enqueue("note-1");
		await outbox.runOnce();
		const health = await run(place, "health");
		expect([health.code, inWords(health.out)]).toEqual([
			1,
			expect.stringMatching(/All texts are paused .*tell the people who run the firewall .*The doctor only reads/),
		]);
		expect(inWords(health.out)).not.toContain("doctor finds out more");
		expect(health.out).not.toContain("All is well");
		const { checks } = JSON.parse((await run(place, "health", "--json")).out);
		expect(checks.find(({ id }: { id: string }) => id === "pause").remedy).toContain("Once a send passes");
	});

	test("a check of the application fails", async () => {
		const { store, ...place } = await openFile();
		const beforeSend = () => {
			throw new Error("+447700900101 is not in the database");
		};
		const { agency, outbox, enqueue } = createOffice(store, { beforeSend });
		await enqueue("note-1");
		await outbox.runOnce();
		const { code, out } = await run(place, "health");
		expect([code, inWords(out)]).toEqual([
			1,
			expect.stringMatching(new RegExp(`Agency ${agency.id} is paused: a check of the application.* see the log`)),
		]);
		expect(out).not.toContain("+447700900101");
	});
});

test("what a check of the application gave as its reason is shown with --show-content alone", async () => {
	const { store, ...place } = await openFile();
	const reason = "Ann, +447700900101, has called";
	const { outbox, enqueue } = createOffice(store, {
		beforeSend: ({ id }) =>
			id === "gone" ? { cancel: reason } : { waitUntil: new Date(Date.now() + 3_600_000), because: reason },
	});
	await enqueue("gone");
	await enqueue("later");
	await outbox.runOnce();
	for (const args of [
		["explain", "gone"],
		["explain", "later"],
		["list", "--state", "waiting"],
		["list", "--state", "cancelled"],
	])
		for (const json of [[], ["--json"]]) {
			const hidden = await run(place, ...args, ...json);
			expect([hidden.code, /Ann|called/.test(hidden.out)]).toEqual([0, false]);
			const { out } = await run(place, ...args, ...json, "--show-content");
			if (args[0] === "explain" || json.length > 0) expect(inWords(out)).toContain(reason);
		}
	expect((await outbox.status("gone"))?.hookReason).toBe(reason);
});

test("opted-out and optedOut say that an agency is new to the outbox, or mistyped", async () => {
	const { store, ...place } = await openFile();
	const { agency, anna, outbox, enqueue } = createOffice(store);
	const { phoneNumber: to } = anna;
	const ask = (agencyId: string, ...more: string[]) => run(place, "opted-out", to, "--agency", agencyId, ...more);
	const isKnown = async (agencyId: string) => (await outbox.optedOut({ agencyId, to })).isAgencyKnown;
	expect([await isKnown(agency.id), (await ask(agency.id)).code]).toEqual([false, 1]);
	await enqueue("note-1");
	await outbox.runOnce();
	anna.writes("STOP");
	await enqueue("note-2");
	await outbox.runOnce();
	const known = await ask(agency.id);
	expect([await isKnown(agency.id), known.code, known.out]).toEqual([true, 0, expect.stringMatching(/^Opted out/)]);
	expect((await outbox.optedOut({ agencyId: agency.id, to: "+447700900102" })).isAgencyKnown).toBe(true);
	const mistyped = `${agency.id.slice(0, -1)}${agency.id.endsWith("0") ? "1" : "0"}`;
	for (const id of [mistyped, ` ${agency.id}`, `${agency.id} `, agency.id.toUpperCase(), "agy_0000000000000000"]) {
		const { code, out } = await ask(id);
		expect([code, inWords(out)]).toEqual([
			1,
			expect.stringMatching(/^No worker has seen an agency of this id .* right id\?/),
		]);
		expect(JSON.parse((await ask(id, "--json")).out)).toMatchObject({ isOptedOut: false, isAgencyKnown: false });
	}
	expect(await isKnown(mistyped)).toBe(false);
	await outbox.optOut({ agencyId: mistyped, to });
	expect(await isKnown(mistyped)).toBe(true);
	await outbox.optOut({ to });
	expect(await outbox.optedOut({ agencyId: "agy_0000000000000000", to })).toMatchObject({
		isOptedOut: true,
		isAgencyKnown: false,
	});
});

test("a file that can't be read or written is an error of the file, and not of the database", async () => {
	const { store: _, ...place } = await openFile();
	const tried = async (...args: string[]) => {
		const { code, err } = await run(place, ...args);
		return [code, err.trim()];
	};
	const none = join(empty, "nowhere");
	expect(await tried("import", join(none, "a.ndjson"), "--yes")).toEqual([2, "The file cannot be read (ENOENT)."]);
	expect(await tried("import", empty, "--yes")).toEqual([2, "The file cannot be read (EISDIR)."]);
	expect(await tried("export", "--out", join(none, "a.ndjson"))).toEqual([
		2,
		"The file of --out cannot be written (ENOENT).",
	]);
	const exists = "The file of --out exists. Name another one, or delete it.";
	expect(await tried("export", "--out", place.url)).toEqual([2, exists]);
	const json = await run(place, "import", join(none, "a.ndjson"), "--yes", "--json");
	expect(JSON.parse(json.err).error.message).toBe("The file cannot be read (ENOENT).");
});

test("list says in a sentence that a text ended because its contact wrote STOP, or was never asked", async () => {
	const { store, ...place } = await openFile();
	const { sandbox, anna, outbox, enqueue } = createOffice(store);
	const listed = async () => inWords((await run(place, "list", "--state", "dropped")).out);
	sandbox.clock.advance({ hours: 25 });
	await enqueue("note-1");
	await outbox.runOnce();
	anna.writes("STOP");
	for (const hours of [1, 60, 1]) {
		sandbox.clock.advance({ hours });
		await outbox.runOnce();
	}
	expect(await listed()).toMatch(/note-1 dropped \(opted_out\) since .* the contact asked for no more texts/);
	await outbox.optIn({ to: anna.phoneNumber, agencyId: sandbox.agency().id });
	anna.setReachable(false);
	await enqueue("note-2");
	for (const hours of [0, 1, 60, 1]) {
		sandbox.clock.advance({ hours });
		await outbox.runOnce();
	}
	expect(await listed()).toMatch(/note-2 dropped .*the request for the contact's consent did not reach the phone/);
});

test("report prints a table of what became of texts, or JSON, and refuses what is no day", async () => {
	const { store, ...place } = await openFile();
	const { sandbox, agency, anna, outbox, enqueue } = createOffice(store);
	await enqueue("note-1");
	await enqueue("note-2");
	await outbox.cancel("note-2");
	await outbox.runOnce();
	const day = sandbox.clock.now().toISOString().slice(0, 10);
	const next = new Date(sandbox.clock.now().getTime() + 86_400_000).toISOString().slice(0, 10);
	const days = ["--since", day, "--until", next];
	const { code, out } = await run(place, "report", ...days);
	const [head, row, ...rest] = out.trimEnd().split("\n");
	expect([code, rest, head?.length]).toEqual([0, [], row?.length]);
	expect(head?.split(/ {2,}/)).toEqual(
		"day,agency,purpose,texts,sent,delivered,read,declined,not sent,failed,held,waiting,unknown".split(","),
	);
	expect(row?.split(/ {2,}/)).toEqual([day, agency.id, "notice", "2", "1", "0", "0", "0", "1", "0", "0", "0", "0"]);
	const { rows } = JSON.parse((await run(place, "report", ...days, "--json", "--agency", agency.id)).out);
	expect(rows).toEqual(await outbox.report({ since: day, until: next }));
	expect((await run(place, "report", "--since", next, "--until", `${next}T12:00:00Z`)).out).toBe("No texts.\n");
	const wrong = await run(place, "report", "--since", "monday", "--until", next);
	expect([wrong.code, wrong.out, wrong.err]).toEqual([2, "", expect.stringContaining("since")]);
	expect(out).not.toContain(anna.phoneNumber);
});

test("suspend says how many texts of the agency wait, and doubts an id without any", async () => {
	const { store, ...place } = await openFile();
	const { agency, enqueue } = createOffice(store);
	await enqueue("note-1");
	await enqueue("note-2");
	const suspend = async (agencyId: string) =>
		inWords((await run(place, "suspend", "--agency", agencyId, "--reason", "Stop", "--yes")).out);
	expect(await suspend(agency.id)).toContain("2 texts of that agency wait. Texts expire");
	expect(await suspend("agy_0000000000000000")).toContain("0 texts of that agency wait. Is it the right id?");
});

test.for(["", "health", "list", "explain", "suspend", "resume", "resolve", "restored"])(
	"the example of the help works as it is written: outbox %s",
	async (name) => {
		const { store, ...place } = await openFile();
		const { outbox, enqueue } = createOffice(store);
		await enqueue("visit-17");
		const row = await store.find("visit-17");
		if (name === "resolve" && row) await store.save({ ...row, state: "unknown", nextAt: null });
		if (name === "resume") await outbox.suspend({ reason: "Maintenance", by: "Ann" });
		const help = await run(place, ...(name === "" ? [] : [name]), "--help");
		const [, example = ""] = /\nExample:\n {2}npx messaging-conversations (.*)\n/.exec(help.out) ?? [];
		expect(example).toMatch(new RegExp(`^outbox ${name}`));
		const running = start(example.split(" "), { DATABASE_URL: place.url }, fetch, { columns: 100 }, here);
		const asks = ["suspend", "resume", "resolve", "restored"].includes(name);
		if (asks) await expect.poll(running.out).toContain("Press y");
		running.press("y");
		const status = await running.status;
		expect(running.err()).toBe("");
		// No worker runs, and a text is due.
		expect(status).toBe(name === "" || name === "health" ? 2 : 0);
		if (name === "list" || name === "explain") expect(running.out()).toContain("visit-17");
		if (name === "suspend") expect(await store.suspended()).toMatchObject([{ reason: "Maintenance" }]);
		if (name === "resume") expect(await store.suspended()).toEqual([]);
		if (name === "resolve") expect((await outbox.status("visit-17"))?.state).toBe("sent");
		if (name === "restored") expect((await store.find("visit-17"))?.progress.restored).toBeDefined();
	},
);

/** What every database must do. */
async function operate(place: Place, store: OutboxStore): Promise<void> {
	const { agency, anna, outbox, enqueue } = createOffice(store);
	await outbox.migrate();
	await enqueue("note-1");
	const suspended = await run(
		place,
		"suspend",
		"--agency",
		agency.id,
		"--reason",
		"Stop",
		"--by",
		"Ann",
		"--yes",
		"--json",
	);
	expect([suspended.code, JSON.parse(suspended.out), suspended.err]).toEqual([
		0,
		{ suspended: true, agencyId: agency.id, by: "Ann" },
		"",
	]);
	await outbox.runOnce();
	expect(anna.inbox()).toEqual([]);
	const health = await run(place, "health", "--json");
	expect(JSON.parse(health.out)).toMatchObject({
		status: 1,
		health: { due: 0, texts: { waiting: 1 }, suspensions: [{ agencyId: agency.id, reason: "Stop", by: "Ann" }] },
	});
	const resumed = await run(place, "resume", "--agency", agency.id, "--yes");
	expect([resumed.code, resumed.err]).toEqual([0, ""]);
	await outbox.runOnce();
	expect(anna.inbox().map(({ body }) => body)).toEqual(["Secret words"]);
	const row = await store.find("note-1");
	if (row) await store.save({ ...row, state: "unknown", nextAt: null });
	for (const args of [
		["list", "--state", "unknown"],
		["explain", "note-1"],
	]) {
		const hidden = await run(place, ...args);
		expect([hidden.code, hidden.out]).toEqual([0, expect.stringContaining("note-1")]);
		const json = await run(place, ...args, "--json");
		for (const { out } of [hidden, json]) expect(out).not.toMatch(/Secret|447700|visit|Cleo|Dora/);
		const shown = await run(place, ...args, "--show-content");
		expect(shown.out).toContain(`${anna.phoneNumber}: Secret words`);
		expect(shown.out).toMatch(/By Colleague Cleo\n\s*Why: Because Dora called\n/);
		const both = await run(place, ...args, "--show-content", "--json");
		expect(JSON.parse(both.out)).toBeTypeOf("object");
		expect(both.out).toMatch(
			/"by":"Colleague Cleo","why":"Because Dora called","meta":\{"visit":7\}.*"body":"Secret words"/,
		);
	}
	for (const args of [
		["--to", anna.phoneNumber],
		["--to", anna.phoneNumber, "--state", "unknown", "--agency", agency.id],
		["--since", "2026-01-01T00:00:00Z"],
	]) {
		const hidden = await run(place, "list", ...args);
		expect([hidden.code, inWords(hidden.out)]).toEqual([
			0,
			expect.stringMatching(/note-1 unknown since .*, sent .* 1 /),
		]);
		expect(hidden.out).not.toMatch(/Secret|447700|Cleo|Dora/);
		const shown = await run(place, "list", ...args, "--show-content");
		expect(shown.out).toMatch(/Secret words\n\s*By Colleague Cleo\n\s*Why: Because Dora called\n/);
		const json = JSON.parse((await run(place, "list", ...args, "--json")).out);
		expect(json.texts).toEqual([expect.objectContaining({ id: "note-1", sentAt: expect.any(String) })]);
		expect(JSON.stringify(json)).not.toMatch(/Secret|447700|Cleo|Dora/);
	}
	for (const args of [
		["--to", "+447700900102"],
		["--since", "2999-01-01T00:00:00Z"],
		["--state", "delivered"],
	])
		expect((await run(place, "list", ...args)).out).not.toContain("note-1");
	for (const args of [
		["--to", "0170-secret"],
		["--since", "secret"],
	]) {
		const { code, err } = await run(place, "list", ...args);
		expect([code, err]).toEqual([2, expect.stringMatching(new RegExp(args[0]?.slice(2) ?? ""))]);
		expect(err).not.toContain("secret");
	}
	const resolved = await run(place, "resolve", "note-1", "--as", "sent", "--by", "Ann", "--yes");
	expect([resolved.code, resolved.out]).toEqual([0, expect.stringContaining("Resolved by Ann.")]);
	expect((await outbox.status("note-1"))?.state).toBe("sent");
	const again = await run(place, "resolve", "note-1", "--as", "not_sent", "--yes");
	expect([again.code, inWords(again.out)]).toEqual([1, expect.stringContaining("The text is sent, and not unknown.")]);

	await store.insert({ ...newText, id: "from the backup" }, undefined);
	const future = await run(place, "restored", "--backup-at", "2999-01-01T00:00:00Z", "--yes");
	expect([future.code, future.err]).toEqual([2, expect.stringContaining("must not be in the future")]);
	const restored = await run(place, "restored", "--backup-at", "2026-01-05T03:00:00Z", "--yes");
	expect([restored.code, inWords(restored.out)]).toEqual([0, expect.stringContaining("will be looked for")]);
	const from = Date.parse("2026-01-05T03:00:00Z");
	expect((await store.find("from the backup"))?.progress.restored).toMatchObject({ from });
	expect(inWords((await run(place, "health")).out)).toContain("declared on");
	await carry(place, store);
}

/** Carries opt-outs by a file into another outbox. */
async function carry(place: Place, store: OutboxStore): Promise<void> {
	const { outbox, agency, anna, sandbox } = createOffice(store);
	const who = { to: anna.phoneNumber, agencyId: agency.id };
	await outbox.optOut({ ...who, by: "Dora" });
	await outbox.erase(who);
	sandbox.clock.advance({ ms: 5 });
	await outbox.optOut({ ...who, by: "Emma" });
	const folder = mkdtempSync(join(tmpdir(), "export-"));
	onTestFinished(() => rmSync(folder, { recursive: true }));
	const file = join(folder, "contacts.ndjson");
	const exported = await run(place, "export", "--out", file);
	expect([exported.code, inWords(exported.out)]).toEqual([
		0,
		expect.stringContaining("Whoever reads it can find out who"),
	]);
	expect(statSync(file).mode & 0o777).toBe(0o600);
	expect(readFileSync(file, "utf8")).not.toContain(anna.phoneNumber.slice(1));
	const { store: other, ...target } = await openFile();
	const asked = ["opted-out", anna.phoneNumber, "--agency", agency.id];
	expect(inWords((await run(target, ...asked)).out)).toContain("Not opted out");
	const count = JSON.parse((await run(target, "import", file, "--yes", "--json")).out).imported;
	expect(count).toBeGreaterThan(0);
	for (const where of [place, target]) {
		const { code, out } = await run(where, ...asked);
		expect([code, inWords(out)]).toEqual([0, expect.stringMatching(/Opted out: .* \(optOut, by Emma\)\./)]);
		expect(out).not.toContain(anna.phoneNumber.slice(1));
	}
	const merged = join(folder, "merged.ndjson");
	await run(place, "export", "--agency", agency.id, "--out", merged);
	expect((await run(target, "import", merged, "--into", "agy_0a", "--yes")).code).toBe(0);
	expect(inWords((await run(target, "opted-out", anna.phoneNumber, "--agency", "agy_0a")).out)).toContain("Opted out");
	expect((await other.contactsOf([anna.phoneNumber])).length).toBe(2);
}

describe("on each database", () => {
	const { create, openPool } = usePostgres(import.meta.url);

	test("PostgreSQL refuses a user or has no such database, which is named without the user", async () => {
		const url = new URL(await create());
		url.username = "ann";
		const { hostname, port, pathname } = url;
		const refused = await run({ url: url.href }, "health");
		const name = `The database ${pathname.slice(1)} at ${hostname}:${port} cannot be used: `;
		expect([refused.code, refused.err]).toEqual([2, expect.stringContaining(name)]);
		expect(refused.err).not.toMatch(/\bann\b/);
		const other = new URL(await create());
		other.pathname = "/nowhere";
		const missing = await run({ url: other.href }, "health");
		expect([missing.code, missing.err]).toEqual([2, expect.stringContaining(`nowhere at ${hostname}:${port}`)]);
	});

	test("SQLite, by libsql", async () => {
		const { store, ...place } = await openFile();
		await operate(place, store);
	});

	const noted = (prefix: string) => `Using the tables of --prefix ${prefix}, the only outbox in this database.\n`;
	const decoys = (kind: "postgres" | "mysql") =>
		// Not all of an outbox's tables, and names that begin alike.
		["sms_texts", "sms_meta", "outbox_text", ...(kind === "postgres" ? ['"Shop_texts"'] : [])].map(
			(name) => `create table ${name} (id int)`,
		);

	test("PostgreSQL: without --prefix the only outbox is found, in whichever schema, and several are listed", async () => {
		const url = await create();
		const pool = await openPool(url);
		for (const statement of decoys("postgres")) await pool.query(statement);
		const none = await run({ url }, "health");
		expect([none.code, none.err]).toEqual([
			2,
			expect.stringMatching(/^The database \S+ at \S+ has no tables of an outbox\./),
		]);
		const office = createOffice(postgresStore(pool, { prefix: "messaging.crm" }));
		await office.outbox.migrate();
		await office.enqueue("note-1");
		const found = await run({ url }, "explain", "note-1");
		expect([found.code, found.err, found.out]).toEqual([
			0,
			noted("messaging.crm"),
			expect.stringContaining("note-1: waiting"),
		]);
		const json = await run({ url }, "list", "--state", "waiting", "--json");
		expect(JSON.parse(json.err)).toEqual({ notice: noted("messaging.crm").trim() });
		expect(JSON.parse(json.out).texts).toHaveLength(1);
		const wrong = await run({ url, prefix: "messaging.other" }, "health");
		expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining("Give one of: --prefix messaging.crm.")]);
		await postgresStore(pool, { prefix: "tenant" }).migrate();
		const several = await run({ url }, "suspend", "--reason", "Stop", "--yes");
		expect([several.code, several.err]).toEqual([
			2,
			expect.stringContaining("Give one of: --prefix messaging.crm, --prefix tenant."),
		]);
		await postgresStore(pool).migrate();
		expect((await run({ url }, "list")).err).toBe("");
	});

	test("SQLite: without --prefix the only outbox is found, and several are listed", async () => {
		const url = newFile();
		const db = new Libsql(url);
		db.exec("create table sms_texts (id int)");
		const none = await run({ url }, "health");
		expect([none.code, none.err]).toEqual([2, expect.stringContaining("has no tables of an outbox.")]);
		await sqliteStore(db, { prefix: "crm" }).migrate();
		const found = await run({ url }, "list");
		expect([found.code, found.err]).toEqual([0, noted("crm")]);
		await sqliteStore(db, { prefix: "shop" }).migrate();
		const several = await run({ url }, "list");
		expect([several.code, several.err]).toEqual([
			2,
			expect.stringContaining("Give one of: --prefix crm, --prefix shop."),
		]);
	});

	test("PostgreSQL, by pg", async () => {
		const url = await create();
		await operate({ url, prefix: "crm.outbox" }, postgresStore(await openPool(url), { prefix: "crm.outbox" }));
	});

	describe.each(mysqlKinds)("%s, by mysql2", (kind) => {
		const { create, openPool } = useMysql(kind);
		test("and by an address of MariaDB", async () => {
			const url = await create();
			await operate({ url: url.replace(/^mysql:/, "mariadb:") }, mysqlStore(await openPool(url)));
		});

		test("without --prefix the only outbox of the database is found, and those beside it are listed", async () => {
			const [url, other] = [await create(), await create()];
			const pool = await openPool(url);
			for (const statement of decoys("mysql")) await pool.query(statement);
			await mysqlStore(await openPool(other), { prefix: "crm" }).migrate();
			const beside = await run({ url }, "health");
			const name = `${new URL(other).pathname.slice(1)}.crm`;
			expect([beside.code, beside.err]).toEqual([2, expect.stringContaining(`--prefix ${name}`)]);
			const found = await run({ url: other }, "list");
			// The tests before have left outboxes beside it.
			expect([found.code, found.err]).toEqual([0, noted("crm")]);
			await mysqlStore(await openPool(other), { prefix: "shop" }).migrate();
			const several = await run({ url: other }, "list");
			expect([several.code, several.err]).toEqual([2, expect.stringContaining("--prefix crm, --prefix shop")]);
		});
	});
});

/** A cleared screen, a C1 control, a reversed text, a title, a link, a line of its own. */
const hostile = "\u001b[2J\u009b31m\u202eesrever\u0007\u001b]8;;https://x\u001b\\\r\n\u2028FAKE \u001b[31mred";
const steering = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

describe("nothing in a database steers the terminal", () => {
	test.for(["id", "agency_id", "recipient", "body", "reason", "message_id", "queue_id", "by_whom", "why"])(
		"not the %s of a text",
		async (column) => {
			const { store, url, ...place } = await openFile();
			await store.insert({ ...newText, id: "note" }, undefined);
			const db = new Libsql(url);
			db.prepare(`update outbox_texts set state = 'unknown', next_at = null, ${column} = ?`).run(`note ${hostile}`);
			const id = column === "id" ? `note ${hostile}` : "note";
			for (const args of [["list"], ["list", "--show-content"], ["explain", id], ["explain", id, "--show-content"]])
				for (const json of [[], ["--json"]]) {
					const { code, out, err } = await run({ url, ...place }, ...args, ...json);
					expect([code, err]).toEqual([0, ""]);
					expect(out).toContain("note");
					expect(out.replaceAll("\n", "")).not.toMatch(steering);
					expect(out).not.toMatch(/^FAKE/m);
				}
		},
	);

	test("nor a suspension, a pause or a worker", async () => {
		const { store, url, ...place } = await openFile();
		const { agency, outbox, enqueue } = createOffice(store);
		await outbox.suspend({ agencyId: agency.id, reason: "Wrong price", by: "Ann" });
		await enqueue("note-1");
		const db = new Libsql(url);
		const set = "suspended_reason = $1, suspended_by = $1 where suspended_since is not null";
		expect(db.prepare(`update outbox_contacts set ${set}`).run(`Ann ${hostile}`).changes).toBe(1);
		const pause =
			"insert into outbox_agencies (agency_id, failures, reason, cause, since) values ($1, 1, 'send', $2, 1)";
		db.prepare(pause).run(agency.id, `Ann ${hostile}`);
		await outbox.optOut({ to: "+447700900101", by: "Ann" });
		expect(db.prepare("update outbox_contacts set opted_out_own_by = $1").run(`Ann ${hostile}`).changes).toBe(2);
		const resumed = "update outbox_contacts set resumed_at = $1, resumed_by = $2 where hash = ''";
		expect(db.prepare(resumed).run(Date.now(), `Ann ${hostile}`).changes).toBe(1);
		const told = ["opted-out", "+447700900101", "--agency", agency.id];
		const further = ["suspend", "--reason", "Stop", "--agency", `agy ${hostile}`, "--by", hostile, "--yes"];
		for (const args of [["health"], ["health", "--json"], ["explain", "note-1"], told, [...told, "--json"], further]) {
			const { out, err } = await run({ url, ...place }, ...args);
			if (args !== further) expect(out).toContain("Ann");
			expect(`${out}${err}`.replaceAll("\n", "")).not.toMatch(steering);
		}
	});
});

describe("what it refuses", () => {
	test.each([
		["postgres://u:hunter2@127.0.0.1/x", /npm install pg/],
		["mysql://u:hunter2@127.0.0.1/x", /npm install mysql2/],
		["libsql://x.example.com", /npm install @libsql\/client/],
		["oracle://x", /begins with none of/],
	])("%s in a folder without the driver", async (url, message) => {
		const { code, out, err } = await run({ url, cwd: empty }, "health");
		expect([code, out, err]).toEqual([2, "", expect.stringMatching(message)]);
		expect(err).not.toContain("hunter2");
	});

	test("a file that is not there, which no driver may create", async () => {
		mkdirSync(join(empty, "sub"), { recursive: true });
		const { code, err } = await run({ url: "sub/none.db", cwd: empty }, "health");
		expect([code, err.trim()]).toEqual([
			2,
			`There is no file at ${join(empty, "sub/none.db")}. --database or DATABASE_URL names it.`,
		]);
	});

	test.for([
		["postgres://ann:hunter2@127.0.0.1:1/crm", "The database crm at 127.0.0.1:1 cannot be used: ", /ECONNREFUSED/],
		["postgresql://ann:hunter%2F2@localhost:1/crm_eu", "crm_eu at localhost:1 cannot", /ECONNREFUSED/],
		["postgres://ann:hunter2@nowhere.invalid/crm", "crm at nowhere.invalid:5432 cannot", /ENOTFOUND|EAI_AGAIN/],
		["mysql://ann:hunter2@127.0.0.1:1/crm", "crm at 127.0.0.1:1 cannot", /ECONNREFUSED/],
		["mariadb://ann:hunter2@127.0.0.1:1/", "The database at 127.0.0.1:1 cannot", /ECONNREFUSED/],
		["postgres://ann:hunter2@[::1]:1/crm?sslmode=disable", "crm at [::1]:1 cannot", /ECONN|EADDR|ENET/],
		// A driver may read such an address in another way, so that its parts may be parts of the password.
		["postgres://ann:1/hunter2@127.0.0.1:1/crm", "The database cannot be used (", /write them as %2F/],
		["mysql://ann:1?hunter2@127.0.0.1:1/crm", "The database cannot be used (", /write them as %2F/],
		["postgres://ann:1#hunter2@127.0.0.1:1/crm", "The database cannot be used (", /write them as %2F/],
	] as const)("a server that is away is named, without user and password: %s", async ([url, named, reason]) => {
		for (const args of [["health"], ["explain", "a"]]) {
			const { code, err } = await run({ url }, ...args);
			expect([code, err]).toEqual([2, expect.stringContaining(named)]);
			expect(err).toMatch(reason);
			expect(err).not.toMatch(/hunter|ann\b/);
		}
	});

	test("a file that is no database is named", async () => {
		const url = join(empty, "no.db");
		writeFileSync(url, "This is a text, and not a database of SQLite. ".repeat(100));
		const { code, err } = await run({ url }, "health");
		expect([code, err]).toEqual([2, expect.stringContaining(`The database ${url} cannot be used: `)]);
	});

	test("a driver that quotes the password as it is without its escapes", async () => {
		const project = mkdtempSync(join(tmpdir(), "project-"));
		onTestFinished(() => rmSync(project, { recursive: true }));
		const folder = join(project, "node_modules/pg");
		mkdirSync(folder, { recursive: true });
		writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "pg", main: "index.js" }));
		const quoting =
			'const { password } = new URL(connectionString); throw new Error("no: " + decodeURIComponent(password))';
		writeFileSync(
			join(folder, "index.js"),
			`exports.Pool = class { constructor({ connectionString }) { ${quoting} } };`,
		);
		const { code, err } = await run({ url: "postgres://ann:hunter%2F2@127.0.0.1/x", cwd: project }, "health");
		expect([code, err]).toEqual([2, expect.stringContaining("no: [hidden]")]);
		expect(err).not.toContain("hunter");
	});

	test("tables of another version, and none", async () => {
		const { url } = await openFile();
		const db = new Libsql(url);
		// As a later version leaves it that only adds something.
		db.exec("update outbox_meta set schema_version = 99");
		expect((await run({ url }, "health")).err).toBe("");
		db.exec("update outbox_meta set schema_version = 0");
		expect((await run({ url }, "health")).err).toContain("run outbox.migrate() first");
		const other = await run({ url, prefix: "other" }, "suspend", "--reason", "Stop", "--yes");
		expect([other.code, other.err]).toEqual([
			2,
			expect.stringMatching(/has no tables of this --prefix\. Give one of: --prefix outbox\./),
		]);
		const bad = await run({ url, prefix: "drop table x" }, "health");
		expect([bad.code, bad.err]).toEqual([2, expect.stringContaining("must be a name of letters, digits and _")]);
	});

	test("tables of which a later version alone may send, or enqueue: they are read with a warning, and not changed", async () => {
		for (const what of ["work", "enqueue"]) {
			const { url, store } = await openFile();
			await store.insert({ ...newText, id: "a" }, undefined);
			await store.migrate([{ version: "9.1.0", ends: [what === "work" ? "work" : "enqueue"] }]);
			for (const args of [["health"], ["list", "--state", "waiting"], ["explain", "a"]]) {
				const { out, err } = await run({ url }, ...args);
				expect(err).toContain("use that of 9.1.0 or later");
				expect(out).not.toBe("");
			}
			const json = await run({ url }, "list", "--state", "waiting", "--json");
			expect(json.err).toContain("9.1.0");
			expect(() =>
				json.out
					.trim()
					.split("\n")
					.map((line) => JSON.parse(line)),
			).not.toThrow();
			expect(json.out).toContain('"id":"a"');
			const changes = [
				["suspend", "--reason", "Stop"],
				["resume"],
				["resolve", "a", "--as", "sent"],
				["restored", "--backup-at", "2026-01-05T03:00:00Z"],
				["import", "contacts.ndjson"],
			];
			for (const args of changes) {
				const { code, err } = await run({ url }, ...args, "--yes");
				expect([code, err]).toEqual([2, expect.stringContaining("changes nothing: use that of 9.1.0 or later")]);
			}
			expect(await store.suspended()).toEqual([]);
		}
	});

	test("a restore that is declared while a worker runs", async () => {
		const { store, ...place } = await openFile();
		const { outbox } = createOffice(store);
		const stop = new AbortController();
		const working = outbox.work({ signal: stop.signal });
		const isSeen = async () => (await outbox.health()).workers.some(({ isAlive }) => isAlive);
		await expect.poll(isSeen).toBe(true);
		const { code, out } = await run(place, "restored", "--backup-at", "2026-01-05T03:00:00Z", "--yes");
		expect([code, inWords(out)]).toEqual([1, expect.stringContaining("Stop all of them first")]);
		stop.abort();
		await working;
	});

	test("a file of export that was altered, cut off or is none: the line and the field are named, and nothing of it is shown", async () => {
		const { store, ...place } = await openFile();
		const { outbox, agency, anna } = createOffice(store);
		await outbox.optOut({ to: anna.phoneNumber, agencyId: agency.id, by: "Mrs Jansen" });
		const out = join(mkdtempSync(join(tmpdir(), "export-")), "contacts.ndjson");
		onTestFinished(() => rmSync(out, { force: true }));
		expect((await run(place, "export", "--out", out)).code).toBe(0);
		const lines = readFileSync(out, "utf8").trimEnd().split("\n");
		const { store: other, ...target } = await openFile();
		const refused: [change: (line: string, at: number) => string | string[], said: RegExp][] = [
			[
				(line, at) => (at === 2 ? line.replace('"optedOut"', '"+447700900101"') : line),
				/line 3, facts\[0\]\.fact: must be/,
			],
			[(line, at) => (at === 2 ? line.slice(0, 90) : line), /line 3: must be one record of an export, as JSON/],
			[(line, at) => (at === 1 ? [line, ""] : line), /line 3: must be one record/],
			[
				(line, at) => (at === 2 ? line.replace('"version":1', '"version":7') : line),
				/line 3, version: .*later version/,
			],
			[(line, at) => (at === 3 ? [] : line), /cut off/],
			[() => "%PDF-1.7 +447700900101", /line 1: must be one record/],
			[() => [], /cut off/],
		];
		for (const [change, said] of refused) {
			const file = `${out}.altered`;
			writeFileSync(
				file,
				lines
					.flatMap(change)
					.map((line) => `${line}\n`)
					.join(""),
			);
			onTestFinished(() => rmSync(file, { force: true }));
			const { code, out: shown, err } = await run(target, "import", file, "--yes");
			expect([code, inWords(err)]).toEqual([2, expect.stringMatching(said)]);
			expect(`${shown}${err}`).not.toMatch(/447700900101|Jansen|[0-9a-f]{32}/);
		}
		const missing = await run(target, "import", `${out}.none`, "--yes");
		expect([missing.code, missing.err]).toEqual([2, expect.stringContaining("The file cannot be read (ENOENT).")]);
		expect((await run(place, "export", "--out", out)).err).toContain("The file of --out exists.");
		expect((await run(target, "import", out)).err).toContain("--yes imports it without a question.");
		expect((await createOffice(other).outbox.optedOut({ to: anna.phoneNumber, agencyId: agency.id })).optIn).toBe(null);
	});

	test("a change that nobody has confirmed", async () => {
		const { store, ...place } = await openFile();
		const { code, err } = await run(place, "suspend", "--reason", "Stop");
		expect([code, err]).toEqual([
			2,
			expect.stringContaining("There is nobody to ask here. --yes suspends without a question."),
		]);
		expect(await store.suspended()).toEqual([]);
		const asked = start(
			["outbox", "suspend", "--reason", "Stop"],
			{ DATABASE_URL: place.url },
			fetch,
			{ columns: 60 },
			here,
		);
		await expect.poll(asked.out).toContain("Press y");
		expect(
			asked
				.out()
				.split("\n")
				.every((line) => line.length <= 60),
		).toBe(true);
		asked.press("n");
		expect([await asked.status, await store.suspended()]).toEqual([1, []]);
	});
});
