import { PGlite } from "@electric-sql/pglite";
import { describe } from "vitest";
import { postgresStore } from "../../port.ts";
import { prove } from "./prove.ts";

describe("PGlite", () =>
	prove(async () => {
		const db = await PGlite.create();
		return {
			store: postgresStore(db),
			isAlone: true,
			transaction: (act, error) =>
				db.transaction(async (tx) => {
					await act(tx);
					if (error) throw error;
				}),
		};
	}));
