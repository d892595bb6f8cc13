// Serves the CRM's pages: the contacts, and the chat of one with a text box. public/live.js keeps an open page up to date.
import { fileURLToPath } from "node:url";
import express, { type ErrorRequestHandler, type Express } from "express";
import { isPartnerError, toE164 } from "messaging-conversations";
import { withLineFeeds } from "../send-queue/page.ts";
import { lookAt } from "./forecast.ts";
import type { Records } from "./records.ts";
import { pageView } from "./views.ts";

export function createPages({ agency, outbox, news, saveText, contacts, chat }: Records): Express {
	const app = express();
	/** How far the service's clock is ahead of this one. Texts get its time, because they are listed among its messages. */
	let aheadMs = 0;
	const now = (): Date => new Date(Date.now() + aheadMs);

	// Before these routes, check by your session whom the user may write to.
	app.use(express.static(fileURLToPath(new URL("public", import.meta.url))));
	app.use(express.urlencoded({ extended: false, limit: "1mb" })); // an emoji takes 12 bytes of a form
	app.use((_, response, next) => {
		response.set({ "content-security-policy": "default-src 'self'; img-src data:", "cache-control": "no-store" });
		next();
	});

	app.get("/", async (_, response) => {
		response.send(pageView({ contacts: await contacts(), now: now() }));
	});

	app.get("/contacts", (request, response) => {
		response.redirect(303, `/contacts/${encodeURIComponent(toE164(String(request.query.phone)))}`);
	});

	app.get("/contacts/:phone", async (request, response) => {
		const phone = toE164(request.params.phone);
		const look = await lookAt(agency, phone, now());
		aheadMs = look.now.getTime() - Date.now();
		// The outbox learns what was delivered or read, without a request of its own.
		await outbox.observe({ agencyId: agency.id, messages: look.messages });
		const lines = await chat(phone);
		const textId = crypto.randomUUID();
		response.send(pageView({ contacts: await contacts(), now: now(), chat: { phone, look, lines, textId } }));
	});

	app.post("/contacts/:phone/texts", async (request, response) => {
		const { id, body, consentLanguage } = request.body ?? {}; // none without the form's content type
		const to = request.params.phone;
		await saveText({ id, to, body: withLineFeeds(body), consentLanguage, at: now() });
		response.redirect(303, `/contacts/${encodeURIComponent(request.params.phone)}`);
	});

	app.get("/events", (request, response) => {
		response.type("text/event-stream").write("retry: 500\n\n");
		const tell = (): void => void response.write("data: change\n\n");
		news.on("change", tell);
		request.once("close", () => news.off("change", tell));
	});

	const refuse: ErrorRequestHandler = async (error, _, response, next) => {
		// Express throws the URIError for an address such as /contacts/%E0%A4%A.
		const problem =
			error instanceof URIError ? "The address is not well formed." : isPartnerError(error) && error.message;
		if (!problem) return next(error);
		response.status(400).send(pageView({ contacts: await contacts(), now: now(), problem }));
	};
	app.use(refuse);
	return app;
}
