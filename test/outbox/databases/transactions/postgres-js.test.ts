import { provePostgres } from "./prove.ts";

provePostgres("postgres.js");
