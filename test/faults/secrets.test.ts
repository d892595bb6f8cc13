import { inspect } from "node:util";
import { afterAll, expect, test } from "vitest";
import { createClient } from "../../src/index.ts";
import { nodeHttp } from "../../src/node.ts";
import { agencyId } from "./answers.ts";
import { fewPlays, type Inputs, runCase } from "./conformance.ts";
import { faultNamed } from "./faults.ts";
import { startService } from "./service.ts";

const canaries: Inputs = {
	apiKey: "rig_live.key1.CANARYKEY",
	phone: "0470 98 76 54",
	text: "CANARYTEXT about the flat",
	search: "CANARYNAME",
	cursor: "CANARYCURSOR",
};
const hidden = /CANARY|470987654|470[ ./-]?98[ ./-]?76[ ./-]?54/;

const warnings: string[] = [];
const onWarning = (warning: Error) => warnings.push(inspect(warning));
process.on("warning", onWarning);
afterAll(() => void process.off("warning", onWarning));

/** Everything that a log, a crash reporter or a curious colleague could print of a value. */
function printed(value: unknown): string[] {
	const own = [inspect(value, { depth: 10, showHidden: true }), String(value), JSON.stringify(value) ?? ""];
	if (!(value instanceof Error)) return own;
	const cause = value.cause === undefined ? [] : printed(value.cause);
	return [...own, value.stack ?? "", value.message, JSON.stringify(value, Object.getOwnPropertyNames(value)), ...cause];
}

test("the service of these tests does repeat the request, in the body, in a header and in Location", async () => {
	for (const [name, where] of [
		["502 HTML", "body"],
		["500 tagged", "body"],
		["307 to another origin", "location"],
		["204", "x-echo"],
	] as const) {
		const service = await startService({
			echo: true,
			plan: () => ({ fault: faultNamed(name), variant: "unprocessed" }),
		});
		const headers = { Authorization: `Bearer ${canaries.apiKey}` };
		const answer = await fetch(`${service.baseUrl}/me`, { headers, redirect: "manual" });
		expect(where === "body" ? await answer.text() : answer.headers.get(where)).toMatch(hidden);
		await service.close();
	}
});

const overNode = nodeHttp();
afterAll(() => overNode.close());
const titled = fewPlays.map(([each, adapter]) => [`${each.title} (${adapter})`, each, adapter] as const);

test.concurrent.for(titled)(
	"S14 S16 S21 no secret is shown when the service repeats the request: %s",
	async ([, each, adapter], { expect }) => {
		const reported: unknown[][] = [];
		const tell = (...args: unknown[]) => void reported.push(args);
		const logger = { debug: tell, info: tell, warn: tell, error: tell };
		const options = { echo: true, logger, onAttempt: tell, onContractDrift: tell };
		// How long to wait is not what is tested.
		const once = each.faults.some((name) => /Retry-After (1|date)$/.test(name)) ? { ...each, maxAttempts: 1 } : each;
		const { error, client } = await runCase(once, canaries, options, adapter === "fetch" ? undefined : overNode);
		const texts = [...printed(error), ...printed(client), ...reported.flat().flatMap(printed)];
		expect(texts.filter((text) => hidden.test(text))).toEqual([]);
		expect(held(error)).toEqual([]);
		const cause = error instanceof Error ? error.cause : undefined;
		if (cause !== undefined)
			expect(["name", "code", "syscall"]).toEqual(expect.arrayContaining(Object.keys(Object(cause))));
		if (each.attempts > 0 && !each.faults.includes("https to http")) expect(reported.length).toBeGreaterThan(0);
	},
);

/** What an error must not hold at any depth: it would lead to the key and the text. */
function held(error: unknown): string[] {
	const found: string[] = [];
	const seen = new Set<unknown>();
	const visit = (value: unknown): void => {
		if (typeof value !== "object" || value === null || seen.has(value)) return;
		seen.add(value);
		for (const kind of [Request, Response, Headers, AbortSignal]) if (value instanceof kind) found.push(kind.name);
		for (const key of Reflect.ownKeys(value)) visit(Reflect.get(value, key));
	};
	visit(error);
	return found;
}

test("S14 no process warning shows a secret", () => {
	expect(warnings.join("\n")).not.toMatch(hidden);
});

test("S15 the client and an agency of it print no key, whichever way they are printed", () => {
	const client = createClient({ baseUrl: "http://localhost/api/v1", apiKey: canaries.apiKey });
	const agency = client.agency(agencyId);
	const list = agency.conversations.list({ search: canaries.search, cursor: canaries.cursor });
	for (const value of [client, client.me, agency, agency.conversations, agency.messages, list]) {
		for (const text of printed(value)) expect(text).not.toMatch(hidden);
		expect(Object.keys(value).join()).not.toMatch(/key/i);
	}
});
