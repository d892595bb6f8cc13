// One window for the demo: its steps above the phone, which is the sandbox's page, and the CRM.

import { readFileSync } from "node:fs";
import { createServer, request as forward, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type Html, html } from "./html.ts";
import { type Act, annasPhone, type Step, steps } from "./steps.ts";

export interface Split {
	/** Without it no page and no program of this machine gets anything but files. */
	token: string;
	/** Where the sandbox listens. */
	sandboxUrl: string;
	crmUrl(): string;
	perform(act: Act): void;
	/** The numbers of the steps that were done. */
	done(): number[];
	/** Calls `act` when another step is done. Returns what ends that. */
	onDone(act: () => void): () => void;
}

const fileOf = (name: string): string => readFileSync(new URL(name, import.meta.url), "utf8");
const files: Record<string, [type: string, body: string]> = {
	"colours.css": ["text/css; charset=utf-8", fileOf("public/colours.css")],
	"split.css": ["text/css; charset=utf-8", fileOf("split/split.css")],
	"split.js": ["text/javascript; charset=utf-8", fileOf("split/split.js")],
};

export function createSplit(split: Split): Server {
	const { token } = split;
	return createServer((request, response) => {
		const [path = ""] = (request.url ?? "/").split("?");
		if (/^\/(_sandbox|api)\//.test(path)) return pass(split.sandboxUrl, request, response);
		const [, given, name = ""] = /^\/(\w+)\/(.*)$/.exec(path) ?? [];
		// The host too, because a name of another site can be made to lead here.
		if (given !== token || !/^127\.0\.0\.1:\d+$/.test(request.headers.host ?? ""))
			return void response.writeHead(404).end("The address of the demo is in its terminal.\n");
		response.setHeader("cache-control", "no-store");
		response.setHeader("referrer-policy", "no-referrer");
		if (name === "") {
			response.setHeader(
				"content-security-policy",
				`default-src 'self'; img-src data:; frame-src 'self' ${split.crmUrl()}`,
			);
			return void response.setHeader("content-type", "text/html; charset=utf-8").end(pageView(split));
		}
		if (name === "steps") return streamSteps(split, response);
		const act = acts.find((each) => name === `do/${each}`);
		if (act && request.method === "POST") {
			split.perform(act);
			return void response.writeHead(204).end();
		}
		const [type, body] = files[name] ?? [];
		if (type === undefined) return void response.writeHead(404).end();
		response.setHeader("content-type", type).end(body);
	});
}

const acts: readonly Act[] = steps.flatMap(({ buttons }) => buttons.map(({ act }) => act));

/** Hands a request to the sandbox as it is, so that the page of one origin may frame the sandbox's. */
function pass(sandboxUrl: string, request: IncomingMessage, response: ServerResponse): void {
	const { method, headers, url } = request;
	const forwarded = forward(sandboxUrl + url, { method, headers }, (answer) => {
		const policy = answer.headers["content-security-policy"]?.toString();
		if (policy)
			answer.headers["content-security-policy"] = policy.replace("frame-ancestors 'none'", "frame-ancestors 'self'");
		response.writeHead(answer.statusCode ?? 502, answer.headers);
		answer.pipe(response);
	});
	forwarded.once("error", () => response.destroy());
	response.once("close", () => forwarded.destroy());
	request.pipe(forwarded);
}

function streamSteps({ done, onDone }: Split, response: ServerResponse): void {
	const tell = (): void => void response.write(`data: ${JSON.stringify(done())}\n\n`);
	response.writeHead(200, { "content-type": "text/event-stream" }).write("retry: 500\n\n");
	tell();
	response.once("close", onDone(tell));
}

function pageView({ token, crmUrl }: Split): string {
	return html`<!doctype html>
<html lang="en">
<head>
	<meta charset="utf-8">
	<meta name="viewport" content="width=device-width">
	<title>Demo: a CRM and a contact's phone</title>
	<link rel="icon" href="data:,">
	<link rel="stylesheet" href="colours.css">
	<link rel="stylesheet" href="split.css">
	<script type="module" src="split.js"></script>
</head>
<body>
	<header>
		<h1>Demo</h1>
		<ol>${steps.map(stepLink)}</ol>
		${steps.map(stepView)}
		<p id="connection" role="status"></p>
	</header>
	<main>
		<iframe title="A contact's phone" src="/_sandbox/ui/#/?contact=${anna}&token=${token}"></iframe>
		<iframe title="The CRM" src="${crmUrl()}contacts/${anna}"></iframe>
	</main>
</body>
</html>`.html;
}

/** Both begin with her, so that the first click shows something. */
const anna = encodeURIComponent(annasPhone);

const stepLink = ({ title }: Step, index: number): Html => html`<li><a href="#step-${index + 1}">${title}</a></li>`;

const stepView = ({ title, todo, see, buttons }: Step, index: number): Html => html`
		<section id="step-${index + 1}" aria-label="Step ${index + 1}: ${title}" hidden>
			<p><b>${index + 1}.</b> ${todo} ${buttons.map(({ act, label }) => html`<button data-act="${act}">${label}</button> `)}</p>
			<p class="see" role="status" data-see="${see}"></p>
		</section>`;
