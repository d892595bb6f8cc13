import { proveMysql } from "./prove.ts";

proveMysql("mysql2, promises", { isReused: true });
proveMysql("mysql2, callbacks", { isReused: true });
