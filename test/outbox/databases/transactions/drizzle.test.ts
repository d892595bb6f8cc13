import { proveMysql, provePostgres } from "./prove.ts";

provePostgres("Drizzle on pg");
provePostgres("Drizzle on postgres.js");
proveMysql("Drizzle");
