// Writes to a service that cuts their connection, after a read whose connection the runtime has kept.
import { createClient } from "messaging-conversations";
import { check } from "./check.ts";

export async function tryOnce(baseUrl: string): Promise<void> {
	const client = createClient({ baseUrl, apiKey: "key", retry: false });
	for (const method of ["POST", "PUT", "PATCH", "DELETE"] as const) {
		await client.request({ method: "GET", path: "/tags" });
		const cut = await client.request({ method, path: "/tags", body: {} }).result();
		check(`a cut ${method} may have been carried out`, !cut.ok && cut.error.outcome === "unknown");
	}
}
