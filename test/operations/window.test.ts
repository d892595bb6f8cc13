import { isWindowOpen, PartnerInvalidInput } from "messaging-conversations";
import { afterEach, expect, test, vi } from "vitest";
import { wrong } from "../calls.ts";
import { detail, summary } from "../canned.ts";

afterEach(() => void vi.useRealTimers());

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

test("at that is no point in time is PartnerInvalidInput, not a guess", () => {
	expect(() => isWindowOpen(summary({ windowExpiresAt }), new Date(Number.NaN))).toThrow(PartnerInvalidInput);
	expect(() => isWindowOpen(summary({ windowExpiresAt }), wrong("soon"))).toThrow(PartnerInvalidInput);
	expect(() => isWindowOpen(summary({ windowExpiresAt }), wrong(null))).toThrow(PartnerInvalidInput);
});
