import { proveMysql, provePostgres } from "./prove.ts";

provePostgres("MikroORM");
proveMysql("MikroORM");
