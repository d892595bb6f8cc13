import { expect, test } from "vitest";
import type { SandboxOptions } from "../../src/sandbox/index.ts";
import {
	ANNA,
	type Box,
	BRAM,
	type EntryPoint,
	get,
	lengthThrough,
	list,
	lookup,
	send,
	throughEachEntryPoint,
} from "./entry-points.ts";

type Policy = NonNullable<SandboxOptions["policy"]>;

/** Each policy with its default and its other interpretation. */
const interpretations: readonly (readonly [keyof Policy, Policy, Policy])[] = [
	["shortSearch", { shortSearch: "empty" }, { shortSearch: "unfiltered" }],
	["lookupInvalid", { lookupInvalid: "null" }, { lookupInvalid: "400" }],
	["templateOnReplace", { templateOnReplace: false }, { templateOnReplace: true }],
	["declineOpensWindow", { declineOpensWindow: true }, { declineOpensWindow: false }],
	["inboundFlushesQueue", { inboundFlushesQueue: false }, { inboundFlushesQueue: true }],
	["openSendWhileHeld", { openSendWhileHeld: "clear" }, { openSendWhileHeld: "keep" }],
	["consentFlowCounts", { consentFlowCounts: false }, { consentFlowCounts: true }],
	["sendOverridesToggle", { sendOverridesToggle: false }, { sendOverridesToggle: true }],
	["retryAfterDelivery", { retryAfterDelivery: "replay" }, { retryAfterDelivery: "resend" }],
	["retryAfterDrop", { retryAfterDrop: "resend" }, { retryAfterDrop: "replay" }],
	["retryAfterReplace", { retryAfterReplace: "resend" }, { retryAfterReplace: "replay" }],
	["operationIdTtlHours", { operationIdTtlHours: null }, { operationIdTtlHours: 24 }],
];

/** One short episode for each policy, in which the two interpretations differ; what is seen of it. */
const episodes: Record<keyof Policy, (box: Box) => Promise<unknown>> = {
	async shortSearch(box) {
		box.agency.contact(ANNA).writes("Hello");
		return (await list(box, { search: "an" })).text;
	},
	async lookupInvalid(box) {
		return (await lookup(box, ["abc"])).text;
	},
	async templateOnReplace(box) {
		await send(box, { to: ANNA, body: "One" });
		await send(box, { to: ANNA, body: "Two" });
		return box.agency.contact(ANNA).inbox();
	},
	async declineOpensWindow(box) {
		await send(box, { to: ANNA, body: "One" });
		box.agency.contact(ANNA).declines();
		return (await get(box, ANNA)).text;
	},
	async inboundFlushesQueue(box) {
		await send(box, { to: ANNA, body: "One" });
		box.agency.contact(ANNA).writes("Hello");
		return box.agency.contact(ANNA).inbox();
	},
	async openSendWhileHeld(box) {
		await send(box, { to: ANNA, body: "One" });
		box.agency.contact(ANNA).writes("Hello");
		await send(box, { to: ANNA, body: "Two" });
		return (await get(box, ANNA)).text;
	},
	async consentFlowCounts(box) {
		await send(box, { to: ANNA, body: "One" });
		return (await get(box, ANNA)).ok().conversation.summary;
	},
	async sendOverridesToggle(box) {
		const anna = box.agency.contact(ANNA);
		anna.writes("Hello");
		box.agency.staff.setAi({ contact: anna, on: false });
		await send(box, { to: ANNA, body: "One" });
		return (await get(box, ANNA)).ok().conversation.aiSettings;
	},
	async retryAfterDelivery(box) {
		const request = { to: ANNA, body: "One", operationId: "a" };
		await send(box, request);
		box.agency.contact(ANNA).accepts();
		await send(box, request);
		return box.agency.contact(ANNA).inbox();
	},
	async retryAfterDrop(box) {
		const request = { to: ANNA, body: "One", operationId: "a" };
		await send(box, request);
		box.sandbox.clock.advance({ hours: 48 });
		await send(box, request);
		return box.agency.contact(ANNA).inbox();
	},
	async retryAfterReplace(box) {
		const request = { to: ANNA, body: "One", operationId: "a" };
		await send(box, request);
		await send(box, { to: ANNA, body: "Two" });
		await send(box, request);
		return (await get(box, ANNA)).ok().conversation.queuedMessages.map(({ body }) => body);
	},
	async operationIdTtlHours(box) {
		const bram = box.agency.contact(BRAM);
		const request = { to: BRAM, body: "One", operationId: "b" };
		bram.writes("Hello");
		await send(box, request);
		box.sandbox.clock.advance({ hours: 100 });
		bram.writes("Hello");
		await send(box, request);
		return bram.inbox();
	},
};

const all = interpretations.map(([name]) => name);

async function seen(
	open: EntryPoint["open"],
	policy: Policy,
	names: readonly (keyof Policy)[] = all,
): Promise<Map<string, string>> {
	const reported = new Map<string, string>();
	for (const name of names) {
		const box = await open({ policy });
		reported.set(name, JSON.stringify(await episodes[name](box)));
		await box.close();
	}
	return reported;
}

throughEachEntryPoint((open, entryPoint) => {
	test("policy defaults to the chosen interpretation of every rule", async () => {
		const explicit = Object.assign({}, ...interpretations.map(([, usual]) => usual));
		expect(await seen(open, explicit)).toEqual(await seen(open, {}));
	});

	test("policy switches change their own rule and no other", async () => {
		const usual = await seen(open, {});
		for (const [name, , other] of interpretations) {
			const reported = await seen(open, other, lengthThrough(entryPoint, all, [name]));
			for (const episode of reported.keys()) {
				// The contact who opens the window in that episode sends the held text at the same stroke.
				if (name === "inboundFlushesQueue" && episode === "openSendWhileHeld") continue;
				const same = reported.get(episode) === usual.get(episode);
				expect(same, `policy.${name} in the episode of ${episode}`).toBe(episode !== name);
			}
		}
	});

	test("policy refuses a switch that it does not have", async () => {
		const unknown: object = { policy: { openSendWhileHold: "keep" } };
		await expect(open(unknown)).rejects.toThrow(/openSendWhileHold/);
	});
});
