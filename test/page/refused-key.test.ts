// A request whose key was refused is shown, repeated and copied as it was: a good key in its place would hide the bug.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { requests, shows, type Visit, visit } from "./visit.ts";

const phone = "+447700900101";

/** A CRM whose key was revoked sends a text. */
async function refusedSend(): Promise<Visit & { key: string }> {
	const visited = await visit({ scenario: "closed" }, { viewport: { width: 1440, height: 900 } });
	const { sandbox, server, page } = visited;
	const key = server.apiKey;
	sandbox.keys.create();
	sandbox.keys.revoke(key);
	await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
	await sendWith(visited, { authorization: `Bearer ${key}`, cookie: "session=abc" });
	await requests(page).getByText("messages.send").click();
	return { ...visited, key };
}

async function sendWith({ server }: Visit, headers: Record<string, string>): Promise<void> {
	await fetch(`${server.baseUrl}/agencies/${server.agencyId}/messages`, {
		method: "POST",
		headers: { "content-type": "application/json", "x-request-source": "crm", ...headers },
		body: JSON.stringify({ to: phone, body: "Hello", operationId: "note-1" }),
	});
}

const copied = async ({ page }: Visit, name: string): Promise<string> => {
	await requests(page).getByRole("button", { name, exact: true }).click();
	await shows(requests(page), "copied");
	return page.evaluate("navigator.clipboard.readText()");
};

test("the log says what the key of a request was, and keeps its headers with the secrets masked", async () => {
	const visited = await refusedSend();
	const { sandbox, page, key } = visited;
	await shows(requests(page), "key revoked");
	expect(sandbox.requests().at(-1)).toMatchObject({
		keyId: null,
		key: { state: "revoked", id: key.split(".")[1] },
		headers: { "x-request-source": "crm", cookie: "(masked)" },
		body: { body: "Hello" },
	});
	await sendWith(visited, {});
	await shows(requests(page), "key absent");
	await sendWith(visited, { authorization: "Bearer partner_live.a.b" });
	await shows(requests(page), "key unknown");
	expect(JSON.stringify([sandbox.requests(), sandbox.events()])).not.toContain(key.split(".")[2]);
});

test("Replay repeats a refused request as it was, and a good key is a choice of its own", async () => {
	const { sandbox, page } = await refusedSend();
	await requests(page).getByRole("button", { name: "Repeat with the same id" }).click();
	await expect.poll(() => sandbox.requests().map(({ status }) => status)).toEqual([401, 401]);
	expect(sandbox.requests()[1]).toMatchObject({
		key: sandbox.requests()[0]?.key,
		body: sandbox.requests()[0]?.body,
		headers: { "x-request-source": "crm" },
	});
	await requests(page).getByRole("button", { name: "Replay", exact: true }).click();
	await expect.poll(() => sandbox.requests().map(({ status }) => status)).toEqual([401, 401, 401]);
	await requests(page).getByRole("button", { name: "Replay with a good key" }).first().click();
	await expect.poll(() => sandbox.requests().map(({ status }) => status)).toEqual([401, 401, 401, 200]);
	expect(sandbox.agency().contact(phone).state().held?.body).toBe("Hello");
});

test("a refused request is copied as curl, fetch and a call of the client, with $BAD_KEY", async () => {
	const visited = await refusedSend();
	const { sandbox, key } = visited;
	const curl = await copied(visited, "curl");
	const texts = [curl, await copied(visited, "fetch"), await copied(visited, "client")];
	for (const text of texts) {
		expect(text).not.toContain("_live.");
		expect(text).toContain("BAD_KEY");
		expect(text).toContain("Hello");
		expect(text).toContain("key of this request, which was revoked");
	}
	const asked = sandbox.requests().length;
	const run = promisify(execFile)("sh", ["-c", curl], { env: { ...process.env, BAD_KEY: undefined } });
	await expect(run).rejects.toThrow("set it to the key of this request");
	expect(sandbox.requests()).toHaveLength(asked);
	await promisify(execFile)("sh", ["-c", curl], { env: { ...process.env, BAD_KEY: key } });
	expect(sandbox.requests().slice(asked)).toMatchObject([
		{ status: 401, key: { state: "revoked" }, body: { body: "Hello" }, headers: { "x-request-source": "crm" } },
	]);
});
