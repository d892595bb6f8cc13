// Random days of one contact: whatever the outbox promises of a text is kept, unless something happens to the contact or a person acts.
import type { FlowControl } from "messaging-conversations/sandbox";
import { describe, expect, test } from "vitest";
import { isLong } from "../length.ts";
import { add, createWorld, type World } from "./world.ts";

const minuteMs = 60_000;
const seeds = Array.from({ length: isLong ? 500 : 12 }, (_, seed) => seed + 1);

/** Numbers from 0 to 1, the same for the same seed. */
function randomFrom(seed: number): () => number {
	let state = seed * 2_654_435_761;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
	};
}

interface Day extends World {
	/** Whether the check of the application fails, and until when it puts texts off. */
	check: { fails: boolean; waitUntil: Date | null };
	ids: string[];
	/** The flow that began last. */
	flow?: FlowControl;
	random: () => number;
}

/** What happens. Each ends the promises that were made before. */
const events: ((day: Day) => unknown)[] = [
	({ anna, random }) =>
		anna.writes(["Hello", "Who is this?", "STOP", "START", "Wrong number"][Math.floor(random() * 9)] ?? "Yes"),
	({ anna }) => anna.accepts(),
	({ anna }) => anna.declines(),
	({ agency, anna }) =>
		(anna.state().window.open || agency.state().eligibleForManualSend) &&
		agency.staff.sends({ contact: anna, text: "From a colleague" }),
	({ agency, anna }) => anna.state().ai.enabled && agency.ai.replies({ contact: anna, text: "Of course" }),
	(day) => {
		day.anna.writes("I want to visit the flat");
		day.flow = day.agency.startFlow(day.anna);
	},
	({ flow, anna }) => anna.state().activeFlows > 0 && flow?.complete(),
	({ agency, anna, random }) => agency.staff.setAi({ contact: anna, on: random() < 0.7 }),
	({ outbox }) => outbox.suspend({ reason: "Wrong price" }),
	({ outbox }) => outbox.resume(),
	({ outbox, agency, anna }) => outbox.optIn({ agencyId: agency.id, to: anna.phoneNumber }),
	({ outbox, ids, random }) => outbox.cancel(ids[Math.floor(random() * ids.length)] ?? "none"),
	({ outbox, sandbox }) => outbox.restored({ backupAt: new Date(sandbox.clock.now().getTime() - minuteMs) }),
	({ sandbox, random }) =>
		sandbox.faults.add({
			operation: random() < 0.5 ? "messages.send" : "conversations.get",
			phase: random() < 0.5 ? "before" : "after",
			effect: { status: random() < 0.7 ? 500 : 401 },
			times: Math.ceil(random() * 8),
		}),
	({ sandbox }) => sandbox.faults.clear(),
	({ agency }) => agency.unlink(),
	({ agency }) => agency.link(),
	({ agency, random }) => agency.consent.set({ missingTemplates: random() < 0.5 ? ["consent"] : [] }),
	({ check }) => {
		check.fails = !check.fails;
	},
	({ check, sandbox, random }) => {
		check.waitUntil = random() < 0.5 ? null : new Date(sandbox.clock.now().getTime() + random() * 600 * minuteMs);
	},
	({ agency, anna, random }) =>
		random() < 0.5 ? agency.conversation(anna).hide() : agency.conversation(anna).visibleAs("focus"),
	async (day) => {
		const { random, ids, sandbox } = day;
		const id = `text ${ids.length + 1}`;
		const now = sandbox.clock.now().getTime();
		const purpose = (["reply", "notice", "marketing"] as const)[Math.floor(random() * 3)] ?? "notice";
		const later = random() < 0.3 ? { notBefore: new Date(now + random() * 900 * minuteMs) } : {};
		const onHeld = (["wait", "send_if_open", "replace"] as const)[Math.floor(random() * 6)];
		const supersedes = ids.at(-1);
		ids.push(id);
		const place = random() < 0.1 && supersedes ? { supersedes } : {};
		await add(day, id, { purpose, ...later, ...place, ...(onHeld && { onHeld }) }).catch(() => {});
	},
];

const requestsIn = ({ sends }: World): string[] => sends().map(({ body }) => String(Object(body).body));

async function live(seed: number): Promise<void> {
	const random = randomFrom(seed);
	const check: Day["check"] = { fails: false, waitUntil: null };
	const world = createWorld({
		onReply: undefined,
		defaultMaxAgeMs: undefined,
		quietHours: { from: "20:00", to: "08:00", timeZone: "UTC" },
		beforeSend: () => {
			if (check.fails) throw new Error("down");
			return check.waitUntil ? { waitUntil: check.waitUntil, because: "Later" } : "send";
		},
	});
	const day: Day = { ...world, check, ids: [], random };
	const { sandbox, outbox } = world;
	const enqueue = events.at(-1);
	for (let step = 0; step < 25; step++) {
		const event = random() < 0.35 ? enqueue : events[Math.floor(random() * events.length)];
		await event?.(day);
		await outbox.runOnce();
		const end = sandbox.clock.now().getTime() + Math.ceil(random() * (random() < 0.3 ? 300 : 20)) * minuteMs;
		while (sandbox.clock.now().getTime() < end) {
			const now = sandbox.clock.now().getTime();
			const statuses = await Promise.all(day.ids.map((id) => outbox.status(id)));
			const before = requestsIn(world);
			sandbox.clock.advanceTo(new Date(Math.min(end, now + Math.ceil(random() * 40 * minuteMs))));
			await outbox.runOnce();
			const at = sandbox.clock.now().getTime();
			for (const body of requestsIn(world).slice(before.length)) {
				const told = statuses.find((status) => status?.id === body);
				expect({ seed, step, body, told: told?.waitsFor, at: new Date(at) }).toSatisfy(
					() => (told?.waitsFor?.until?.getTime() ?? 0) <= at && (told?.nextAttemptAt?.getTime() ?? 0) <= at,
				);
			}
		}
	}
}

describe("what is promised of a text is kept", () => {
	test.each(seeds)("in the random days %i", live);
});
