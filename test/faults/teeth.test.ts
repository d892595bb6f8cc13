import { expect, test } from "vitest";
import { type Caller, campaign, type Wiring } from "./campaign.ts";
import type { ViolationKind } from "./invariants.ts";
import { rightSmallClient, wrongClients } from "./wrong-clients.ts";

const judged = async (makeCaller: (wiring: Wiring) => Caller, window: "open" | "closed" = "open") => {
	const { violations } = await campaign({ makeCaller, seed: 11, sends: 400, rate: 0.3, window });
	return violations;
};

test("a small client that does it right passes the rig, so what the others are failed for is their own", {
	timeout: 60_000,
}, async () => {
	expect(await judged(rightSmallClient)).toEqual([]);
	expect(await judged(rightSmallClient, "closed")).toEqual([]);
});

const caughtBy: Record<keyof typeof wrongClients, readonly ViolationKind[]> = {
	"no operationId": ["doubled", "no id", "unknown without an id"],
	"a new id per attempt": ["doubled", "more than one id"],
	"a body that changes on a retry": ["id reused", "more than one body", "unknown not settled"],
	"trusts openapi-fetch's error": ["sent but not delivered"],
	"retries statuses only": ["not_sent but delivered"],
	"follows redirects": ["redirect followed", "sent but not delivered"],
};

test.for(Object.entries(caughtBy))(
	"the rig fails a client that is wrong: %s",
	{ timeout: 60_000 },
	async ([name, kinds]) => {
		const wrong = Object.entries(wrongClients).find(([each]) => each === name);
		const found = new Set((await judged(wrong?.[1] ?? rightSmallClient)).map(({ kind }) => kind));
		expect([...found]).toEqual(expect.arrayContaining([...kinds]));
	},
);
