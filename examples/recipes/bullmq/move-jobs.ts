import { Worker } from "bullmq";
import { checkDelivery } from "messaging-conversations/outbox";
import { client, connection, outbox, pool, queue } from "./outbox.ts";

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
			// The old code may have sent it, and the outbox does not know under which id.
			const { status } = await checkDelivery(client.agency(agencyId), { to, body, since: timestamp });
			if (status === "unknown") throw new Error("Not clear whether it was sent. Look at the conversation.");
			if (status !== "not_found") return;
		}
		await outbox.enqueue({ id: noteId, agencyId, to, body, notAfter: visitAt });
	},
	{ connection },
);
moving.on("error", (error) => console.error(error.message));

process.once("SIGTERM", async () => {
	await moving.close();
	await queue.close();
	await pool.end();
});
