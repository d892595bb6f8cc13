// What `messaging-conversations outbox …` tells of a text, on the database of a project, is what happens then.
import { fileURLToPath } from "node:url";
import Libsql from "libsql";
import { afterEach, describe, expect, test, vi } from "vitest";
import { start } from "../../cli/run.ts";
import { expectKept, situations } from "../explained.ts";
import { sqliteStore } from "../port.ts";
import { newFile } from "./open.ts";

/** The folder of a project with the driver. */
const cwd = fileURLToPath(new URL(".", import.meta.url));

afterEach(() => void vi.useRealTimers());

describe("what the outbox and its command line tell of a text is what happens then", () => {
	test.each(situations)("$title", async (situation) => {
		const url = newFile();
		const store = sqliteStore(new Libsql(url));
		await store.migrate();
		await expectKept(situation, {
			store,
			async command(now, ...args) {
				vi.useFakeTimers({ toFake: ["Date"], now });
				const content = args[0] === "health" ? [] : ["--show-content"];
				const running = start(["outbox", ...args, ...content, "--json"], { DATABASE_URL: url }, fetch, undefined, cwd);
				await running.status;
				vi.useRealTimers();
				expect(running.err()).toBe("");
				return JSON.parse(running.out());
			},
		});
	});
});
