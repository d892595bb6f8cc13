// The landing page of the docs site: the sandbox and the client in the browser, beside the contact's phone.
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { useSite } from "./site.ts";
import { axeFindings, shows } from "./visit.ts";

const site = useSite();

async function open(viewport = { width: 1440, height: 900 }) {
	const page = await site.open("/", { viewport });
	return { page, demo: demoOf(page) };
}

const demoOf = (page: Page) => {
	const region = page.getByRole("region", { name: "The sandbox, in your browser" });
	return {
		region,
		phone: region.getByRole("log", { name: "Messages on Anna’s phone" }),
		state: region.getByRole("status"),
		told: region.getByRole("log", { name: "Requests of the client" }),
		text: region.getByRole("textbox", { name: "The text to send" }),
		lit: region.locator(".lit"),
		press: (name: string) => region.getByRole("button", { name, exact: true }).click(),
	};
};

const textsOf = (page: Page, body: string) => demoOf(page).phone.getByText(body, { exact: false });

test("a text that the visitor wrote arrives on the phone, and the line that ran lights up", async () => {
	const { page, demo } = await open();
	await demo.text.fill("Come at nine?");
	await demo.press("Send");
	await textsOf(page, "Come at nine?").waitFor();
	await demo.lit.filter({ hasText: "On its way" }).waitFor();
	expect(await demo.lit.filter({ hasText: "Waits for her yes" }).count()).toBe(0);
	await shows(demo.told, "Request 1: answered 200");
});

test("after a lost answer the same operationId is sent again, and the phone has the text once", async () => {
	const { page, demo } = await open();
	await demo.press("Lose the answer");
	await shows(demo.told, "Requested twice, and one more text is on her phone.");
	const [first, second] = await demo.told.getByText(/^Request \d/).allTextContents();
	expect(first).toContain("its answer was lost");
	expect(second).toContain("again");
	const idOf = (line = "") => /operationId (\S+?)…/.exec(line)?.[1];
	expect(idOf(second)).toBe(idOf(first));
	expect(await textsOf(page, "Would Friday at 10:00 suit you?").count()).toBe(1);
});

test("a day later the text is held; she says no, and it never arrives, or yes, and it does", async () => {
	const { page, demo } = await open();
	expect(await demo.region.getByRole("button", { name: "She says no" }).isEnabled()).toBe(false);
	for (const answer of ["No", "Yes"]) {
		await demo.press("Go forward 24 hours");
		await shows(demo.state, "window is closed");
		await demo.text.fill(`Held until ${answer}`);
		await demo.press("Send");
		await shows(demo.state, `Held: “Held until ${answer}”`);
		await demo.lit.filter({ hasText: "Waits for her yes" }).waitFor();
		await demo.press(answer === "No" ? "She says no" : "Yes");
		await shows(demo.told, answer === "No" ? "dropped, for good" : "went out");
		await shows(demo.state, "window is open");
	}
	expect(await textsOf(page, "Held until No").count()).toBe(0);
	expect(await textsOf(page, "Held until Yes").count()).toBe(1);
	expect(await demo.phone.getByRole("button").count()).toBe(0);
});

test("a text that is held for two days is dropped", async () => {
	const { demo } = await open();
	await demo.press("Go forward 24 hours");
	await demo.press("Send");
	await shows(demo.state, "Held:");
	for (const _ of [1, 2]) await demo.press("Go forward 24 hours");
	await shows(demo.told, "dropped, for good");
	await shows(demo.state, "window is closed");
});

test.each([
	{ width: 1440, height: 900 },
	{ width: 390, height: 844 },
	{ width: 320, height: 640 },
])("at $width px it fits, axe finds nothing, and a screen reader hears who wrote what", async (screen) => {
	const { page, demo } = await open(screen);
	await demo.press("Go forward 24 hours");
	await demo.press("Send");
	await shows(demo.state, "Held:");
	expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
	const code = demo.region.getByRole("group", { name: "Your code" });
	const hidden = await code.evaluate((place) => place.scrollWidth - place.clientWidth);
	if (screen.width >= 390) expect(hidden, "the width of the code that is cut off").toBe(0);
	const found = await axeFindings(page);
	expect(found.filter((finding) => !finding.includes("label-content-name-mismatch"))).toEqual([]);
	expect(await demo.region.ariaSnapshot()).toMatch(
		/log "Messages on Anna’s phone":.*article "Anna":.*article "The agency":.*button "Yes".*status: .*group "Your code":.*textbox "The text to send".*button "Send".*log "Requests of the client"/s,
	);
});
