import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { type BugFile, type Connection, createSandbox, type Sandbox } from "../../src/sandbox/index.ts";
import { insideOf } from "../../src/sandbox/inside.ts";
import { serve } from "../../src/sandbox/server.ts";

/*
 * A bug file shows the same phone, log and reasons in another process. It holds no key, and unless one asked to keep them
 * none of the numbers, names and texts.
 */

const anna = "+32470123456";
const bram = "+31612345678";

/** A day in which a text was replaced, a key revoked, an id reused, and a fault lost an answer. */
async function badDay(own = "Kerkstraat 12"): Promise<Sandbox> {
	const sandbox = createSandbox({ policy: { shortSearch: "unfiltered" } });
	sandbox.history.record();
	const agency = sandbox.agency();
	agency.rename(`Makelaar ${own}`);
	agency.contact(anna, { name: `Anna ${own}` }).writes(`Is ${own} free?`);
	agency.contact(anna).writes({
		media: [{ url: `https://files.invalid/${own}.jpg`, contentType: "image/jpeg" }],
	});
	agency.ai.replies({
		contact: anna,
		text: `Yes, ${own}`,
		templateName: "visit_offer",
		interactiveContent: { quickReplies: [{ code: "visit_confirm", text: `Confirm ${own}` }] },
	});
	agency.contact(anna).taps("visit_confirm");
	agency.contact(bram, { name: `Bram ${own}` }).writes({ body: `About ${own}`, replyTo: undefined });
	const path = `/agencies/${agency.id}`;
	const send = (to: string, body: unknown, more: object = {}) =>
		sandbox.request({ method: "POST", path: `${path}/messages`, body: { to, body, ...more } });
	await send(anna, `Sent: ${own}`, { operationId: `note ${own}` });
	await send(anna, `Reused: ${own}`, { operationId: `note ${own}` });
	sandbox.clock.advance({ hours: 25 });
	await send(anna, `First: ${own}`, { operationId: `first ${own}` });
	await send(anna, `Second: ${own}`, { operationId: `second ${own}` });
	agency.staff.sends({ contact: bram, text: `Staff: ${own}` });
	await send("0470 99 88 77", `Another spelling: ${own}`);
	await send(anna, 32470123456, { [`field ${own}`]: own });
	await sandbox.request({
		method: "POST",
		path: `${path}/messages`,
		body: `not json ${own}`,
		headers: { "content-type": "text/plain", "x-customer": own, "user-agent": own },
	});
	const encoded = encodeURIComponent(anna);
	await sandbox.request({
		method: "GET",
		path: `${path}/conversations?search=${encodeURIComponent(own)}&who=${anna.slice(1)}`,
	});
	await sandbox.request({ method: "GET", path: `${path}/conversations/${encoded}?pageSize=1` });
	await sandbox.request({ method: "GET", path: `${path}/conversations/${anna}/messages?pageSize=1` });
	await sandbox.request({ method: "GET", path: `${path}/conversations/${encodeURIComponent(encoded)}` });
	await sandbox.request({ method: "GET", path: `/${encodeURIComponent(own)}/${sandbox.connection.apiKey}` });
	await sandbox.request({
		method: "POST",
		path: `${path}/conversations/lookup`,
		body: { phoneNumbers: [anna, bram, own] },
	});
	sandbox.faults.add({ effect: { kind: "html", status: 502, body: own } });
	await sandbox.request({ method: "GET", path: "/me" });
	sandbox.faults.add({ operation: "messages.send", phase: "after", effect: "reset" });
	await send(bram, `Lost: ${own}`);
	const key = sandbox.keys.create();
	sandbox.keys.revoke(key.id);
	await sandbox.request({ method: "GET", path: "/me", apiKey: key.apiKey });
	await sandbox.request({ method: "GET", path: "/me", apiKey: null });
	await sandbox.request({ method: "GET", path: "/me", apiKey: `partner_live.${"a".repeat(8)}.${"b".repeat(20)}` });
	agency.unlink();
	await sandbox.request({ method: "GET", path: `${path}/conversations` });
	agency.link();
	return sandbox;
}

/** Everything that is written in a text that JSON can carry. */
const textOf = (bug: BugFile): string => JSON.stringify(bug);

const secretsOf = (sandbox: Sandbox): string[] => sandbox.keys.list().map(({ apiKey }) => apiKey.split(".")[2] ?? "?");

describe("a bug file", () => {
	test("keeps its policy but for the rules that are given beside it, and its variation unless one is given", () => {
		const policy = { shortSearch: "unfiltered", retryAfterDrop: "replay" } as const;
		const written = createSandbox({ policy, variation: "7" });
		const bug = written.bug({ keepContent: true });
		const opened = createSandbox({
			from: bug,
			policy: { retryAfterDrop: "resend", templateOnReplace: true, shortSearch: undefined },
			variation: 8,
		});
		expect(opened.policy).toEqual({ ...written.policy, retryAfterDrop: "resend", templateOnReplace: true });
		expect(opened.bug({ keepContent: true }).variation).toBe("8");
		expect(createSandbox({ from: bug, policy: {} }).bug({ keepContent: true })).toMatchObject({
			policy: written.policy,
			variation: "7",
		});
	});

	test("with its content kept, shows the same phone, log and reasons, and holds no key", async () => {
		const sandbox = await badDay();
		const bug = sandbox.bug({ keepContent: true, contact: anna });
		for (const secret of [...secretsOf(sandbox), "b".repeat(20), "_live."]) expect(textOf(bug)).not.toContain(secret);
		const opened = createSandbox({ from: textOf(bug) });
		expect(opened.agency().conversation(anna).state()).toEqual(sandbox.agency().conversation(anna).state());
		expect(opened.agency().conversations()).toEqual(sandbox.agency().conversations());
		expect(opened.policy).toEqual(sandbox.policy);
		expect(opened.clock.now()).toEqual(sandbox.clock.now());
		// The path and the ids of keys are the only difference.
		const ids = new Map(sandbox.keys.list().map(({ id }, at) => [id, `key-${at + 1}`]));
		const named = (value: unknown) => {
			let text = JSON.stringify(value);
			for (const [id, name] of ids)
				text = text.replaceAll(`sandbox_live.${id}.${secretsOf(sandbox)[0]}`, "{key}").replaceAll(id, name);
			return JSON.parse(text);
		};
		expect(opened.events()).toEqual(named(sandbox.events()));
		expect(opened.requests()).toEqual(named(sandbox.requests()));
		expect(opened.violations()).toEqual(named(sandbox.violations()));
		expect(opened.keys.list().map(({ id, state }) => [id, state])).toEqual([
			["key-1", "live"],
			["key-2", "revoked"],
		]);
		expect(() => opened.check()).toThrow("never");
	});

	test("has the same outcomes and reasons with generated content, in requests that can be made again", async () => {
		const sandbox = await badDay();
		const opened = createSandbox({ from: sandbox.bug() });
		const shape = (each: Sandbox) =>
			each.requests().map(({ operation, status, key }) => [operation, status, key.state]);
		expect(shape(opened)).toEqual(shape(sandbox));
		expect(opened.events().map(({ type, id, at }) => [type, id, at])).toEqual(
			sandbox.events().map(({ type, id, at }) => [type, id, at]),
		);
		for (const [at, { explanation }] of sandbox.requests().entries()) {
			const now = opened.requests()[at]?.explanation;
			// Only what is quoted differs, never how long or whether there is a reason.
			expect(now === null).toBe(explanation === null);
			expect(now?.split(" ")[0]).toBe(explanation?.split(" ")[0]);
		}
		const lengths = (each: Sandbox, phone: string) =>
			each
				.agency()
				.conversation(phone)
				.state()
				.messages.map(({ body, author, status }) => [body?.length, author, status]);
		const [first] = opened.agency().contacts();
		expect(lengths(opened, first?.phoneNumber ?? "")).toEqual(lengths(sandbox, anna));
		// The same faults of a request lead to the same refusal.
		for (const [at, { correlationId, status, operation }] of opened.requests().entries()) {
			const isDecided = status !== null && status >= 400 && status < 500 && operation !== null;
			if (!isDecided || opened.requests()[at]?.explanation?.includes("not linked")) continue;
			expect(
				(await createSandbox({ from: sandbox.bug() }).replay(correlationId)).status,
				opened.requests()[at]?.explanation ?? "",
			).toBe(status);
		}
	});

	test("that is opened and taken again with generated content still has its reasons", async () => {
		const sandbox = await badDay();
		const reasons = (each: Sandbox) => each.requests().map(({ explanation }) => explanation?.split(" ").slice(0, 2));
		const again = createSandbox({ from: createSandbox({ from: sandbox.bug() }).bug() });
		expect(reasons(again)).toEqual(reasons(createSandbox({ from: sandbox.bug() })));
	});

	test("holds none of the numbers, names and texts, in any spelling, and no key", async () => {
		// Letters that no word of the format has.
		const letters = fc.string({ unit: fc.constantFrom(..."qxzjQXZJéßø漢😀"), minLength: 6, maxLength: 14 });
		await fc.assert(
			fc.asyncProperty(letters, fc.stringMatching(/^[1-9]{9}$/), async (word, digits) => {
				const own = `${word} 0${digits}`;
				const sandbox = await badDay(own);
				const text = textOf(sandbox.bug({ contact: anna }));
				const plain = [text, decodeURIComponent(text.replaceAll("%", "%25")), unescape(text)].join("\n");
				const forbidden = [
					word,
					encodeURIComponent(word),
					digits,
					...[anna, bram, "+32470998877"].flatMap((phone) => [phone.slice(1), phone.slice(3), phone.slice(4)]),
					...secretsOf(sandbox),
					"_live.",
					"x-customer",
				];
				for (const each of forbidden) expect(plain.includes(each), each).toBe(false);
				createSandbox({ from: text });
			}),
			{ numRuns: 25 },
		);
	});

	test("keeps of headers, numbers, codes and languages only what is nobody's", async () => {
		const letters = fc.stringMatching(/^[qxzj]{6,9}$/);
		await fc.assert(
			fc.asyncProperty(letters, fc.stringMatching(/^[1-9]{7}$/), async (word, digits) => {
				const sandbox = createSandbox();
				const agency = sandbox.agency();
				const number = Number(`44${digits}`);
				const contact = agency.contact(anna);
				contact.writes({ media: [{ url: word, index: number, contentType: `image/${word}`, content_type: digits }] });
				const code = `${word}_${digits.slice(0, 4)}_${digits.slice(4)}`;
				agency.ai.replies({
					contact,
					text: "Hello",
					templateName: code,
					interactiveContent: {
						quickReplies: [{ code, text: word }],
						listPicker: { items: [{ id: digits, title: word }] },
						ctaButtons: [{ type: word, title: word, code, ttl_minutes: number }],
					},
				});
				contact.taps(code);
				agency.consent.set({ languages: [word, `${word.slice(0, 3)}-${word.slice(3, 5)}`], flowCodes: [code] });
				agency.message(2).set(word, { errorCode: number });
				sandbox.faults.add({
					effect: { kind: "html", body: word, contentType: `text/${word}; charset=${word}`, retryAfter: digits },
				});
				const path = `/agencies/${agency.id}`;
				for (const type of [`text/${word}`, `application/json; n=${digits}`, word, `application/${word}+json`])
					await sandbox.request({
						method: "POST",
						path: `${path}/messages`,
						body: {
							to: anna,
							body: "Hi",
							size: number,
							index: number / 1e9,
							[digits]: { ttl_minutes: [-number] },
							status: code,
						},
						headers: {
							"content-type": type,
							accept: `text/${word}, application/json;q=0.9, */*;q=0.${digits}`,
							"accept-encoding": `gzip, ${word}, ${digits}`,
							"content-length": digits,
						},
					});
				await sandbox.request({
					method: word,
					path: `${path}/conversations?pageSize=${digits}&${word}${digits}=${digits}`,
				});
				await sandbox.request({ method: "GET", path: `${path}/conversations/${encodeURIComponent(anna)}` });
				const bug = sandbox.bug();
				const text = textOf(bug).toLowerCase();
				for (const each of [word, digits, code]) expect(text.includes(each), each).toBe(false);
				const opened = createSandbox({ from: bug });
				// What decided each request is the same, and so is the tap.
				expect(opened.requests().map(({ status }) => status)).toEqual(sandbox.requests().map(({ status }) => status));
				for (const { correlationId, status } of opened.requests().slice(1))
					expect((await createSandbox({ from: bug }).replay(correlationId)).status).toBe(status);
				const [known] = opened.agency().contacts();
				const [tap, reply] = [...(known?.state().messages ?? [])].reverse();
				expect(tap?.buttonClicked).toBe(reply?.interactiveContent?.quickReplies?.[0]?.code);
				const [request] = opened.requests();
				expect(request?.headers.accept).toBe("application/json;q=0.9");
				expect(request?.headers["accept-encoding"]).toBe("gzip");
			}),
			{ numRuns: 25 },
		);
	});

	test("shows a mistyped field, in the body, in the query and in the reason, and hides a name that stands there", async () => {
		const sandbox = createSandbox();
		const agency = sandbox.agency();
		agency.contact(anna, { name: "Anna Zzyzx" }).writes("Hello");
		const path = `/agencies/${agency.id}`;
		const refusals = [
			"boddy",
			"Body",
			"operation_id",
			"addressLine2",
			"anna",
			"zzyzxStreet",
			"note_Zzyzx",
			"Kerk 12",
			"é",
		];
		for (const field of refusals)
			await sandbox.request({ method: "POST", path: `${path}/messages`, body: { to: anna, body: "Hi", [field]: "x" } });
		await sandbox.request({ method: "GET", path: `${path}/conversations?serach=Zzyzx&zzyzx=1&page32470123456=2` });
		const opened = createSandbox({ from: sandbox.bug() });
		const fields = opened.requests().flatMap(({ body }) => Object.keys(body ?? {}).slice(2));
		expect(fields.slice(0, 4)).toEqual(["boddy", "Body", "operation_id", "addressLine2"]);
		for (const field of fields.slice(4)) expect(field).toMatch(/^field\d+$/);
		const [first, , , , named] = opened.requests();
		expect(first?.explanation).toContain("boddy");
		const [answer] = opened.events({ types: ["request"], limit: 20 });
		expect(JSON.stringify(Object(answer).answer)).toContain("boddy");
		expect(named?.explanation).not.toMatch(/anna/i);
		expect(opened.requests().at(-1)?.query).toMatch(/^serach=[^&]+&field\d+=.&field\d+=.$/);
		expect(textOf(sandbox.bug())).not.toMatch(/zzyzx|anna|32470123456/i);
	});

	test("is never too long to be opened: the oldest events are left out, and counted", async () => {
		const sandbox = createSandbox();
		// Refused, so that the world stays small. As JSON each character has 6 bytes.
		const body = "\u0001".repeat(700_000);
		const path = `/agencies/${sandbox.agency().id}/messages`;
		const made = 30;
		for (let times = 0; times < made; times++) await sandbox.request({ method: "POST", path, body });
		const [oldest] = sandbox.requests();
		const bug = sandbox.bug({ keepContent: true, request: oldest?.correlationId });
		const opened = createSandbox({ from: textOf(bug) });
		const left = opened.requests();
		expect(left.length).toBeGreaterThan(15);
		expect(opened.forgotten().requests).toBe(made - left.length);
		expect(opened.forgotten().requests).toBeGreaterThan(0);
		// The one that is open stays.
		expect(left[0]?.correlationId).toBe(oldest?.correlationId);
		expect(sandbox.bug().requests).toHaveLength(made);
		sandbox.agency().contact(anna).writes("\u0001".repeat(16_000_000));
		expect(() => sandbox.bug({ keepContent: true })).toThrow("the conversations alone are too long");
	});

	test("that somebody has changed is refused, with the field", async () => {
		const text = textOf((await badDay()).bug());
		const broken = (change: (bug: ReturnType<typeof JSON.parse>) => unknown) => () => {
			const bug = JSON.parse(text);
			change(bug);
			return createSandbox({ from: bug });
		};
		expect(broken((bug) => (bug.version = 0))).toThrow("bug: version must be 1");
		expect(
			broken((bug) => delete bug.events.find(({ type }: { type: string }) => type === "request").decision),
		).toThrow("decision");
		expect(broken((bug) => (bug.events[0].type = "constructor"))).toThrow("events[0].type");
		expect(broken((bug) => delete bug.events[0].at)).toThrow("events[0].at");
		expect(broken((bug) => (bug.events[0].id = 1e9))).toThrow("rising");
		expect(broken((bug) => (bug.world.keys[0].secret = "abc"))).toThrow("secret");
		expect(broken((bug) => (bug.world.keys[0].id = "a b"))).toThrow("world.keys[0].id");
		expect(broken((bug) => (bug.policy.shortSearch = "all"))).toThrow("shortSearch");
		expect(broken((bug) => (bug.place.contact = "Anna"))).toThrow("place.contact");
		expect(broken((bug) => (bug.extra = 1))).toThrow("extra");
		expect(() => createSandbox({ from: "{" })).toThrow("not a bug file");
		expect(() => createSandbox({ from: text, now: "2026-01-01" })).toThrow("now is not for a bug file");
		expect(() => createSandbox().bug({ contact: 5 as never })).toThrow("bug: contact");
	});

	const update = /was made by a later version of messaging-conversations\. Update the package in this program/;
	type File = ReturnType<typeof JSON.parse>;

	test.each<[name: string, change: (bug: File) => unknown]>([
		["a later number", (bug) => (bug.version = 2)],
		[
			"a later number, and parts that this version does not know",
			(bug) => Object.assign(bug, { version: 7, events: 1, more: [] }),
		],
		["a world of a later number", (bug) => (bug.world.version = 2)],
	])("with %s says to update the package, and changes nothing", async (_name, change) => {
		const bug = JSON.parse(textOf((await badDay()).bug()));
		change(bug);
		const sandbox = createSandbox({ scenario: "closed" });
		const before = JSON.stringify(sandbox.snapshot().world);
		const events = sandbox.events().length;
		for (const given of [bug, JSON.stringify(bug)]) {
			expect(() => createSandbox({ from: given })).toThrow(update);
			expect(() => sandbox.import(given)).toThrow(update);
		}
		expect(JSON.stringify(sandbox.snapshot().world)).toBe(before);
		expect(sandbox.events()).toHaveLength(events);
	});

	test.each([undefined, null, "1", "2", 0, -1, 1.5, 1e300, [2], {}])(
		"whose number is %j is not said to be later",
		async (version) => {
			const bug = { ...(await badDay()).bug(), version };
			expect(() => createSandbox({ from: JSON.stringify(bug) })).toThrow(/^bug: version must be 1\.$/);
		},
	);

	test("can be imported into a sandbox that runs, which then acts on, and is as in the file after a reset", async () => {
		const bug = (await badDay()).bug();
		const sandbox = createSandbox();
		const heard: string[] = [];
		sandbox.subscribe(({ type }) => heard.push(type));
		sandbox.import(JSON.stringify(bug));
		expect(heard).toEqual(["sandbox.opened"]);
		expect(sandbox.requests().length).toBe(bug.requests.length);
		const [contact] = sandbox.agency().contacts();
		expect(contact?.accepts()).toEqual({ hadHeldText: true });
		const opened = createSandbox({ from: bug });
		opened.agency().contacts()[0]?.accepts();
		opened.reset();
		expect(opened.agency().contacts()[0]?.state().held).not.toBeNull();
	});
});

test("readOnly without a bug file is refused, with how to open one", async () => {
	const serving = serve(createSandbox(), { readOnly: true });
	await expect(serving).rejects.toThrow("readOnly is for a bug file. Make the sandbox with createSandbox({ from })");
});

test("a served sandbox shows the bug file that it has, read-only or not, until a reset", async () => {
	const bug = (await badDay()).bug({ contact: anna });
	const { takenAt, content, place } = bug;
	const shown = { takenAt, content, place };
	const sandbox = createSandbox({ from: JSON.stringify(bug) });
	const server = await serve(sandbox, { readOnly: true });
	onTestFinished(server.close);
	const control = async (method: "GET" | "POST", path: string) =>
		(await fetch(`${server.controlUrl}/${path}`, { method, headers: { "x-sandbox-token": server.token } })).json();
	const me = async () =>
		(await fetch(`${server.baseUrl}/me`, { headers: { authorization: `Bearer ${server.apiKey}` } })).status;
	expect(await control("GET", "shown")).toEqual({ isReadOnly: true, bug: shown });
	expect(await control("POST", "clock/advance")).toMatchObject({ message: expect.stringContaining("read-only") });
	expect(await me()).toBe(503);
	await control("POST", "continue");
	expect(await control("GET", "shown")).toEqual({ isReadOnly: false, bug: shown });
	expect(await me()).toBe(200);
	// The file that it was made with comes back with a reset, and another one does not.
	sandbox.import(createSandbox().bug());
	expect(await control("GET", "shown")).toMatchObject({ isReadOnly: false, bug: { place: { contact: null } } });
	sandbox.reset();
	expect(await control("GET", "shown")).toEqual({ isReadOnly: false, bug: shown });
});

describe("the key of whoever opens a file", () => {
	const me = async ({ baseUrl, apiKey, fetch }: Connection): Promise<number> =>
		(await fetch(`${baseUrl}/me`, { headers: { authorization: `Bearer ${apiKey}` } })).status;

	/** A world in which only the second key is good, and one in which none is. */
	const worlds = ["one", "none"].map((good) => {
		const sandbox = createSandbox();
		const [first] = sandbox.keys.list();
		sandbox.keys.revoke(first?.id ?? "");
		const second = sandbox.keys.create();
		if (good === "none") sandbox.keys.expire(second.id);
		return sandbox;
	});

	test("is good in process, from the beginning, after an import, after a reset, and in a copy of that sandbox", async () => {
		for (const world of worlds) {
			const bug = JSON.stringify(world.bug());
			const running = createSandbox();
			running.import(bug);
			for (const sandbox of [createSandbox({ from: bug }), running]) {
				expect(await me(sandbox.connection)).toBe(200);
				expect(sandbox.keys.list().map(({ apiKey }) => apiKey)).toContain(sandbox.connection.apiKey);
				sandbox.reset();
				expect(await me(sandbox.connection)).toBe(200);
			}
		}
		const opened = createSandbox({ from: worlds[0]?.bug() });
		const other = createSandbox();
		other.restore(JSON.parse(JSON.stringify(opened.snapshot())));
		expect(await me(other.connection)).toBe(200);
		expect(other.connection.apiKey).toBe(opened.connection.apiKey);
	});

	test("is good over HTTP, and is the same wherever it is asked for", async () => {
		for (const world of worlds) {
			const sandbox = createSandbox();
			const server = await serve(sandbox);
			onTestFinished(server.close);
			const control = async (path: string, body?: string) => {
				const headers = { "x-sandbox-token": server.token };
				const answer = await fetch(
					`${server.controlUrl}/${path}`,
					body ? { method: "POST", headers, body } : { headers },
				);
				expect(answer.status).toBe(200);
				return answer.json();
			};
			await control("import", JSON.stringify(world.bug()));
			await control("continue", "{}");
			const { apiKey } = await control("connection");
			expect([server.apiKey, server.connection.apiKey, sandbox.connection.apiKey]).toEqual([apiKey, apiKey, apiKey]);
			expect(await me(server.connection)).toBe(200);
		}
	});
});

/** What exists, without the order in which it is listed, and with keys by name. */
const stateOf = (sandbox: Sandbox) => {
	const { counters, keys, ...rest } = insideOf(sandbox).world();
	const agencies = rest.agencies.map(({ threads, ...agency }) => ({
		...agency,
		threads: [...threads].sort((a, b) => a.serial - b.serial),
	}));
	const operations = [...rest.operations].sort(([a], [b]) => a.localeCompare(b));
	return { ...rest, agencies, operations, keys: keys.map(({ state, scopes }) => [state, scopes]) };
};

describe("the past in a bug file", () => {
	test("leads to the same moments in another sandbox, each of them", async () => {
		const sandbox = await badDay();
		// Old messages change, others come, and a restore takes some back.
		const contact = sandbox.agency().contact(anna);
		contact.writes("Before");
		const snapshot = sandbox.snapshot();
		contact.writes("Undone");
		contact.reads();
		contact.writes("Undone too");
		sandbox.restore(snapshot);
		contact.writes("After");
		contact.reads();
		contact.writes("At last");
		const newest = sandbox.events({ limit: 1 })[0]?.id ?? 0;
		const opened = createSandbox({ from: textOf(sandbox.bug({ keepContent: true })) });
		expect(opened.history.first).toBe(sandbox.history.first);
		const first = sandbox.history.first ?? newest;
		expect(newest - first).toBeGreaterThan(40);
		for (let event = first; event <= newest; event++) {
			const [then, there] = [sandbox.history.at(event), opened.history.at(event)];
			expect(stateOf(there), `event ${event}`).toEqual(stateOf(then));
			expect(there.requests().map(({ path }) => path.length > 0)).toEqual(then.requests().map(() => true));
		}
	});

	test("is passed on with generated content, and one can continue from it", async () => {
		const sandbox = await badDay();
		const opened = createSandbox({ from: sandbox.bug() });
		const again = createSandbox({ from: textOf(opened.bug()) });
		// A moment is after everything that belongs together: after the request.
		const cause = sandbox.events().find(({ type }) => type === "text.held")?.correlationId;
		const held =
			sandbox
				.events()
				.filter((event) => event.correlationId === cause)
				.at(-1)?.id ?? 0;
		for (const each of [opened, again]) {
			const contact = each.history
				.at(held)
				.agency()
				.contacts()
				.find((one) => one.state().held);
			expect(contact?.state().held?.body).toHaveLength("First: Kerkstraat 12".length);
			each.history.continueFrom(held);
			expect(
				each
					.agency()
					.contact(contact?.phoneNumber ?? "")
					.accepts(),
			).toEqual({ hadHeldText: true });
			expect(each.requests().length).toBeLessThan(sandbox.requests().length);
		}
	});

	test("takes the place of that of the sandbox which opens it, and what follows is noted", async () => {
		const bug = (await badDay()).bug();
		const sandbox = createSandbox();
		sandbox.history.record();
		for (let times = 0; times < 200; times++) sandbox.agency().contact("+447700900199").writes("Another world");
		sandbox.import(textOf(bug));
		expect(sandbox.history.first).toBe(JSON.parse(textOf(bug)).past[0].event);
		const last = bug.events.at(-1)?.id ?? 0;
		expect(stateOf(sandbox.history.at(last))).toEqual(stateOf(createSandbox({ from: bug })));
		const opened = sandbox.events({ limit: 1 })[0]?.id ?? 0;
		const [contact] = sandbox.agency().contacts();
		const before = contact?.state().messages.length ?? 0;
		contact?.writes("Later");
		expect(sandbox.history.at(opened).agency().contacts()[0]?.state().messages).toHaveLength(before);
		const { past: _, ...without } = bug;
		sandbox.import(textOf(without));
		expect(sandbox.history.first).toBe(without.events.at(-1)?.id);
		expect(createSandbox({ from: without }).history.first).toBe(null);
	});

	test("has at most 2,000 steps, the newest ones, and a long conversation is in it once", () => {
		const sandbox = createSandbox();
		sandbox.history.record();
		const contact = sandbox.agency().contact(anna, { name: "Anna" });
		for (let times = 0; times < 2_500; times++) contact.writes(`line ${times}`);
		const text = textOf(sandbox.bug({ keepContent: true }));
		const bug: BugFile = JSON.parse(text);
		expect(bug.past).toHaveLength(2_000);
		expect(text.split('"line 100"')).toHaveLength(4); // its event, the world, and the first step
		const opened = createSandbox({ from: text });
		const { first } = opened.history;
		const messages = (each: Sandbox) => each.agency().contact(anna).state().messages.length;
		expect(messages(opened.history.at(first ?? 0))).toBe(messages(sandbox.history.at(first ?? 0)));
		expect(messages(opened.history.at((first ?? 0) + 1_000))).toBe(messages(sandbox.history.at((first ?? 0) + 1_000)));
	});

	test("that somebody has changed is refused when it is opened, or when somebody goes there", async () => {
		const text = textOf((await badDay()).bug());
		const broken = (change: (bug: ReturnType<typeof JSON.parse>) => unknown) => () => {
			const bug = JSON.parse(text);
			change(bug);
			return createSandbox({ from: bug });
		};
		const withThread = (bug: ReturnType<typeof JSON.parse>) =>
			bug.past.filter(({ threads }: { threads: unknown[] }) => threads.length > 0).at(-1).threads[0];
		expect(broken((bug) => (bug.past[0].rest = null))).toThrow("past must begin with everything");
		expect(broken((bug) => (bug.past[1].event = 0))).toThrow("past must have rising numbers");
		expect(broken((bug) => (bug.past.at(-1).event = 1e9))).toThrow("below the newest one");
		expect(broken((bug) => (withThread(bug).keep = 1e9))).toThrow("keep no more messages");
		expect(broken((bug) => (withThread(bug).thread.phone = "+447700900999"))).toThrow("as it is");
		expect(broken((bug) => (withThread(bug).thread.extra = 1))).toThrow("extra");
		expect(broken((bug) => (bug.past[0].rest.keys[0].secret = "abc"))).toThrow("secret");
		expect(broken((bug) => (bug.past[0].now = "now"))).toThrow("past[0].now");
		expect(broken((bug) => (bug.past = Array(2_001).fill(bug.past[0])))).toThrow("at most 2000");
		const lost = broken((bug) => (bug.past[0].rest.agencies = []))();
		expect(() => lost.history.at(lost.history.first ?? 0)).toThrow("agencies must have the default one");
		expect(() => lost.history.continueFrom(lost.history.first ?? 0)).toThrow("agencies must have the default one");
		expect(lost.requests().length).toBeGreaterThan(0);
	});
});

test("a bug file that is opened and taken again has other numbers, names, texts, fields and codes", async () => {
	const sandbox = createSandbox();
	const agency = sandbox.agency();
	const path = `/agencies/${agency.id}/messages`;
	for (let i = 10; i < 30; i++) {
		const contact = agency.contact(`+324701234${i}`, { name: `Anna of flat ${i}` });
		contact.writes(`Is flat ${i} free?`);
		agency.ai.replies({ contact, text: `Flat ${i} is free`, templateName: `flat_${i}_offer` });
		const body = { to: contact.phoneNumber, body: `Come to flat ${i}`, [`flat ${i}`]: `near flat ${i}` };
		await sandbox.request({ method: "POST", path, body });
	}
	const first = sandbox.bug();
	const second = createSandbox({ from: first }).bug();
	expect(JSON.stringify(first)).not.toContain("lat 12");
	const kinds = [/"\+?44\d+"/g, /"Contact \d+"/g, /"t[\da-z]+ [a-z. ]+"/g, /"field\d\d+"/g, /"code_\d\d+"/g];
	for (const kind of kinds) {
		const [before, after] = [first, second].map((bug) => new Set(JSON.stringify(bug).match(kind)));
		expect(before?.size, String(kind)).toBeGreaterThan(9);
		expect([...(after ?? [])].filter((made) => before?.has(made))).toEqual([]);
	}
});

test.each(["", "?keepContent=true"])(
	"a served sandbox answers requests while it writes a bug file%s, which has nothing of them",
	async (query) => {
		const sandbox = createSandbox();
		const agency = sandbox.agency();
		const path = `/agencies/${agency.id}/messages`;
		agency.contact(anna, { name: "Anna" }).writes("Hello");
		const send = (i: number) =>
			sandbox.request({ method: "POST", path, body: { to: anna, body: `Text ${i}`, operationId: `note-${i}` } });
		for (let i = 0; i < 2_000; i++) await send(i);
		const before = sandbox.requests().length;
		const server = await serve(sandbox);
		onTestFinished(() => server.close());
		let isWritten = false;
		const writing = fetch(`${server.controlUrl}/bug${query}`, { headers: { "x-sandbox-token": server.token } })
			.then((response) => response.text())
			.finally(() => (isWritten = true));
		let meanwhile = 0;
		while (!isWritten) {
			await fetch(`${server.baseUrl}/agencies/${agency.id}/messages`, {
				method: "POST",
				headers: { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" },
				body: JSON.stringify({ to: anna, body: `Meanwhile ${meanwhile}`, operationId: `later-${meanwhile}` }),
			});
			agency.contact(anna).reads();
			meanwhile++;
		}
		expect(meanwhile).toBeGreaterThan(3);
		const text = await writing;
		// One of them may have come before the file was taken.
		const opened = createSandbox({ from: text });
		const { length } = opened.requests();
		expect(length).toBeLessThanOrEqual(before + 2);
		expect(sandbox.requests()).toHaveLength(before + meanwhile);
		const [kept] = opened.agency().contacts();
		const phone = query === "" ? (kept?.phoneNumber ?? "") : anna;
		const { messages } = opened.agency().contact(phone).state();
		expect(messages).toHaveLength(length + 1);
		expect(messages.filter(({ status }) => status === "read").length).toBeLessThanOrEqual(2);
		const { events } = JSON.parse(text) as BugFile;
		expect(events.filter(({ type }) => type === "request")).toHaveLength(length);
	},
);
