import type { PartnerErrorTag } from "messaging-conversations";
import type { CancelAllOptions, OutboxStatus, WaitsForKind } from "messaging-conversations/outbox";
import { expectTypeOf, test } from "vitest";

declare const status: OutboxStatus;

test("the last error of a text is named by one of the tags, so that a page can have words for each", () => {
	const words = {} as Record<PartnerErrorTag, string>;
	if (status.error) expectTypeOf(words[status.error.tag]).toEqualTypeOf<string>();
});

test("what a text waits for is one of the names, so that a page can have words for each", () => {
	const words = {} as Record<WaitsForKind, string>;
	if (status.waitsFor) expectTypeOf(words[status.waitsFor.kind]).toEqualTypeOf<string>();
	expectTypeOf<"weather">().not.toExtend<WaitsForKind>();
});

test("cancelAll takes a contact or an agency, and none of them by mistake", () => {
	expectTypeOf<{ to: string }>().toExtend<CancelAllOptions>();
	expectTypeOf<{ to: string; agencyId: string; by: string }>().toExtend<CancelAllOptions>();
	expectTypeOf<{ agencyId: string; by: string }>().toExtend<CancelAllOptions>();
	expectTypeOf<{ by: string }>().not.toExtend<CancelAllOptions>();
	expectTypeOf<{ agencyId: undefined }>().not.toExtend<CancelAllOptions>();
	expectTypeOf<{ agencyId?: string }>().not.toExtend<CancelAllOptions>();
	expectTypeOf<{ to: undefined; agencyId: string }>().not.toExtend<CancelAllOptions>();
});

test("a switch over the state of a text is exhaustive", () => {
	switch (status.state) {
		case "waiting":
		case "sending":
		case "held":
		case "sent":
		case "delivered":
		case "read":
		case "failed":
		case "dropped":
		case "replaced":
		case "refused":
		case "expired":
		case "cancelled":
		case "unknown":
			return;
		default:
			expectTypeOf(status.state).toBeNever();
	}
});
