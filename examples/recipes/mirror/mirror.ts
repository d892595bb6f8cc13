import { createClient } from "messaging-conversations";
import { type Change, watch } from "messaging-conversations/sync";
import pg from "pg";

const {
	MESSAGING_BASE_URL: baseUrl,
	MESSAGING_API_KEY: apiKey,
	MESSAGING_AGENCY_ID = "",
	DATABASE_URL,
} = process.env;
const stop = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"])
	process.once(signal, () => stop.abort());

const pool = new pg.Pool({ connectionString: DATABASE_URL });
// A connection that breaks is replaced
pool.on("error", ({ message }) => console.error(message));

const { rows } = await pool.query(
	"select checkpoint from feed where agency_id = $1",
	[MESSAGING_AGENCY_ID],
);
const feed = watch(
	createClient({ baseUrl, apiKey }).agency(MESSAGING_AGENCY_ID),
	{
		since: rows[0]?.checkpoint ?? "beginning",
		statuses: true, // a message comes again when it is delivered, or has failed
		// The feed tries again by itself
		onError: ({ message }) => console.error(message),
		signal: stop.signal,
	},
);
// An error that won't pass ends the process, and the next one continues here
for await (const change of feed) await store(change, feed.checkpoint);
await pool.end();

/**
 * Stores a change and the checkpoint together, so that a restart continues
 * exactly behind it.
 */
async function store(
	{ phoneNumber, conversation, messages }: Change,
	checkpoint: string,
): Promise<void> {
	const { contactName, windowExpiresAt } = conversation.summary;
	const tx = await pool.connect();
	try {
		await tx.query("begin");
		await tx.query(
			`insert into conversation values ($1, $2, $3, $4)
			on conflict (agency_id, phone) do update set
				contact_name = excluded.contact_name,
				window_expires_at = excluded.window_expires_at`,
			[MESSAGING_AGENCY_ID, phoneNumber, contactName, windowExpiresAt],
		);
		for (const { messageSid, direction, body, status, createdAt } of messages)
			await tx.query(
				`insert into message values ($1, $2, $3, $4, $5, $6, $7)
				on conflict (agency_id, sid) do update set
					body = excluded.body,
					status = excluded.status`,
				[
					MESSAGING_AGENCY_ID,
					messageSid,
					phoneNumber,
					direction,
					body,
					status,
					createdAt,
				],
			);
		await tx.query(
			`insert into feed values ($1, $2)
			on conflict (agency_id) do update set checkpoint = excluded.checkpoint`,
			[MESSAGING_AGENCY_ID, checkpoint],
		);
		await tx.query("commit");
	} catch (error) {
		await tx.query("rollback").catch(() => {});
		throw error;
	} finally {
		tx.release();
	}
}
