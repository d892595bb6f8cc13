import { setTimeout } from "node:timers/promises";
import { Worker } from "bullmq";
import { checkDelivery } from "messaging-conversations/outbox";
import { client, connection, outbox, pool } from "./outbox.ts";

interface SendJob {
	noteId: string;
	agencyId: string;
	to: string;
	body: string;
	visitAt: string;
}

/** Takes the jobs of the old queue, and stores their texts in the outbox. */
const moving = new Worker<SendJob>(
	"send-text",
	async ({ data, attemptsStarted, timestamp }) => {
		const { noteId, agencyId, to, body, visitAt } = data;
		if (attemptsStarted > 1) {
			// The old code may have sent it, and the outbox does not know under which
			// id.
			const { status } = await checkDelivery(client.agency(agencyId), {
				to,
				body,
				since: timestamp,
			});
			if (status === "unknown")
				throw new Error(
					"Not clear whether it was sent. Look at the conversation.",
				);
			if (status !== "not_found") return;
		}
		await outbox.enqueue({ id: noteId, agencyId, to, body, notAfter: visitAt });
	},
	{ connection },
);
moving.on("error", (error) => console.error(error.message));

async function stop(): Promise<void> {
	// With a Redis that is down it would not end. A job that is cut off is
	// repeated, and checked then.
	await Promise.race([moving.close(), setTimeout(5_000)]);
	await pool.end();
	process.exit();
}
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, stop);
