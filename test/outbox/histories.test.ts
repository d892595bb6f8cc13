import { test } from "vitest";
import { isLong } from "../length.ts";
import { playAll } from "./histories.ts";

test("in random histories no text arrives twice, none is falsely reported, and each queue keeps its order", async () => {
	await playAll(isLong ? 3_000 : 40);
}, 1_200_000);
