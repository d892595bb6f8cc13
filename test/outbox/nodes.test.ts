// One of several nodes behind a load balancer fails, and the load balancer takes them in turn.
import { createClient } from "messaging-conversations";
import { createOutbox } from "messaging-conversations/outbox";
import { createSandbox } from "messaging-conversations/sandbox";
import { afterEach, expect, test, vi } from "vitest";
import { memoryStore } from "./memory.ts";

afterEach(() => {
	vi.restoreAllMocks();
});

const lost = (): never => {
	const cause = Object.assign(new Error("connect"), { code: "ECONNREFUSED", syscall: "connect" });
	throw Object.assign(new TypeError("fetch failed"), { cause });
};
const failures: Record<string, () => Response> = {
	"cannot be reached": lost,
	"answers 401": () => Response.json({ _tag: "PartnerUnauthorized", message: "No." }, { status: 401 }),
	"answers 429": () => new Response("{}", { status: 429 }),
};
const count = 12;
const mostMinutes = 25;

const cases = [2, 3, 4].flatMap((nodes) =>
	["reads", "sends", "all calls"].flatMap((calls) => Object.keys(failures).map((how) => ({ nodes, calls, how }))),
);

test.each(cases)(
	"one of $nodes nodes that $how keeps no text back for long, for $calls",
	async ({ nodes, calls, how }) => {
		let seed = 7;
		vi.spyOn(Math, "random").mockImplementation(() => {
			seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
			return seed / 2 ** 31;
		});
		const sandbox = createSandbox();
		let requests = 0;
		const fetch: typeof globalThis.fetch = async (url, init) => {
			const isMeant = calls === "all calls" || (calls === "sends") === (init?.method === "POST");
			return requests++ % nodes === 0 && isMeant ? (failures[how]?.() ?? lost()) : sandbox.fetch(url, init);
		};
		const client = createClient({ ...sandbox.connection, fetch, retry: false });
		const outbox = createOutbox({ client, store: memoryStore(), now: sandbox.clock.now });
		const people = Array.from({ length: count }, (_, at) => sandbox.agency().contact(`+4477009001${10 + at}`));
		const sent = () => people.filter((person) => person.inbox().length > 0).length;
		let seconds = 0;
		for (; seconds < mostMinutes * 60 && (sent() < count || seconds < 20 * count); seconds++) {
			// One after the other, so that nothing else breaks the step.
			const person = seconds % 20 === 0 ? people[seconds / 20] : undefined;
			person?.writes("Hello");
			if (person)
				await outbox.enqueue({
					id: person.phoneNumber,
					agencyId: sandbox.agency().id,
					to: person.phoneNumber,
					body: "Hi",
				});
			await outbox.runOnce();
			sandbox.clock.advance({ ms: 1_000 });
		}
		expect(people.map((person) => person.inbox().length)).toEqual(people.map(() => 1));
		expect(seconds).toBeLessThan(mostMinutes * 60);
	},
);
