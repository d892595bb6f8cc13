// The CRM's page: a form that sends a note, and what became of each.
import express, { type Express } from "express";
import { isPartnerError } from "messaging-conversations";
import type { Outbox, OutboxStatus } from "messaging-conversations/outbox";
import type { Database } from "../database.ts";
import { listNotes, sendNote } from "./notes.ts";

export function createPage(database: Database, outbox: Outbox, agencyId: string): Express {
	const app = express();
	// Before these routes, check by your session whom the user may write to, and refuse forms of other sites.
	app.use(express.urlencoded({ extended: false, limit: "1mb" })); // an emoji takes 12 bytes of a form
	app.get("/", async (_, response) => {
		const rows = (await listNotes(database, outbox)).map(
			({ body, text }) => `<li><q>${escaped(body)}</q> ${text ? escaped(`to ${text.to}: ${stateOf(text)}`) : ""}</li>`,
		);
		response.send(`<!doctype html><title>Notes</title><form method="post" action="/notes">
			<input type="hidden" name="id" value="${crypto.randomUUID()}"><input name="to"><textarea name="body"></textarea>
			<button>Send</button></form><ul>${rows.join("")}</ul>`);
	});
	app.post("/notes", async (request, response) => {
		const { id, to, body } = request.body ?? {}; // none without the form's content type
		try {
			await sendNote(database, outbox, { id, agencyId, to, body: withLineFeeds(body) });
			response.redirect(303, "/");
		} catch (error) {
			if (!isPartnerError(error)) throw error;
			response.status(422).send(escaped(error.message));
		}
	});
	app.get("/notes/:id", async (request, response) => {
		const text = await outbox.status(request.params.id);
		response.status(text ? 200 : 404).json(text ?? { error: "There is no such note." });
	});
	return app;
}

/** A form ends lines with \r\n. The outbox refuses anything but text, such as a field that comes twice. */
export function withLineFeeds<Value>(field: Value): Value | string {
	return typeof field === "string" ? field.replaceAll("\r\n", "\n") : field;
}

/** With the reason why a text was refused, or is not sent yet. */
function stateOf({ state, description, error }: OutboxStatus): string {
	return error && ["waiting", "sending", "refused", "unknown"].includes(state)
		? `${description} ${error.message}`
		: description;
}

const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
