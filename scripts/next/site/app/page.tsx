import { client } from "../lib/client";

// The build has no key, so it must not render the page.
export const dynamic = "force-dynamic";

export default async function Page() {
	const { agencies } = await client.me.get();
	const agency = client.agency(agencies[0]?.id ?? "");
	const { conversations } = await agency.conversations.list({ pageSize: 20 });
	return (
		<ul>
			{conversations.map(({ phoneNumber, contactName }) => (
				<li key={phoneNumber}>{contactName ?? phoneNumber}</li>
			))}
		</ul>
	);
}
