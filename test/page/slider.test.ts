// The slider goes back in time: phone, held text, window, list and clock are as they were, and one can go on from there.
import { expect, test } from "vitest";
import { axeFindings, messages, picture, requests, shows, type Visit, visit } from "./visit.ts";

const phone = "+447700900101";

const line = (page: Visit["page"], text: string) =>
	requests(page)
		.locator("li:has(details)")
		.filter({ has: page.locator("summary", { hasText: text }) })
		.first();

/** A text was held, another one replaced it, and Anna accepted that a day later. */
async function mistaken() {
	const visited = await visit({}, { viewport: { width: 1440, height: 900 } });
	const { sandbox, client, page } = visited;
	const agency = sandbox.agency();
	const anna = agency.contact(phone, { name: "Anna" });
	const texts = client.agency(agency.id).messages;
	await texts.send({ to: phone, body: "Would Thursday suit you?", operationId: "visit-1" });
	const before = sandbox.events().at(-1)?.id ?? 0;
	sandbox.clock.advance({ hours: 2 });
	await texts.send({ to: phone, body: "Would Friday suit you?", operationId: "visit-2" });
	anna.accepts();
	sandbox.clock.advance({ hours: 25 });
	agency.contact("+447700900102", { name: "Bram" }).writes("Hello");
	await page.getByRole("button", { name: /Anna/ }).click();
	await shows(messages(page), "Would Friday suit you?");
	return { ...visited, anna, before };
}

const slider = (page: Visit["page"]) => page.getByRole("slider", { name: "Go back in time" });

test("dragging shows phone, held text, window, list and clock as they were, and the end is the present", async () => {
	const { page, before } = await mistaken();
	await page.getByRole("button", { name: /Bram/ }).first().waitFor();
	await slider(page).fill(String(before));
	await shows(messages(page), "Held, not sent");
	await shows(messages(page), "Would Thursday suit you?");
	await expect.poll(() => messages(page).getByText("Would Friday suit you?").count()).toBe(0);
	await shows(page.getByRole("main"), "window never opened");
	await expect.poll(() => page.getByRole("navigation").getByRole("button", { name: /Bram/ }).count()).toBe(0);
	await shows(page.getByRole("main"), "Everything as it was Mon, 5 Jan 2026, 09:00:00.");
	await shows(line(page, "Friday"), "later than what is shown");
	await picture(page, "slider");
	expect(await axeFindings(page)).toEqual([]);
	expect(await page.getByRole("button", { name: "+24 h" }).isDisabled()).toBe(true);
	await slider(page).press("End");
	await shows(messages(page), "Would Friday suit you?");
	await page.getByRole("navigation").getByRole("button", { name: /Bram/ }).waitFor();
	await expect.poll(() => page.getByRole("region", { name: "Earlier moment" }).count()).toBe(0);
	await slider(page).press("ArrowLeft");
	await page.getByRole("button", { name: "Show the present" }).click();
	await expect.poll(() => page.getByRole("navigation").getByRole("button", { name: /Bram/ }).count()).toBe(1);
});

test.each([
	["1440 px", { width: 1440, height: 900 }],
	["390 px", { width: 390, height: 844 }],
])(
	"at %s the slider stays where it is while one drags it, and each pane says that it shows the past",
	async (_name, viewport) => {
		const { page, sandbox } = await visit({ scenario: "held" }, { viewport });
		sandbox.clock.advance({ hours: 1 });
		const isNarrow = viewport.width < 900;
		const panes = page.getByRole("navigation", { name: "Panes" });
		if (isNarrow) await panes.getByRole("button", { name: "Requests" }).click();
		await slider(page).waitFor();
		const before = await slider(page).boundingBox();
		await slider(page).press("Home");
		await page.getByRole("button", { name: "Back to now" }).waitFor();
		expect(await slider(page).boundingBox()).toMatchObject({ y: before?.y });
		const words = page.getByText("Everything as it was").filter({ visible: true });
		expect(await words.count()).toBe(isNarrow ? 0 : 1);
		for (const pane of isNarrow ? ["Conversations", "Phone"] : []) {
			await panes.getByRole("button", { name: pane }).click();
			await words.waitFor();
			expect(await axeFindings(page)).toEqual([]);
		}
	},
);

test("the field of the search shows its whole example", async () => {
	const { page } = await visit({}, { viewport: { width: 1440, height: 900 } });
	const field = page.getByLabel("Text in the log");
	const room = await field.evaluate((input: HTMLInputElement) => {
		input.value = input.placeholder;
		return input.clientWidth - input.scrollWidth;
	});
	expect(room).toBeGreaterThanOrEqual(0);
});

test("one goes back to before a request from its row, and the slider names whom it was about", async () => {
	const { page } = await mistaken();
	await line(page, "Friday").locator("summary").click();
	await line(page, "Friday").getByRole("button", { name: "go back to before this" }).click();
	await shows(messages(page), "Held, not sent");
	await shows(messages(page), "Would Thursday suit you?");
	await shows(line(page, "Friday"), "later than what is shown");
	const slid = page.getByRole("region", { name: "Time" });
	await shows(slid, "clock moved to");
	await slider(page).press("ArrowLeft");
	await shows(slid, "messages.send answered 200, Anna “Would Thursday suit you?”");
	expect(await axeFindings(page)).toEqual([]);
});

test("the slider stops before and after a request, not amid it", async () => {
	const { page, sandbox, before } = await mistaken();
	const replaced = sandbox.events({ types: ["text.replaced"] })[0]?.id ?? 0;
	const [sent] = sandbox.events({ types: ["request"], after: replaced });
	await slider(page).fill(String(before + 1));
	await slider(page).press("ArrowRight");
	await expect.poll(() => slider(page).inputValue()).toBe(String(sent?.id));
	await shows(messages(page), "Would Friday suit you?");
	await slider(page).press("ArrowLeft");
	await expect.poll(() => slider(page).inputValue()).toBe(String(before + 1));
	await expect.poll(() => messages(page).getByText("Would Friday suit you?").count()).toBe(0);
});

test("what happens meanwhile does not disturb the moment that is shown", async () => {
	const { page, sandbox, anna, before } = await mistaken();
	await slider(page).fill(String(before));
	await shows(messages(page), "Held, not sent");
	anna.writes("I am here now");
	sandbox.clock.advance({ hours: 1 });
	await expect.poll(() => slider(page).getAttribute("max")).toBe(String(sandbox.events().at(-1)?.id));
	await shows(page.getByRole("main"), "Everything as it was Mon, 5 Jan 2026, 09:00:00.");
	expect(await messages(page).getByText("I am here now").count()).toBe(0);
	await page.getByRole("button", { name: "Back to now" }).click();
	await shows(messages(page), "I am here now");
});

test("one continues from a moment, and the rows of the undone future are grey and say so", async () => {
	const { page, anna, sandbox, before } = await mistaken();
	await slider(page).fill(String(before));
	await shows(messages(page), "Held, not sent");
	await page.getByRole("button", { name: "Continue from here" }).press("Enter");
	await page.getByRole("region", { name: "Earlier moment" }).waitFor({ state: "detached" });
	await slider(page).and(page.locator(":focus")).waitFor();
	await shows(line(page, "Friday"), "undone: restored to before it");
	expect(await line(page, "Friday").getAttribute("class")).toContain("undone");
	expect(await line(page, "Thursday").getAttribute("class")).not.toContain("undone");
	expect(anna.state().held?.body).toBe("Would Thursday suit you?");
	expect(sandbox.clock.now().toISOString()).toBe("2026-01-05T09:00:00.000Z");
	await page.getByRole("button", { name: "Accept" }).click();
	await expect.poll(() => anna.inbox().at(-1)?.body).toBe("Would Thursday suit you?");
	await line(page, "Thursday")
		.getByRole("link", { name: /accepted, sent/ })
		.waitFor();
});

test("each stop of the slider shows a whole control: never the end's words beside what was before it", async () => {
	const { page, sandbox, anna } = await mistaken();
	const [accepted] = sandbox.events({ types: ["consent.accepted"] });
	const own = sandbox.events().filter(({ action }) => action === accepted?.action);
	expect(own.length).toBeGreaterThan(3);
	for (const { id } of own.slice(0, -1)) {
		await slider(page).fill(String(id + 1));
		await slider(page).fill(String(id));
		await expect.poll(() => slider(page).inputValue()).not.toBe(String(id));
	}
	// Forward from before the control, one press is the whole of it.
	const before = (own[0]?.id ?? 0) - 1;
	await slider(page).fill(String(before));
	await shows(messages(page), "Held, not sent");
	await slider(page).press("ArrowRight");
	await expect.poll(() => slider(page).inputValue()).toBe(String(own.at(-1)?.id));
	await shows(page.getByRole("region", { name: "Time" }), "Anna accepted: the held text went out");
	await expect.poll(() => messages(page).getByText("Held, not sent").count()).toBe(0);
	await shows(messages(page), "Would Friday suit you?");
	await page.getByRole("button", { name: "Continue from here" }).click();
	await expect.poll(() => anna.state().messages.at(-1)?.body).toBe("Would Friday suit you?");
	expect(anna.state().held).toBe(null);
});

test("one press of an arrow is one action also where the page has not loaded the events", async () => {
	const { page, sandbox, open } = await visit();
	const anna = sandbox.agency().contact(phone, { name: "Anna" });
	// Five events each: the window closes, then opens again, and each text that is read has a status.
	for (let day = 0; day < 700; day++) {
		anna.writes(`Day ${day}`);
		sandbox.clock.advance({ hours: 25 });
	}
	await page.close();
	const again = await open();
	await again.getByText("● connected").waitFor();
	const min = Number(await slider(again).getAttribute("min"));
	await slider(again).press("Home");
	await expect.poll(() => slider(again).inputValue()).toBe(String(min));
	const ends = new Map<number, number>();
	for (const { id, action } of sandbox.events()) ends.set(action, id);
	const stops = [...ends.values()].filter((id) => id > min);
	for (const stop of stops.slice(0, 3)) {
		await slider(again).press("ArrowRight");
		await expect.poll(() => slider(again).inputValue()).toBe(String(stop));
	}
	await slider(again).press("ArrowLeft");
	await expect.poll(() => slider(again).inputValue()).toBe(String(stops[1]));
});

test("one line says what is not so yet at the moment that is shown, and of which kind each tick is", async () => {
	const { page, before } = await mistaken();
	const slid = page.getByRole("region", { name: "Time" });
	await slider(page).fill(String(before));
	await shows(
		slid,
		"Since then: 1 request, 1 message of contacts, 1 answer to a template, 1 text sent, 1 text never to be sent, 27 h on the clock.",
	);
	await slider(page).press("End");
	await expect.poll(() => slid.getByText("Since then").count()).toBe(0);
	const ticks = (kind: string) => slid.locator(`path.${kind}`).getAttribute("d");
	for (const kind of ["request", "contact", "trouble"]) expect(await ticks(kind), kind).toMatch(/^M\d+ 0v6/);
	// What goes back undoes what came later, and from there the line says so.
	await slider(page).fill(String(before));
	await page.getByRole("button", { name: "Continue from here" }).click();
	await page.getByRole("region", { name: "Earlier moment" }).waitFor({ state: "detached" });
	await slider(page).press("ArrowLeft");
	await shows(slid, "of then undone");
});
