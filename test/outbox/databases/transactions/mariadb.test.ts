import { proveMysql } from "./prove.ts";

proveMysql("mariadb", { isReused: true });
