// What a library adds to Object.prototype is no field of a text and no option of the outbox.
import { createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { expect, onTestFinished, test } from "vitest";
import { memoryStore } from "./memory.ts";

/** Adds to `Object.prototype` what a `for…in` finds, until `act` has ended. */
async function polluted<Result>(name: string, value: unknown, act: () => Promise<Result>): Promise<Result> {
	Object.defineProperty(Object.prototype, name, { value, enumerable: true, configurable: true, writable: true });
	const clean = () => void Reflect.deleteProperty(Object.prototype, name);
	onTestFinished(clean);
	try {
		return await act();
	} finally {
		clean();
	}
}

/** Calls what takes an input, and returns what came of it. */
async function lifeOfTexts() {
	const sandbox = createSandbox();
	const client = createClient({ ...sandbox.connection });
	const agencyId = sandbox.agency().id;
	const anna = sandbox.agency().contact("+447700900101");
	anna.writes("Is the flat still free?");
	const outbox = createOutbox({ client, store: memoryStore(), now: sandbox.clock.now });
	const text = (id: string) => ({ id, agencyId, to: anna.phoneNumber, body: `Text ${id}` });
	const ends: unknown[] = [];
	const end = async (call: () => Promise<unknown>): Promise<void> => void ends.push(await call());
	await end(() => outbox.enqueue(text("one")));
	await end(() => outbox.enqueue(text("two"), {}));
	await end(() => outbox.enqueueMany([text("three"), text("four")], {}));
	await end(() => outbox.enqueue({ ...text("five"), supersedes: "four" }));
	await end(() => outbox.cancel("three", {}));
	await end(() => outbox.suspend({ reason: "A test." }));
	await end(() => outbox.health());
	await end(() => outbox.resume({}));
	await outbox.runOnce({});
	await end(() => outbox.settled({}));
	await end(() => outbox.settled());
	await end(() => outbox.acknowledge([], {}));
	for (const id of ["one", "two", "three", "four", "five"]) await end(() => outbox.status(id));
	return { ends: JSON.parse(JSON.stringify(ends)), inbox: anna.inbox().map(({ body }) => body) };
}

const added: [name: string, value: unknown][] = [
	["tx", {}],
	["allowUnlistedNumber", "CANARY"],
	["signal", AbortSignal.abort()],
	["notBefore", "CANARY"],
	["notAfter", new Date(0)],
	["purpose", "marketing"],
	["priority", 7],
	["onHeld", "replace"],
	["whenClosed", "skip"],
	["subaccountId", "CANARY"],
	["consentLanguage", "CANARY"],
	["limit", 1],
	["held", true],
	["by", "CANARY"],
	["beforeSend", () => "CANARY"],
	["quietHours", "CANARY"],
	["engine", "CANARY"],
	["prefix", "CANARY"],
	["extra", 1],
];

test.for(added)("%s on Object.prototype changes nothing in the outbox", async ([name, value]) => {
	const before = await lifeOfTexts();
	expect(before.inbox).toEqual(["Text one", "Text two", "Text five"]);
	expect(await polluted(name, value, lifeOfTexts)).toEqual(before);
});
