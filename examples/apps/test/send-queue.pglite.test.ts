import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { queueSuite } from "./queue-suite.ts";

const folder = mkdtempSync(join(tmpdir(), "crm-pglite-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the send queue in PGlite", () => queueSuite(() => join(folder, "data")));
