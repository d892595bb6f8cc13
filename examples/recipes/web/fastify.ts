import { randomUUID } from "node:crypto";
import Fastify, { type FastifyInstance } from "fastify";
import type { Client } from "messaging-conversations";
import { answerTo } from "./answers.ts";
import { requestId } from "./messaging.ts";
import { sendUnlessHeld } from "./send.ts";

interface Text {
	Params: { agencyId: string };
	Body: { operationId: string; to: string; body: string };
}

const textSchema = {
	type: "object",
	// Without the id of the form, a double click would be two texts
	required: ["operationId", "to", "body"],
	additionalProperties: false,
	properties: {
		operationId: { type: "string" },
		to: { type: "string" },
		body: { type: "string" },
	},
};

export function createFastifyApp(client: Client): FastifyInstance {
	const app = Fastify({
		requestIdHeader: "x-request-id",
		genReqId: () => randomUUID(),
	});
	app.addHook("onRequest", (request, reply, done) => {
		reply.header("x-request-id", request.id);
		requestId.run(request.id, done);
	});

	app.get<{ Params: { agencyId: string; phone: string } }>(
		"/agencies/:agencyId/contacts/:phone",
		async ({ params }, reply) => {
			const left = new AbortController();
			reply.raw.once("close", () => left.abort());
			const agency = client.agency(params.agencyId);
			const { conversation, messagePage } = await agency.conversations.get(
				params.phone,
				{ signal: left.signal },
			);
			const { summary, queuedMessages } = conversation;
			return {
				name: summary.contactName,
				windowExpiresAt: summary.windowExpiresAt,
				waitingText: queuedMessages[0]?.body ?? null,
				messages: messagePage.messages.map(({ direction, body, status }) => ({
					direction,
					body,
					status,
				})),
			};
		},
	);

	app.post<Text>(
		"/agencies/:agencyId/texts",
		{ schema: { body: textSchema } },
		async ({ params, body }, reply) => {
			// No signal: the text goes out, or is held, even if the visitor leaves.
			const sent = await sendUnlessHeld(client.agency(params.agencyId), body);
			return reply.status(sent.status).send(sent.body);
		},
	);

	app.setErrorHandler((error, _request, reply) => {
		if (Object(error).validation)
			return reply
				.status(422)
				.send({ code: "FieldMissing", message: Object(error).message });
		const answer = answerTo(error);
		if (!answer) throw error; // Fastify answers it
		return reply
			.status(answer.status)
			.headers(answer.headers)
			.send(answer.body);
	});
	return app;
}
