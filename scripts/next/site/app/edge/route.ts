import { client } from "../../lib/client";

export const runtime = "edge";

export async function GET() {
	const { scopes } = await client.me.get();
	return Response.json({ scopes });
}
