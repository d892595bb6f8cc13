// The stories of the site's playground that the sandbox's page does not have. test/page plays all of them in a browser.
import { expect, test } from "vitest";
import { createPlay } from "../docs/playground/play.ts";
import { texts } from "../docs/playground/programs.ts";

async function played(story: string, bodies = texts): Promise<unknown[]> {
	const play = createPlay();
	const phone = play.newContact();
	const results: unknown[] = [];
	for (const step of [0, 1, 2]) {
		const { text, isError } = await play.run(story, step, phone, bodies);
		expect(isError, text).toBe(false);
		results.push(JSON.parse(text));
	}
	return results;
}

test("the outbox keeps two texts in order, and sends the second after the contact has accepted the first", async () => {
	const [queued, sent, inbox] = await played("outbox");
	expect(queued).toEqual([expect.stringMatching(/permission|consent/), expect.stringMatching(/^Waits/)]);
	expect(sent).toEqual([expect.not.stringMatching(/^Waits/), expect.not.stringMatching(/^Waits/)]);
	expect(inbox).toMatchObject([{ body: texts.first }, { body: texts.second }]);
});

test("the feed delivers the reader's own texts, each once", async () => {
	const [before, count, after] = await played("feed", { first: "One", second: "Two" });
	expect([before, count, after]).toEqual([["One"], 2, ["Two"]]);
});

test("the stories of the sandbox's page send the reader's own texts", async () => {
	const [, , inbox] = await played("replaced", { first: "One", second: "Two" });
	expect(inbox).toMatchObject([{ body: "Two" }]);
});
