import { expect, test } from "vitest";
import { createSandbox } from "../../src/sandbox/index.ts";
import { serve } from "../../src/sandbox/server.ts";
import { ANNA, BRAM, me, send, throughEachEntryPoint } from "./entry-points.ts";

const replaced = /A send replaced a held text.*allowReplaced: true/;

throughEachEntryPoint((open) => {
	test("check throws for held texts that other sends replaced, unless that is allowed", async () => {
		const box = await open();
		const { sandbox, agency } = box;
		const sends = ["One", "Two", "Three"].map((body, index) =>
			send(box, { to: ANNA, body, operationId: `id-${index}` }),
		);
		await Promise.all(sends);
		agency.contact(ANNA).accepts();
		expect(
			agency
				.contact(ANNA)
				.inbox()
				.filter(({ kind }) => kind === "text"),
		).toHaveLength(1);
		expect(() => sandbox.check()).toThrow(replaced);
		expect(() => sandbox.check()).not.toThrow(/One|Two|id-|447700/);
		expect(() => sandbox[Symbol.dispose]()).toThrow(replaced);
		sandbox.check({ allowReplaced: true });
		expect(sandbox.violations()).toEqual([]);
	});

	test("check throws for a held text that a send in the open window replaced, also one of staff", async () => {
		const box = await open();
		box.agency.staff.sends({ contact: ANNA, text: "Held" });
		box.agency.contact(ANNA).writes("Hello");
		box.sandbox.check();
		await send(box, { to: ANNA, body: "Now" });
		expect(() => box.sandbox.check()).toThrow(replaced);
	});

	test("check takes retries, answers and texts of staff for no loss", async () => {
		const box = await open();
		const text = { to: ANNA, body: "One", operationId: "one" };
		for (let attempt = 0; attempt < 3; attempt += 1) await send(box, text);
		for (let attempt = 0; attempt < 3; attempt += 1) await send(box, { to: BRAM, body: "Two", operationId: "two" });
		box.agency.staff.sends({ contact: BRAM, text: "By staff" });
		box.agency.contact(BRAM).declines();
		box.agency.contact(ANNA).writes("Hello");
		await send(box, text);
		box.sandbox.check();
	});

	test("check reports the text that stays lost after a late retry brought the other one back", async () => {
		const box = await open();
		const [one, two] = [
			{ to: ANNA, body: "One", operationId: "one" },
			{ to: ANNA, body: "Two", operationId: "two" },
		];
		for (const text of [one, two, one]) await send(box, text);
		const message = (() => {
			try {
				box.sandbox.check();
			} catch (error) {
				return String(error);
			}
		})();
		expect(message?.match(/replaced a held text/g)).toHaveLength(1);
	});

	test("check counts each request without an operationId as a new text, also when it says the same", async () => {
		const box = await open();
		for (const body of ["One", "One"]) await send(box, { to: ANNA, body });
		expect(() => box.sandbox.check()).toThrow(replaced);
		for (const body of ["One", "Two", "One"]) await send(box, { to: BRAM, body });
		box.agency.contact(BRAM).accepts();
		expect(box.agency.contact(BRAM).inbox()).toMatchObject([{ kind: "template" }, { body: "One" }]);
		const lost = () => {
			try {
				box.sandbox.check();
			} catch (error) {
				return String(error).match(/replaced a held text/g)?.length;
			}
		};
		expect(lost()).toBe(3);
	});

	test("check reports a lost text whose operationId was forgotten and used for another one", async () => {
		const box = await open({ policy: { operationIdTtlHours: 1 } });
		await send(box, { to: ANNA, body: "One", operationId: "a" });
		await send(box, { to: ANNA, body: "Two", operationId: "b" });
		box.sandbox.clock.advance({ hours: 2 });
		expect(() => box.sandbox.check()).toThrow(replaced);
		await send(box, { to: BRAM, body: "Other", operationId: "a" });
		expect(() => box.sandbox.check()).toThrow(replaced);
		box.sandbox.check({ allowReplaced: true });
	});

	test("check says how often a fault hit and an act happened, when that was not often enough", async () => {
		const box = await open();
		const fault = box.sandbox.faults.add({ effect: { status: 503 }, times: 3 });
		const act = box.sandbox.during({ times: 3 }, () => {});
		const says = (words: string) => expect(() => box.sandbox.check()).toThrow(words);
		says("A fault never hit: status 503, before any operation.");
		says("An act never happened: before any operation.");
		await me(box, { check: "broken" });
		says("A fault hit only 1 of 3 times: status 503, before any operation.");
		fault.remove();
		for (let times = 0; times < 2; times += 1) await me(box);
		says("An act happened only 2 of 3 times: before any operation.");
		expect(act.remaining).toBe(1);
		await me(box);
		box.sandbox.check();
	});

	test("check forgets what restore and reset undo", async () => {
		const box = await open();
		await send(box, { to: ANNA, body: "One" });
		const before = box.sandbox.snapshot();
		await send(box, { to: ANNA, body: "Two" });
		const after = box.sandbox.snapshot();
		box.sandbox.restore(before);
		box.sandbox.check();
		box.sandbox.restore(after);
		expect(() => box.sandbox.check()).toThrow(replaced);
		box.sandbox.reset();
		box.sandbox.check();
	});
});

test("check takes no option that it does not know", () => {
	const sandbox = createSandbox();
	for (const options of [{ allowReplace: true }, { allowReplaced: 1 }, true])
		expect(() => Reflect.apply(sandbox.check, undefined, [options])).toThrow(/^check/);
});

test("check over HTTP takes allowReplaced in the query", async () => {
	const sandbox = createSandbox();
	const server = await serve(sandbox);
	const check = async (query: string) => {
		const response = await fetch(`${server.controlUrl}/check${query}`, {
			headers: { "x-sandbox-token": server.token },
		});
		return { status: response.status, ...(await response.json()) };
	};
	const { fetch: inProcess, connection } = sandbox;
	for (const body of ["One", "Two"])
		await inProcess(`${connection.baseUrl}/agencies/${sandbox.agency().id}/messages`, {
			method: "POST",
			headers: { authorization: `Bearer ${connection.apiKey}`, "content-type": "application/json" },
			body: JSON.stringify({ to: ANNA, body }),
		});
	expect(await check("")).toMatchObject({ status: 200, ok: false, message: expect.stringMatching(replaced) });
	expect(await check("?allowReplaced=false")).toMatchObject({ ok: false });
	expect(await check("?allowReplaced=true")).toEqual({ status: 200, ok: true, message: null });
	expect(await check("?allowReplaced=1")).toMatchObject({ status: 400 });
	await server.close();
});

/** Spellings of one number and of one key that a path can have by mistake. */
const secretPaths = [
	"/conversations/+32470123456",
	"/conversations/%2B32%20470%2012%2034%2056",
	"/conversations/0470.12.34.56",
	"/conversations/0470%2E12%2E34%2E56",
	"/conversations/0470%2F12%2F34%2F56",
	"/conversations/0470/12/34/56",
	"/conversations/0470+12+34+56",
	"/conversations/%2B32%280%29470-12-34-56",
	"/conversations/%30%34%37%30%31%32%33%34%35%36",
	"/conversations/%2530%2534%2537%2530%2531%2532%2533%2534",
	"/sandbox_live.key1.0123abcd/me",
	"/sandbox%5Flive.key1.0123abcd/me",
	"/sandbox%5flive%2Ekey1%2E0123abcd/me%ZZ",
];
const secret = /0?470|1234|12.{1,3}34|56|%3[0-9]|0123abcd|key1/;

test("check shows no number and no key of a path, however they are written", async () => {
	const sandbox = createSandbox();
	const { apiKey, baseUrl } = sandbox.connection;
	for (const path of secretPaths)
		await sandbox.fetch(baseUrl + path, { headers: { authorization: `Bearer ${apiKey}` } });
	expect(sandbox.violations()).toHaveLength(secretPaths.length);
	const message = (() => {
		try {
			sandbox.check();
		} catch (error) {
			return String(error);
		}
		return "";
	})();
	expect(message.match(/\{(phone|key)\}/g)).toHaveLength(secretPaths.length);
	expect(message).not.toMatch(secret);
	await sandbox.fetch(`${baseUrl}/converations%20of?a=1`);
	expect(() => sandbox.check()).toThrow("(GET /converations%20of)");
});
