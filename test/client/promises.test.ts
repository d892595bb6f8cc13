// The promises of a list and of a lookup, for tools that look closely.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { types } from "node:util";
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { expect, test } from "vitest";

function open() {
	const sandbox = createSandbox();
	sandbox.agency().contact("+447700900101", { name: "Anna" }).writes("Hello");
	const { conversations } = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
	const calls = {
		list: () => conversations.list(),
		listMessages: () => conversations.listMessages("+447700900101"),
		lookup: () => conversations.lookup(["+447700900101"]),
	};
	return { sandbox, calls };
}

test.each(["list", "listMessages", "lookup"] as const)("%s gives a Promise for every tool", async (name) => {
	const { sandbox, calls } = open();
	const call = calls[name]();
	expect(call).toBeInstanceOf(Promise);
	expect(types.isPromise(call)).toBe(true);
	expect(Object.prototype.toString.call(call)).toBe("[object Promise]");
	expect(sandbox.requests()).toEqual([]);
	let isOver = false;
	const data = await call.finally(() => {
		isOver = true;
	});
	expect([isOver, await call, await Promise.resolve(call), (await Promise.all([call]))[0]]).toEqual([
		true,
		data,
		data,
		data,
	]);
	expect(call.then(() => 1).constructor).toBe(Promise);
	expect(sandbox.requests()).toHaveLength(1);
	// Once it is in use, its own state is that of the call, for what calls the method of the prototype.
	expect(await Promise.prototype.then.call(call, (value: unknown) => value)).toEqual(data);
});

test.each(["list", "listMessages", "lookup"] as const)(
	"%s rejects once, and leaves nothing unhandled",
	async (name) => {
		const { sandbox, calls } = open();
		sandbox.faults.add({ times: 100, effect: { status: 403 } });
		const call = calls[name]();
		await expect(call.finally(() => {})).rejects.toMatchObject({ _tag: "PartnerForbidden" });
		await expect(call).rejects.toMatchObject({ _tag: "PartnerForbidden" });
		expect(await call.result()).toMatchObject({ ok: false });
	},
);

const program = `
	import { createClient } from "messaging-conversations";
	import { createSandbox } from "messaging-conversations/sandbox";
	const sandbox = createSandbox();
	sandbox.agency().contact("+447700900101").writes("Hello");
	const { conversations } = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
	const seen = [];
	seen.push((await conversations.list().finally(() => seen.push("finally"))).conversations.length);
	seen.push((await conversations.listMessages("+447700900101").catch(() => {})).messages.length);
	conversations.lookup(["+447700900101"]).then((found) => {
		seen.push(found.length);
		console.log(JSON.stringify(seen));
	});
`;

test.each([
	["zone.js, loaded before", 'import "zone.js";', ""],
	["zone.js, loaded afterwards", "", 'await import("zone.js");'],
	["a frozen Promise.prototype", "", "Object.freeze(Promise.prototype); Object.freeze(Promise);"],
])("beside %s lists and lookups work", (_, first, then) => {
	const [imports, rest] = [program.split("const sandbox")[0] ?? "", program.slice(program.indexOf("const sandbox"))];
	const cwd = fileURLToPath(new URL("../..", import.meta.url));
	const args = ["--import", "tsx", "--input-type=module", "--eval", `${first}\n${imports}\n${then}\n${rest}`];
	const { stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
	expect([stdout.trim(), stderr]).toEqual(['["finally",1,1,1]', ""]);
});

test("`await using` ends an iteration", async () => {
	const { sandbox, calls } = open();
	const iterators = [
		calls.list()[Symbol.asyncIterator](),
		calls.list().pages(),
		calls.listMessages()[Symbol.asyncIterator](),
		calls.lookup()[Symbol.asyncIterator](),
	];
	for (const iterator of iterators) {
		// What `await using` calls.
		const dispose: unknown = Reflect.get(iterator, Reflect.get(Symbol, "asyncDispose"));
		expect(dispose).toBeTypeOf("function");
		await (dispose as () => Promise<void>)();
		expect(await iterator.next()).toEqual({ done: true, value: undefined });
	}
	expect(sandbox.requests()).toEqual([]);
});
