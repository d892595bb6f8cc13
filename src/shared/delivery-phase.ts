/** How far a message has come, by the provider. */
export type DeliveryPhase = "sent" | "delivered" | "read" | "failed";

/** The fields of a message that say how far it has come. */
export interface Delivered {
	status: string | null;
	deliveredAt: string | null;
	readAt: string | null;
}

/** What the status and the times say together: a provider may report a time without a new status. */
export function phaseOf({ status, deliveredAt, readAt }: Delivered): DeliveryPhase {
	if (status === "failed" || status === "undelivered") return "failed";
	if (status === "read" || readAt !== null) return "read";
	return status === "delivered" || deliveredAt !== null ? "delivered" : "sent";
}
