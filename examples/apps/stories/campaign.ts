import type { Outbox } from "messaging-conversations/outbox";

/** A thousand texts with each statement. Run it again after a crash. */
export async function announceFlats(
	outbox: Outbox,
	agencyId: string,
	leads: readonly { id: string; phone: string }[],
): Promise<void> {
	for (let from = 0; from < leads.length; from += 1_000)
		await outbox.enqueueMany(
			leads.slice(from, from + 1_000).map(({ id, phone }) => ({
				id: `flats-june:${id}`,
				agencyId,
				to: phone,
				body: "We have new flats near the park. Shall we send you a list?",
				purpose: "marketing",
			})),
		);
}
