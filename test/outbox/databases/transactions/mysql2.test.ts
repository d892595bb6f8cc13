import { proveMysql } from "./prove.ts";

proveMysql("mysql2, promises");
proveMysql("mysql2, callbacks");
