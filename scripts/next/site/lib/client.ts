import "server-only";
import { createClient } from "messaging-conversations";

export const client = createClient({
	baseUrl: process.env.MESSAGING_BASE_URL,
	apiKey: process.env.MESSAGING_API_KEY,
});
