/** A file of the sandbox's page. */
export interface PageFile {
	readonly contentType: string;
	readonly body: string;
}

/** What is served below `/_sandbox/ui/`, by path; the empty path is the page itself. */
export const pageFiles: ReadonlyMap<string, PageFile> = new Map();

/** What every file is served with: nothing but the page's own script, style and connection. */
export const pageHeaders: Readonly<Record<string, string>> = {
	"content-security-policy":
		"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"x-content-type-options": "nosniff",
	"referrer-policy": "no-referrer",
	"cache-control": "no-store",
};
