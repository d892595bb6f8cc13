import type { Outbox, Transaction } from "messaging-conversations/outbox";
import { expectTypeOf, test } from "vitest";

declare const outbox: Outbox;
const text = { id: "1", agencyId: "agy_1", to: "+447700900101", body: "Hi" };

test("a tx that is not a transaction does not compile", () => {
	// @ts-expect-error a number
	void (() => outbox.enqueue(text, { tx: 42 }));
	// @ts-expect-error a query that gives the rows alone
	void (() => outbox.enqueue(text, { tx: { query: async () => [] } }));
	// @ts-expect-error an object of no library
	void (() => outbox.enqueue(text, { tx: {} }));
	// @ts-expect-error a forgotten await
	void (() => outbox.enqueue(text, { tx: Promise.resolve({} as { query: (sql: string) => Promise<{ rows: [] }> }) }));
	// @ts-expect-error a number
	void (() => outbox.acknowledge([], { tx: 42 }));
	// @ts-expect-error a forgotten await
	void (() => outbox.acknowledge([], { tx: Promise.resolve({} as Transaction) }));
	const tx = {} as { query: (sql: string, values?: unknown[]) => Promise<{ rows: object[] }> };
	expectTypeOf(outbox.enqueue).toBeCallableWith(text, { tx });
	expectTypeOf(outbox.acknowledge).toBeCallableWith([], { tx });
});
