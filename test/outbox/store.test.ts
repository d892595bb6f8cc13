import { describe } from "vitest";
import { memoryStore } from "./memory.ts";
import { storeSuite } from "./store-suite.ts";

describe("the store of the tests", () => storeSuite(async () => memoryStore()));
