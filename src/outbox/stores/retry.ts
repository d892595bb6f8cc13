import { isLocked } from "./database-error.ts";

const longestWaitMs = 10_000;

/** The code makes a worker pause until the transaction has ended. */
function openTooLong(): Error {
	const what = "A transaction has been open on the outbox's connection for 10 seconds.";
	const how = "If it is yours, pass it: enqueue(text, { tx }). Otherwise end it sooner.";
	return Object.assign(new Error(`${what} ${how}`), { code: "SQLITE_BUSY" });
}

/**
 * Waits while another connection writes to SQLite, or a transaction of the caller's is open. Repeats a statement that PostgreSQL
 * ended because of another one that touched the same rows.
 */
export async function retryLocked<Result>(act: () => Promise<Result> | undefined): Promise<Result> {
	const end = performance.now() + longestWaitMs;
	for (let wait = 1; ; wait = Math.min(50, wait * 2)) {
		try {
			const running = act();
			if (running) return await running;
			if (performance.now() > end) throw openTooLong();
		} catch (error) {
			if (!isLocked(error) || performance.now() > end) throw error;
		}
		await new Promise((resolve) => setTimeout(resolve, wait));
	}
}
