import { isWindowOpen, PartnerInvalidInput } from "messaging-conversations";
import { afterEach, expect, test, vi } from "vitest";
import { failure, wrong } from "../calls.ts";
import { detail, summary } from "../canned.ts";

afterEach(() => {
	vi.useRealTimers();
	vi.unstubAllEnvs();
});

const windowExpiresAt = "2026-01-06T09:00:00.000Z";
const expires = Date.parse(windowExpiresAt);

test("the window is open until windowExpiresAt, and closed at that very instant", () => {
	expect(isWindowOpen(summary({ windowExpiresAt }), new Date(expires - 1))).toBe(true);
	expect(isWindowOpen(summary({ windowExpiresAt }), new Date(expires))).toBe(false);
	expect(isWindowOpen(summary({ windowExpiresAt }), new Date(expires + 1))).toBe(false);
});

test("the window is closed when the contact has never written", () => {
	expect(isWindowOpen(summary({ windowExpiresAt: null }), new Date(0))).toBe(false);
});

test("a detail is asked through its summary", () => {
	const open = { ...detail, summary: summary({ windowExpiresAt }) };
	expect(isWindowOpen(open, new Date(expires - 1))).toBe(true);
	expect(isWindowOpen(open, new Date(expires))).toBe(false);
	expect(isWindowOpen({ ...detail, summary: summary({ windowExpiresAt: null }) }, new Date(0))).toBe(false);
});

test("at is now when it is left out", () => {
	vi.useFakeTimers({ now: expires - 1 });
	expect(isWindowOpen(summary({ windowExpiresAt }))).toBe(true);
	vi.setSystemTime(expires);
	expect(isWindowOpen(summary({ windowExpiresAt }))).toBe(false);
});

test("a timestamp without milliseconds is read as well", () => {
	expect(isWindowOpen(summary({ windowExpiresAt: "2026-01-06T09:00:00Z" }), new Date(expires - 1))).toBe(true);
});

test("at that is not a point in time is PartnerInvalidInput, not a guess", () => {
	expect(() => isWindowOpen(summary({ windowExpiresAt }), new Date(Number.NaN))).toThrow(PartnerInvalidInput);
	expect(() => isWindowOpen(summary({ windowExpiresAt }), wrong("soon"))).toThrow(PartnerInvalidInput);
	expect(() => isWindowOpen(summary({ windowExpiresAt }), wrong(null))).toThrow(PartnerInvalidInput);
});

const openUntil = Date.parse("2026-01-06T09:00:00Z");

test.for([
	"2026-01-06T09:00:00",
	"2026-01-06T09:00:00.000",
	"2026-01-06 09:00:00Z",
	"2026-01-06T10:00:00+01:00",
	"2026-01-06",
	"Tue, 06 Jan 2026 09:00:00 GMT",
	"1767690000000",
	"2026-13-06T09:00:00Z",
	"+292278-01-06T09:00:00Z",
	"soon",
	"",
])("a windowExpiresAt that is not ISO 8601 in UTC never counts as open: %j", (given) => {
	expect(isWindowOpen(summary({ windowExpiresAt: given }), openUntil - 86_400_000 * 3)).toBe(false);
});

test.for(["Europe/Brussels", "America/New_York", "Asia/Kolkata"])(
	"the time zone of the process changes nothing: %s",
	(zone) => {
		vi.stubEnv("TZ", zone);
		for (const given of ["2026-01-06T09:00:00.000Z", "2026-01-06T09:00:00Z", "2026-01-06T09:00:00+00:00"]) {
			expect(isWindowOpen(summary({ windowExpiresAt: given }), openUntil - 1)).toBe(true);
			expect(isWindowOpen(summary({ windowExpiresAt: given }), openUntil)).toBe(false);
		}
		expect(isWindowOpen(summary({ windowExpiresAt: "2026-01-06T09:00:00" }), openUntil - 86_400_000)).toBe(false);
	},
);

test("at is a Date, epoch milliseconds, or an ISO 8601 time with a zone", () => {
	const one = summary({ windowExpiresAt });
	for (const [before, after] of [
		[new Date(expires - 1), new Date(expires)],
		[expires - 1, expires],
		["2026-01-06T08:59:59.999Z", "2026-01-06T09:00:00Z"],
		["2026-01-06T09:59:59+01:00", "2026-01-06T10:00:00+01:00"],
	] as const) {
		expect(isWindowOpen(one, before)).toBe(true);
		expect(isWindowOpen(one, after)).toBe(false);
	}
	expect(isWindowOpen(one, "2026-01-06T09:59:59+0100")).toBe(true);
});

const notTimes = [
	"2026-01-06T08:00:00",
	"01-06-2026",
	"2026-01-06T08:00:00Z or so",
	"Tue Jan 06 2026 09:00:00 GMT+0100 (CET)",
	["2026-01-06T08:00:00Z"],
	{},
];

test.for(notTimes)(
	"%j is not a point in time: PartnerInvalidInput that names it and says what it may be",
	async (at) => {
		const error = await failure(() => isWindowOpen(summary({ windowExpiresAt }), wrong(at)));
		expect(error).toMatchObject({ operation: "isWindowOpen", field: "at", rule: expect.stringContaining("Date") });
	},
);

test.for([null, undefined, 5, "2026", {}, { summary: null }, { windowExpiresAt: 5 }])(
	"%j is not a conversation: PartnerInvalidInput that names it",
	async (given) => {
		const error = await failure(() => isWindowOpen(wrong(given)));
		expect(error).toMatchObject({ _tag: "PartnerInvalidInput", operation: "isWindowOpen", field: "conversation" });
		expect(error.message).toContain("conversations.list");
	},
);
