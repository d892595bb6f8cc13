import { DatabaseSync } from "node:sqlite";
import Database from "better-sqlite3";
import { sqliteFileSuite } from "../sqlite-file.ts";

sqliteFileSuite(
	"#57 through better-sqlite3",
	(file) => new Database(file),
	(file) => new Database(file, { readonly: true }),
);
sqliteFileSuite(
	"#57 through node:sqlite",
	(file) => new DatabaseSync(file),
	(file) => new DatabaseSync(file, { readOnly: true }),
);
