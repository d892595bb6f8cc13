// Imported into the process of a command before it runs: writes what its local variables held into a file at the end.
import { writeFileSync } from "node:fs";
import { watchVariables } from "../local-variables.ts";

const { WATCHED_SECRETS = "[]", WATCHED_DEPTH, WATCHED_INTO = "" } = process.env;
const stop = watchVariables(JSON.parse(WATCHED_SECRETS), /\/(cli\.mjs)$/, Number(WATCHED_DEPTH));
process.on("exit", () => writeFileSync(WATCHED_INTO, JSON.stringify(stop())));
