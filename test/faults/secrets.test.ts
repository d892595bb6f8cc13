import { inspect } from "node:util";
import { afterAll, expect, test } from "vitest";
import { createClient } from "../../src/index.ts";
import { nodeHttp } from "../../src/node.ts";
import { agencyId } from "./answers.ts";
import { cases, type Inputs, plainInputs, runCase } from "./conformance.ts";
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
const titled = cases.flatMap((each) => [
	[`${each.title} (fetch)`, each, undefined] as const,
	[`${each.title} (nodeHttp)`, each, overNode] as const,
]);

test.concurrent.for(titled)(
	"S14 S21 no secret is told when the service repeats the request: %s",
	{ timeout: 20_000 },
	async ([, each, over], { expect }) => {
		const told: unknown[][] = [];
		const tell = (...args: unknown[]) => void told.push(args);
		const logger = { debug: tell, info: tell, warn: tell, error: tell };
		const observers = { logger, onAttempt: tell, onContractDrift: tell };
		const { error, client } = await runCase(each, canaries, { echo: true, ...observers }, over);
		for (const text of [...printed(error), ...printed(client), ...told.flat().flatMap(printed)]) {
			expect(text).not.toMatch(hidden);
		}
		if (each.attempts > 0 && !each.faults.includes("https to http")) expect(told.length).toBeGreaterThan(0);
	},
);

test("S14 no process warning tells a secret", () => {
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

test("S16 an error holds no request, response, header or signal, at any depth", { timeout: 60_000 }, async () => {
	for (const each of cases.filter(({ operation, tag }) => operation === "messages.send" && tag !== null).slice(0, 40)) {
		const { error } = await runCase(each, plainInputs);
		const seen = new Set<unknown>();
		const visit = (value: unknown): void => {
			if (typeof value !== "object" || value === null || seen.has(value)) return;
			seen.add(value);
			for (const kind of [Request, Response, Headers, AbortSignal]) expect(value).not.toBeInstanceOf(kind);
			for (const key of Reflect.ownKeys(value)) visit(Reflect.get(value, key));
		};
		visit(error);
		const cause = error instanceof Error ? error.cause : undefined;
		if (cause !== undefined)
			expect(["name", "code", "syscall"]).toEqual(expect.arrayContaining(Object.keys(Object(cause))));
	}
});
