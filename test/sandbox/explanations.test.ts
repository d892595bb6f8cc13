import { createSandbox } from "messaging-conversations/sandbox";
import { expect, test } from "vitest";
import {
	ANNA,
	BELGIAN,
	type Box,
	BRAM,
	call,
	get,
	list,
	lookup,
	me,
	messages,
	type OpenOptions,
	present,
	send,
	throughEachEntryPoint,
} from "./entry-points.ts";

/** A way to be refused, with the explanation that the journal has for it. */
interface Reason {
	readonly name: string;
	readonly options?: OpenOptions;
	/** Makes the request that is refused; it comes last. */
	readonly ask: (box: Box) => Promise<unknown>;
	/** Null for a request that has no answer. */
	readonly status: number | null;
	readonly says: RegExp;
}

const path = (box: Box, rest: string) => `/agencies/${box.agency.id}/${rest}`;
const reason = (
	name: string,
	status: number | null,
	says: RegExp,
	ask: Reason["ask"],
	options: OpenOptions = {},
): Reason => ({ name, status, says, ask, options });

const text = { to: ANNA, body: "The visit is at two.", operationId: "visit-1" };

async function cursorOf(box: Box, phone: string, agencyId = box.agency.id): Promise<string> {
	for (let count = 0; count < 3; count += 1) box.sandbox.agency(agencyId).contact(phone).writes("Hello");
	return present((await messages(box, phone, { pageSize: 1 }, { agencyId })).ok().nextCursor);
}

const twoLanguages = (box: Box) => box.agency.consent.set({ languages: ["nl", "fr"] });

const reasons: readonly Reason[] = [
	// R12
	reason("an unknown path", 501, /^No operation has this path\.$/, (box) => call(box, "GET", "/converations")),
	reason("a wrong method", 501, /takes GET, not PATCH\.$/, (box) => call(box, "PATCH", "/me")),
	reason("the contract written to", 501, /^openapi\.json takes GET, not POST\.$/, (box) =>
		call(box, "POST", "/openapi.json"),
	),
	reason("the base path twice", 501, /^The path has \/api\/v1 twice: the base URL ends in it already\.$/, (box) =>
		call(box, "GET", "/api/v1/me"),
	),
	reason("a missing agency", 501, /A segment of the path is empty: an id is missing/, (box) =>
		call(box, "GET", "/agencies//conversations"),
	),
	reason("a path outside the API", 501, /^The path is outside \/api\/v1/, ({ fetch, baseUrl }) =>
		fetch(new URL("/api/v2/me", baseUrl).href),
	),
	// R19 to R25
	reason("no key", 401, /^The request has no Authorization header\.$/, (box) => me(box, { key: null })),
	reason("no Bearer", 401, /does not begin with "Bearer "\.$/, (box) =>
		me(box, { headers: { authorization: `Basic ${box.key}` } }),
	),
	reason(
		"no key behind Bearer",
		401,
		/is not an API key\. A key has the form <prefix>_live\.<id>\.<secret>\.$/,
		(box) => me(box, { key: "nonsense" }),
	),
	reason("a key of another sandbox", 401, /^The sandbox has no key with this id\./, (box) =>
		me(box, { key: "partner_live.k7f3a9.c4ab01de23f4561789" }),
	),
	reason("a wrong secret", 401, /^The prefix or the secret of the key key1\w+ is wrong\.$/, (box) =>
		me(box, { key: `${box.key}x` }),
	),
	reason("a revoked key", 401, /^The key key1\w+ is revoked\.$/, (box) => {
		box.sandbox.keys.revoke(box.key);
		return me(box);
	}),
	reason("an expired key", 401, /^The key key1\w+ is expired\.$/, (box) => {
		box.sandbox.keys.expire(box.key);
		return me(box);
	}),
	// R29, R30
	reason(
		"a missing scope",
		403,
		/^messages\.send needs the scope messages:write\. The key key1\w+ has the scope conversations:read alone\.$/,
		(box) => {
			box.sandbox.keys.setScopes(box.key, ["conversations:read"]);
			return send(box, text);
		},
	),
	reason("no scope at all", 403, /needs the scope conversations:read\. The key key1\w+ has no scope\.$/, (box) => {
		box.sandbox.keys.setScopes(box.key, []);
		return list(box);
	}),
	// R31 to R34, R38
	reason("an unknown agency", 403, /^The sandbox has no agency with the id in the path\./, (box) =>
		list(box, {}, { agencyId: "agy_0" }),
	),
	reason("an unlinked agency", 403, /^The agency Lakeside Homes is not linked to Sandbox CRM any more\.$/, (box) => {
		box.agency.unlink();
		return list(box);
	}),
	reason("another integration's agency", 403, /^The agency Elsewhere belongs to another integration/, (box) => {
		const other = box.sandbox.integrations.add({ name: "Other CRM" }).link({ name: "Elsewhere" });
		return list(box, {}, { agencyId: other.id });
	}),
	reason("a hidden integration", 403, /^The integration Sandbox CRM is hidden: me\.get answers 404/, (box) => {
		box.sandbox.integration.hide();
		return list(box);
	}),
	reason("a hidden integration that asks for itself", 404, /^The integration Sandbox CRM is hidden:/, (box) => {
		box.sandbox.integration.hide();
		return me(box);
	}),
	// R13, R46, R50, R79
	reason("a wrong page size", 400, /^In the query, pageSize must be an integer from 1 to 100\.$/, (box) =>
		list(box, { pageSize: 101 }),
	),
	reason("a parameter twice", 400, /^In the query, search is given twice\.$/, (box) =>
		call(box, "GET", path(box, "conversations?search=anna&search=bram")),
	),
	reason("an empty cursor", 400, /^The cursor is empty\. Leave it out for the first page\.$/, (box) =>
		list(box, { cursor: "" }),
	),
	reason("an edited cursor", 400, /^No list of this sandbox has given out this cursor\./, async (box) =>
		messages(box, ANNA, { cursor: `${await cursorOf(box, ANNA)}x` }),
	),
	reason("an endless cursor", 400, /^No list of this sandbox/, (box) => list(box, { cursor: "A".repeat(10_000) })),
	reason(
		"a cursor of messages in the list",
		400,
		/the messages of another conversation of Lakeside Homes/,
		async (box) => list(box, { cursor: await cursorOf(box, ANNA) }),
	),
	reason("a cursor of another conversation", 400, /the messages of another conversation of Lakeside/, async (box) => {
		box.agency.contact(BRAM).writes("Hello");
		return messages(box, BRAM, { cursor: await cursorOf(box, ANNA) });
	}),
	reason("a cursor of the list in a conversation", 400, /the conversations of Lakeside Homes\.$/, async (box) => {
		box.agency.contact(ANNA).writes("Hello");
		const [row] = (await list(box)).ok().conversations;
		return get(box, ANNA, { cursor: present(row?.cursor) });
	}),
	reason("a cursor of another agency", 400, /the conversations of Second\.$/, async (box) => {
		const { id: agencyId } = box.sandbox.link({ name: "Second" });
		box.sandbox.agency(agencyId).contact(ANNA).writes("Hello");
		const [row] = (await list(box, {}, { agencyId })).ok().conversations;
		return list(box, { cursor: present(row?.cursor) });
	}),
	// R61, R68
	reason("a lookup of nothing", 400, /^In the request body, phoneNumbers must have 1 to 100 items\.$/, (box) =>
		lookup(box, []),
	),
	reason(
		"a lookup of what is not a number",
		400,
		/^Number 1 of phoneNumbers, counted from 0, is not a phone number, and the policy lookupInvalid is 400\.$/,
		(box) => lookup(box, [ANNA, "abc"]),
		{ policy: { lookupInvalid: "400" } },
	),
	// R14
	reason("no body", 400, /^The request has no body\./, (box) => call(box, "POST", path(box, "messages"))),
	reason("a body that is not JSON", 400, /^The request body cannot be read as JSON in UTF-8\.$/, (box) =>
		send(box, "{ to: "),
	),
	reason("a body that is no object", 400, /^The request body must be an object\.$/, (box) => send(box, [])),
	reason("another content type", 400, /^The header content-type does not say that the body is JSON\./, (box) =>
		send(box, text, { contentType: "text/plain" }),
	),
	// R69, R72, R73
	reason("a path without a phone number", 400, /^The phone number in the path is not valid\./, (box) =>
		get(box, "nobody"),
	),
	reason("a path that is encoded twice", 400, /is encoded twice: %252B\. Write %2B\.$/, (box) =>
		get(box, encodeURIComponent(ANNA)),
	),
	reason("no conversation", 404, /^Lakeside Homes has no conversation with this number\. A send would begin/, (box) =>
		get(box, ANNA),
	),
	reason("a contact without a conversation", 404, /has no conversation with this number/, (box) => {
		box.agency.contact(ANNA, { name: "Anna" });
		return messages(box, ANNA);
	}),
	reason(
		"no conversation at an agency that cannot ask for consent",
		404,
		/^Lakeside Homes has no conversation with this number\. A send would be refused: the consent flow of .* is not complete: the template t is not approved\.$/,
		(box) => {
			box.agency.consent.set({ unapprovedTemplates: [{ templateCode: "t", status: null }] });
			return get(box, ANNA);
		},
	),
	reason("a hidden conversation", 404, /^The conversation exists, but it is hidden from Lakeside Homes\./, (box) => {
		box.agency.contact(ANNA).writes("Hello");
		box.agency.conversation(ANNA).hide();
		return get(box, ANNA);
	}),
	// R94 to R98, R107
	reason("a send to no number", 400, /^In the request body, to is not a phone number\.$/, (box) =>
		send(box, { ...text, to: "nobody" }),
	),
	reason("a send without a text", 400, /^In the request body, body must be a string\.$/, (box) =>
		send(box, { to: ANNA }),
	),
	reason("a send of nothing", 400, /^In the request body, body must not be empty\.$/, (box) =>
		send(box, { ...text, body: " " }),
	),
	reason("an extra field", 400, /^In the request body, attachments is not a field of this request\.$/, (box) =>
		send(box, { ...text, attachments: [] }),
	),
	reason("an empty operationId", 400, /^In the request body, operationId must not be empty\.$/, (box) =>
		send(box, { ...text, operationId: "" }),
	),
	reason("an unknown sender", 400, /^Lakeside Homes has 1 sender, and subaccountId names none of them\./, (box) =>
		send(box, { ...text, subaccountId: "8b1f8a52-5f0c-4c1e-9a53-2f1d0a9b7c11" }),
	),
	// R100 to R106
	reason("a missing language", 400, /consentLanguage must be one of nl, fr\.$/, (box) => {
		twoLanguages(box);
		return send(box, text);
	}),
	reason("an unknown language", 400, /consentLanguage must be one of nl, fr\.$/, (box) => {
		twoLanguages(box);
		return send(box, { ...text, consentLanguage: "de" });
	}),
	reason(
		"a consent flow that is not complete",
		400,
		/^The window is closed, and the consent flow of Lakeside Homes is not complete: it is not configured, the flow reopen is missing, the template ask is missing, the template again is not approved \(pending\), it has no language\.$/,
		(box) => {
			box.agency.consent.set({
				configured: false,
				missingFlowCodes: ["reopen"],
				missingTemplates: ["ask"],
				unapprovedTemplates: ["again"],
				languages: [],
				defaultLanguage: null,
			});
			return send(box, text);
		},
	),
	// R116
	reason("a conversation that changed", 409, /\(takeOver\)\. The next send is carried out\.$/, (box) => {
		box.agency.conversation(ANNA).takeOver();
		return send(box, text);
	}),
	reason("one that changes again", 409, /\(takeOver\)\. 2 more sends will be refused\.$/, (box) => {
		box.agency.conversation(ANNA).takeOver({ times: 3 });
		return send(box, text);
	}),
	// R134 to R138
	reason(
		"an operationId with another text",
		500,
		/^The operationId was used before with another text\. First: "The visit is at two\."\. Now: "At three\."\.$/,
		async (box) => {
			await send(box, text);
			return send(box, { ...text, body: "At three." });
		},
	),
	reason("an operationId with long texts", 500, /First: "(😀){200}…"\. Now: "b{200}…"\.$/u, async (box) => {
		await send(box, { ...text, body: "😀".repeat(10_000) });
		return send(box, { ...text, body: "b".repeat(10_000) });
	}),
	reason(
		"an operationId with long texts that differ at their end",
		500,
		/First: "…[\w ,.]{39}10\."\. Now: "…[\w ,.]{39}11, not at 10\."\.$/,
		async (box) => {
			const long = "Dear Anna, thank you for your interest in the flat. ".repeat(50);
			await send(box, { ...text, body: `${long}The visit is on Thursday at 10.` });
			return send(box, { ...text, body: `${long}The visit is on Thursday at 11, not at 10.` });
		},
	),
	reason(
		"an operationId with a text that goes on",
		500,
		/First: "…(😀){20}"\. Now: "…(😀){20}!(a){179}…"\.$/u,
		async (box) => {
			await send(box, { ...text, body: "😀".repeat(300) });
			return send(box, { ...text, body: `${"😀".repeat(300)}!${"a".repeat(500)}` });
		},
	),
	reason(
		"an operationId with a text that differs within an emoji",
		500,
		/First: "…(😀){21}"\. Now: "…(😀){20}😁"/u,
		async (box) => {
			await send(box, { ...text, body: `${"😀".repeat(300)}😀` });
			return send(box, { ...text, body: `${"😀".repeat(300)}😁` });
		},
	),
	reason(
		"an operationId with another recipient, sender and language",
		500,
		/with another recipient and another subaccountId and another consentLanguage\. Use a new one for each message\.$/,
		async (box) => {
			await send(box, text);
			const [subaccountId] = box.agency.senders.ids;
			return send(box, { ...text, to: BELGIAN, consentLanguage: "en", subaccountId });
		},
	),
	// Faults
	reason("a fault before", 500, /^A fault that you added: status 500, before the operation ran\.$/, (box) => {
		box.sandbox.faults.add({ effect: { status: 500 } });
		return send(box, text);
	}),
	reason(
		"a fault after",
		503,
		/^A fault that you added: status 503, after the operation ran\. It will hit 1 more/,
		(box) => {
			box.sandbox.faults.add({ phase: "after", times: 2, effect: { status: 503 } });
			return send(box, text, { check: "broken" });
		},
	),
	reason(
		"a fault without end",
		502,
		/: what something in front of the service answers, with status 502, before .* ran\. It hits every time\.$/,
		(box) => {
			box.sandbox.faults.add({ times: Number.POSITIVE_INFINITY, effect: "html" });
			return list(box, {}, { check: "broken" });
		},
	),
	reason(
		"a fault that cuts",
		null,
		/^A fault that you added: the connection cut, after the operation ran\.$/,
		(box) => {
			box.sandbox.faults.add({ phase: "after", effect: "reset" });
			return send(box, text).catch(() => undefined);
		},
	),
	reason("a fault that takes a field", 200, /: an answer without integration, after the operation ran\.$/, (box) => {
		box.sandbox.faults.add({ effect: { kind: "missing-field", field: "integration" } });
		return me(box, { check: "broken" });
	}),
	reason(
		"a late refusal",
		400,
		/^A fault that you added: an answer 5 ms late\. In the query, pageSize must be an integer/,
		(box) => {
			box.sandbox.faults.add({ effect: { latencyMs: 5 } });
			return list(box, { pageSize: 0 });
		},
	),
	reason(
		"a refusal that a fault replaced",
		500,
		/^In the query, pageSize must .* A fault that you added: status 500, after the operation ran\.$/,
		(box) => {
			box.sandbox.faults.add({ phase: "after", effect: { status: 500 } });
			return list(box, { pageSize: 0 });
		},
	),
];

throughEachEntryPoint((open) => {
	test.each(reasons)("the journal and the events explain $name", async ({ options, ask, status, says }) => {
		const box = await open(options);
		await ask(box);
		const reported = present(box.sandbox.requests().at(-1));
		expect(reported.status).toBe(status);
		expect(reported.explanation).toMatch(says);
		const event = present(box.sandbox.events().at(-1));
		expect(event).toMatchObject({ correlationId: reported.correlationId, explanation: reported.explanation });
	});

	test("a violation is explained, and a reused operationId is one, with both texts", async () => {
		const box = await open();
		await call(box, "GET", "/converations");
		await call(box, "GET", path(box, `conversations/${ANNA}`));
		await send(box, text);
		await send(box, { ...text, body: "At three." });
		const [unknown, plus, reused] = box.sandbox.violations();
		expect(unknown).toMatchObject({ rule: "R12", explanation: "No operation has this path." });
		expect(plus).toMatchObject({ rule: "R69", explanation: expect.stringContaining("asks for %2B") });
		expect(reused).toMatchObject({
			rule: "R134",
			message: "An operationId was reused for another message.",
			explanation: expect.stringMatching(/"The visit is at two\.".*"At three\."/),
			correlationId: box.sandbox.requests().at(-1)?.correlationId,
		});
		const reported = box.sandbox.events().flatMap((event) => (event.type === "violation" ? [event.explanation] : []));
		expect(reported).toEqual(box.sandbox.violations().map(({ explanation }) => explanation));
		expect(() => box.sandbox.check()).toThrow(/R134: An operationId was reused for another message\./);
		expect(() => box.sandbox.check()).not.toThrow(/visit|At three/);
	});

	test("a request that is answered as asked has no explanation", async () => {
		const box = await open();
		for (const body of ["One", "Two"]) await send(box, { to: ANNA, body });
		await me(box);
		expect(box.sandbox.requests().map(({ explanation }) => explanation)).toEqual([null, null, null]);
	});
});

test("a refusal names no field that is a number or a key", async () => {
	const sandbox = createSandbox();
	const { apiKey, baseUrl } = sandbox.connection;
	const url = `${baseUrl}/agencies/${sandbox.agency().id}/messages`;
	const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
	for (const field of [apiKey, encodeURIComponent(apiKey).replace("_", "%5F"), BELGIAN, "0470/12.34 56"]) {
		const body = JSON.stringify({ to: ANNA, body: "Hello", [field]: 1 });
		const response = await sandbox.fetch(url, { method: "POST", headers, body });
		const { message } = await response.json();
		for (const said of [message, sandbox.requests().at(-1)?.explanation]) {
			expect(said).toMatch(/\{(phone|key)\}/);
			expect(said).not.toMatch(/470|1234|34 56|live/);
		}
	}
});

test("a field whose name is empty is not mistaken for the body", async () => {
	const sandbox = createSandbox();
	const { apiKey, baseUrl } = sandbox.connection;
	const url = `${baseUrl}/agencies/${sandbox.agency().id}/messages`;
	const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
	for (const [body, message] of [
		[{ to: ANNA, body: "Hello", "": 1 }, '"": is not a field of this request.'],
		[[], "The request body: must be an object."],
	] as const) {
		const response = await sandbox.fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
		expect(await response.json()).toEqual({ _tag: "PartnerBadRequest", message });
	}
	expect(sandbox.requests().map(({ explanation }) => explanation)).toEqual([
		'In the request body, "" is not a field of this request.',
		"The request body must be an object.",
	]);
});
