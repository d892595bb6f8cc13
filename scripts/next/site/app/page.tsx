import { openAgency } from "../lib/client";

// The build has no key, so it must not render the page. Each visit gets forms
// with ids of their own.
export const dynamic = "force-dynamic";

export default async function Page() {
	const { conversations } = await openAgency().conversations.list({
		pageSize: 20,
	});
	return conversations.map(({ phoneNumber, contactName }) => (
		<form key={phoneNumber} action="/api/send" method="post">
			<p>{contactName ?? phoneNumber}</p>
			{/* A double click repeats the id, so the contact gets one text. */}
			<input type="hidden" name="operationId" value={crypto.randomUUID()} />
			<input type="hidden" name="to" value={phoneNumber} />
			<textarea name="body" required />
			<button type="submit">Send</button>
		</form>
	));
}
