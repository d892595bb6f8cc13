import { cachedKey, PartnerConfigurationError } from "messaging-conversations";
import { expect, onTestFinished, test, vi } from "vitest";
import { clientOf, failure, wrong } from "../calls.ts";
import { apiKey, me } from "../canned.ts";
import { refusal, scripted } from "../scripted.ts";

const rotated = apiKey.replace(/.$/, "Z");
/** The service takes one key, which a test can change. */
async function service() {
	const state = { valid: apiKey };
	const said = await scripted(({ headers }) =>
		headers.authorization === `Bearer ${state.valid}` ? { json: me } : refusal(401),
	);
	return Object.assign(state, { baseUrl: said.baseUrl });
}

/** A secret store that counts its reads. A read returns the key that was stored when it began. */
function store(key = apiKey) {
	const state = { key, asked: 0, delayMs: 10 };
	const read = async () => {
		state.asked++;
		const { key, delayMs } = state;
		await new Promise((resolve) => setTimeout(resolve, delayMs));
		return key;
	};
	return { state, read };
}

test("calls at the same time share one read, and a later call reads again", async () => {
	const { state, read } = store();
	const client = clientOf(await service(), { apiKey: cachedKey(read) });
	await Promise.all(Array.from({ length: 64 }, () => client.me.get()));
	expect(state.asked).toBe(1);
	await client.me.get();
	expect(state.asked).toBe(2);
});

test("after a 401 the key is read anew, once for all calls that were refused", async () => {
	const held = store();
	const server = await service();
	const client = clientOf(server, { apiKey: cachedKey(held.read) });
	server.valid = rotated;
	const calls = Array.from({ length: 20 }, () => client.me.get().withResponse());
	// The store is changed after it was asked, so that the first key is the old one.
	held.state.key = rotated;
	const answered = await Promise.all(calls);
	expect(answered.map(({ response }) => response.attempts)).toEqual(Array(20).fill(2));
	expect(held.state.asked).toBeLessThan(20);
});

test("a call does not join a read from before its own 401", async () => {
	const asked: ((key: string) => void)[] = [];
	const server = await service();
	server.valid = rotated;
	const client = clientOf(server, { apiKey: cachedKey(() => new Promise((resolve) => asked.push(resolve))) });
	const refused = client.me.get();
	await expect.poll(() => asked.length).toBe(1);
	asked[0]?.(apiKey);
	await Promise.resolve();
	await Promise.resolve();
	// A second call asks while the first one is on its way with the old key, and will get the old key too.
	const joining = client.me.get();
	await expect.poll(() => asked.length).toBe(3);
	asked[2]?.(rotated);
	expect(await refused).toEqual(me);
	asked[1]?.(apiKey);
	await expect.poll(() => asked.length).toBe(4);
	asked[3]?.(rotated);
	expect(await joining).toEqual(me);
});

test.each([
	[
		"throws",
		() => {
			throw new Error("store down");
		},
	],
	["rejects", () => Promise.reject(new Error("store down"))],
])("a read that %s is not remembered", async (_, fail) => {
	let isDown = true;
	const client = clientOf(await service(), { apiKey: cachedKey(() => (isDown ? fail() : apiKey)), retry: false });
	expect(await client.me.get().result()).toMatchObject({ ok: false, error: { _tag: "PartnerConfigurationError" } });
	isDown = false;
	expect(await client.me.get()).toEqual(me);
});

test("a read that never ends holds up the calls that joined it, and no later one", async () => {
	let isHanging = true;
	const read = cachedKey(() => (isHanging ? new Promise<string>(() => {}) : apiKey));
	const client = clientOf(await service(), { apiKey: read, retry: false });
	const joined = await Promise.all([1, 2].map(() => client.me.get({ timeoutMs: 50 }).result()));
	expect(joined).toMatchObject(Array(2).fill({ ok: false, error: { _tag: "PartnerTimeoutError", attempts: 0 } }));
	isHanging = false;
	const now = performance.now.bind(performance);
	const later = vi.spyOn(performance, "now").mockImplementation(() => now() + 5001);
	onTestFinished(() => later.mockRestore());
	expect(await client.me.get()).toEqual(me);
});

test("a read that ends late leaves the read that replaced it shared", async () => {
	const asked: ((key: string) => void)[] = [];
	const client = clientOf(await service(), { apiKey: cachedKey(() => new Promise((resolve) => asked.push(resolve))) });
	const slow = client.me.get();
	await expect.poll(() => asked.length).toBe(1);
	const now = performance.now.bind(performance);
	const later = vi.spyOn(performance, "now").mockImplementation(() => now() + 5001);
	onTestFinished(() => later.mockRestore());
	const second = client.me.get();
	await expect.poll(() => asked.length).toBe(2);
	asked[0]?.(apiKey);
	expect(await slow).toEqual(me);
	const third = client.me.get();
	asked[1]?.(apiKey);
	expect(await Promise.all([second, third])).toEqual([me, me]);
	expect(asked).toHaveLength(2);
});

test("what is not a function is refused, and not shown", async () => {
	for (const given of ["ab_live.key", undefined, {}]) {
		expect(() => cachedKey(wrong(given))).toThrow(PartnerConfigurationError);
		const error = await failure(() => cachedKey(wrong(given)));
		expect(error).toMatchObject({ operation: "cachedKey", field: "read" });
		expect(error.rule).toBe("must be a function that returns the key: cachedKey(() => secrets.current())");
	}
});
