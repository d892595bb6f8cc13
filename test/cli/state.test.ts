import { spawnSync } from "node:child_process";
import {
	closeSync,
	existsSync,
	mkdtempSync,
	openSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createSandbox } from "messaging-conversations/sandbox";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { run, start } from "./run.ts";

let folder: string;
let file: string;

beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "state-"));
	file = join(folder, "world.json");
	return () => rmSync(folder, { recursive: true, force: true });
});

interface Contact {
	readonly phoneNumber: string;
	readonly name: string | null;
}

/** Starts a sandbox that keeps its world in the file. */
async function started(...args: string[]) {
	const running = start(["sandbox", "--port", "0", "--json", "--state", file, ...args]);
	const end = async () => {
		running.stop();
		expect(await running.status, running.err()).toBe(0);
	};
	onTestFinished(end);
	await expect.poll(running.out, { interval: 5 }).toContain("\n");
	const { controlUrl, token, baseUrl, apiKey, agencyId } = JSON.parse(running.out());
	const control = async (method: string, path: string, body?: object) => {
		const init = { method, headers: { "x-sandbox-token": token }, ...(body && { body: JSON.stringify(body) }) };
		return (await fetch(`${controlUrl}/${path}`, init)).json();
	};
	return {
		...running,
		control,
		end,
		contacts: async (): Promise<(string | null)[]> =>
			(await control("GET", "contacts")).map(({ name, phoneNumber }: Contact) => name ?? phoneNumber),
		now: async () => Date.parse((await control("GET", "clock")).now),
		send: (body: string) =>
			fetch(`${baseUrl}/agencies/${agencyId}/messages`, {
				method: "POST",
				headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
				body: JSON.stringify({ to: "+447700900101", body, operationId: "anna-1" }),
			}),
	};
}

/** Waits until the file holds this text. */
const eventuallyHolds = (text: string) =>
	expect.poll(() => readFileSync(file, "utf8"), { interval: 20 }).toContain(text);

test("a world continues where its last run ended: contacts, held text, clock, faults and operationIds", async () => {
	const first = await started();
	await first.control("POST", "contacts/+447700900101", { name: "Anna" });
	await first.control("POST", "clock/advance", { hours: 3 });
	await first.send("Would Thursday suit you?");
	await first.control("POST", "faults/add", { operation: "me.get", effect: { status: 503 } });
	await first.end();

	const second = await started();
	expect(await second.contacts()).toEqual(["Anna"]);
	expect(await second.now()).toBe(Date.parse("2026-01-05T12:00:00.000Z"));
	expect(await second.control("GET", "faults")).toMatchObject([{ operation: "me.get", remaining: 1 }]);
	const { held } = await second.control("GET", "contacts/+447700900101");
	expect(held).toMatchObject({ body: "Would Thursday suit you?" });
	expect((await second.send("Another text")).status).toBe(500); // the id is known
	expect(await (await second.send("Would Thursday suit you?")).json()).toMatchObject({ queueId: held.queueId });
});

test("the file is written at once, soon after each change, for its owner alone, and nothing is left beside it", async () => {
	const { control, end } = await started();
	expect(statSync(file).mode & 0o077).toBe(0);
	expect(statSync(`${file}.lock`).mode & 0o077).toBe(0);
	await control("POST", "contacts/+447700900101", { name: "Anna" });
	await eventuallyHolds("Anna");
	await control("POST", "contacts/+447700900102", { name: "Bram" });
	await eventuallyHolds("Bram");
	expect(readdirSync(folder)).toEqual(["world.json", "world.json.lock"]);
	await end();
	expect(readdirSync(folder)).toEqual(["world.json"]);
	const other = createSandbox();
	other.restore({ ...other.snapshot(), world: JSON.parse(readFileSync(file, "utf8")) });
	expect(
		other
			.agency()
			.contacts()
			.map(({ name }) => name),
	).toEqual(["Anna", "Bram"]);
});

test.skipIf(process.platform === "win32")(
	"the file is replaced in one step: who has it open has the old world",
	async () => {
		const { control } = await started();
		const before = readFileSync(file, "utf8");
		const opened = openSync(file, "r");
		await control("POST", "contacts/+447700900101", { name: "Anna" });
		await eventuallyHolds("Anna");
		expect(readFileSync(opened, "utf8")).toBe(before);
		closeSync(opened);
	},
);

test("--scenario, --import and --now are for the first run", async () => {
	const bug = join(folder, "bug.json");
	writeFileSync(bug, JSON.stringify(createSandbox({ now: "2030-01-01T00:00:00Z" }).bug()));
	const first = await started("--scenario", "closed", "--now", "2027-01-01T00:00:00Z");
	expect(await first.contacts()).toHaveLength(1);
	await first.control("POST", "contacts/+447700900199", { name: "Zoë" });
	await first.end();
	expect(first.err()).toBe("");
	for (const [given, names] of [
		[["--scenario", "busy", "--now", "2031-01-01T00:00:00Z"], "--scenario and --now are"],
		[["--import", bug], "--import is"],
	] as const) {
		const second = await started(...given);
		expect(await second.contacts()).toHaveLength(2);
		expect(await second.now()).toBe(Date.parse("2027-01-01T00:00:00Z"));
		const notice = `Note: ${names} for a new world. --state ${file} continues an earlier one.`;
		expect(JSON.parse(second.err())).toEqual({ notice });
		await second.end();
	}
	// With --now the clock does not move to this machine's time.
	const third = await started("--follow", "--now", "2020-01-01T00:00:00Z");
	expect(Math.abs((await third.now()) - Date.parse("2027-01-01T00:00:00Z"))).toBeLessThan(60_000);
	expect(third.err()).toContain("Note: --now is for a new world.");
});

test("with --follow the clock of the next run is this machine's, and what fell due meanwhile has happened", async () => {
	const sandbox = createSandbox({ now: new Date(Date.now() - 30 * 3_600_000) });
	sandbox.agency().contact("+447700900101").writes("Hello");
	writeFileSync(file, JSON.stringify(sandbox.snapshot().world));
	const running = await started("--follow");
	expect(Math.abs((await running.now()) - Date.now())).toBeLessThan(60_000);
	expect(await running.control("GET", "contacts/+447700900101")).toMatchObject({ window: { open: false } });
	await running.control("POST", "clock/advance", { hours: 48 });
	await running.end();
	// A clock that is ahead is not set back.
	expect(await (await started("--follow")).now()).toBeGreaterThan(Date.now() + 47 * 3_600_000);
});

test("a clock that runs is not a reason to write: the file is as it was", async () => {
	const running = await started("--follow");
	const before = readFileSync(file, "utf8");
	const begun = await running.now();
	await expect.poll(running.now, { interval: 20 }).toBeGreaterThan(begun + 500);
	expect(readFileSync(file, "utf8")).toBe(before);
});

const whole = JSON.stringify(createSandbox({ scenario: "held" }).snapshot().world);

test.each([
	["cut off", whole.slice(0, -100), /: it is not JSON\. It was left/],
	["of another program", '{"name":"my-app"}', /: this is not the world of a sandbox\. It was left/],
	["of a later number", whole.replace('"version":1', '"version":2'), /made by a later version of .*Update the package/],
	["of no number", whole.replace('"version":1', '"version":"1"'), /version must be 1/],
	["edited", whole.replace('"hidden":false', '"hidden":"no"'), /integrations\[0\]\.hidden/],
	["in UTF-16", Buffer.from(`\uFEFF${whole}`, "utf16le"), /is in UTF-16\. Save it as UTF-8/],
])("a file that is %s is refused with the reason, and stays as it is", async (_name, content, words) => {
	writeFileSync(file, content);
	const before = readFileSync(file);
	const { code, out, err } = await run(["sandbox", "--port", "0", "--json", "--state", file]);
	expect([code, out, err]).toEqual([1, "", expect.stringMatching(words)]);
	expect(err).toContain(`--state ${file} holds no world that can be read: `);
	expect(err).toContain("It was left as it is. Move it elsewhere to start anew.");
	expect(err).not.toContain("    at ");
	expect(readFileSync(file).equals(before)).toBe(true);
	expect(readdirSync(folder)).toEqual(["world.json"]);
});

test("a file that cannot be written ends the start, and later on is a warning while the sandbox keeps running", async () => {
	const nowhere = join(folder, "no-such-folder", "world.json");
	const { code, err } = await run(["sandbox", "--port", "0", "--json", "--state", nowhere]);
	expect([code, err]).toEqual([
		1,
		expect.stringMatching(/cannot be written \(ENOENT\)\. It must be a file in a folder/),
	]);
	const running = await started();
	rmSync(folder, { recursive: true });
	await running.control("POST", "contacts/+447700900101", { name: "Anna" });
	await expect.poll(running.err, { interval: 20 }).toContain("cannot be written (ENOENT)");
	await running.control("POST", "contacts/+447700900102", { name: "Bram" });
	expect(await running.contacts()).toEqual(["Anna", "Bram"]);
	await running.end();
	expect(running.err().match(/cannot be written/g)).toHaveLength(1);
});

test("an empty file begins a new world", async () => {
	for (const content of ["", "\n"]) {
		writeFileSync(file, content);
		const running = await started("--scenario", "closed");
		expect(await running.contacts()).toHaveLength(1);
		expect(running.err()).toBe("");
		await running.end();
		expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ format: "messaging-conversations-sandbox" });
	}
});

test("the path of a file must not be empty", async () => {
	for (const option of ["--state", "--import", "--env", "--write-env"]) {
		const { code, err } = await run(["sandbox", "--port", "0", option, ""]);
		expect([code, err]).toEqual([1, expect.stringContaining(`${option} is empty. It needs the path of a file.`)]);
	}
});

test("a second run on the file is refused and changes nothing, by whatever name it reaches the file", async () => {
	const first = await started();
	await first.control("POST", "contacts/+447700900101", { name: "Anna" });
	await eventuallyHolds("Anna");
	const before = readFileSync(file, "utf8");
	const link = join(folder, "link.json");
	if (process.platform !== "win32") symlinkSync(file, link);
	for (const name of [
		file,
		join(folder, ".", "..", basename(folder), "world.json"),
		...(existsSync(link) ? [link] : []),
	]) {
		const { code, out, err } = await run(["sandbox", "--port", "0", "--json", "--state", name]);
		expect([code, out]).toEqual([1, ""]);
		expect(err).toContain(`--state ${name} is in use by another sandbox (process ${process.pid} on ${hostname()}).`);
		expect(err).toContain(`delete ${file}.lock.`);
	}
	expect(readFileSync(file, "utf8")).toBe(before);
	await first.control("POST", "contacts/+447700900102", { name: "Bram" });
	await eventuallyHolds("Bram");
	await first.end();
	expect(await (await started()).contacts()).toEqual(["Anna", "Bram"]);
});

test("the lock of a process that has died is taken over, with what it left beside, and no other lock", async () => {
	const { pid } = spawnSync(process.execPath, ["--version"]);
	const dead = { id: "0123456789ab", pid, host: hostname() };
	const lockOf = (content: object | string) =>
		writeFileSync(`${file}.lock`, typeof content === "string" ? content : JSON.stringify(content));
	// A process that has begun anew may have the number of the one that died, as in a container.
	for (const content of [dead, { ...dead, pid: process.pid }]) {
		lockOf(content);
		writeFileSync(`${file}.0123456789ab.new`, "half a wor");
		writeFileSync(`${file}.new`, "somebody's");
		await (await started()).end();
		expect(readdirSync(folder)).toEqual(["world.json", "world.json.new"]);
		expect(readFileSync(`${file}.new`, "utf8")).toBe("somebody's");
	}
	for (const content of [
		{ ...dead, host: "elsewhere" },
		{ ...dead, pid: process.ppid },
		"",
		"null",
		{ ...dead, id: "../x" },
	]) {
		lockOf(content);
		const { code, err } = await run(["sandbox", "--port", "0", "--json", "--state", file]);
		expect([code, err]).toEqual([1, expect.stringContaining(" is in use by another sandbox")]);
		expect(existsSync(`${file}.lock`)).toBe(true);
	}
});

test("a run whose lock was deleted takes it again, or stops writing if another run has it", async () => {
	const first = await started();
	rmSync(`${file}.lock`);
	await first.control("POST", "contacts/+447700900101", { name: "Anna" });
	await eventuallyHolds("Anna");
	expect(existsSync(`${file}.lock`)).toBe(true);
	rmSync(`${file}.lock`);
	const second = await started();
	await second.control("POST", "contacts/+447700900102", { name: "Bram" });
	await eventuallyHolds("Bram");
	await first.control("POST", "contacts/+447700900103", { name: "Carl" });
	await expect.poll(first.err, { interval: 20 }).toContain("is in use by another sandbox");
	await first.end();
	await second.end();
	expect(await (await started()).contacts()).toEqual(["Anna", "Bram"]);
});

test("a start that fails lets the next run have the file", async () => {
	const taken = await started();
	const other = join(folder, "other.json");
	const { port } = new URL((await taken.control("GET", "connection")).baseUrl);
	const { code } = await run(["sandbox", "--port", port, "--json", "--state", other]);
	expect([code, existsSync(`${other}.lock`)]).toEqual([1, false]);
});

test.skipIf(process.platform === "win32")("a link to no file is refused, and stays", async () => {
	symlinkSync(join(folder, "nothing.json"), file);
	const { code, err } = await run(["sandbox", "--port", "0", "--json", "--state", file]);
	expect([code, err]).toEqual([1, expect.stringContaining(`--state ${file} is a link to a file that does not exist.`)]);
	expect(readdirSync(folder)).toEqual(["world.json"]);
});

test.skipIf(process.platform === "win32")("a link stays a link, and its file is written", async () => {
	const real = join(folder, "real.json");
	writeFileSync(real, whole);
	symlinkSync(real, file);
	const { control, end } = await started();
	await control("POST", "contacts/+447700900199", { name: "Zoë" });
	await end();
	expect(readFileSync(real, "utf8")).toContain("Zoë");
	expect(readdirSync(folder).sort()).toEqual(["real.json", "world.json"]);
});

test("the banner names the file", async () => {
	const running = start(["sandbox", "--port", "0", "--state", file]);
	onTestFinished(async () => {
		running.stop();
		await running.status;
	});
	await expect.poll(running.out, { interval: 5 }).toContain("\n");
	expect(running.out()).toContain(`\n  State          ${file}\n`);
});
