// The checks that the package exports for stores, as tests of this repository.

import { test } from "vitest";
import type { NewText, OutboxStore } from "./port.ts";
import { type StoreChecksOptions, storeChecks } from "./store-checks/index.ts";

/** A text as it is enqueued, without its id. */
export const newText: Omit<NewText, "id"> = {
	agencyId: "agy_1",
	to: "+447700900101",
	body: "Hi",
	subaccountId: null,
	consentLanguage: null,
	byWhom: null,
	why: null,
	notBefore: null,
	notAfter: null,
	purpose: "notice",
	priority: 0,
	given: {},
	createdAt: Date.parse("2026-01-05T12:00:00Z"),
};

export function storeSuite(open: () => OutboxStore | Promise<OutboxStore>, options?: StoreChecksOptions): void {
	for (const { title, run } of storeChecks(open, options)) test(title, run);
}
