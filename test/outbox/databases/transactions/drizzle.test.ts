import { proveMysql, provePostgres } from "./prove.ts";

provePostgres("Drizzle on pg", { isReused: true });
provePostgres("Drizzle on postgres.js");
proveMysql("Drizzle", { isReused: true });
