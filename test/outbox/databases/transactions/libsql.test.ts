import { createClient } from "@libsql/client";
import { drizzle } from "drizzle-orm/libsql";
import Libsql from "libsql";
import { describe } from "vitest";
import { sqliteStore } from "../../port.ts";
import { newFile } from "../open.ts";
import { asynchronous, synchronous } from "../sqlite-libraries.ts";
import { prove } from "./prove.ts";

describe("libsql", () =>
	prove(async () => {
		const db = new Libsql(newFile());
		return {
			store: sqliteStore(db),
			isSynchronous: true,
			transaction: synchronous((act) => db.transaction(() => act(db))()),
		};
	}));

describe("@libsql/client", () =>
	prove(async () => {
		const db = createClient({ url: `file:${newFile()}` });
		const transaction = asynchronous(async (act) => {
			const tx = await db.transaction("write");
			try {
				await act(tx);
				await tx.commit();
			} finally {
				tx.close();
			}
		});
		return { store: sqliteStore(db), isAlone: true, transaction };
	}));

describe("Drizzle on @libsql/client", () =>
	prove(async () => {
		const db = drizzle(createClient({ url: `file:${newFile()}` }));
		return { store: sqliteStore(db), isAlone: true, transaction: asynchronous((act) => db.transaction(act)) };
	}));
