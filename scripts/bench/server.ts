// The service as canned bytes, in a process of its own: what is measured is the caller.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const row = (index: number) => ({
	phoneNumber: `+3247${String(index).padStart(7, "0")}`,
	contactName: "Anna Peeters",
	lastMessageAt: "2026-01-05T09:00:00.000Z",
	lastMessagePreview: "Is the flat in the Kerkstraat still free?",
	lastMessageDirection: "inbound",
	totalMessages: 12,
	failedMessages: 0,
	activeFlows: 1,
	completedFlows: 2,
	latestFlowStatus: "active",
	lastInboundAt: "2026-01-05T09:00:00.000Z",
	windowExpiresAt: "2026-01-06T09:00:00.000Z",
	aiEnabled: true,
	queuedMessages: 0,
	isUnlinked: false,
	visibility: { reason: "focus", isShared: false, isVisibleThroughAgencyTag: false },
	cursor: `r${index}`,
});
const found = JSON.stringify({ ...row(0), cursor: null });
const rows = JSON.stringify(Array.from({ length: 50 }, (_, index) => row(index)));
const sent = JSON.stringify({
	success: true,
	queued: false,
	messageId: "SM0123456789abcdef0123456789abcdef",
	queueId: null,
	status: "accepted",
	windowOpen: true,
	windowExpiresAt: "2026-01-06T09:00:00.000Z",
});

function say(response: ServerResponse, text: string): void {
	const headers = {
		"content-type": "application/json",
		"content-length": Buffer.byteLength(text),
		"x-correlation-id": "3f2a8f0e-9f4b-4c55-9a53-0d8d1f1c2b3a",
	};
	response.writeHead(200, headers).end(text);
}

async function textOf(request: IncomingMessage): Promise<string> {
	let text = "";
	for await (const chunk of request.setEncoding("utf8")) text += chunk;
	return text;
}

/** `agy_p2000_d5` has 2,000 pages and answers after 5 ms. */
const server = createServer(async (request, response) => {
	const { pathname, searchParams } = new URL(request.url ?? "", "http://bench");
	const [, pages = "1", , delay = "0"] = /agy_p(\d+)(_d(\d+))?/.exec(pathname) ?? [];
	const body = request.method === "POST" ? await textOf(request) : "";
	if (delay !== "0") await new Promise((resolve) => setTimeout(resolve, Number(delay)));
	if (pathname.endsWith("/messages")) return say(response, sent);
	if (pathname.endsWith("/lookup")) {
		const { phoneNumbers } = JSON.parse(body) as { phoneNumbers: string[] };
		const results = phoneNumbers.map((each) => `{"phoneNumber":"${each}","conversation":${found}}`);
		return say(response, `{"results":[${results}]}`);
	}
	const next = Number(searchParams.get("cursor")?.slice(1) ?? 0) + 1;
	const cursor = next < Number(pages) ? `"p${next}"` : "null";
	say(response, `{"conversations":${rows},"nextCursor":${cursor},"pageSize":50}`);
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => {
	process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`);
});
process.on("disconnect", () => process.exit());
