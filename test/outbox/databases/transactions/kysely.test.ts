import { proveMysql, provePostgres } from "./prove.ts";

provePostgres("Kysely");
proveMysql("Kysely");
