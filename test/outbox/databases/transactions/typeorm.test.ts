import { proveMysql, provePostgres } from "./prove.ts";

provePostgres("TypeORM");
proveMysql("TypeORM");
