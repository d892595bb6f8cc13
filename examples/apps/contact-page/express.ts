// The contact page as an Express 5 route. `npm run contact-page` serves it on a sandbox when no key is in the environment.
import express, { type ErrorRequestHandler, type Express } from "express";
import type { AgencyClient } from "messaging-conversations";
import { contactPage, type PageOptions } from "./contact.ts";

export function createApp(agency: AgencyClient, options: PageOptions = {}): Express {
	const app = express();
	// Before this route, check by your session which contacts the user may see.
	app.get("/contacts/:phone", async (request, response) => {
		// A visitor who has gone needs no answer: the call to the service stops with them.
		const gone = new AbortController();
		response.once("close", () => gone.abort());
		const page = await contactPage(agency, request.params.phone, { ...options, signal: gone.signal });
		response.status(page.status).set(page.headers).json(page.body);
	});
	const refuse: ErrorRequestHandler = (error, _, response, next) => {
		if (!(error instanceof URIError)) return next(error);
		response.status(400).json({ error: "The address is not well formed." }); // such as /contacts/%E0%A4%A
	};
	app.use(refuse);
	return app;
}
