import { createClient } from "messaging-conversations";

// Without `dynamic`: the build begins to render this page, and its first read makes the page dynamic.
const client = createClient({
	baseUrl: process.env.MESSAGING_BASE_URL ?? "https://messaging.example/api/v1",
	apiKey: process.env.MESSAGING_API_KEY ?? "key",
});

export default async function Page() {
	const { scopes } = await client.me.get();
	return <p>{scopes.join(" and ")}</p>;
}
