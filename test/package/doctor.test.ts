import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cases } from "../cli/cases.ts";
import { diagnose } from "../cli/diagnose.ts";
import { processRun } from "../cli/process.ts";
import { isLong } from "../length.ts";
import { installPacked } from "./install.ts";

const consumer = mkdtempSync(join(tmpdir(), "consumer-"));
const cli = join(consumer, "node_modules/messaging-conversations/dist/cli.js");

beforeAll(() => installPacked(consumer));
afterAll(() => rmSync(consumer, { recursive: true }));

// `npm test` tries all cases on the sources. What packing can break shows in any of them.
const tried = isLong
	? cases
	: cases.filter(({ name }) => /^(a drifted contract|a revoked key|an expired certificate)$/.test(name));

test.each(tried)("the packed doctor finds $name", (each) => diagnose(processRun([process.execPath, cli]), each));

test("the packed command uses the client of the main entry, and has no copy of it", () => {
	const text = readFileSync(cli, "utf8");
	expect(text).toMatch(/from "messaging-conversations"/);
	expect(text).not.toContain("class PartnerUnauthorized");
});
