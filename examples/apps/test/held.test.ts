// What send-queue/held.ts says of a text, whatever its contact did.
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { expect, test } from "vitest";
import { fateOf } from "../send-queue/held.ts";

const body = "Are you there?";

/** A text is held for Anna, who read the same words the day before. */
async function open() {
	const sandbox = createSandbox();
	const agency = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
	const anna = sandbox.agency().contact("+32470123456");
	const { phoneNumber: phone } = anna;
	anna.writes("Hello");
	sandbox.clock.advance({ hours: 1 });
	await agency.messages.send({ to: phone, body });
	sandbox.clock.advance({ hours: 24 });
	const { windowExpiresAt: closedAt } = await agency.messages.send({ to: phone, body });
	return { sandbox, anna, fate: () => fateOf(agency, { phone, body, closedAt }) };
}

test("a text is held until the contact consents, and then sent, however much was said since", async () => {
	const { sandbox, anna, fate } = await open();
	expect(await fate()).toBe("held");
	expect(sandbox.requests().at(-1)?.operation).toBe("conversations.get");
	anna.accepts();
	for (let i = 0; i < 120; i++) anna.writes(`And ${i}`);
	expect(await fate()).toBe("sent");
});

test("a text that was declined, or never answered, is dropped: the same words of the day before are another text", async () => {
	const [declined, silent] = [await open(), await open()];
	declined.anna.declines();
	expect(await declined.fate()).toBe("dropped");
	silent.sandbox.clock.advance({ hours: 48 });
	expect(await silent.fate()).toBe("dropped");
});

test("a text that somebody else's text replaced is dropped", async () => {
	const { sandbox, anna, fate } = await open();
	sandbox.agency().staff.sends(anna, "Forget it.");
	expect(await fate()).toBe("dropped");
	anna.accepts();
	expect(await fate()).toBe("dropped");
});

test("a first text to a stranger is found as well", async () => {
	const sandbox = createSandbox();
	const agency = createClient({ ...sandbox.connection }).agency(sandbox.agency().id);
	const bert = sandbox.agency().contact("+447700900102");
	const { windowExpiresAt: closedAt } = await agency.messages.send({ to: bert.phoneNumber, body });
	const text = { phone: bert.phoneNumber, body, closedAt };
	expect([closedAt, await fateOf(agency, text)]).toEqual([null, "held"]);
	bert.accepts();
	expect(await fateOf(agency, text)).toBe("sent");
});
