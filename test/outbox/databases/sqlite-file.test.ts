// A SQLite file that may not be written, or has no room left. Through better-sqlite3 and node:sqlite: newer/file.test.ts.
import Libsql from "libsql";
import { sqliteFileSuite } from "./sqlite-file.ts";

sqliteFileSuite("#57 through libsql", (file) => new Libsql(file));
