import { readFileSync } from "node:fs";
import { createClient } from "messaging-conversations";
import { createSandbox } from "messaging-conversations/sandbox";
import { expect, test } from "vitest";
import { followUp } from "./follow-up.ts";

const bug = readFileSync(new URL("never-got-it.json", import.meta.url), "utf8");

test("the text that waits still reaches the contact", async () => {
	// The conversation as it was, with another number and other texts
	const sandbox = createSandbox({ from: bug });
	const [contact] = sandbox.agency().contacts();
	const waiting = contact?.state().held?.body;
	const agency = createClient({ ...sandbox.connection }).agency(
		sandbox.agency().id,
	);

	await followUp(agency, contact?.phoneNumber ?? "");
	contact?.accepts();

	expect(contact?.inbox().map(({ body }) => body)).toContain(waiting);
	sandbox.check(); // fails if the code replaced a text that was held
});
