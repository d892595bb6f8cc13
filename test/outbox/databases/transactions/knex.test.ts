import { proveMysql, provePostgres } from "./prove.ts";

provePostgres("Knex");
proveMysql("Knex");
