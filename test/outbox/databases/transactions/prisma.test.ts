import { proveMysql, provePostgres } from "./prove.ts";

provePostgres("Prisma");
proveMysql("Prisma");
