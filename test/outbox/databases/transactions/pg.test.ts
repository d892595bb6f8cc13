import { provePostgres } from "./prove.ts";

provePostgres("pg", { isReused: true });
