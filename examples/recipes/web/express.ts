import { randomUUID } from "node:crypto";
import express, { type ErrorRequestHandler, type Express } from "express";
import type { Client } from "messaging-conversations";
import { answerTo } from "./answers.ts";
import { requestId } from "./messaging.ts";
import { sendUnlessHeld } from "./send.ts";

export function createExpressApp(client: Client): Express {
	const app = express();
	app.use((request, response, next) => {
		const id = request.get("x-request-id") ?? randomUUID();
		response.set("x-request-id", id);
		requestId.run(id, next);
	});
	app.use(express.json());

	// Check by your session, before these routes, which agency and which contacts
	// the user may see.
	app.get(
		"/agencies/:agencyId/contacts/:phone",
		async ({ params }, response) => {
			const left = new AbortController();
			response.once("close", () => left.abort());
			const agency = client.agency(params.agencyId);
			const { conversation, messagePage } = await agency.conversations.get(
				params.phone,
				{ signal: left.signal },
			);
			const { summary, queuedMessages } = conversation;
			response.json({
				name: summary.contactName,
				windowExpiresAt: summary.windowExpiresAt,
				waitingText: queuedMessages[0]?.body ?? null,
				messages: messagePage.messages.map(({ direction, body, status }) => ({
					direction,
					body,
					status,
				})),
			});
		},
	);

	app.post("/agencies/:agencyId/texts", async ({ params, body }, response) => {
		// An empty id is refused, so that a double click is one text
		const { operationId = "", to, body: text } = body ?? {};
		// No signal: the text goes out, or is held, even if the visitor leaves.
		const sent = await sendUnlessHeld(client.agency(params.agencyId), {
			operationId,
			to,
			body: text,
		});
		response.status(sent.status).json(sent.body);
	});

	const answerErrors: ErrorRequestHandler = (
		error,
		_request,
		response,
		next,
	) => {
		const answer = answerTo(error);
		if (!answer || response.headersSent) return next(error);
		response.status(answer.status).set(answer.headers).json(answer.body);
	};
	app.use(answerErrors); // after all routes
	return app;
}
