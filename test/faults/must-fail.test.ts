// Tests that must fail: a campaign has to catch each client that is wrong in one way.
import { expect, test } from "vitest";
import { isLong } from "../length.ts";
import { type Caller, type CampaignOptions, campaign, timers, timersOver, type Wiring } from "./campaign.ts";
import type { ViolationKind } from "./invariants.ts";
import { rightSmallClient, wrongClients } from "./wrong-clients.ts";

const length = isLong ? { sends: 400, rate: 0.3, inFlight: 24 } : { sends: 100, rate: 0.5, inFlight: 8 };

async function violationsOf(makeCaller: (wiring: Wiring) => Caller, options: Partial<CampaignOptions>) {
	const { violations } = await campaign({
		makeCaller,
		seed: 1,
		timeoutMs: 1500,
		deadlineMs: 8000,
		...length,
		...options,
	});
	return violations;
}

test("a small client without a mistake passes a campaign, so the others fail for their own mistake", async () => {
	const timersBefore = timers();
	const windows = ["open", "closed"] as const;
	const found = await Promise.all(
		windows.map((window) => violationsOf(rightSmallClient, { window, sharesTimers: true })),
	);
	expect(found).toEqual([[], []]);
	expect(await timersOver(timersBefore)).toBe(0);
});

const caughtBy: Record<keyof typeof wrongClients, readonly ViolationKind[]> = {
	"no operationId": ["doubled", "no id", "unknown without an id"],
	"a new id per attempt": ["doubled", "more than one id"],
	"a body that changes on a retry": ["id reused", "more than one body", "unknown not settled"],
	"trusts openapi-fetch's error": ["sent but not delivered"],
	"retries statuses only": ["not_sent but delivered"],
	"follows redirects": ["redirect followed", "sent but not delivered"],
};

const wrongOnes = Object.entries(caughtBy);

// Campaigns mostly wait, so short ones run at the same time.
const testTogether = isLong ? test : test.concurrent;

testTogether.for(wrongOnes)("a campaign fails a client that is wrong: %s", async ([name, kinds], { expect }) => {
	const wrong = Object.entries(wrongClients).find(([each]) => each === name);
	// A wrong client may leak, too, and nothing here depends on it.
	const found = await violationsOf(wrong?.[1] ?? rightSmallClient, { leakAfterMs: 100, sharesTimers: true });
	expect([...new Set(found.map(({ kind }) => kind))]).toEqual(expect.arrayContaining([...kinds]));
});
