import { expect, test } from "vitest";
import { clientOf, failure, wrong } from "../calls.ts";
import { agencyId, phone, sentNow, text } from "../canned.ts";
import { inTurn, scripted } from "../scripted.ts";

test("option allowRecipients: a send to anyone else is refused before any request", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	const { messages } = clientOf(service, { allowRecipients: ["0470 12 34 56"] }).agency(agencyId);
	const error = await failure(() => messages.send({ to: "+32470999999", body: text }));
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", outcome: "not_sent" });
	expect(service.requests).toEqual([]);
	await messages.send({ to: phone, body: text });
	expect(service.requests).toHaveLength(1);
});

const allowing: [string, readonly string[]][] = [
	["in E.164", [phone]],
	["as people write them", ["0470 12 34 56", "0032 470 12 34 57"]],
];

test.for(allowing)("allowRecipients as a list of numbers %s", async ([, allowRecipients]) => {
	const service = await scripted(inTurn({ json: sentNow }));
	const { send } = clientOf(service, { allowRecipients }).agency(agencyId).messages;
	await send({ to: phone, body: text });
	await send({ to: "0470/12.34.56", body: text });
	const error = await failure(() => send({ to: "+32470999999", body: text }));
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", attempts: 0, outcome: "not_sent" });
	expect(error.message).toMatch(/allowRecipients/);
	expect(error.message).not.toContain("470999999");
	expect(service.requests).toHaveLength(2);
});

test("allowRecipients reads its numbers as a send does, and may list one that its country does not", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	const allowRecipients = ["+352 0621 123 456", "+32446123456"];
	const { send } = clientOf(service, { allowRecipients }).agency(agencyId).messages;
	await send({ to: "+352621123456", body: text });
	await send({ to: "+32 446 12 34 56", body: text }, { allowUnlistedNumber: true });
	expect(service.requests).toHaveLength(2);
});

test("allowRecipients as an empty list refuses everyone", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	const { send } = clientOf(service, { allowRecipients: [] }).agency(agencyId).messages;
	await expect(failure(() => send({ to: phone, body: text }))).resolves.toMatchObject({ _tag: "PartnerInvalidInput" });
	expect(service.requests).toEqual([]);
});

test("allowRecipients is read when the client is made: a list changed later changes nothing", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	const list = ["+32470999999"];
	const { send } = clientOf(service, { allowRecipients: list }).agency(agencyId).messages;
	list.push(phone);
	await expect(failure(() => send({ to: phone, body: text }))).resolves.toMatchObject({ _tag: "PartnerInvalidInput" });
});

test("allowRecipients as a predicate is asked with the number in E.164", async () => {
	const service = await scripted(inTurn({ json: sentNow }));
	const seen: string[] = [];
	const allowRecipients = (to: string) => {
		seen.push(to);
		return to === phone;
	};
	const { send } = clientOf(service, { allowRecipients }).agency(agencyId).messages;
	await send({ to: "0470 12 34 56", body: text });
	await expect(failure(() => send({ to: "+32470999999", body: text }))).resolves.toMatchObject({
		_tag: "PartnerInvalidInput",
	});
	expect(seen).toEqual([phone, "+32470999999"]);
	expect(service.requests).toHaveLength(1);
});

test.for([
	["false", () => false],
	["undefined", () => undefined],
	["1", () => 1],
	["a text", () => "true"],
	["an object", () => ({})],
	["a promise of true", async () => true],
	["a throw", () => raise()],
] as [string, () => unknown][])("allowRecipients: a predicate that gives %s refuses", async ([, predicate]) => {
	const service = await scripted(inTurn({ json: sentNow }));
	const { send } = clientOf(service, { allowRecipients: wrong(predicate) }).agency(agencyId).messages;
	const error = await failure(() => send({ to: phone, body: text }));
	expect(error).toMatchObject({ _tag: "PartnerInvalidInput", outcome: "not_sent", attempts: 0 });
	expect(error.message).not.toContain("CANARY");
	expect(service.requests).toEqual([]);
});

test("allowRecipients holds for sends alone: reading is harmless", async () => {
	const service = await scripted(inTurn({ json: { conversations: [], nextCursor: null, pageSize: 50 } }));
	await clientOf(service, { allowRecipients: [] }).agency(agencyId).conversations.list().page();
	expect(service.requests).toHaveLength(1);
});

function raise(): never {
	throw new Error("CANARY");
}
