import { describe, test } from "vitest";
import { expectKept, situations } from "./explained.ts";
import { memoryStore } from "./memory.ts";

describe("what is told of a text is what happens then", () => {
	test.each(situations)("$title", (situation) => expectKept(situation, { store: memoryStore() }));
});
