import { script, style } from "../../../generated/page.ts";

/** A file of the sandbox's page. */
export interface PageFile {
	readonly contentType: string;
	readonly body: string;
}

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sandbox</title>
<link rel="icon" href="icon.svg">
<link rel="stylesheet" href="page.css">
<script type="module" src="page.js"></script>
</head>
<body></body>
</html>
`;

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#0b72d0" d="M1 1h14v10H8l-4 4v-4H1z"/></svg>`;

/** The files below `/_sandbox/ui/`, by path. The empty path is the page itself. */
export const pageFiles: ReadonlyMap<string, PageFile> = new Map([
	["", { contentType: "text/html; charset=utf-8", body: html }],
	["page.js", { contentType: "text/javascript; charset=utf-8", body: script }],
	["icon.svg", { contentType: "image/svg+xml", body: icon }],
	["page.css", { contentType: "text/css; charset=utf-8", body: style }],
]);

/** The headers of every file. They allow the page's own script, style and connections only, and no sniffing of types. */
export const pageHeaders: Readonly<Record<string, string>> = {
	"content-security-policy":
		"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
	"x-content-type-options": "nosniff",
	"referrer-policy": "no-referrer",
	"cache-control": "no-store",
};
