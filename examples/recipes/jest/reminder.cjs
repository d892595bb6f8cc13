/**
 * The code under test. Store what it returns: `checkDelivery` takes it later.
 */
async function remind(agency, visit) {
	return agency.messages.send({
		to: visit.phone,
		body: `Your visit is at ${visit.time}.`,
		operationId: `reminder-${visit.id}`,
		ifHeld: "refuse", // a second text would replace the one that waits
	});
}

module.exports = { remind };
