// What an outbox does on a SQLite file that may not be written, or has no room left, through each library.
import { chmodSync, chownSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient, PartnerConfigurationError } from "messaging-conversations";
import { createOutbox, type Pause, type SqliteDatabase, sqliteStore } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { describe, expect, onTestFinished, test } from "vitest";
import { start } from "../../cli/run.ts";
import { eventually } from "../../eventually.ts";

type Database = SqliteDatabase & { exec: (sql: string) => unknown; close: () => unknown };
type Open = (file: string) => Database;

const here = fileURLToPath(new URL(".", import.meta.url));
/** Root may write everything, so that tests give its rights away for a while. */
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;

/** An empty folder whose file may be written by anybody who gets there. */
function newPlace() {
	const folder = mkdtempSync(join(tmpdir(), "file-"));
	const file = join(folder, "crm.db");
	if (isRoot) {
		chownSync(folder, nobody, nobody);
		process.seteuid?.(nobody);
	}
	onTestFinished(() => {
		process.seteuid?.(process.getuid?.() ?? 0);
		chmodSync(folder, 0o700);
		rmSync(folder, { recursive: true });
	});
	return { folder, file };
}

/** An office with contacts who have just written. */
function createOffice(contacts = 1) {
	const sandbox = createSandbox({ now: new Date() });
	const agency = sandbox.agency();
	const people = Array.from({ length: contacts }, (_, at) => agency.contact(`+447700900${100 + at}`));
	for (const each of people) each.writes("Hello");
	const posts = () => sandbox.requests().filter(({ method }) => method === "POST").length;
	const textTo = (at: number) => ({
		id: `visit-${at}`,
		agencyId: agency.id,
		to: people[at]?.phoneNumber ?? "",
		body: `Words of visit ${at}.`,
	});
	const inboxes = () => people.map((each) => each.inbox().map(({ body }) => body));
	function open(db: Database, fetch = sandbox.fetch) {
		const pauses: Pause[] = [];
		const client = createClient({ ...sandbox.connection, fetch });
		const now = sandbox.clock.now;
		const outbox = createOutbox({
			...{ client, now, settleMs: 2_000 },
			store: sqliteStore(db),
			onPaused: (pause) => pauses.push(pause),
		});
		return { outbox, pauses };
	}
	return { sandbox, posts, textTo, inboxes, open };
}

const errorOf = (running: Promise<unknown>): Promise<unknown> =>
	running.then(
		() => undefined,
		(error: unknown) => error,
	);

/** It names the setting and what to do, and quotes no contact. */
function expectRefused(error: unknown, what: RegExp): void {
	expect(error).toBeInstanceOf(PartnerConfigurationError);
	expect(error).toMatchObject({ field: "store", rule: expect.stringMatching(what) });
	expect(JSON.stringify(error)).not.toMatch(/\+44|Words/);
}

const unwritten = /cannot be written\. Open it without readonly/;
const full = /no room left\. .*max_page_count/;

/** @param openReadOnly by the library's own option, if it has one */
export function sqliteFileSuite(name: string, open: Open, openReadOnly?: Open): void {
	const queryOnly: Open = (file) => {
		const db = open(file);
		db.exec("pragma query_only = 1");
		return db;
	};
	const chmod: Open = (file) => {
		chmodSync(file, 0o444);
		return open(file);
	};
	const folder: Open = (file) => {
		chmodSync(join(file, ".."), 0o555);
		return open(file);
	};
	const ways: [how: string, open: Open, journal: string][] = [
		["a file that may not be written", chmod, "delete"],
		["a file in WAL mode that may not be written", chmod, "wal"],
		["a folder that may not be written", folder, "delete"],
		["pragma query_only", queryOnly, "wal"],
		...(openReadOnly
			? ([
					["the option of the library", openReadOnly, "delete"],
					["the option of the library, in WAL mode", openReadOnly, "wal"],
				] satisfies [string, Open, string][])
			: []),
	];

	describe(name, () => {
		test.each(ways)("%s is refused with what to do, and nothing is sent", async (_, openAs, journal) => {
			const place = newPlace();
			const office = createOffice();
			const before = open(place.file);
			before.exec(`pragma journal_mode = ${journal}`);
			const { outbox: writing } = office.open(before);
			await writing.migrate();
			await writing.enqueue(office.textTo(0));
			before.close();

			const db = openAs(place.file);
			const { outbox, pauses } = office.open(db);
			for (const act of [
				() => outbox.enqueue({ ...office.textTo(0), id: "visit-1" }),
				() => outbox.runOnce(),
				() => outbox.work(),
				() => outbox.optOut({ to: office.textTo(0).to }),
				() => outbox.cancel("visit-0"),
			]) {
				const error = await errorOf(act());
				expectRefused(error, unwritten);
				expect(error).toMatchObject({ retryable: false });
			}
			// What is asked needs nothing to be written.
			expect(await outbox.status("visit-0")).toMatchObject({ state: "waiting" });
			expect([office.posts(), pauses]).toEqual([0, []]);
			db.close();

			chmodSync(place.folder, 0o700);
			// SQLite has made those beside it with its rights.
			for (const each of readdirSync(place.folder)) chmodSync(join(place.folder, each), 0o600);
			const after = open(place.file);
			await office.open(after).outbox.runOnce();
			expect(office.inboxes()).toEqual([["Words of visit 0."]]);
			after.close();
		});

		test.each([true, false])(
			"migrate says what to do on a file that may not be written; with tables: %s",
			async (hasTables) => {
				const { file } = newPlace();
				const office = createOffice();
				const before = open(file);
				before.exec("create table notes (id text)");
				if (hasTables) await office.open(before).outbox.migrate();
				before.close();
				const db = chmod(file);
				expectRefused(await errorOf(office.open(db).outbox.migrate()), unwritten);
				db.close();
			},
		);

		test("a transaction on a connection that only reads throws at once, and stores nothing", async () => {
			const { file } = newPlace();
			const office = createOffice();
			const db = open(file);
			const { outbox } = office.open(db);
			await outbox.migrate();
			db.exec("pragma query_only = 1");
			db.exec("begin");
			let error: unknown;
			try {
				outbox.enqueue(office.textTo(0), { tx: db }).catch(() => {});
			} catch (thrown) {
				error = thrown;
			}
			db.exec("rollback");
			expectRefused(error, unwritten);
			expect(await outbox.status("visit-0")).toBeUndefined();
			db.close();
		});

		test("a text whose result could not be stored is found in its conversation, and not sent again", async () => {
			const { file } = newPlace();
			const office = createOffice();
			const db = open(file);
			const { outbox } = office.open(db, async (input, init) => {
				const answer = await office.sandbox.fetch(input, init);
				if (init?.method === "POST") db.exec("pragma query_only = 1");
				return answer;
			});
			await outbox.migrate();
			await outbox.enqueue(office.textTo(0));
			expectRefused(await errorOf(outbox.work()), unwritten);
			expect(office.posts()).toBe(1);
			db.exec("pragma query_only = 0");
			office.sandbox.clock.advance({ minutes: 5 });
			await outbox.runOnce();
			expect(await outbox.status("visit-0")).toMatchObject({ state: "sent" });
			expect([office.posts(), office.inboxes()]).toEqual([1, [["Words of visit 0."]]]);
			db.close();
		});

		test("a worker waits while the file has no room, and then sends each text once", async () => {
			const { file } = newPlace();
			const contacts = 40;
			const office = createOffice(contacts);
			const db = open(file);
			const { outbox, pauses } = office.open(db);
			await outbox.migrate();
			for (let at = 0; at < contacts; at++) await outbox.enqueue(office.textTo(at));
			// SQLite takes the number of pages that there are instead.
			db.exec("pragma max_page_count = 1");
			for (let error: unknown, more = 0; error === undefined; more++) {
				expect(more).toBeLessThan(10_000);
				error = await errorOf(
					outbox.enqueue({ ...office.textTo(0), id: `later-${more}`, notBefore: "2100-01-01T00:00:00Z" }),
				);
				if (error === undefined) continue;
				expectRefused(error, full);
				expect(error).toMatchObject({ retryable: true });
			}
			const stop = new AbortController();
			const working = outbox.work({ signal: stop.signal });
			onTestFinished(() => stop.abort());
			await eventually(() => expect(pauses.map(({ reason }) => reason)).toContain("database"));
			for (const pause of pauses) if (pause.reason === "database") expectRefused(pause.databaseError, full);
			db.exec("pragma max_page_count = 1000000");
			// What was begun while its result could not be stored is looked up once its time has passed.
			const ticking = setInterval(() => office.sandbox.clock.advance({ ms: 200 }), 200);
			onTestFinished(() => clearInterval(ticking));
			await eventually(async () => {
				const { texts } = await outbox.health();
				expect([texts.sending, office.inboxes().flat().length]).toEqual([0, contacts]);
			});
			stop.abort();
			await working;
			expect(office.inboxes()).toEqual(Array.from({ length: contacts }, (_, at) => [`Words of visit ${at}.`]));
			db.close();
		});

		test("the command reads a file that may not be written, and says what to do before it changes one", async () => {
			const { file } = newPlace();
			const office = createOffice();
			const before = open(file);
			const { outbox } = office.open(before);
			await outbox.migrate();
			await outbox.enqueue(office.textTo(0));
			before.close();
			chmodSync(file, 0o444);
			async function run(...args: string[]) {
				const running = start(["outbox", ...args], { DATABASE_URL: file }, fetch, undefined, here);
				const code = await running.status;
				return { code, said: `${running.out()} ${running.err()}`.replace(/\s+/g, " ") };
			}
			expect(await run("explain", "visit-0")).toMatchObject({ code: 0, said: expect.stringContaining("visit-0") });
			expect(await run("suspend", "--reason", "Trial", "--yes")).toMatchObject({
				code: 2,
				said: expect.stringMatching(unwritten),
			});
		});
	});
}
