const { isOptIn, isOptOut } = require("messaging-conversations/outbox");

/**
 * The code under test. Store what it returns: `checkDelivery` takes it later.
 */
async function remind(agency, visit) {
	const { conversation, messagePage } = await agency.conversations.get(
		visit.phone,
	);
	// A second text would replace the one that waits
	if (conversation.queuedMessages.length > 0) return undefined;
	const [last] = messagePage.messages.filter(
		({ templateName }) => templateName === null,
	);
	// No function finds every no: somebody reads and answers first
	if (last?.direction === "inbound") return undefined;
	const words = messagePage.messages
		.filter(({ direction }) => direction === "inbound")
		.map(({ body }) => body);
	if (isOptOut(words.find((body) => isOptOut(body) || isOptIn(body))))
		return undefined; // the newest STOP or START
	const text = {
		to: visit.phone,
		body: `Your visit is at ${visit.time}.`,
		operationId: `reminder-${visit.id}`,
	};
	return agency.messages.send(text);
}

module.exports = { remind };
