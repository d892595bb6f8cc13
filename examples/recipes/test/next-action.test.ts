import { expect, test, vi } from "vitest";
import type { sendText } from "../../../scripts/next/site/app/actions.ts";
import { afterTest, startService } from "./service.ts";

async function open() {
	const service = await startService();
	for (const [name, value] of Object.entries({ ...service.env, MESSAGING_AGENCY_ID: service.agencyId }))
		vi.stubEnv(name, value);
	afterTest(() => vi.unstubAllEnvs());
	// The client is made when the module is loaded, with this environment, and stays there for all copies of the module.
	vi.resetModules();
	afterTest(() => Reflect.deleteProperty(globalThis, "messaging"));
	const { sendText: action }: { sendText: typeof sendText } = await import("../../../scripts/next/site/app/actions.ts");
	const submit = (operationId: string, to: string, body: string) => {
		const form = new FormData();
		form.set("to", to);
		form.set("body", body);
		return action({ message: "", operationId }, form);
	};
	return { ...service, submit };
}
const textsOf = (contact: { inbox: () => readonly { kind: string }[] }) =>
	contact.inbox().filter(({ kind }) => kind === "text").length;

test("a double click is one text, and the next form has another id", async () => {
	const { anna, submit } = await open();
	const [one, other] = await Promise.all([1, 2].map(() => submit("form-1", anna.phoneNumber, "It is.\r\nCome by!")));
	expect([one?.message, other?.message]).toEqual(["Sent.", "Sent."]);
	expect(one?.operationId).not.toBe("form-1");
	expect(textsOf(anna)).toBe(1);
});

test("a contact who has never written and answers in words keeps the first text, whatever is sent next", async () => {
	const { sandbox, submit } = await open();
	const bram = sandbox.agency().contact("+447700900102");
	expect((await submit("form-1", bram.phoneNumber, "Friday?")).message).toBe("Waits for the contact's consent.");
	expect((await submit("form-1", bram.phoneNumber, "Friday?")).message).toBe("Waits for the contact's consent.");
	bram.writes("Who is this?");
	expect((await submit("form-2", bram.phoneNumber, "Call us")).message).toMatch(/another text waits/);
	expect(textsOf(bram)).toBe(0);
	bram.accepts();
	expect(bram.inbox().at(-1)).toMatchObject({ body: "Friday?" });
});

test("a wrong number names the field, and a doubt keeps the id", async () => {
	const { sandbox, anna, submit } = await open();
	expect((await submit("form-1", "call me", "Hi")).message).toBe("Not sent: check to.");
	sandbox.faults.add({ operation: "messages.send", times: 4, phase: "after", effect: "reset" });
	expect(await submit("form-2", anna.phoneNumber, "Hi")).toEqual({
		operationId: "form-2",
		message: "Not sure. Send it again.",
	});
	expect((await submit("form-2", anna.phoneNumber, "Hi")).message).toBe("Sent.");
	expect(textsOf(anna)).toBe(1);
});
