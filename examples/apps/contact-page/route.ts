// The same page as a route handler of the Next.js kind, a plain function from Request to Response. In an application
// it is in app/api/contacts/[phone]/route.ts:
//
//     export const GET = createRoute(agency);
//     export const runtime = "nodejs"; // the key stays on the server
import type { AgencyClient } from "messaging-conversations";
import { contactPage, type PageOptions } from "./contact.ts";

export function createRoute(agency: AgencyClient, options: PageOptions = {}): (request: Request) => Promise<Response> {
	return async (request) => {
		// The number is the last segment; its plus sign came as %2B.
		const phone = decoded(new URL(request.url).pathname.split("/").at(-1) ?? "");
		if (phone === undefined) return Response.json({ error: "The address is not well formed." }, { status: 400 });
		const page = await contactPage(agency, phone, { ...options, signal: request.signal });
		return Response.json(page.body, { status: page.status, headers: page.headers });
	};
}

function decoded(segment: string): string | undefined {
	try {
		return decodeURIComponent(segment);
	} catch {
		return undefined; // an address such as /contacts/%E0%A4%A
	}
}
